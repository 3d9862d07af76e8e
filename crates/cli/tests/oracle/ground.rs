//! The command as a user calls it, with all its files in a folder of the test's.

use crate::hosts::echo::serve;
use crate::hosts::{self, DESKTOP, Hosts, NAMES, ip};
use assert_cmd::cargo::cargo_bin;
use model::Family;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Nothing here takes longer unless it is broken.
const LIMIT: Duration = Duration::from_secs(120);

/// The hosts, with a server that echoes, and the daemon's files.
pub struct Stage {
    pub hosts: Hosts,
    folder: tempfile::TempDir,
}

impl Stage {
    pub fn new() -> Stage {
        let stage = Stage {
            hosts: Hosts::new(DESKTOP),
            folder: tempfile::tempdir().unwrap(),
        };
        serve(&stage.hosts, stage.server());
        stage
    }

    pub fn server(&self) -> SocketAddr {
        SocketAddr::new(hosts::server(Family::Ipv4), 8080)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The usual configuration, with more keys before it.
    pub fn config(&self, more: &str) -> Config {
        let [home, backup] = NAMES;
        self.config_of(&format!(
            "policy = \"break-before-make\"\n{more}\n[home]\ninterface = \"{home}\"\nkind = \"wifi\"\n\
             [backup]\ninterface = \"{backup}\"\nkind = \"cellular\"\n"
        ))
    }

    /// A configuration of this text, after the lines that say where the daemon's files are.
    pub fn config_of(&self, text: &str) -> Config {
        let at = |key: &str, name: &str| format!("{key} = \"{}\"\n", self.file(name).display());
        let lines = at("socket", "oracle.sock") + &at("kept", "kept.json");
        let file = self.file("oracle.toml");
        std::fs::write(&file, lines + text).unwrap();
        Config(file)
    }

    /// What `walkabout --json oracle` with these arguments says.
    pub fn ask(&self, arguments: &[&str]) -> Value {
        let output = Config(self.file("oracle.toml"))
            .command(arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        assert_eq!(error, "", "{arguments:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until the status is so.
    pub fn wait(&self, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let status = self.ask(&["status"]);
            if condition(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "it did not come: {status:#}");
        }
    }

    /// Neither a socket nor settings to put back.
    pub fn nothing_is_left(&self) {
        for name in ["oracle.sock", "kept.json", "elsewhere.sock"] {
            assert!(!self.file(name).exists(), "{name} is left");
        }
    }
}

/// A configuration's file.
pub struct Config(PathBuf);

impl Config {
    /// `walkabout --json oracle` with this configuration.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.people(arguments);
        command.arg("--json");
        command
    }

    /// The same for people.
    pub fn people(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("walkabout"));
        let (what, options) = match arguments.split_first() {
            Some((first, rest)) if !first.starts_with('-') => (Some(first), rest),
            _ => (None, arguments),
        };
        command
            .arg("oracle")
            .args(what)
            .arg("--config")
            .arg(&self.0);
        command.args(options).stdin(Stdio::null());
        command
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// A daemon that runs. It is killed if a test ends without it.
pub struct Daemon {
    child: Child,
    lines: Receiver<Value>,
    said: Mutex<Vec<Value>>,
}

impl Daemon {
    /// Starts one and waits until it says so.
    pub fn start(config: &Config, options: &[&str]) -> Daemon {
        Daemon::of(config.command(options))
    }

    /// The same of a command.
    pub fn of(mut command: Command) -> Daemon {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                eprintln!("{line}");
                // An error is a document of several lines, and no entry.
                let Ok(entry) = serde_json::from_str(&line) else {
                    return;
                };
                let _ = sender.send(entry);
            }
        });
        let daemon = Daemon {
            child,
            lines,
            said: Mutex::default(),
        };
        daemon.wait(|e| e["kind"] == "started");
        daemon
    }

    /// Waits for an entry of the log.
    pub fn wait(&self, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(entry) => {
                    self.said.lock().unwrap().push(entry.clone());
                    if condition(&entry) {
                        return entry;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("it did not come"),
                Err(RecvTimeoutError::Disconnected) => panic!("the daemon ended before it came"),
            }
        }
    }

    /// Ends it by a signal: the exit code, if it is not the signal that ended it, and all it said.
    pub fn end(mut self, signal: i32) -> (Option<i32>, Vec<Value>) {
        // SAFETY: the process is a child that was not waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
        let code = self.child.wait().unwrap().code();
        let mut said = std::mem::take(&mut *self.said.lock().unwrap());
        // Until the reader has come to the end of its output.
        said.extend(self.lines.iter());
        (code, said)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All of this host's Multipath TCP that a daemon could change: settings, limits, endpoints.
pub fn state() -> String {
    let folder = std::fs::read_dir("/proc/sys/net/mptcp").unwrap();
    let mut files: Vec<PathBuf> = folder.map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut state = String::new();
    for file in files {
        // Some can only be written.
        let value = std::fs::read_to_string(&file).unwrap_or_default();
        state += &format!("{}: {value}", file.display());
    }
    state + &ip("mptcp limits show") + &ip("mptcp endpoint show") + &ip("rule show")
}
