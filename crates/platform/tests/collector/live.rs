//! What is seen of running tests: who may show it, and what watchers get.

use super::rig::{Answer, Rig, TEST, id, request};
use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use serde_json::{Value, json};
use tokio_stream::StreamExt;
use tower::ServiceExt;
use walkabout_platform::collector::Collector;
use walkabout_platform::token::{Claims, SigningKey, random_hex};

fn batch(token: &str, times: std::ops::Range<u64>, over: bool) -> Value {
    let items = times.map(|n| {
        json!({"run": "mptcp-backup", "time_us": n * 100_000,
            "event": {"message": {"direction": "up", "delay_us": 30_000 + n}}})
    });
    json!({"test": TEST, "experiment": "mobile", "server": "near", "token": token,
        "items": items.collect::<Vec<_>>(), "over": over})
}

async fn push(rig: &Rig, batch: &Value) -> Answer {
    rig.post("/api/v1/live", batch).await
}

/// A watcher's stream.
struct Watch {
    body: BodyDataStream,
    text: String,
}

impl Watch {
    async fn begin(router: &axum::Router, last: Option<i64>) -> Watch {
        let mut watch = request(Method::GET, &format!("/api/v1/live/{TEST}/events"));
        if let Some(last) = last {
            watch = watch.header("last-event-id", last.to_string());
        }
        let watch = watch.body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(watch).await.expect("infallible");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Watch {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next event's fields: id, event and data.
    async fn next(&mut self) -> Option<[String; 3]> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let mut fields = [const { String::new() }; 3];
                for line in event.lines() {
                    for (n, key) in ["id: ", "event: ", "data: "].iter().enumerate() {
                        if let Some(value) = line.strip_prefix(key) {
                            fields[n] = value.to_owned();
                        }
                    }
                }
                self.text = rest.to_owned();
                if fields.iter().any(|field| !field.is_empty()) {
                    return Some(fields);
                }
                continue;
            }
            let more = self.body.next().await?.expect("a piece");
            self.text
                .push_str(std::str::from_utf8(&more).expect("UTF-8"));
        }
    }

    async fn items(&mut self, count: usize) -> Vec<(i64, Value)> {
        let mut items = Vec::new();
        while items.len() < count {
            let [id, event, data] = self.next().await.expect("an item");
            assert_eq!(event, "");
            let data = serde_json::from_str(&data).expect("JSON");
            items.push((id.parse().expect("a sequence"), data));
        }
        items
    }
}

#[tokio::test]
async fn watchers_see_what_is_pushed_each_item_once_and_in_order() {
    let rig = Rig::new().await;
    let token = rig.token().await;
    push(&rig, &batch(&token, 0..3, false)).await.expect(204);
    let running = rig.get("/api/v1/live").await.expect(200).json();
    assert_eq!(running[0]["test"], TEST);
    assert_eq!(running[0]["runs"], json!(["mptcp-backup"]));

    let mut early = Watch::begin(&rig.router, None).await;
    let first = early.items(3).await;
    push(&rig, &batch(&token, 3..6, false)).await.expect(204);
    let more = early.items(3).await;
    let times = |items: &[(i64, Value)]| -> Vec<u64> {
        items
            .iter()
            .map(|(_, i)| i["time_us"].as_u64().expect("a time") / 100_000)
            .collect()
    };
    assert_eq!(
        (times(&first), times(&more)),
        (vec![0, 1, 2], vec![3, 4, 5])
    );
    assert_eq!(first[0].1["event"]["message"]["delay_us"], 30_000);

    // Another watcher resumes where it was, and both see what follows.
    let mut resumed = Watch::begin(&rig.router, Some(first[1].0)).await;
    assert_eq!(times(&resumed.items(4).await), [2, 3, 4, 5]);
    push(&rig, &batch(&token, 6..8, false)).await.expect(204);
    assert_eq!(times(&resumed.items(2).await), [6, 7]);
    assert_eq!(times(&early.items(2).await), [6, 7]);

    push(&rig, &batch(&token, 8..9, true)).await.expect(204);
    assert_eq!(times(&early.items(1).await), [8]);
    let last = resumed.items(1).await[0].0;
    for mut watch in [early, resumed] {
        let [_, event, _] = watch.next().await.expect("the end");
        assert_eq!(event, "over");
        assert_eq!(watch.next().await, None);
    }
    assert_eq!(rig.get("/api/v1/live").await.expect(200).json(), json!([]));
    // Who comes back after the end is told so, once.
    let path = format!("/api/v1/live/{TEST}/events");
    let back = request(Method::GET, &path).header("last-event-id", last.to_string());
    rig.send(back.body(Body::empty()).expect("a request"))
        .await
        .expect(204);
}

#[tokio::test]
async fn two_collectors_on_one_database_show_the_same() {
    let rig = Rig::new().await;
    let other = Collector::open(super::rig::config(&rig.folder))
        .await
        .expect("another");
    let token = rig.token().await;
    push(&rig, &batch(&token, 0..2, false)).await.expect(204);
    let mut watch = Watch::begin(&other.router(), None).await;
    watch.items(2).await;
    push(&rig, &batch(&token, 2..4, false)).await.expect(204);
    let items = watch.items(2).await;
    assert_eq!(items[1].1["time_us"], 300_000);
}

#[tokio::test]
async fn only_who_holds_a_token_of_the_test_may_show_it() {
    let rig = Rig::new().await;
    let token = rig.token().await;
    let now = jiff::Timestamp::now().as_second() as u64;
    let claims = |issued_s: u64, expires_s: u64| Claims {
        id: random_hex::<16>(),
        test: TEST.into(),
        server: "near".into(),
        issued_s,
        expires_s,
        bytes: 1,
        seconds: 60,
    };
    let key = std::fs::read(rig.folder.path().join("collector.key")).expect("the key");
    let key = SigningKey::from_pkcs8(&key).expect("the key");

    let forged = SigningKey::generate().0.sign(&claims(now, now + 60));
    push(&rig, &batch(&forged, 0..1, false))
        .await
        .expect(403)
        .problem();
    push(&rig, &batch("", 0..1, false))
        .await
        .expect(403)
        .problem();
    let (payload, signature) = token.split_once('.').expect("two parts");
    let swapped = format!("{signature}.{payload}");
    push(&rig, &batch(&swapped, 0..1, false))
        .await
        .expect(403)
        .problem();
    let long_over = key.sign(&claims(now - 9_000, now - 1_000));
    push(&rig, &batch(&long_over, 0..1, false))
        .await
        .expect(403)
        .problem();
    let from_the_future = key.sign(&claims(now + 1_000, now + 2_000));
    push(&rig, &batch(&from_the_future, 0..1, false))
        .await
        .expect(403)
        .problem();
    let other_test = key.sign(&Claims {
        test: id(9),
        ..claims(now, now + 60)
    });
    push(&rig, &batch(&other_test, 0..1, false))
        .await
        .expect(403)
        .problem();
    let other_server = key.sign(&Claims {
        server: "far".into(),
        ..claims(now, now + 60)
    });
    push(&rig, &batch(&other_server, 0..1, false))
        .await
        .expect(403)
        .problem();

    // A session may begin just before its token expires, and is shown to its end.
    let under_way = key.sign(&claims(now - 3_600, now - 50));
    push(&rig, &batch(&under_way, 0..1, false))
        .await
        .expect(204);
    push(&rig, &batch(&token, 1..2, false)).await.expect(204);
    push(&rig, &batch(&token, 1..2, false)).await.expect(204);
}

#[tokio::test]
async fn what_is_no_live_item_is_refused() {
    let rig = Rig::new().await;
    let token = rig.token().await;
    let good = batch(&token, 0..1, false);
    for event in [
        json!({"message": {"direction": "sideways", "delay_us": 1}}),
        json!({"message": {"direction": "up", "delay_us": 1, "more": 1}}),
        json!({"ended": {"why": "Zaphod"}}),
        json!({"signal": {"path": "wifi", "signal_dbm": 1e9}}),
        json!({"path-in-use": {"path": ""}}),
        json!({"started": {"transport": "carrier-pigeon", "policy": "backup", "pattern": "bulk",
            "paths": ["wifi"]}}),
        json!({"waiting": {"waited_us": u64::MAX}}),
        json!({"unheard-of": {}}),
    ] {
        let mut batch = good.clone();
        batch["items"][0]["event"] = event.clone();
        let answer = push(&rig, &batch).await;
        assert_eq!(answer.expect(422).problem().status, 422, "{event}");
    }
    let many = batch(&token, 0..2_001, false);
    push(&rig, &many).await.expect(422).problem();
    rig.get("/api/v1/live/x/events").await.expect(400).problem();
    rig.get(&format!("/api/v1/live/{}/events", id(9)))
        .await
        .expect(404)
        .problem();
    let wrong = request(Method::GET, &format!("/api/v1/live/{TEST}/events"));
    let wrong = wrong.header("last-event-id", "-1").body(Body::empty());
    rig.send(wrong.expect("a request"))
        .await
        .expect(400)
        .problem();
}

#[tokio::test]
async fn watchers_are_bounded() {
    let rig = Rig::with_limits(|limits| limits.watchers_per_prefix = 2).await;
    let token = rig.token().await;
    push(&rig, &batch(&token, 0..1, false)).await.expect(204);
    let first = Watch::begin(&rig.router, None).await;
    let _second = Watch::begin(&rig.router, None).await;
    let path = format!("/api/v1/live/{TEST}/events");
    rig.get(&path).await.expect(429).problem();
    drop(first);
    // The place is free once the watcher's task has noticed.
    let free = async {
        while rig
            .get("/metrics")
            .await
            .text()
            .contains("walkabout_live_watchers 2")
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), free)
        .await
        .expect("a free place");
    Watch::begin(&rig.router, None).await.items(1).await;
}
