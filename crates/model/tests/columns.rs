//! Rows as JSON, by column.

use walkabout_model::Direction;
use walkabout_model::columns::Columns;
use walkabout_model::record::Message;

fn message(id: u64, delay_us: Option<u64>) -> Message {
    Message {
        channel: 0,
        id,
        direction: Direction::Up,
        size_bytes: 2_000,
        answer_bytes: 9,
        sent_us: id * 100_000,
        acked_us: delay_us.map(|d| id * 100_000 + d),
        delay_us,
        path: (id == 0).then(|| "wifi".into()),
    }
}

fn error(json: &str) -> String {
    serde_json::from_str::<Columns<Message>>(json)
        .expect_err(json)
        .to_string()
}

#[test]
fn rows_come_back() {
    let rows = Columns(vec![message(0, Some(70)), message(1, None)]);
    let json = serde_json::to_string(&rows).expect("JSON");
    insta::assert_snapshot!(json);
    assert_eq!(
        serde_json::from_str::<Columns<Message>>(&json).expect("rows"),
        rows
    );
    let none = Columns::<Message>::default();
    let json = serde_json::to_string(&none).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Columns<Message>>(&json).expect("none"),
        none
    );
    assert_eq!(
        serde_json::from_str::<Columns<Message>>("{}").expect("none"),
        none
    );
}

#[test]
fn an_optional_column_may_be_left_out_and_no_other() {
    let required =
        r#""channel":[0],"id":[0],"direction":["up"],"size_bytes":[1],"answer_bytes":[1]"#;
    let rows: Columns<Message> =
        serde_json::from_str(&format!("{{{required},\"sent_us\":[5]}}")).expect("rows");
    assert_eq!((rows.0[0].sent_us, rows.0[0].acked_us), (5, None));
    assert!(error(&format!("{{{required}}}")).contains("the column `sent_us` is missing"));
}

#[test]
fn what_is_wrong_is_said() {
    assert!(error(r#"{"delay":[]}"#).contains("`messages` has no column `delay`"));
    assert!(error(r#"{"id":[],"id":[]}"#).contains("`id` comes twice"));
    assert!(
        error(r#"{"channel":[1,2],"id":[1]}"#).contains("`id` has 1 values, where the first has 2")
    );
    assert!(error(r#"{"channel":["x"]}"#).contains("invalid type"));
    assert!(error("[]").contains("an array per column of `messages`"));
    let sideways = r#"{"channel":[0],"id":[0],"direction":["left"],"size_bytes":[1],"answer_bytes":[1],"sent_us":[1]}"#;
    assert!(error(sideways).contains("row 0: column `direction` holds `left`"));
}
