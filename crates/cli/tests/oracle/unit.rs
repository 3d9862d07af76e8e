//! Do the unit file and the documentation call what there is?

use crate::ground::{Daemon, Stage};
use crate::hosts::inside;
use assert_cmd::cargo::cargo_bin;
use std::process::Command;

const UNIT: &str = include_str!("../../../../packaging/walkabout-oracle.service");
const DOCS: &str = include_str!("../../../../docs/oracle.md");
/// Where the unit has the program.
const PROGRAM: &str = "/usr/bin/walkabout";

/// That the program takes these arguments.
fn is_taken(arguments: &[&str]) {
    let mut command = Command::new(cargo_bin("walkabout"));
    let output = command.args(arguments).arg("--help").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
}

#[test]
fn every_command_of_the_unit_is_there() {
    let mut commands = 0;
    for line in UNIT.lines() {
        // Those in the comment, for a server, as well.
        let line = line.trim_start_matches("#   ");
        let Some((key, command)) = line.split_once(&format!("={PROGRAM} ")) else {
            assert!(!line.contains(PROGRAM), "{line}");
            continue;
        };
        assert!(["ExecStart", "ExecStopPost"].contains(&key), "{line}");
        is_taken(&command.split(' ').collect::<Vec<_>>());
        commands += 1;
    }
    assert_eq!(commands, 3);
}

#[test]
fn every_path_of_the_unit_is_documented() {
    let daemon = model::daemon::Daemon::default();
    let value = |key: &str| {
        let found = UNIT
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key}=")));
        found.unwrap_or_else(|| panic!("no {key}"))
    };
    // What the daemon writes is below its runtime directory, which outlives a crash.
    let runtime = format!("/run/{}", value("RuntimeDirectory"));
    for path in [&daemon.socket, &daemon.kept] {
        assert!(path.starts_with(&runtime), "{path:?}");
        assert!(DOCS.contains(path.to_str().unwrap()), "{path:?}");
    }
    assert_eq!(value("RuntimeDirectoryPreserve"), "restart");
    for word in UNIT
        .split_whitespace()
        .map(|w| w.trim_matches(['(', ')', '.', ';', ',']))
    {
        let path = word.split_once('=').map_or(word, |(_, value)| value);
        if path.starts_with('/') && path != PROGRAM {
            assert!(DOCS.contains(path), "{path}");
        }
    }
    assert!(
        UNIT.contains("/etc/walkabout/oracle.toml") && DOCS.contains("/etc/walkabout/oracle.toml")
    );
    assert!(DOCS.contains("packaging/walkabout-oracle.service"));
    // A mistake that a restart does not mend is not tried again.
    assert_eq!(value("RestartPreventExitStatus"), "2 127");
}

/// Where systemd is installed, it has no objection.
#[test]
fn systemd_takes_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("walkabout-oracle.service");
    let program = cargo_bin("walkabout");
    std::fs::write(&file, UNIT.replace(PROGRAM, program.to_str().unwrap())).unwrap();
    let verified = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&file)
        .output();
    match verified {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{said}");
        }
        Err(error) => println!("not verified: no systemd-analyze here ({error})"),
    }
}

#[test]
fn the_documented_commands_are_there() {
    let mut commands = 0;
    for line in DOCS.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        if let Some(arguments) = line.strip_prefix("walkabout ") {
            is_taken(&arguments.split_whitespace().collect::<Vec<_>>());
            commands += 1;
        }
    }
    assert!(commands >= 3, "{commands}");
}

#[test]
fn the_documented_configuration_is_whole_and_works() {
    inside(
        "unit::the_documented_configuration_is_whole_and_works",
        || {
            let (_, block) = DOCS.split_once("```toml\n").expect("a configuration");
            let (block, _) = block.split_once("```").expect("its end");
            let stage = Stage::new();
            // Every key but MultiMob's parameters, which are those of scenarios.
            let toml =
                |text: &str| model::daemon::Daemon::parse(text, "docs", &["multimob"]).unwrap();
            let documented = toml(block);
            let keys = serde_json::to_value(&documented).unwrap();
            for (key, value) in keys.as_object().unwrap() {
                assert!(block.contains(key), "{key}");
                let inner = value.as_object().filter(|_| key != "oracle");
                inner
                    .into_iter()
                    .flatten()
                    .for_each(|(k, _)| assert!(block.contains(k), "{key}.{k}"));
            }
            let own = |line: &&str| !line.starts_with("socket") && !line.starts_with("kept");
            let text: Vec<&str> = block.lines().filter(own).collect();
            let text = text.join("\n").replace("wlan0", "wifi");
            let daemon = Daemon::start(&stage.config_of(&text), &[]);
            let home = daemon.wait(|e| e["kind"] == "path" && e["path"] == "wifi");
            assert_eq!(home["detail"], "home: up, 10.77.1.2");
            assert_eq!(daemon.end(libc::SIGTERM).0, Some(0));
        },
    );
}
