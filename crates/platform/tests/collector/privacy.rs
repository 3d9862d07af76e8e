//! Are raw identifiers found anywhere? Put into every text of an upload and of live items, and looked for
//! in the database's files, in every answer, and in the log.

use super::rig::{Rig, TEST, id};
use super::sample;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use walkabout_platform::store::Store;

/// What a careless or hostile client may send: names of a network, a host and a person, addresses of
/// interfaces and of the internet.
const RAW: [&str; 8] = [
    "ZaphodsWiFi",
    "Heart of Gold 7590",
    "zaphods-laptop",
    "0a:1b:2c:3d:4e:5f",
    "0a-1b-2c-3d-4e-5f",
    "203.0.113.77",
    "2001:db8:42:1::beeb",
    "<script>alert(document.cookie)</script>",
];

/// What must not be found: the telling parts of these.
const TELLING: [&str; 9] = [
    "zaphod",
    "heart of gold",
    "0a:1b:2c",
    "0a-1b-2c",
    "113.77",
    "beeb",
    "db8:42:1",
    "<script",
    "document.cookie",
];

fn find(place: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    for telling in TELLING {
        let at = text
            .find(telling)
            .map(|at| &text[at..(at + 80).min(text.len())]);
        assert_eq!(at, None, "`{telling}` in {place}");
    }
}

/// The places of all texts within `value`.
fn texts(value: &Value, at: &str, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(at.to_owned()),
        Value::Array(values) => {
            // One row of a table stands for the others.
            for (n, value) in values.iter().enumerate().take(3) {
                texts(value, &format!("{at}/{n}"), places);
            }
        }
        Value::Object(values) => {
            for (key, value) in values {
                let key = key.replace('~', "~0").replace('/', "~1");
                texts(value, &format!("{at}/{key}"), places);
            }
        }
        _ => {}
    }
}

/// What is logged while this lives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

/// Writes down what one thread logs.
struct LogOf(Log, ThreadId);

impl Write for LogOf {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if std::thread::current().id() != self.1 {
            return Ok(bytes.len());
        }
        self.0.0.lock().expect("the log").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn nothing_raw_is_kept_of_any_text() {
    let log = Log::default();
    let (writer, thread) = (log.clone(), std::thread::current().id());
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || LogOf(writer.clone(), thread))
        .finish();
    // For all threads: a place that another test's thread reaches first, and which has no subscriber
    // there, would be taken for one that nobody listens to.
    tracing::subscriber::set_global_default(subscriber).expect("the only one");

    let rig = Rig::with_limits(|limits| {
        limits.requests_per_second = 1_000_000;
        limits.uploads_per_hour = 1_000_000;
    })
    .await;
    let mut sample = sample::json();
    // Every text that may be there is.
    sample["manifest"]["error"] = json!("timed out");
    sample["manifest"]["device"] = json!("tun");
    sample["manifest"]["stack"]["security"] = json!("TLS 1.3");
    sample["manifest"]["scenario"]["congestion"] = json!("cubic");
    sample["manifest"]["scenario"]["scheduler"] = json!("lowest-rtt");
    sample["manifest"]["scenario"]["path"][0]["up"]["trace"] = json!("traces/up.mahi");
    sample["manifest"]["live"]["invalid"] = json!("the interfaces changed");
    let mut places = Vec::new();
    texts(&sample, "", &mut places);
    assert!(places.len() > 60, "{places:#?}");
    let (mut stored, mut refused) = (Vec::new(), 0);
    let mut number = 0;
    for place in &places {
        for raw in RAW {
            number += 1;
            let mut upload = sample.clone();
            *upload.pointer_mut(place).expect("a text") = json!(raw);
            match rig.put(&id(number), &upload).await {
                answer if answer.status == 201 => stored.push(id(number)),
                answer => {
                    answer.problem();
                    assert_eq!(answer.status.as_u16() / 100, 4, "{place}: {raw}");
                    refused += 1;
                }
            }
            // The same behind words, as in a message of the system.
            if place.ends_with("detail") || place.ends_with("cause") || place.ends_with("error") {
                number += 1;
                let said = format!("cannot connect to {raw}: refused ({raw}), by {raw}");
                *upload.pointer_mut(place).expect("a text") = json!(said);
                rig.put(&id(number), &upload).await.expect(201);
                stored.push(id(number));
            }
        }
    }
    // Keys are texts too.
    for raw in RAW {
        number += 1;
        let mut upload = sample.clone();
        upload["manifest"]["sysctls"][raw] = json!(raw);
        rig.put(&id(number), &upload).await.expect(201);
        stored.push(id(number));
    }
    assert!(
        stored.len() > 200 && refused > 100,
        "{} {refused}",
        stored.len()
    );

    push_live(&rig).await;
    let live = format!("/api/v1/live/{TEST}/events");
    let live = rig.get(&live).await.expect(200);
    find("the live items", &live.body);

    for run in &stored {
        let answers = [
            "",
            "/report",
            "/messages.csv",
            "/samples.csv",
            "/links.csv",
            "/events.json",
        ];
        for answer in answers {
            let path = format!("/api/v1/runs/{run}{answer}");
            let answer = rig.get(&path).await.expect(200);
            assert!(!answer.header("content-type").contains("html"));
            find(&path, &answer.body);
        }
    }
    for path in [
        "/api/v1/runs?limit=200",
        "/api/v1/export/runs.csv",
        "/api/v1/export/runs.json",
        "/api/v1/usage",
        "/api/v1/live",
        "/api/v1/compare",
        "/metrics",
    ] {
        find(path, &rig.get(path).await.expect(200).body);
    }
    let files = rig.database_files();
    assert!(!files.is_empty());
    for file in files {
        find("the database", &std::fs::read(&file).expect("the database"));
    }
    // Documents are compressed within it.
    let url = format!("sqlite:{}", rig.folder.path().join("runs.sqlite").display());
    let store = Store::open(&url).await.expect("the same database");
    for run in &stored {
        let (_, document) = store.get(run).await.expect("readable").expect("stored");
        let document = zstd::decode_all(&document[..]).expect("zstd");
        find("a document", &document);
    }
    find("the log", &log.0.lock().expect("the log"));
    assert!(
        !log.0.lock().expect("the log").is_empty(),
        "nothing was logged"
    );
}

async fn push_live(rig: &Rig) {
    let token = rig.token().await;
    let started = json!({"started": {"transport": "mptcp", "policy": "backup", "pattern": "interactive",
        "paths": ["wifi", "cellular"]}});
    let decision = json!({"decision": {"action": "open", "path": "wifi", "cause": "under RTO"}});
    let rest = [
        json!({"path-in-use": {"path": "wifi"}}),
        json!({"path": {"path": "wifi", "up": true}}),
        json!({"signal": {"path": "wifi", "signal_dbm": -60.0}}),
        json!({"ended": {"why": "done"}}),
    ];
    let items: Vec<Value> = [started, decision]
        .into_iter()
        .chain(rest)
        .map(|event| json!({"run": "mptcp-backup", "time_us": 1, "event": event}))
        .collect();
    let batch = json!({"test": TEST, "experiment": "mobile", "server": "near", "token": token,
        "items": items, "over": true});
    let mut places = Vec::new();
    for (n, item) in items.iter().enumerate() {
        texts(item, &format!("/items/{n}"), &mut places);
    }
    places.push("/experiment".into());
    let mut taken = 0;
    for place in places {
        for raw in RAW {
            let mut batch = batch.clone();
            *batch.pointer_mut(&place).expect("a text") = json!(raw);
            let answer = rig.post("/api/v1/live", &batch).await;
            taken += u32::from(answer.status == 204);
            assert!(
                matches!(answer.status.as_u16(), 204 | 422),
                "{place}: {raw}"
            );
        }
    }
    assert!(taken > 20, "{taken}");
}

#[tokio::test]
async fn what_is_kept_is_as_coarse_as_was_agreed() {
    let rig = Rig::new().await;
    rig.put(&id(1), &sample::json()).await.expect(201);
    let report = rig
        .get(&format!("/api/v1/runs/{}/report", id(1)))
        .await
        .expect(200)
        .text();
    // The client's code for the network is hashed again.
    assert!(!report.contains("00112233aabbccdd"));
    assert!(
        report.contains("10.1.2.0:5000 to 203.0.113.0:443"),
        "addresses are cut"
    );
    let run = rig
        .get(&format!("/api/v1/runs/{}", id(1)))
        .await
        .expect(200)
        .json();
    assert_eq!(run["started_at"], "2026-11-21T10:31:00Z");
    let events = rig
        .get(&format!("/api/v1/runs/{}/events.json", id(1)))
        .await
        .expect(200)
        .text();
    let cause = "wifi is under RTO (230.0 ms) and there is new data";
    assert!(
        events.contains(cause),
        "what Walkabout says stays: {events}"
    );
}

#[tokio::test]
async fn interfaces_named_after_their_hardware_are_named_by_kind() {
    let rig = Rig::new().await;
    let text = sample::json().to_string();
    let text = text.replace(r#""wifi""#, r#""wlx0a1b2c3d4e5f""#);
    // The kind has the same word.
    let text = text.replace(r#""kind":"wlx0a1b2c3d4e5f""#, r#""kind":"wifi""#);
    rig.put_bytes(&id(1), text.into_bytes(), "identity")
        .await
        .expect(201);
    let messages = rig
        .get(&format!("/api/v1/runs/{}/messages.csv", id(1)))
        .await
        .expect(200);
    assert!(messages.text().contains(",wifi") && !messages.text().contains("wlx"));
}
