//! What if a clock is ten minutes off? The user is told whose, in one sentence, and nothing is lost.

use crate::database;
use crate::deployment::Deployment;
use crate::offline;
use crate::stable::uploaded;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ten minutes.
const OFF_S: i64 = 600;

/// A clock that is off.
pub struct Clock {
    library: PathBuf,
    ahead_s: i64,
}

impl Clock {
    /// One that is `ahead_s` ahead; what makes it so is built in `folder`.
    fn ahead(ahead_s: i64, folder: &Path) -> Clock {
        let library = folder.join("shifted_clock.so");
        if !library.exists() {
            let source = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/platform/shifted_clock.rs"
            );
            // Whoever can build the test has it.
            let mut command = Command::new("rustc");
            command.args(["--edition", "2024", "--crate-type", "cdylib"]);
            command
                .args(["-C", "panic=abort", "-o"])
                .arg(&library)
                .arg(source);
            let built = command.output().expect("`rustc` can be started");
            let said = String::from_utf8_lossy(&built.stderr);
            assert!(built.status.success(), "rustc: {said}");
        }
        Clock { library, ahead_s }
    }

    /// The program that `command` starts goes by it.
    pub fn sets(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library);
        command.env("WALKABOUT_TEST_CLOCK_AHEAD_S", self.ahead_s.to_string());
    }
}

/// Of a test server, then of the client.
pub fn whose_clock_is_off_is_said_and_nothing_lost(deployment: &mut Deployment) {
    let folder = deployment.folder.clone();
    for (ahead_s, off) in [(OFF_S, "10 min ahead of"), (-OFF_S, "10 min behind")] {
        let clock = Clock::ahead(ahead_s, &folder);
        the_servers(deployment, &clock, off);
        the_clients(deployment, &clock, off);
    }
    let ahead = Clock::ahead(OFF_S, &folder);
    offline::a_run_waits_is_sent_once_and_deleted(deployment, Some(&ahead));
}

/// A test against a server by whose clock no token is valid.
fn the_servers(deployment: &mut Deployment, clock: &Clock, off: &str) {
    deployment.kill_server(0);
    deployment.start_server_by(0, Some(clock));
    let out = format!("server-{}", clock.ahead_s);
    let arguments = ["plain", "--consent", "agree", "--json", "--server", "near"];
    let mut command = deployment.test(&arguments);
    command.args(["--out", &out]);
    let ended = deployment.start_client(&mut command).finish();
    let result = ended.json();
    assert_eq!(ended.status.code(), Some(1), "{:#}", result["runs"]);
    let expected = format!(
        "the clock of the test server `near` is {off} the collector's, so it takes none of the collector's \
         tokens: tell whoever runs them to set it, or take another server with --server"
    );
    let message = result["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        message,
        format!("1 of 2 runs failed or do not count: {expected}"),
        "{result:#}"
    );
    // The second would have met the same. What was recorded of the first is kept and stored.
    let runs = uploaded(&result, &deployment.home());
    assert_eq!(runs.len(), 1, "{result:#}");
    assert_eq!(result["runs"][0]["error"], json!(expected));
    let (id, _) = &runs[0];
    assert_eq!(result["uploads"]["stored"], json!([id]), "{result:#}");
    let stored = database::runs(&deployment.database);
    let row = stored.iter().find(|row| row.text("id") == Some(id));
    let row = row.expect("the run is stored");
    assert_eq!(row.text("status"), Some("failed"));

    deployment.kill_server(0);
    deployment.start_server(0);
}

/// A test by a clock that is off: it succeeds.
fn the_clients(deployment: &mut Deployment, clock: &Clock, off: &str) {
    let out = format!("client-{}", clock.ahead_s);
    let arguments = ["plain", "--consent", "agree", "--json", "--server", "near"];
    let mut command = deployment.test(&arguments);
    command.args(["--out", &out]);
    clock.sets(&mut command);
    let ended = deployment.start_client(&mut command).finish();
    let result = ended.success();
    let said = format!("this machine's clock is {off} the collector's");
    let said: Vec<&str> = ended.err.matches(&said).collect();
    // The log is that of all the client's tests.
    assert!(!said.is_empty(), "{ended:?}");
    let runs = uploaded(&result, &deployment.home());
    assert_eq!(runs.len(), 2, "{result:#}");
    let ids: Vec<Value> = runs.iter().map(|(id, _)| json!(id)).collect();
    assert_eq!(result["uploads"]["stored"], json!(ids), "{result:#}");
    for run in result["runs"].as_array().expect("runs") {
        assert_eq!(
            (&run["ended"], &run["error"]),
            (&json!("done"), &Value::Null),
            "{run:#}"
        );
    }
}
