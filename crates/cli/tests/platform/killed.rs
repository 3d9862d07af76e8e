//! What becomes of a run whose client is killed in the middle of it? The next test finds what was recorded,
//! says so, and uploads it once; not so where nothing was to be uploaded.

use crate::database;
use crate::deployment::Deployment;
use serde_json::{Value, json};

/// Kills a client, and looks what the next does.
pub fn what_a_killed_client_recorded_is_uploaded_by_the_next(deployment: &mut Deployment) {
    let before = database::count(&deployment.database, "SELECT COUNT(*) FROM runs");
    killed(deployment, "killed-quietly", &["--no-upload"]);
    let (sent, said) = upload(deployment);
    assert_eq!(sent, json!({"uploads": []}), "{said}");
    let quiet = said;

    killed(deployment, "killed", &[]);
    let (sent, said) = upload(deployment);
    let [id] = &sent["uploads"][0]["stored"].as_array().expect("a list")[..] else {
        panic!("one run was expected: {sent:#}\n{said}");
    };
    // The log is that of all the client's tests.
    let said = &said[quiet.len()..];
    assert!(
        said.contains("an earlier test was ended in the middle of a run: what"),
        "{said}"
    );
    assert_eq!(upload(deployment).0, json!({"uploads": []}));
    let stored = database::runs(&deployment.database);
    assert_eq!(stored.len() as i64, before + 1);
    let row = stored.iter().find(|row| json!(row.text("id")) == *id);
    let row = row.expect("it is stored");
    assert_eq!(row.text("status"), Some("incomplete"));
    assert_eq!(row.text("ended"), Some("failed"));
    let document: Value = serde_json::from_str(&row.document).expect("JSON");
    let messages = document["messages"]["sent_us"]
        .as_array()
        .map_or(0, Vec::len);
    assert!(messages > 0, "{}", document["messages"]);
    let error = document["manifest"]["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("ended before the run was over: what it had recorded until then is kept"),
        "{error}"
    );
    // Gone again, so that the others find what they expect.
    let id = id.as_str().expect("an id");
    let mut command = deployment.client(&["test", "--json", "--delete", id]);
    deployment.start_client(&mut command).finish().success();
}

/// A client that is killed once answers have come, and some of them are in its folder.
fn killed(deployment: &Deployment, out: &str, more: &[&str]) {
    let mut command = deployment.test(&["brief", "--consent", "agree", "--json-stream"]);
    command.args(["--out", out]).args(more);
    let client = deployment.start_client(&mut command);
    let mut messages = 0;
    while messages < 20 {
        let (_, line) = client.line().expect("it goes on until it is killed");
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        messages += u32::from(line["type"] == "message");
    }
    client.kill();
}

/// What `--upload-only` comes to, and all that the client has said so far.
fn upload(deployment: &Deployment) -> (Value, String) {
    let mut command = deployment.client(&["test", "--upload-only", "--json"]);
    let ended = deployment.start_client(&mut command).finish();
    (ended.success(), ended.err)
}
