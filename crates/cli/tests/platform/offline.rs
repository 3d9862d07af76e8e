//! What becomes of a result when the collector is away? It waits, is sent once, and its uploader can delete
//! it.

use crate::clock::Clock;
use crate::database;
use crate::deployment::{Deployment, URL};
use crate::stable::{assert_stored, uploaded};
use serde_json::{Value, json};

/// The collector stops while a test runs, and comes back later; the test runs by `clock`.
pub fn a_run_waits_is_sent_once_and_deleted(deployment: &mut Deployment, clock: Option<&Clock>) {
    let before = database::count(&deployment.database, "SELECT COUNT(*) FROM runs");
    let mut command = deployment.client(&["test", "brief", "--collector", URL]);
    command.args([
        "--path",
        "wifi=wlan0:wifi",
        "--path",
        "cellular=wwan0:cellular",
    ]);
    let out = if clock.is_some() {
        "away-by-another-clock"
    } else {
        "away"
    };
    command.args(["--consent", "agree", "--json-stream", "--out", out]);
    if let Some(clock) = clock {
        clock.sets(&mut command);
    }
    let client = deployment.start_client(&mut command);
    let mut result = Value::Null;
    let mut stopped = false;
    while let Some((_, line)) = client.line() {
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        if line["type"] == "message" && !stopped {
            deployment.stop_collector();
            stopped = true;
        }
        if line["type"] == "result" {
            result = line;
        }
    }
    let ended = client.finish();
    let runs = uploaded(&result, &deployment.home());
    let [(id, folder)] = &runs[..] else {
        panic!("one run was expected: {result:#}\n{ended:?}");
    };
    assert_eq!(result["uploads"]["waiting"], json!([id]), "{result:#}");
    assert!(result["uploads"]["why_waiting"].is_string(), "{result:#}");

    deployment.start_collector();
    let now = database::count(&deployment.database, "SELECT COUNT(*) FROM runs");
    assert_eq!(
        now, before,
        "nothing was stored while the collector was away"
    );
    let upload = |deployment: &Deployment| {
        let mut command = deployment.client(&["test", "--upload-only", "--json"]);
        deployment.start_client(&mut command).finish().success()
    };
    let sent = upload(deployment);
    assert_eq!(sent["uploads"][0]["stored"], json!([id]), "{sent:#}");
    assert_eq!(
        upload(deployment),
        json!({"uploads": []}),
        "nothing is left to send"
    );
    let (rest, stored) = (deployment.rest(), database::runs(&deployment.database));
    assert_eq!(stored.len() as i64, before + 1);
    assert_stored(deployment, &rest, &stored, id, folder);

    let path = format!("/api/v1/runs/{id}");
    let mut command = deployment.client(&["test", "--json", "--delete", id]);
    deployment.start_client(&mut command).finish().success();
    assert_eq!(rest.get(&path).0, 404, "a deleted run is gone");
    let stored = database::runs(&deployment.database);
    assert!(
        stored.iter().all(|row| row.text("id") != Some(id)),
        "{id} is still there"
    );
    assert_eq!(stored.len() as i64, before);
    let documents = database::count(&deployment.database, "SELECT COUNT(*) FROM documents");
    assert_eq!(documents, before, "a document was left behind");
}
