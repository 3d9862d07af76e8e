//! Does a study run its matrix once and completely, whatever interrupts it, and are its mistakes
//! told with their place?

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder with a short scenario and a study of it.
struct Stage {
    folder: tempfile::TempDir,
}

const STUDY: &str = r#"name = "mine"
summary = "A short study"
scenarios = ["short.toml"]
transports = ["quic", "mpquic"]
policies = ["fullmesh", "backup"]
seeds = 20
baseline = "quic"

[[parameter]]
name = "cellular-delay"
key = "path.cellular.delay"
values = ["30 ms", "60 ms"]
"#;

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().expect("a folder");
        let text = model::scenario::builtin::find("blackhole").expect("built in");
        let text = text
            .replace("\"blackhole\"", "\"short\"")
            .replace("\"30 s\"", "\"3 s\"")
            .replace(
                "from = \"10 s\", to = \"10.1 s\"",
                "from = \"1 s\", to = \"1.1 s\"",
            );
        model::Scenario::parse(&text, "short").expect("still a scenario");
        fs::write(folder.path().join("short.toml"), text).expect("our own folder");
        let stage = Stage { folder };
        stage.study(STUDY);
        stage
    }

    fn study(&self, text: &str) {
        fs::write(self.path("mine.toml"), text).expect("our own folder");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("walkabout"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// The study in `out`, to its end.
    fn complete(&self, out: &str, more: &[&str]) -> Output {
        let output = self.output(&[&["study", "mine.toml", "--out", out], more].concat());
        // With `--json` the error is on standard output.
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", stderr(&output));
        output
    }

    fn start(&self, out: &str, more: &[&str]) -> Child {
        self.command(&[&["study", "mine.toml", "--out", out], more].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    }

    /// Waits until `lines` of the journal are there.
    fn journal_reaches(&self, out: &str, lines: usize, child: &mut Child) {
        let journal = self.path(out).join("journal.jsonl");
        loop {
            let text = fs::read(&journal).unwrap_or_default();
            if text.iter().filter(|b| **b == b'\n').count() >= lines {
                return;
            }
            if let Some(status) = child.try_wait().expect("our own child") {
                panic!("it ended too early: {status}");
            }
            std::thread::yield_now();
        }
    }

    /// Places in the journal, in its order.
    fn places(&self, out: &str) -> Vec<u64> {
        let text = fs::read_to_string(self.path(out).join("journal.jsonl")).expect("a journal");
        let place = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["place"].as_u64().expect("a place")
        };
        text.lines().map(place).collect()
    }

    /// The files that two executions of a study have in common.
    fn same_results(&self, one: &str, other: &str) {
        for file in ["study.json", "runs.parquet"] {
            let read = |out: &str| fs::read(self.path(out).join(file)).expect(file);
            assert!(read(one) == read(other), "{file} of {one} and {other}");
        }
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One line of error that holds all `words`, and the exit code.
fn fails(output: &Output, code: i32, words: &[&str]) {
    let err = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{err}");
    let last = err.lines().last().unwrap_or_default();
    for word in words {
        assert!(last.contains(word), "`{word}` is not in: {err}");
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).expect("a pid");
    kill(Pid::from_raw(pid), signal).expect("our own child");
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn dry_run_shows_the_matrix() {
    let stage = Stage::new();
    let output = stage.output(&["study", "mine.toml", "--dry-run", "--json"]);
    let value = json(&output);
    assert_eq!(value["cases"][1]["label"], "short cellular-delay=60 ms");
    let arms = ["quic", "mpquic-fullmesh", "mpquic-backup"].map(Value::from);
    assert_eq!(value["arms"].as_array().expect("arms"), &arms);
    assert_eq!(
        (&value["blocks"], &value["runs"]),
        (&40.into(), &120.into())
    );
    assert!(value["expected_seconds"].as_f64().is_some_and(|s| s > 0.0));
    assert!(!stage.path("runs").exists(), "nothing is written");

    let emulated = [
        "study",
        "mine.toml",
        "--dry-run",
        "--json",
        "--world",
        "emulated",
    ];
    let value = json(&stage.output(&emulated));
    assert_eq!(value["side_by_side"], 1);
    let alone = value["expected_seconds"].as_f64().expect("a number");
    assert!(alone > 360.0, "{alone}");
    let four = [&emulated[..], &["--jobs", "4"]].concat();
    let value = json(&stage.output(&four));
    assert_eq!(value["side_by_side"], 4);
    assert_eq!(value["expected_seconds"].as_f64(), Some(alone / 4.0));
}

#[test]
fn the_results_are_the_same_bytes_whatever_the_order_and_the_jobs() {
    let stage = Stage::new();
    let value = json(&stage.complete("one", &["--jobs", "1", "--json"]));
    assert_eq!((&value["runs"], &value["failed"]), (&120.into(), &0.into()));
    assert_eq!(value["study"]["groups"].as_array().map(Vec::len), Some(6));
    assert_eq!(value["study"]["baseline"], "quic");
    stage.complete("three", &["--jobs", "3"]);
    stage.same_results("one", "three");
    stage.study(&STUDY.replace("seeds = 20", "seeds = 20\norder-seed = 2"));
    stage.complete("other-order", &["--jobs", "1"]);
    assert_ne!(stage.places("one"), stage.places("other-order"));
    let table = |out: &str| fs::read(stage.path(out).join("runs.parquet")).expect("a table");
    assert!(table("one") == table("other-order"), "order is no content");
}

#[test]
fn blocks_are_whole_mixed_and_in_random_order() {
    let stage = Stage::new();
    stage.complete("out", &["--jobs", "1"]);
    let places = stage.places("out");
    // By case, seed and arm: 20 seeds of 3 arms in each of 2 cases.
    let blocks: Vec<u64> = places.chunks(3).map(|block| block[0] / 3).collect();
    for block in places.chunks(3) {
        assert!(block.iter().all(|place| place / 3 == block[0] / 3));
    }
    for round in blocks.chunks(2) {
        assert_ne!(round[0] / 20, round[1] / 20, "every case once in a round");
    }
    assert!(!blocks.is_sorted());
    let first: BTreeSet<u64> = places.chunks(3).map(|block| block[0] % 3).collect();
    assert_eq!(first.len(), 3, "any arm may be first");
}

#[test]
fn a_killed_study_goes_on_where_it_was() {
    let stage = Stage::new();
    stage.complete("whole", &[]);
    for (i, lines) in [0, 1, 25, 60].into_iter().enumerate() {
        let out = format!("killed-{i}");
        let mut child = stage.start(&out, &["--jobs", "2"]);
        stage.journal_reaches(&out, lines, &mut child);
        signal(&child, Signal::SIGKILL);
        child.wait().expect("our own child");
        let journal = stage.path(&out).join("journal.jsonl");
        let before = fs::read(&journal).unwrap_or_default();
        stage.complete(&out, &[]);
        stage.same_results("whole", &out);
        let whole = before
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let after = fs::read(&journal).expect("a journal");
        assert!(after.starts_with(&before[..whole]), "nothing is lost");
        let mut places = stage.places(&out);
        places.sort_unstable();
        assert!(places.into_iter().eq(0..120), "nothing is run twice");
    }
}

#[test]
fn a_cut_last_line_is_run_again() {
    let stage = Stage::new();
    stage.complete("whole", &[]);
    let journal = stage.path("whole/journal.jsonl");
    let text = fs::read_to_string(&journal).expect("a journal");
    let cut = text.len() - 40;
    for end in [&text[..cut], &text[..text.len() - 1], ""] {
        fs::write(&journal, end).expect("our own file");
        let table = fs::read(stage.path("whole/runs.parquet")).expect("a table");
        fs::remove_file(stage.path("whole/runs.parquet")).expect("our own file");
        stage.complete("whole", &[]);
        assert!(fs::read(stage.path("whole/runs.parquet")).expect("a table") == table);
        assert_eq!(stage.places("whole").len(), 120);
    }
    // A whole line that says nothing is damage.
    let lines: Vec<&str> = text.lines().collect();
    let damaged = [&["{\"place\":"], &lines[1..]].concat().join("\n") + "\n";
    fs::write(&journal, damaged).expect("our own file");
    let output = stage.output(&["study", "mine.toml", "--out", "whole"]);
    fails(&output, 1, &["journal.jsonl:1: damaged", "--out"]);
}

#[test]
fn an_interruption_says_how_to_go_on() {
    let stage = Stage::new();
    let mut child = stage.start("out", &["--jobs", "2", "--seeds", "200"]);
    stage.journal_reaches("out", 10, &mut child);
    signal(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("our own child");
    fails(
        &output,
        1,
        &[
            "interrupted: ",
            " of 1200 runs are done",
            "walkabout study mine.toml --seeds 200 --jobs 2 --out out",
        ],
    );
    let before = stage.places("out").len();
    assert!((10..1200).contains(&before));
    let output = stage.complete("out", &["--seeds", "200"]);
    assert!(stderr(&output).contains(&format!("{before} of 1200 runs are done already")));
    assert_eq!(stage.places("out").len(), 1200);
}

#[test]
fn a_folder_holds_one_study_of_one_process() {
    let stage = Stage::new();
    let mut child = stage.start("busy", &["--seeds", "2000", "--jobs", "1"]);
    stage.journal_reaches("busy", 1, &mut child);
    let second = stage.output(&["study", "mine.toml", "--out", "busy", "--seeds", "2000"]);
    fails(&second, 1, &["in use by another walkabout", "--out"]);
    signal(&child, Signal::SIGKILL);
    child.wait().expect("our own child");

    stage.complete("out", &["--seeds", "2"]);
    let other = |more: &[&str], words: &[&str]| {
        let arguments = [&["study", "mine.toml", "--out", "out"], more].concat();
        fails(&stage.output(&arguments), 2, words);
    };
    other(&[], &["out holds another study", "seeds", "--out"]);
    other(&["--seeds", "2", "--a-a"], &["a_a false there, true here"]);
    stage.study(&STUDY.replace("60 ms", "70 ms"));
    other(&["--seeds", "2"], &["other cases"]);
    stage.study(STUDY);
    let plan = stage.path("out/plan.json");
    let text = fs::read_to_string(&plan).expect("a plan");
    let version = format!("\"walkabout_version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version));
    fs::write(
        &plan,
        text.replace(&version, "\"walkabout_version\": \"0.0.7\""),
    )
    .expect("our own file");
    other(&["--seeds", "2"], &["walkabout_version \"0.0.7\" there"]);

    fs::create_dir(stage.path("full")).expect("our own folder");
    fs::write(stage.path("full/precious"), "data").expect("our own folder");
    let full = stage.output(&["study", "mine.toml", "--out", "full"]);
    fails(&full, 2, &["full is not empty"]);
    assert!(!stage.path("full/journal.jsonl").exists());
}

#[test]
fn folders_are_kept_as_asked() {
    let stage = Stage::new();
    stage.complete("none", &["--seeds", "1"]);
    assert!(!stage.path("none/runs").exists());
    stage.complete("failed", &["--seeds", "1", "--folders", "failed"]);
    assert!(!stage.path("failed/runs").exists(), "none failed");
    stage.complete("all", &["--seeds", "1", "--folders", "all"]);
    for run in ["short-1/quic-1", "short-2/mpquic-backup-1"] {
        let manifest = stage.path("all/runs").join(run).join("manifest.json");
        let text = fs::read_to_string(&manifest).expect("a kept run");
        let manifest: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(manifest["status"], "complete");
        assert_eq!(manifest["seed"], 1);
    }
    let kept = fs::read_dir(stage.path("all/runs/short-2")).expect("a folder");
    assert_eq!(kept.count(), 3);
}

#[test]
fn each_arm_runs_twice_in_an_a_a_study() {
    let stage = Stage::new();
    stage.study(STUDY.split_once("[[parameter]]").expect("a parameter").0);
    let value = json(&stage.complete("out", &["--a-a", "--seeds", "4", "--json"]));
    assert_eq!(value["runs"], 4 * 3 * 2);
    assert_eq!(value["study"]["a_a"], true);
    let lines = fs::read_to_string(stage.path("out/journal.jsonl")).expect("a journal");
    let values = lines
        .lines()
        .filter_map(|line| line.split_once("\"values\":"));
    let values: BTreeSet<&str> = values.map(|(_, values)| values).collect();
    assert!(values.len() > 4 * 3, "the copies have seeds of their own");
}

#[test]
fn mistakes_name_the_line() {
    let stage = Stage::new();
    let cases: [(&str, &str, &[&str]); 14] = [
        (
            "seeds = 20",
            "seed = 20",
            &["mine.toml:6:1:", "`seed`", "did you mean `seeds`?"],
        ),
        (
            "seeds = 20",
            "seeds = 0",
            &["mine.toml:6:9:", "at least 1 seed"],
        ),
        (
            "seeds = 20",
            "seeds = \"x\"",
            &["mine.toml:6:9:", "a number of seeds such as `100`"],
        ),
        (
            "seeds = 20",
            "seeds = { form = 1 }",
            &["did you mean `from`?"],
        ),
        (
            "short.toml",
            "shrot.toml",
            &["mine.toml:3:14:", "shrot.toml", "blackhole"],
        ),
        (
            "\"backup\"",
            "\"bakcup\"",
            &["mine.toml:5:", "did you mean `backup`?"],
        ),
        (
            "\"mpquic\"",
            "\"sctp\"",
            &["mine.toml:4:", "unknown transport `sctp`"],
        ),
        (
            "baseline = \"quic\"",
            "baseline = \"tcp\"",
            &["mine.toml:7:12:", "`tcp` takes no part"],
        ),
        (
            "baseline = \"quic\"",
            "primary = \"delay\"",
            &["mine.toml:7:11:", "`delay`", "delay-max"],
        ),
        (
            "baseline = \"quic\"",
            "primary = \"cellular-cause\"",
            &["no metric that is a number"],
        ),
        (
            "\"60 ms\"",
            "\"60 parsecs\"",
            &["mine.toml:12:20:", "60 parsecs", "is not a time"],
        ),
        (
            "path.cellular.delay",
            "path.cellular.dealy",
            &["mine.toml:12:11:", "did you mean `delay`?"],
        ),
        (
            "path.cellular.delay",
            "path.celular.delay",
            &["expected one of wifi, cellular"],
        ),
        (
            "\"60 ms\"",
            "\"30 ms\"",
            &["mine.toml:12:", "`30 ms` is in the list twice"],
        ),
    ];
    for (from, to, words) in cases {
        assert!(STUDY.contains(from), "{from}");
        stage.study(&STUDY.replace(from, to));
        let output = stage.output(&["study", "mine.toml", "--dry-run"]);
        fails(&output, 2, words);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    stage.study(STUDY);
    let arguments: [(&[&str], &[&str]); 3] = [
        (
            &["study", "handovr"],
            &["`handovr`", "did you mean `handover`?"],
        ),
        (
            &["study", "mine.toml", "--world", "vitual"],
            &["did you mean `virtual`?"],
        ),
        (&["study", "mine.toml", "--folders", "some"], &[]),
    ];
    for (arguments, words) in arguments {
        fails(&stage.output(arguments), 2, words);
    }
}

#[test]
fn a_key_of_a_scenario_is_set_for_one_run() {
    let stage = Stage::new();
    let run = |set: &str| stage.output(&["run", "short.toml", "--dry-run", "--json", "--set", set]);
    let longer = json(&run("duration=20 s"));
    let plain = json(&run("path.cellular.delay=60 ms"));
    let seconds = |value: &Value| value["expected_seconds"].as_f64().expect("a number");
    assert!(seconds(&longer) > seconds(&plain) + 15.0);
    let wrong = |set: &str, words: &[&str]| {
        let output = stage.output(&["run", "short.toml", "--dry-run", "--set", set]);
        fails(&output, 2, words);
    };
    wrong(
        "path.cellular.dealy=60 ms",
        &["--set: with `path.cellular.dealy`", "`delay`?"],
    );
    wrong("duration", &["KEY=VALUE was expected"]);
    wrong(
        "duration=1 s",
        &["--set: with `duration` = `1 s`", "short.toml"],
    );
}

#[test]
fn schema_and_list_know_studies() {
    let stage = Stage::new();
    let schema = json(&stage.output(&["schema", "study"]));
    assert_eq!(schema["title"], "Study");
    for key in ["scenarios", "order-seed", "a-a", "parameter", "seeds"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    assert_eq!(json(&stage.output(&["schema"]))["title"], "Scenario");
    let studies = json(&stage.output(&["list", "studies", "--json"]));
    let names: Vec<&str> = studies
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|study| study["name"].as_str())
        .collect();
    let listed: Vec<&str> = model::study::builtin::STUDIES
        .iter()
        .map(|(n, _)| *n)
        .collect();
    assert_eq!(names, listed);
    for name in names {
        let output = stage.output(&["study", name, "--dry-run", "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies.md");
    let docs = fs::read_to_string(docs).expect("docs");
    for (name, _) in model::study::builtin::STUDIES {
        assert!(
            docs.contains(&format!("`{name}`")),
            "docs say nothing of {name}"
        );
    }
}

/// Needs user namespaces, as every test of the emulated world.
#[test]
fn the_emulated_world_runs_one_at_a_time_and_goes_on() {
    let stage = Stage::new();
    let study = STUDY
        .replace("\"quic\", \"mpquic\"", "\"quic\"")
        .replace(", \"60 ms\"", "");
    stage.study(&study);
    let arguments = ["--world", "emulated", "--seeds", "2", "--folders", "all"];
    let mut child = stage.start("out", &arguments);
    stage.journal_reaches("out", 1, &mut child);
    signal(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("our own child");
    fails(
        &output,
        1,
        &["interrupted: 1 of 2 runs are done", "--world emulated"],
    );
    let value = json(&stage.complete("out", &[&arguments[..], &["--json"]].concat()));
    assert_eq!((&value["runs"], &value["failed"]), (&2.into(), &0.into()));
    let row = &value["study"]["groups"][0];
    assert!(row["median"].as_f64().is_some_and(|s| s > 1.0), "{row}");
    assert_eq!(row["censored"], 2, "Wi-Fi stays dead");
    assert_eq!(
        fs::read_dir(stage.path("out/runs/short-1"))
            .expect("kept")
            .count(),
        2
    );
}

/// Needs user namespaces, as every test of the emulated world.
#[test]
fn the_emulated_world_runs_side_by_side_when_asked_to() {
    let stage = Stage::new();
    let study = STUDY
        .replace("\"quic\", \"mpquic\"", "\"quic\"")
        .replace(", \"60 ms\"", "");
    stage.study(&study);
    let arguments = ["--world", "emulated", "--seeds", "6", "--jobs", "3"];
    let mut child = stage.start("out", &arguments);
    stage.journal_reaches("out", 1, &mut child);
    signal(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("our own child");
    fails(&output, 1, &["of 6 runs are done", "--jobs 3"]);
    let value = json(&stage.complete("out", &[&arguments[..], &["--json"]].concat()));
    assert_eq!((&value["runs"], &value["failed"]), (&6.into(), &0.into()));
    let journal = fs::read_to_string(stage.path("out/journal.jsonl")).expect("a journal");
    let place = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["place"].as_u64();
    let places: Vec<u64> = journal.lines().filter_map(place).collect();
    let each: std::collections::BTreeSet<u64> = places.iter().copied().collect();
    assert_eq!((places.len(), each.len()), (6, 6), "{journal}");
    assert!(!stage.path("out/runs").exists(), "no folder is left");
}
