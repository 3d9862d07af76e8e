//! Does `walkabout oracle` do what docs/oracle.md says, called as a user calls it? In namespaces of its own,
//! with real packets; where they cannot be made the tests fail and say so, they are never skipped.

mod ground;
#[path = "../../../measure/tests/hosts/mod.rs"]
#[allow(dead_code, reason = "each of those who share it uses its part")]
mod hosts;
mod mistakes;
mod unit;

use ground::{Daemon, Stage, state};
use hosts::echo::App;
use hosts::{NAMES, inside, sysctl};
use serde_json::{Value, json};

#[test]
fn a_dry_run_says_what_it_would_do_and_changes_nothing() {
    inside(
        "a_dry_run_says_what_it_would_do_and_changes_nothing",
        || {
            let stage = Stage::new();
            let before = state();
            let options = ["--dry-run", "--home", NAMES[0], "--backup", NAMES[1]];
            let daemon = Daemon::start(&stage.config(""), &options);
            let app = App::start(stage.server());
            app.goes_on(5);
            daemon.wait(|e| e["kind"] == "adopted");
            stage.hosts.lose(0, true, true);
            let would = daemon.wait(|e| e["kind"] == "decision");
            assert_eq!(would["path"], NAMES[1], "{would}");
            let detail = would["detail"].as_str().unwrap();
            assert!(detail.starts_with("would open: "), "{detail}");
            assert_eq!(state(), before);
            let status = stage.ask(&["status"]);
            assert_eq!(
                (&status["dry_run"], &status["counters"]["done"]),
                (&json!(true), &json!(0))
            );
            stage.hosts.find_again(0);
            app.goes_on(5);
            let (code, said) = daemon.end(libc::SIGINT);
            assert_eq!(code, Some(0));
            assert!(
                said[0]["detail"]
                    .as_str()
                    .unwrap()
                    .contains("nothing is carried out")
            );
            let did = |e: &&Value| e["kind"] == "done" || e["kind"] == "failed";
            assert_eq!(said.iter().find(did), None);
            assert_eq!(said.last().unwrap()["kind"], "stopped");
            assert_eq!(state(), before);
            stage.nothing_is_left();
        },
    );
}

#[test]
fn the_status_is_told_while_one_runs_and_an_error_when_none_does() {
    const NAME: &str = "the_status_is_told_while_one_runs_and_an_error_when_none_does";
    inside(NAME, || {
        let stage = Stage::new();
        let none = |words: &str| {
            let config = stage.config("take_over = true");
            let output = config.command(&["status"]).output().unwrap();
            let error = mistakes::one_line(&output, 1);
            assert!(
                error.contains("no oracle answers at ") && error.contains(words),
                "{error}"
            );
        };
        none("systemctl status walkabout-oracle");
        let daemon = Daemon::start(&stage.config("take_over = true"), &[]);
        let app = App::start(stage.server());
        app.goes_on(5);
        let steered = |s: &Value| s["connections"][0]["state"] == "steered";
        let status =
            stage.wait(|s| steered(s) && s["connections"][0]["subflows"][0]["path"] == "wifi");
        assert_eq!(
            (&status["format"], &status["role"]),
            (&json!(1), &json!("client"))
        );
        assert_eq!(status["policy"], "break-before-make");
        for (n, name) in NAMES.iter().enumerate() {
            let path = &status["paths"][n];
            assert_eq!(
                (&path["interface"], &path["up"]),
                (&json!(name), &json!(true))
            );
        }
        let connection = &status["connections"][0];
        assert_eq!(connection["remote"], stage.server().to_string());
        assert_eq!(connection["subflows"][0]["state"], "established");
        documented(&status);
        // For people.
        let output = stage.config("").people(&["status"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        for words in [
            "break-before-make (client)",
            "path wifi",
            "connection 0 steered",
        ] {
            assert!(text.contains(words), "{text}");
        }
        // One that was killed leaves its socket, which nobody answers.
        daemon.end(libc::SIGKILL);
        none("is it running");
    });
}

/// Every field of the status is in the documentation's table.
fn documented(value: &Value) {
    let docs = include_str!("../../../../docs/oracle.md");
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            assert!(
                docs.contains(&format!("`{name}")),
                "{name} is not documented"
            );
            documented(value);
        }),
        Value::Array(items) => items.iter().for_each(documented),
        _ => {}
    }
}

#[test]
fn it_takes_over_only_when_told_to() {
    inside("it_takes_over_only_when_told_to", || {
        let stage = Stage::new();
        let before = state();
        let output = stage.config("").command(&[]).output().unwrap();
        let error = mistakes::one_line(&output, 127);
        assert!(
            error.contains("--take-over") && error.contains("net.mptcp.pm_type=1"),
            "{error}"
        );
        assert_eq!(state(), before);
        stage.nothing_is_left();
        // The owner has done it: it stays.
        std::fs::write("/proc/sys/net/mptcp/pm_type", "1").unwrap();
        let before = state();
        let daemon = Daemon::start(&stage.config(""), &[]);
        assert_eq!(daemon.end(libc::SIGTERM).0, Some(0));
        assert_eq!(state(), before);
        stage.nothing_is_left();
    });
}

#[test]
fn a_second_one_is_refused_and_harms_nothing() {
    inside("a_second_one_is_refused_and_harms_nothing", || {
        let stage = Stage::new();
        let before = state();
        let config = stage.config("take_over = true");
        let first = Daemon::start(&config, &[]);
        let taken = state();
        assert_eq!(sysctl("net.mptcp.pm_type"), "1");
        let refused = |arguments: &[&str], words: &str| {
            let output = config.command(arguments).output().unwrap();
            let error = mistakes::one_line(&output, 1);
            assert!(
                error.contains("another oracle runs") && error.contains(words),
                "{error}"
            );
            assert_eq!(state(), taken, "{arguments:?}");
            assert_eq!(stage.ask(&["status"])["role"], "client");
        };
        refused(&[], "walkabout oracle status");
        refused(&["--dry-run"], "walkabout oracle status");
        refused(&["--follow"], "walkabout oracle status");
        // One that would answer elsewhere, but has the host's settings to keep in the same file.
        let elsewhere = stage.file("elsewhere.sock").display().to_string();
        refused(&["--socket", &elsewhere], "has taken this host over");
        refused(&["restore"], "has taken this host over");
        let (code, said) = first.end(libc::SIGTERM);
        assert_eq!(code, Some(0));
        let last = said.last().unwrap()["detail"].as_str().unwrap();
        assert!(last.contains("put back: net.mptcp."), "{last}");
        assert_eq!(state(), before);
        stage.nothing_is_left();
        // What stood in the way is gone.
        let next = Daemon::start(&config, &[]);
        assert_eq!(next.end(libc::SIGTERM).0, Some(0));
        assert_eq!(state(), before);
    });
}

#[test]
fn sigterm_leaves_the_host_as_it_was_and_connections_go_on() {
    const NAME: &str = "sigterm_leaves_the_host_as_it_was_and_connections_go_on";
    inside(NAME, || {
        let stage = Stage::new();
        // What a process of the kernel's own path manager needs: nobody's business here.
        hosts::ip("mptcp limits set subflows 3 add_addr_accepted 1");
        hosts::ip("mptcp endpoint add 10.77.2.2 dev cell id 7 backup");
        let before = state();
        assert!(before.contains("10.77.2.2"), "{before}");
        let daemon = Daemon::start(&stage.config("take_over = true"), &[]);
        assert_eq!(sysctl("net.mptcp.pm_type"), "1");
        let app = App::start(stage.server());
        daemon.wait(|e| e["kind"] == "adopted");
        stage.hosts.lose(0, true, true);
        daemon.wait(|e| e["kind"] == "done" && e["path"] == "wifi");
        app.goes_on(5);
        let (code, said) = daemon.end(libc::SIGTERM);
        assert_eq!(code, Some(0), "{said:#?}");
        assert_eq!(state(), before);
        stage.nothing_is_left();
        app.goes_on(20);
    });
}

#[test]
fn after_sigkill_restore_leaves_the_host_as_it_was() {
    inside("after_sigkill_restore_leaves_the_host_as_it_was", || {
        let stage = Stage::new();
        let before = state();
        let config = stage.config("take_over = true");
        let daemon = Daemon::start(&config, &[]);
        let app = App::start(stage.server());
        daemon.wait(|e| e["kind"] == "adopted");
        daemon.end(libc::SIGKILL);
        assert_ne!(state(), before);
        app.goes_on(10);
        let restored = stage.ask(&["restore"]);
        let restored = restored["restored"].as_array().unwrap();
        assert!(
            restored
                .iter()
                .any(|s| s == "net.mptcp.pm_type=0" || s == "net.mptcp.path_manager=kernel")
        );
        assert_eq!(state(), before);
        assert_eq!(stage.ask(&["restore"]), json!({"restored": []}));
        // Or the next start and clean end does.
        Daemon::start(&config, &[]).end(libc::SIGKILL);
        assert_ne!(state(), before);
        Daemon::start(&config, &[]).end(libc::SIGTERM);
        assert_eq!(state(), before);
        stage.nothing_is_left();
        app.goes_on(10);
        // A file that was spoiled is said to be so, and stays.
        std::fs::write(stage.file("kept.json"), "{").unwrap();
        let error = mistakes::one_line(&config.command(&["restore"]).output().unwrap(), 1);
        assert!(
            error.contains("kept.json has no settings that could be put back"),
            "{error}"
        );
        assert!(stage.file("kept.json").exists());
    });
}
