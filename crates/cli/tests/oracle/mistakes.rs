//! Does each mistake get one clear error, at its file and line where there is one, and the right exit code?

use crate::ground::{Daemon, Stage, state};
use crate::hosts::inside;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// `CAP_NET_ADMIN` (linux/capability.h).
const NET_ADMIN: u32 = 12;
/// The last capability there may be.
const LAST: u32 = 63;

/// The one message of a failure, which is the same in both forms of the command.
pub fn one_line(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{said}");
    // As the log: one object a line.
    assert_eq!(said.lines().count(), 1, "{said}");
    let document: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!(document["error"]["exit_code"], code, "{document:#}");
    let message = document["error"]["message"].as_str().unwrap().to_owned();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn a_wrong_configuration_is_told_at_its_line() {
    const NAME: &str = "mistakes::a_wrong_configuration_is_told_at_its_line";
    inside(NAME, || {
        let stage = Stage::new();
        let before = state();
        // The first two lines say where the daemon's files are.
        for (text, line, words) in [
            ("polcy = \"multimob\"", 3, "did you mean `policy`?"),
            ("\npolicy = \"multimop\"", 4, "did you mean `multimob`?"),
            (
                "period = \"1 ms\"",
                3,
                "`1 ms` is too often; give `5 ms` or more",
            ),
            ("take_over = \"yes\"", 3, "take_over"),
            (
                "[home]\nintrface = \"wlan0\"",
                4,
                "did you mean `interface`?",
            ),
            ("[home]\nkind = \"wi-fi\"", 4, "did you mean `wifi`?"),
            ("[oracle]\nloss_threshold = \"250 %\"", 4, "loss_threshold"),
            ("[follow]\nquiet = 50", 4, "expected a time"),
            ("[home", 3, "not valid TOML"),
        ] {
            let config = stage.config_of(text);
            // Whatever is asked of it.
            for what in [
                &["--take-over"][..],
                &["--dry-run"],
                &["status"],
                &["restore"],
            ] {
                let message = one_line(&config.command(what).output().unwrap(), 2);
                let at = format!("{}:{line}:", config.path().display());
                assert!(message.starts_with(&at), "{message}");
                assert!(message.contains(words), "{message}");
                // For people the same, on standard error.
                let output = config.people(what).output().unwrap();
                let error = String::from_utf8_lossy(&output.stderr);
                assert_eq!(error, format!("walkabout: {message}\n"));
                assert_eq!(output.stdout, b"");
            }
        }
        assert_eq!(state(), before);
        stage.nothing_is_left();
    });
}

#[test]
fn a_wrong_option_is_told() {
    inside("mistakes::a_wrong_option_is_told", || {
        let stage = Stage::new();
        let before = state();
        let config = stage.config("");
        for (options, words) in [
            (&["--policy", "multimop"][..], "did you mean `multimob`?"),
            (
                &["--home", "wiffi"],
                "--home: this host has no interface `wiffi`;",
            ),
            (&["--home", "wiffi"], "(did you mean `wifi`?)"),
            (&["--home", "cell"], "same interface"),
            (
                &["--config", "/nowhere/oracle.toml"],
                "cannot read /nowhere/oracle.toml",
            ),
        ] {
            let options = [&["--dry-run"], options].concat();
            let mut command = match options.contains(&"--config") {
                true => {
                    let mut command = Command::new(assert_cmd::cargo::cargo_bin("walkabout"));
                    command.args(["--json", "oracle"]).args(&options);
                    command
                }
                false => config.command(&options),
            };
            let message = one_line(&command.output().unwrap(), 2);
            assert!(message.contains(words), "{message}");
        }
        let both = config
            .people(&["--follow", "--home", "wifi"])
            .output()
            .unwrap();
        assert_eq!(both.status.code(), Some(2));
        assert_eq!(state(), before);
        stage.nothing_is_left();
    });
}

/// A modem may be plugged in later, and at a host's start interfaces come late: one that is configured and
/// not there is told, with its line, and waited for.
#[test]
fn an_interface_that_is_not_there_yet_is_told_and_waited_for() {
    const NAME: &str = "mistakes::an_interface_that_is_not_there_yet_is_told_and_waited_for";
    inside(NAME, || {
        let stage = Stage::new();
        let text =
            "take_over = true\n[home]\ninterface = \"wifi\"\n[backup]\ninterface = \"wwan7\"\n";
        let config = stage.config_of(text);
        let mut command = config.command(&[]);
        let errors = stage.file("errors");
        command.stderr(std::fs::File::create(&errors).unwrap());
        let daemon = Daemon::of(command);
        let told = daemon.wait(|e| e["kind"] == "path" && e["path"] == "wwan7");
        let detail = told["detail"].as_str().unwrap();
        assert!(
            detail.starts_with("backup: no such interface; there are "),
            "{detail}"
        );
        let error = std::fs::read_to_string(&errors).unwrap();
        let at = format!(
            "walkabout: {}:7:13: this host has no interface `wwan7`;",
            config.path().display()
        );
        assert!(error.starts_with(&at), "{error}");
        assert!(
            error.ends_with("; it is waited for\n") && error.lines().count() == 1,
            "{error}"
        );
        crate::hosts::ip("link set cell down");
        crate::hosts::ip("link set cell name wwan7");
        crate::hosts::ip("link set wwan7 up");
        daemon.wait(|e| e["kind"] == "path" && e["detail"] == "backup: up, 10.77.2.2");
        assert_eq!(daemon.end(libc::SIGTERM).0, Some(0));
        stage.nothing_is_left();
    });
}

#[test]
fn without_permission_it_says_what_it_takes() {
    inside("mistakes::without_permission_it_says_what_it_takes", || {
        let stage = Stage::new();
        let before = state();
        let config = stage.config("");
        for option in ["--take-over", "--dry-run", "--follow"] {
            let mut command = config.command(&[option]);
            let message = one_line(&without(&mut command, &[NET_ADMIN]).output().unwrap(), 127);
            assert!(message.contains("it takes CAP_NET_ADMIN"), "{message}");
        }
        assert_eq!(state(), before);
        stage.nothing_is_left();
        // That is all it takes, and all that the unit gives it.
        let others: Vec<u32> = (0..=LAST).filter(|n| *n != NET_ADMIN).collect();
        let mut command = config.command(&["--take-over"]);
        without(&mut command, &others);
        let daemon = Daemon::of(command);
        assert_eq!(crate::hosts::sysctl("net.mptcp.pm_type"), "1");
        assert_eq!(daemon.end(libc::SIGTERM).0, Some(0));
        assert_eq!(state(), before);
    });
}

/// The command without these capabilities.
fn without<'c>(command: &'c mut Command, capabilities: &[u32]) -> &'c mut Command {
    let capabilities = capabilities.to_vec();
    let drop = move || {
        for number in &capabilities {
            // SAFETY: no pointers. One that the kernel does not know is refused, and not there.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(*number), 0, 0, 0) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(drop) }
}

/// What `socket` names and is no socket stays.
#[test]
fn a_file_in_the_sockets_place_stays() {
    inside("mistakes::a_file_in_the_sockets_place_stays", || {
        let stage = Stage::new();
        let before = state();
        std::fs::write(stage.file("oracle.sock"), "precious").unwrap();
        let config = stage.config("take_over = true");
        let message = one_line(&config.command(&[]).output().unwrap(), 1);
        assert!(
            message.contains("a file is there that is no socket"),
            "{message}"
        );
        assert_eq!(
            std::fs::read(stage.file("oracle.sock")).unwrap(),
            b"precious"
        );
        assert_eq!(state(), before);
    });
}
