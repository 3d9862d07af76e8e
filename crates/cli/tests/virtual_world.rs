//! Does the virtual world repeat itself to the byte, with every transport, and say what it cannot do?

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A short failure, so that the tests are quick.
const SCENARIO: &str = r#"
name = "short"
summary = "Wi-Fi goes silent after two seconds"
duration = "5 s"
transports = ["tcp", "mptcp", "quic", "mpquic"]
policies = ["backup", "break-before-make"]
[traffic.interactive]
[[path]]
name = "wifi"
kind = "wifi"
up = { rate = "30 Mbit/s", delay = "10 ms", jitter = "1 ms", loss = "1 %" }
down = { rate = "30 Mbit/s", delay = "10 ms" }
[[path]]
name = "cellular"
kind = "cellular"
up = { rate = "10 Mbit/s", delay = "30 ms" }
down = { rate = "20 Mbit/s", delay = "30 ms" }
[[failure]]
path = "wifi"
kind = "silent-loss"
at = "2 s"
"#;

fn stage() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("short.toml"), SCENARIO).expect("a scenario");
    folder
}

fn walkabout(folder: &TempDir, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("walkabout").expect("the binary");
    command
        .current_dir(folder.path())
        .args(arguments)
        .output()
        .expect("it runs")
}

/// Every file below `folder`, by its path there.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("below it");
            let bytes = fs::read(&path).expect("a file");
            all.insert(name.display().to_string(), bytes);
        }
    }
    all
}

#[test]
fn the_same_seed_gives_the_same_files_to_the_byte() {
    let folder = stage();
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        let output = walkabout(
            &folder,
            &[
                "run",
                "short.toml",
                "--world",
                "virtual",
                "--seed",
                "7",
                "--jobs",
                jobs,
                "--out",
                out,
            ],
        );
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
    }
    let (one, two) = (
        files(&folder.path().join("one")),
        files(&folder.path().join("two")),
    );
    let names: Vec<&String> = one.keys().collect();
    for part in [
        "tcp/wifi.pcapng",
        "mptcp-break-before-make/samples.parquet",
        "mptcp-backup/events.jsonl",
        "quic/manifest.json",
        "mpquic-backup/messages.parquet",
        "mpquic-backup/samples.parquet",
        "mpquic-backup/packets.parquet",
        "mpquic-backup/links.parquet",
        "mpquic-backup/events.jsonl",
        "mpquic-break-before-make/cellular.pcapng",
        "report.html",
        "table.json",
    ] {
        assert!(one.contains_key(part), "{part} is not among {names:?}");
    }
    assert_eq!(names, two.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(*bytes == two[name], "{name} differs");
    }
    let manifest: Value = serde_json::from_slice(&one["quic/manifest.json"]).expect("JSON");
    assert_eq!(manifest["world"], "virtual");
    assert_eq!(manifest["status"], "complete");
    assert_eq!(manifest["stack"]["security"], "none");

    let output = walkabout(
        &folder,
        &[
            "run",
            "short.toml",
            "--world",
            "virtual",
            "--protocol",
            "quic",
            "--seed",
            "8",
            "--out",
            "three",
        ],
    );
    assert!(output.status.success());
    let other = files(&folder.path().join("three"));
    assert!(
        other["quic/packets.parquet"] != one["quic/packets.parquet"],
        "another seed is another run"
    );
}

/// `tcp` and `mptcp` mean another stack in each world: the manifest says which.
#[test]
fn the_manifest_says_whose_stack_it_was() {
    let folder = stage();
    let arguments = ["run", "short.toml", "--world", "virtual", "--out", "out"];
    let choice = ["--set", "scheduler=round-robin", "--set", "congestion=reno"];
    let output = walkabout(&folder, &[&arguments[..], &choice].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    for (run, stack, path_manager, scheduler) in [
        ("tcp", "walkabout", "none", "none"),
        ("mptcp-backup", "walkabout", "userspace", "round-robin"),
        ("quic", "noq", "none", "none: one path"),
    ] {
        let file = folder.path().join("out").join(run).join("manifest.json");
        let text = fs::read(file).expect("a manifest");
        let manifest: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(manifest["scenario"]["scheduler"], "round-robin");
        let said = &manifest["stack"];
        assert_eq!(said["name"], stack, "{run}");
        assert_eq!(said["congestion"], "reno", "{run}");
        assert_eq!(said["path_manager"], path_manager, "{run}");
        assert_eq!(said["scheduler"], scheduler, "{run}");
    }
}

#[test]
fn mistakes_are_named() {
    let folder = stage();
    let bbr = SCENARIO.replace("duration", "congestion = \"bbr\"\nduration");
    fs::write(folder.path().join("bbr.toml"), bbr).expect("a scenario");
    let run = |scenario: &str, more: &[&str]| {
        let arguments = ["run", scenario, "--protocol", "quic", "--out", "out"];
        walkabout(&folder, &[&arguments[..], more].concat())
    };
    for (output, code, words) in [
        (
            run("bbr.toml", &["--world", "virtual"]),
            127,
            "noq's bbr draws from the system's randomness",
        ),
        (
            run(
                "short.toml",
                &["--world", "virtual", "--set", "scheduler=blast"],
            ),
            2,
            "--set: with `scheduler` = `blast`, short.toml: `scheduler`: unknown scheduler `blast`; \
             expected one of blest,",
        ),
        (
            walkabout(
                &folder,
                &[
                    "run",
                    "short.toml",
                    "--protocol",
                    "mptcp",
                    "--world",
                    "virtual",
                    "--set",
                    "congestion=cubik",
                ],
            ),
            2,
            "no congestion controller `cubik`: set `congestion` to one of balia,",
        ),
        (
            run("short.toml", &["--world", "real"]),
            2,
            "there are virtual and emulated",
        ),
        (
            run("short.toml", &["--world", "virtual", "--device", "tun"]),
            2,
            "the virtual world has no devices",
        ),
    ] {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
        let _ = fs::remove_dir_all(folder.path().join("out"));
    }
}

#[test]
fn settings_of_one_scenario_are_not_pooled() {
    let folder = stage();
    for (out, delay) in [("near", "30 ms"), ("far", "60 ms")] {
        let set = format!("path.cellular.up.delay={delay}");
        let output = walkabout(
            &folder,
            &[
                "run",
                "short.toml",
                "--world",
                "virtual",
                "--protocol",
                "mpquic",
                "--policy",
                "break-before-make",
                "--set",
                &set,
                "--out",
                &format!("both/{out}"),
            ],
        );
        assert!(output.status.success());
    }
    let output = walkabout(&folder, &["--json", "report", "both"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = report["table"]["rows"].as_array().expect("rows");
    let mut names: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["scenario"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "short (path.cellular.up.delay 30 ms)",
            "short (path.cellular.up.delay 60 ms)"
        ]
    );

    let output = walkabout(&folder, &["compare", "both", "both/near"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("ran more than once under seed 1"),
        "{stderr}"
    );
    let output = walkabout(&folder, &["compare", "both/far", "both/near"]);
    assert!(
        output.status.success(),
        "one setting on each side is a fair question"
    );
}

#[test]
fn output_that_cannot_be_written_is_a_failure_and_no_bug() {
    let full = fs::File::create("/dev/full").expect("Linux has it");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_walkabout"))
        .args(["list", "policies"])
        .stdout(full)
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("failed printing to stdout"), "{stderr}");
}
