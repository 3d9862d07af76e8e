//! Does a row come back from its columns as it went in?

use proptest::option;
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use walkabout_model::record::{
    Cell, CellError, ColumnKind, Event, EventKind, LinkState, Message, Packet, Record, RowSink,
    RowSource, Sample,
};
use walkabout_model::{Direction, Name, Side, Time};

#[derive(Clone, Debug, PartialEq)]
enum Value {
    U64(Option<u64>),
    F64(Option<f64>),
    Bool(Option<bool>),
    Text(Option<String>),
}

/// One row's values in a queue; the last text is kept, as a reader lends it.
#[derive(Default)]
struct Row {
    values: VecDeque<Value>,
    lent: String,
}

impl RowSink for Row {
    fn u64(&mut self, value: Option<u64>) {
        self.values.push_back(Value::U64(value));
    }
    fn f64(&mut self, value: Option<f64>) {
        self.values.push_back(Value::F64(value));
    }
    fn bool(&mut self, value: Option<bool>) {
        self.values.push_back(Value::Bool(value));
    }
    fn text(&mut self, value: Option<&str>) {
        self.values.push_back(Value::Text(value.map(str::to_owned)));
    }
}

impl RowSource for Row {
    fn u64(&mut self) -> Option<u64> {
        match self.values.pop_front() {
            Some(Value::U64(value)) => value,
            other => panic!("asked for an integer, found {other:?}"),
        }
    }
    fn f64(&mut self) -> Option<f64> {
        match self.values.pop_front() {
            Some(Value::F64(value)) => value,
            other => panic!("asked for a float, found {other:?}"),
        }
    }
    fn bool(&mut self) -> Option<bool> {
        match self.values.pop_front() {
            Some(Value::Bool(value)) => value,
            other => panic!("asked for a boolean, found {other:?}"),
        }
    }
    fn text(&mut self) -> Option<&str> {
        match self.values.pop_front() {
            Some(Value::Text(Some(text))) => {
                self.lent = text;
                Some(&self.lent)
            }
            Some(Value::Text(None)) => None,
            other => panic!("asked for text, found {other:?}"),
        }
    }
}

/// Puts a record, holds the values against the columns, and takes it again.
fn comes_back<R: Record + PartialEq + std::fmt::Debug>(record: &R) {
    let mut row = Row::default();
    record.put(&mut row);
    assert_eq!(row.values.len(), R::COLUMNS.len(), "{}", R::TABLE);
    for (column, value) in R::COLUMNS.iter().zip(&row.values) {
        let (kind, missing) = match value {
            Value::U64(v) => (ColumnKind::U64, v.is_none()),
            Value::F64(v) => (ColumnKind::F64, v.is_none()),
            Value::Bool(v) => (ColumnKind::Bool, v.is_none()),
            Value::Text(v) => (ColumnKind::Text, v.is_none()),
        };
        assert_eq!(column.kind, kind, "{}.{}", R::TABLE, column.name);
        assert!(column.optional || !missing, "{}.{}", R::TABLE, column.name);
    }
    assert_eq!(R::take(&mut row).as_ref(), Ok(record));
    assert!(row.values.is_empty());
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Up), Just(Direction::Down)]
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Client), Just(Side::Server)]
}

fn name() -> impl Strategy<Value = Name> {
    "[a-z]{1,15}".prop_map(|s| Name::from(s.as_str()))
}

proptest! {
    #[test]
    fn messages(
        numbers: [u64; 5],
        direction in direction(),
        acked_us: Option<u64>,
        delay_us: Option<u64>,
        path in option::of(name()),
    ) {
        let [channel, id, size_bytes, answer_bytes, sent_us] = numbers;
        comes_back(&Message {
            channel, id, direction, size_bytes, answer_bytes, sent_us, acked_us, delay_us, path,
        });
    }

    #[test]
    fn samples(
        times: [u64; 2],
        side in side(),
        path in option::of(name()),
        state in "[a-z]{1,12}",
        n: [Option<u64>; 13],
        backup: Option<bool>,
        peer_backup: Option<bool>,
    ) {
        comes_back(&Sample {
            time_us: times[0],
            side,
            connection: times[1],
            path,
            state,
            srtt_us: n[0],
            rttvar_us: n[1],
            rto_us: n[2],
            timeouts: n[3],
            cwnd_bytes: n[4],
            in_flight_bytes: n[5],
            oldest_unacked_us: n[6],
            unsent_bytes: n[7],
            sent_packets: n[8],
            sent_bytes: n[9],
            received_bytes: n[10],
            lost_packets: n[11],
            retransmitted_packets: n[12],
            backup,
            peer_backup,
        });
    }

    #[test]
    fn packets(
        numbers: [u64; 4],
        path in name(),
        direction in direction(),
        delivered_ns: Option<u64>,
        dropped in option::of("[a-z-]{1,12}"),
        dsn: Option<u64>,
        data_ack: Option<u64>,
    ) {
        let [id, size_bytes, payload_bytes, enqueued_ns] = numbers;
        comes_back(&Packet {
            path, direction, id, size_bytes, payload_bytes, enqueued_ns, delivered_ns,
            dropped: dropped.map(String::into_boxed_str),
            dsn, data_ack,
        });
    }

    #[test]
    fn link_states(
        numbers: [u64; 3],
        path in name(),
        direction in direction(),
        rate_bps: Option<u64>,
        loss in 0.0..=1.0,
        up: bool,
        signal_dbm in option::of(-100.0..0.0),
    ) {
        let [time_us, delay_us, queue_bytes] = numbers;
        comes_back(&LinkState {
            time_us, path, direction, rate_bps, delay_us, loss, up, queue_bytes, signal_dbm,
        });
    }
}

#[test]
fn a_cell_that_is_missing_or_unknown_names_its_column() {
    let mut row = Row::default();
    None::<u64>.put(&mut row);
    let missing = CellError {
        column: "channel",
        found: "nothing".to_owned(),
    };
    assert_eq!(Message::take(&mut row), Err(missing));
    let mut row = Row::default();
    0_u64.put(&mut row);
    0_u64.put(&mut row);
    "sideways".to_owned().put(&mut row);
    let error = Message::take(&mut row).unwrap_err();
    assert_eq!(error.to_string(), "column `direction` holds `sideways`");
}

#[test]
fn columns_are_named_once_and_end_in_their_unit() {
    fn check<R: Record>() -> &'static str {
        let names: BTreeSet<&str> = R::COLUMNS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), R::COLUMNS.len(), "{}", R::TABLE);
        for column in R::COLUMNS {
            let measured = ["size", "time", "delay", "rate", "signal", "srtt", "sent"];
            let bare = measured.contains(&column.name) && column.kind == ColumnKind::U64;
            assert!(!bare, "{}.{} has no unit", R::TABLE, column.name);
        }
        R::TABLE
    }
    let tables = [
        check::<Message>(),
        check::<Sample>(),
        check::<Packet>(),
        check::<LinkState>(),
    ];
    assert_eq!(tables, ["messages", "samples", "packets", "links"]);
}

/// Tables and JSON say `up`, `client` ... alike.
#[test]
fn text_cells_are_spelt_as_in_json() {
    fn spelt(value: &impl serde::Serialize) -> Value {
        let json = serde_json::to_value(value).unwrap();
        Value::Text(json.as_str().map(str::to_owned))
    }
    let mut row = Row::default();
    for direction in [Direction::Up, Direction::Down] {
        direction.put(&mut row);
        assert_eq!(row.values.pop_front(), Some(spelt(&direction)));
    }
    for side in [Side::Client, Side::Server] {
        side.put(&mut row);
        assert_eq!(row.values.pop_front(), Some(spelt(&side)));
    }
}

#[test]
fn an_event_is_one_json_line() {
    let mut event = Event::new(
        Time::from_millis(10_020),
        EventKind::Decision,
        "open\ncellular",
    );
    let plain = r#"{"time_us":10020000,"kind":"decision","detail":"open\ncellular"}"#;
    assert_eq!(serde_json::to_string(&event).unwrap(), plain);
    assert_eq!(serde_json::from_str::<Event>(plain).unwrap(), event);
    event.path = Some(Name::from("cellular"));
    event.cause = Some("under-rto".to_owned());
    event.detail.clear();
    let line = serde_json::to_string(&event).unwrap();
    assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
}
