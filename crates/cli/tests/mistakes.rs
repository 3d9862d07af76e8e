//! Whether bad input gets one clear error and the documented exit code.

use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn walkabout() -> Command {
    Command::cargo_bin("walkabout").expect("the binary is built with its tests")
}

/// Runs `walkabout` and returns exit code, standard output and standard error.
fn fails(arguments: &[&str]) -> (i32, String, String) {
    let output = walkabout().args(arguments).output().expect("it starts");
    (
        output.status.code().expect("it was not killed"),
        String::from_utf8(output.stdout).expect("UTF-8"),
        String::from_utf8(output.stderr).expect("UTF-8"),
    )
}

/// Writes a scenario, `steady` with `from` replaced by `to`, and returns its file.
fn scenario(folder: &Path, from: &str, to: &str) -> String {
    let text = model::scenario::builtin::find("steady").expect("built in");
    assert!(text.contains(from), "steady has no `{from}`");
    let file = folder.join("mine.toml");
    fs::write(&file, text.replacen(from, to, 1)).expect("a temporary file");
    file.to_str().expect("UTF-8").to_owned()
}

/// One line of error that holds all `words`, and the exit code for wrong usage.
fn is_usage_error(arguments: &[&str], words: &[&str]) {
    let (code, out, err) = fails(arguments);
    assert_eq!(code, 2, "{err}");
    assert_eq!(out, "");
    assert_eq!(err.lines().count(), 1, "{err}");
    for word in words {
        assert!(err.contains(word), "`{word}` is not in: {err}");
    }
}

#[test]
fn misspelt_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), "delay =", "dealy =");
    is_usage_error(
        &["run", &file, "--dry-run"],
        &["mine.toml:", "`dealy`", "did you mean `delay`?"],
    );
}

#[test]
fn negative_delay() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), "delay = \"10 ms\"", "delay = \"-10 ms\"");
    is_usage_error(
        &["run", &file, "--dry-run"],
        &["mine.toml:", "-10 ms", "zero or more"],
    );
}

#[test]
fn traces_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(
        folder.path(),
        "rate = \"30 Mbit/s\"",
        "trace = \"uplink.mahi\"",
    );
    is_usage_error(&["run", &file, "--dry-run"], &["uplink.mahi", "beside"]);
    fs::write(folder.path().join("uplink.mahi"), "").expect("a temporary file");
    is_usage_error(&["run", &file, "--dry-run"], &["uplink.mahi", "empty"]);
    fs::write(folder.path().join("uplink.mahi"), "1\ntwo\n3\n").expect("a temporary file");
    is_usage_error(
        &["run", &file, "--dry-run"],
        &["uplink.mahi", "line 2", "two"],
    );
    fs::write(folder.path().join("uplink.mahi"), "1\n2\n3\n").expect("a temporary file");
    let (code, _, err) = fails(&["run", &file, "--dry-run"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn unknown_names() {
    is_usage_error(
        &["run", "wlak", "--dry-run"],
        &["`wlak`", "walk", "blackhole"],
    );
    is_usage_error(
        &["run", "walk", "--protocol", "sctp", "--dry-run"],
        &["`sctp`", "mptcp"],
    );
    is_usage_error(
        &["run", "walk", "--policy", "bakcup", "--dry-run"],
        &["`bakcup`", "did you mean `backup`?"],
    );
    is_usage_error(
        &["run", "walk", "--traffic", "video", "--dry-run"],
        &["`video`", "interactive"],
    );
    is_usage_error(
        &["run", "walk", "--device", "tap", "--dry-run"],
        &["`tap`", "packet-socket"],
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), "\"mptcp\"", "\"mtcp\"");
    is_usage_error(&["run", &file, "--dry-run"], &["mine.toml:", "`mtcp`"]);
}

#[test]
fn folders_that_cannot_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("precious"), "data").expect("a temporary file");
    let out = folder.path().to_str().expect("UTF-8");
    is_usage_error(&["run", "steady", "--out", out], &["not empty", "--out"]);
    assert_eq!(
        fs::read_to_string(folder.path().join("precious")).expect("still there"),
        "data"
    );
    // A file where a folder should be: not even root can write there.
    let inside = folder.path().join("precious/runs");
    let inside = inside.to_str().expect("UTF-8");
    let (code, _, err) = fails(&["run", "steady", "--out", inside]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("cannot be created") && err.contains("--out"));
}

#[test]
fn nothing_to_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let (code, _, err) = fails(&["report", path]);
    assert_ne!(code, 0);
    assert!(err.contains("manifest.json"), "{err}");
}

#[test]
fn errors_stay_json() {
    for arguments in [
        &["run", "wlak", "--dry-run", "--json"][..],
        &["run", "--no-such-option", "--json"],
        &["report", "/nonexistent", "--json"],
    ] {
        let (code, out, err) = fails(arguments);
        assert!(code == 1 || code == 2, "{arguments:?}: {code}");
        let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        let error = &value["error"];
        assert_eq!(error["exit_code"], code);
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()));
        assert_eq!(err, "", "nothing but JSON is said");
    }
}

#[test]
fn a_mistake_in_a_file_has_its_place_in_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = scenario(folder.path(), "delay =", "dealy =");
    let (_, out, _) = fails(&["run", &file, "--dry-run", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let at = &value["error"]["at"];
    assert!(at["line"].as_u64().is_some_and(|line| line > 1), "{out}");
    assert_eq!(at["key"], "path[0].up.dealy");
}

#[test]
fn dry_run_lists_the_matrix() {
    let output = walkabout()
        .args(["run", "walk", "--repeat", "3", "--dry-run", "--json"])
        .output()
        .expect("it starts");
    assert!(output.status.success());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // tcp and quic once each, mptcp and mpquic under four policies, three seeds.
    assert_eq!(
        value["runs"].as_array().map(Vec::len),
        Some(3 * (2 + 2 * 4))
    );
    assert!(
        value["expected_seconds"]
            .as_f64()
            .is_some_and(|s| s > 110.0)
    );
}
