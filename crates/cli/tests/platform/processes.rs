//! How are the programs run? The real binary, each in its host's namespace; what it says is kept for who
//! has to find out why a test failed.

use crate::ground::at;
use measure::emulator::NetNs;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Nothing here takes longer unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of a log that are shown when a test failed.
const SHOWN: usize = 40;

/// A program that was started.
pub struct Process {
    name: String,
    child: Child,
    /// Its lines on standard output, with the moment they came.
    lines: Receiver<(Instant, String)>,
    log: PathBuf,
}

/// What a program that ended left behind.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output, as far as nobody took it before.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Ended {
    /// The document on standard output.
    pub fn json(&self) -> Value {
        let Ended { status, out, err } = self;
        serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {status}\n{out}\n{err}"))
    }

    /// The document of a program that did what it should.
    pub fn success(&self) -> Value {
        let Ended { status, out, err } = self;
        assert!(status.success(), "{status}\n{out}\n{err}");
        self.json()
    }
}

/// `walkabout` with these arguments.
pub fn walkabout(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_walkabout"));
    command.args(arguments).stdin(Stdio::null());
    command
}

impl Process {
    /// Starts `command` in `host`; its output goes to `NAME.out.log` and `NAME.err.log` in `folder`.
    pub fn start(name: &str, host: &NetNs, folder: &Path, command: &mut Command) -> Process {
        let log = folder.join(format!("{name}.err.log"));
        let open = |file: &Path| {
            let file = File::options().create(true).append(true).open(file);
            file.expect("our own folder")
        };
        let mut out = open(&folder.join(format!("{name}.out.log")));
        command.stdout(Stdio::piped()).stderr(open(&log));
        let child = at(host, command).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = writeln!(out, "{line}");
                let _ = sender.send((Instant::now(), line));
            }
        });
        let name = name.to_owned();
        Process {
            name,
            child,
            lines,
            log,
        }
    }

    /// The next line of its standard output; `None` once there is none any more.
    pub fn line(&self) -> Option<(Instant, String)> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!(
                    "{} says nothing for {PATIENCE:?}\n{}",
                    self.name,
                    self.said()
                )
            }
        }
    }

    /// The next line of its standard output, which is JSON.
    pub fn json_line(&self) -> Value {
        let line = self.line();
        let (_, line) = line.unwrap_or_else(|| panic!("{} ended\n{}", self.name, self.said()));
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{}: {e}: {line}", self.name))
    }

    /// What it wrote to standard error.
    pub fn said(&self) -> String {
        tail(&self.log, usize::MAX)
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(self.pid(), signal);
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Ended {
        let mut out = String::new();
        while let Some((_, line)) = self.line() {
            out += &line;
            out.push('\n');
        }
        let status = self.child.wait().expect("our own child");
        let err = self.said();
        Ended { status, out, err }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child")
    }

    /// Tells it to end in order, and waits until it has.
    pub fn stop(self) -> Ended {
        self.signal(Signal::SIGTERM);
        self.finish()
    }

    /// The lines of its standard output that are there by now.
    pub fn waiting_lines(&self) -> Vec<String> {
        self.lines.try_iter().map(|(_, line)| line).collect()
    }

    /// Kills it, and returns what it had said before.
    pub fn kill_and_read(mut self) -> Vec<String> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // To the end of the pipe.
        self.lines.iter().map(|(_, line)| line).collect()
    }

    /// Kills it.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tail(file: &Path, lines: usize) -> String {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// The last lines of every log in `folder`.
pub fn logs(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "log"));
    files.sort();
    let shown = files.iter().map(|file| {
        let name = file.file_name().unwrap_or_default().display();
        format!("--- {name}\n{}\n", tail(file, SHOWN))
    });
    shown.collect()
}
