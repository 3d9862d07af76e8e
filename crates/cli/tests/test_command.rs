//! Does `walkabout test` ask first, send nothing when it is declined, and say clearly what is wrong?

#[path = "../../platform/tests/fake_collector/mod.rs"]
mod fake_collector;

use assert_cmd::Command;
use fake_collector::{Answer, Fake};
use platform::api::{ConsentText, Experiment, ExperimentTraffic, Limits, Metadata, Server};
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use tempfile::TempDir;

/// A folder with the client's places in it, and a collector with one server, which counts who comes.
struct Stage {
    folder: TempDir,
    fake: Fake,
    server: TcpListener,
}

impl Stage {
    fn new() -> Stage {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        server.set_nonblocking(true).expect("our socket");
        Stage {
            folder: TempDir::new().expect("a folder"),
            fake: Fake::start(),
            server,
        }
    }

    fn metadata(&self) -> Metadata {
        let port = self.server.local_addr().expect("bound").port();
        let traffic: Value = serde_json::json!({"ping": {}});
        Metadata {
            name: "a trial".into(),
            walkabout_version: "0.1.0".into(),
            consent: ConsentText {
                version: "0123456789abcdef".into(),
                text: "We measure your networks.".into(),
                retention_days: 30,
            },
            servers: vec![Server {
                id: "near".into(),
                place: "here".into(),
                addresses: vec!["127.0.0.1".parse().expect("an address")],
                ports: vec![port],
                certificate_sha256: "0".repeat(64),
            }],
            experiments: vec![Experiment {
                name: "quick".into(),
                summary: "Pings".into(),
                mode: model::live::Mode::Stable,
                transports: vec!["tcp".into()],
                policies: vec!["single".into()],
                traffic: vec![ExperimentTraffic {
                    traffic: serde_json::from_value(traffic).expect("a pattern"),
                    seconds: 5,
                }],
            }],
            limits: Limits {
                upload_bytes: 1 << 20,
                upload_expanded_bytes: 8 << 20,
                uploads_per_hour: 100,
                tokens_per_hour: 100,
                token_bytes: 1 << 30,
                token_seconds: 600,
            },
            token_key: "0".repeat(64),
            now: jiff::Timestamp::now().to_string(),
        }
    }

    /// Runs `walkabout test` and returns exit code, standard output and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().expect("it starts");
        (
            output.status.code().expect("it was not killed"),
            String::from_utf8(output.stdout).expect("UTF-8"),
            String::from_utf8(output.stderr).expect("UTF-8"),
        )
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("walkabout").expect("the binary");
        command
            .current_dir(self.folder.path())
            .env("XDG_DATA_HOME", self.folder.path().join("data"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .arg("test")
            .args(arguments);
        command
    }

    /// Runs it against the collector, which gives out its metadata first.
    fn against(&self, arguments: &[&str]) -> (i32, String, String) {
        let metadata = serde_json::to_string(&self.metadata()).expect("JSON");
        self.fake.answer_next(Answer::Plain(200, metadata));
        let url = self.fake.url();
        let mut all = vec!["--collector", &url];
        all.extend(arguments);
        self.run(&all)
    }

    /// What the collector was asked.
    fn asked(&self) -> Vec<String> {
        let requests = self.fake.requests();
        requests.into_iter().map(|request| request.line).collect()
    }

    fn nobody_came_to_the_server(&self) -> bool {
        let error = self.server.accept().expect_err("nobody");
        error.kind() == std::io::ErrorKind::WouldBlock
    }
}

/// The name of an interface that is up and has an address, or `None`.
fn an_interface() -> Option<String> {
    let all = measure::world::live::interfaces().expect("netlink");
    let usable = all
        .into_iter()
        .find(|i| i.running && !i.addresses.is_empty());
    usable.map(|i| i.name)
}

#[test]
fn without_consent_no_server_hears_of_us() {
    let stage = Stage::new();
    let path = match an_interface() {
        Some(interface) => format!("wire={interface}:ethernet"),
        // Then the test ends before anyone is asked, which is as silent.
        None => "wire=lo:ethernet".to_owned(),
    };
    // Nobody is there to agree: the text is shown, with what agrees.
    let (code, out, err) = stage.against(&["--path", &path]);
    if an_interface().is_some() {
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("We measure your networks."), "{err}");
        assert!(err.contains("--consent 0123456789abcdef"), "{err}");
        let (code, _, err) = stage.against(&["--path", &path, "--consent", "fedcba9876543210"]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("version 0123456789abcdef now"), "{err}");
    }
    assert_eq!(out, "");
    assert!(
        stage
            .asked()
            .iter()
            .all(|line| line == "GET /api/v1/metadata")
    );
    assert!(stage.nobody_came_to_the_server());
    assert!(
        !stage
            .folder
            .path()
            .join("config/walkabout/consent.json")
            .exists()
    );
    // Nor is an empty folder left behind.
    let runs = stage.folder.path().join("runs");
    assert!(!runs.exists() || std::fs::read_dir(runs).expect("a folder").next().is_none());
}

#[test]
fn wrong_arguments_are_named() {
    let stage = Stage::new();
    for (arguments, words) in [
        (
            &["--collector", "collector.example"][..],
            "http://HOST:PORT",
        ),
        (&[][..], "--collector"),
        (
            &["--collector", "http://x", "--mode", "walking"][..],
            "stable, mobile",
        ),
        (
            &["--collector", "http://x", "--path", "wifi"][..],
            "NAME=IFACE",
        ),
        (
            &["--collector", "http://x", "--location", "here"][..],
            "50.7,4.6",
        ),
        (&["--delete", "../x"][..], "the id of a run"),
        (
            &["--delete", "0123abcd"][..],
            "no run `0123abcd` was queued here",
        ),
    ] {
        let (code, out, err) = stage.run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
    assert_eq!(stage.asked(), [""; 0]);
    for (arguments, words) in [
        (&["fast"][..], "no experiment `fast`; it has quick"),
        (&["--mode", "mobile"][..], "no experiment `mobile`"),
        (
            &["--path", "wifi=nosuch0:wifi"][..],
            "no interface `nosuch0`",
        ),
    ] {
        let (code, _, err) = stage.against(arguments);
        assert_eq!(code, 2, "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
}

#[test]
fn a_collector_that_is_none_is_told_apart_from_one_that_is_away() {
    let stage = Stage::new();
    stage.fake.answer_next(Answer::Plain(200, "<html>".into()));
    let url = stage.fake.url();
    let (code, out, _) = stage.run(&["--collector", &url, "--json"]);
    let error: Value = serde_json::from_str(&out).expect("JSON even then");
    assert_eq!((code, &error["error"]["exit_code"]), (1, &Value::from(1)));
    let message = error["error"]["message"].as_str().expect("words");
    assert!(
        message.contains("does not answer as a collector"),
        "{message}"
    );
    let gone = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    let (code, _, err) = stage.run(&["--collector", &format!("http://{gone}")]);
    assert_eq!(code, 1);
    assert!(err.contains("cannot be reached"), "{err}");
}

/// A run queued as an earlier test would have.
#[test]
fn a_collector_without_test_servers_is_told_before_anything_is_asked() {
    let stage = Stage::new();
    let mut metadata = stage.metadata();
    metadata.servers.clear();
    let metadata = serde_json::to_string(&metadata).expect("JSON");
    stage.fake.answer_next(Answer::Plain(200, metadata));
    let (code, out, error) = stage.run(&["--collector", &stage.fake.url()]);
    assert_eq!((code, out.as_str()), (1, ""), "{error}");
    assert!(error.contains("lists no test server"), "{error}");
    assert!(error.contains("[[server]]"), "{error}");
    assert!(!error.contains("We measure your networks"), "{error}");
}

fn queued(stage: &Stage) -> platform::client::Queued {
    let folder = stage.folder.path().join("data/walkabout/queue");
    let queue = platform::client::Queue::open(&folder).expect("a queue");
    let upload = upload();
    queue.add(&stage.fake.url(), &upload).expect("room")
}

fn upload() -> platform::api::Upload {
    let text = model::scenario::builtin::find("steady").expect("built in");
    let scenario = model::Scenario::parse(text, "steady").expect("valid");
    let (world, seed) = (model::World::Live, model::Seed(1));
    platform::api::Upload {
        format: platform::api::UPLOAD_FORMAT.to_owned(),
        manifest: model::Manifest::new(world, &scenario, "tcp", "single", seed),
        messages: Default::default(),
        samples: Default::default(),
        links: Default::default(),
        events: Vec::new(),
    }
}

#[test]
fn what_waits_is_uploaded_later_and_can_be_deleted() {
    let stage = Stage::new();
    let (first, second) = (queued(&stage), queued(&stage));
    let (code, out, err) = stage.run(&["--upload-only", "--json"]);
    assert_eq!(code, 0, "{err}");
    let sent: Value = serde_json::from_str(&out).expect("JSON");
    let stored = serde_json::json!([first.id, second.id]);
    assert_eq!(sent["uploads"][0]["stored"], stored, "{sent:#}");
    assert_eq!(stage.fake.stored().len(), 2);

    let (code, out, err) = stage.run(&["--delete", &first.id[..10], "--json"]);
    assert_eq!(code, 0, "{err}");
    let deleted: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(deleted["deleted"], first.id.as_str());
    let request = stage.fake.requests().pop().expect("a request");
    assert_eq!(request.line, format!("DELETE /api/v1/runs/{}", first.id));
    assert_eq!(request.header("walkabout-secret"), Some(&*first.secret));
    // Once is enough.
    assert_eq!(stage.run(&["--delete", &first.id]).0, 2);

    // What the collector refuses for good is said, and not tried again.
    queued(&stage);
    stage.fake.answer_next(Answer::Problem(413, "too-large"));
    let (code, _, err) = stage.run(&["--upload-only"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("title of 413"), "{err}");
    let (code, _, err) = stage.run(&["--upload-only"]);
    assert_eq!((code, err.contains("nothing waits")), (0, true), "{err}");
}

#[test]
fn what_a_killed_test_recorded_is_queued_by_the_next_and_once() {
    let stage = Stage::new();
    let mut command = Command::cargo_bin("walkabout").expect("the binary");
    let run = [
        "run",
        "steady",
        "--world",
        "virtual",
        "--protocol",
        "tcp",
        "--out",
        "earlier",
    ];
    let done = command.current_dir(stage.folder.path()).args(run).output();
    assert!(done.expect("it starts").status.success());
    let folder = stage.folder.path().join("earlier/tcp");
    let manifest = folder.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replace("\"status\": \"complete\"", "\"status\": \"incomplete\"");
    std::fs::write(&manifest, text).expect("our folder");

    let notes = stage.folder.path().join("data/walkabout/under-way");
    std::fs::create_dir_all(&notes).expect("our folder");
    let note = |id: &str, folder: &Path| {
        let note = serde_json::json!({"folder": folder, "collector": stage.fake.url()});
        let file = notes.join(format!("{id}.json"));
        std::fs::write(&file, note.to_string()).expect("our folder");
        file
    };
    let id = "0".repeat(32);
    let file = note(&id, &folder);
    // One that never began, and one that somebody measures right now.
    let nothing = note(&"1".repeat(32), &stage.folder.path().join("nowhere"));
    let busy = note(&"2".repeat(32), &folder);
    let lock = std::fs::File::open(&busy).expect("a note");
    lock.lock().expect("free");

    let (code, out, err) = stage.run(&["--upload-only", "--json"]);
    assert_eq!(code, 0, "{err}");
    let sent: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        sent["uploads"][0]["stored"],
        serde_json::json!([id]),
        "{sent:#}"
    );
    assert!(err.contains("ended in the middle of a run"), "{err}");
    assert!(err.contains(&format!("queued as {id}")), "{err}");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    assert!(text.contains("ended before the run was over"), "{text}");
    assert_eq!(
        [&file, &nothing, &busy].map(|file| file.exists()),
        [false, false, true]
    );
    // A note that outlived its run's upload leads to no second one.
    note(&id, &folder);
    let (code, _, err) = stage.run(&["--upload-only"]);
    assert_eq!((code, err.contains("nothing waits")), (0, true), "{err}");
    assert_eq!(stage.fake.stored().len(), 1);
    // Who measures is gone now.
    drop(lock);
    let (code, _, err) = stage.run(&["--upload-only"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(stage.fake.stored().len(), 2);
}

#[test]
fn a_run_in_the_virtual_world_becomes_a_scenario_again() {
    let folder = TempDir::new().expect("a folder");
    let walkabout = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("walkabout").expect("the binary");
        let output = command.current_dir(folder.path()).args(arguments).output();
        let output = output.expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {err}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let run = |scenario: &str, out: &str| {
        walkabout(&[
            "run",
            scenario,
            "--world",
            "virtual",
            "--protocol",
            "mptcp",
            "--policy",
            "backup",
            "--out",
            out,
            "--json",
        ])
    };
    for (name, failures) in [
        ("blackhole", 1),
        ("blackhole-up", 1),
        ("link-down", 1),
        ("walk", 1),
    ] {
        run(name, name);
        let scenario = format!("{name}.toml");
        let recorded = walkabout(&[
            "record",
            &format!("{name}/mptcp-backup"),
            "--out",
            &scenario,
            "--json",
        ]);
        let recorded: Value = serde_json::from_str(&recorded).expect("JSON");
        let found = recorded["failures"].as_u64().expect("a number");
        assert!(found >= failures, "{name}: {recorded:#}");
        let wifi = recorded["paths"][0]["delay_us"][0][1]
            .as_u64()
            .expect("a delay");
        assert!((8_000..=14_000).contains(&wifi), "{name}: {recorded:#}");
        if let Some(direction) = name.strip_prefix("blackhole-") {
            assert_eq!(
                recorded["paths"][0]["failures"][0]["direction"], direction,
                "{recorded:#}"
            );
        }
        // It is refused to be lost by mistake.
        let again = Command::cargo_bin("walkabout")
            .expect("the binary")
            .current_dir(folder.path())
            .args([
                "record",
                &format!("{name}/mptcp-backup"),
                "--out",
                &scenario,
            ])
            .output()
            .expect("it starts");
        assert_eq!(again.status.code(), Some(2));
        // What was recorded does to the same protocol about what was seen.
        run(&scenario, &format!("{name}-again"));
        let (first, second) = (
            longest(folder.path(), name),
            longest(folder.path(), &format!("{name}-again")),
        );
        // A walk too, although it is at the edge of reception for long, where chance decides what is lost.
        let bounds = 0.4..2.5;
        let ratio = second / first;
        assert!(
            bounds.contains(&ratio),
            "{name}: {first} s, then {second} s"
        );
    }
}

/// Real stacks say less than those in virtual time; what they say has to be enough.
#[test]
fn an_emulated_run_becomes_a_scenario_that_runs_in_virtual_time() {
    let folder = TempDir::new().expect("a folder");
    let blackhole = model::scenario::builtin::find("blackhole").expect("built in");
    let short = blackhole
        .replace("duration = \"30 s\"", "duration = \"8 s\"")
        .replace(
            "from = \"10 s\", to = \"10.1 s\"",
            "from = \"3 s\", to = \"3.1 s\"",
        );
    std::fs::write(folder.path().join("short.toml"), short).expect("our folder");
    let walkabout = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("walkabout").expect("the binary");
        let output = command.current_dir(folder.path()).args(arguments).output();
        let output = output.expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {err}");
        let json = serde_json::from_slice::<Value>(&output.stdout);
        json.expect("JSON")
    };
    let protocols = [
        "--protocol",
        "mptcp",
        "--protocol",
        "quic",
        "--policy",
        "backup",
    ];
    let run = |scenario: &str, world: &str, out: &str| {
        let mut arguments = vec!["run", scenario, "--world", world, "--out", out, "--json"];
        arguments.extend(protocols);
        walkabout(&arguments)
    };
    run("short.toml", "emulated", "real");
    for transport in ["mptcp-backup", "quic"] {
        let scenario = format!("{transport}.toml");
        let recorded = walkabout(&[
            "record",
            &format!("real/{transport}"),
            "--out",
            &scenario,
            "--json",
        ]);
        let wifi = &recorded["paths"][0];
        // 10 ms each way, and what a busy machine adds.
        let delay = wifi["delay_us"][0][1].as_u64().expect("a delay");
        assert!((9_900..20_000).contains(&delay), "{recorded:#}");
        let failures = wifi["failures"].as_array().expect("a list");
        assert_eq!(failures.len(), 1, "{recorded:#}");
        assert_eq!(failures[0]["kind"], "silent-loss");
        assert_eq!(
            (&failures[0]["to_us"], &failures[0]["direction"]),
            (&Value::Null, &Value::Null)
        );
        // Drawn from 3 to 3.1 s; what was sent after it was the first to be lost.
        let from = failures[0]["from_us"].as_u64().expect("a time");
        assert!((2_900_000..3_500_000).contains(&from), "{recorded:#}");
        let again = run(&scenario, "virtual", &format!("{transport}-again"));
        let rows = again["table"]["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 2);
        let quic = rows
            .iter()
            .find(|row| row["transport"] == "quic")
            .expect("a row");
        // QUIC on one path stalls to the end, as it did.
        assert_eq!(
            quic["cells"]["delay-max"]["max"]["censored"], true,
            "{quic:#}"
        );
    }
}

/// The longest delay of the one run of an experiment, in seconds.
fn longest(folder: &Path, experiment: &str) -> f64 {
    let table = std::fs::read(folder.join(experiment).join("table.json")).expect("a table");
    let table: Value = serde_json::from_slice(&table).expect("JSON");
    let cell = &table["rows"][0]["cells"]["delay-max"]["max"]["value"];
    cell.as_f64().unwrap_or_else(|| panic!("{table:#}"))
}
