//! Where the tests run: what [`crate::hosts`] has, and the daemon, in a thread of the test or as a process of
//! its own.

use crate::hosts::{self, NAMES, test_again};
use model::Family;
use model::daemon::{Daemon, Place};
use std::io::Read;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use walkabout_measure::oracle::{Entry, Kind, OracleError, Setup, run};

/// Set in the process that is the daemon and nothing else.
const DAEMON: &str = "WALKABOUT_TEST_DAEMON";
/// Set in the process that is a following daemon and nothing else.
const FOLLOWER: &str = "WALKABOUT_TEST_FOLLOWER";
/// Nothing here takes longer unless it is broken, a hold-down that has doubled some times included.
pub const LIMIT: Duration = Duration::from_secs(150);
const PORT: u16 = 8080;
/// The name of a daemon's thread.
pub const THREAD: &str = "oracle";

/// Runs `body` in this test's own process, in new user and network namespaces.
pub fn inside(test: &str, body: impl FnOnce()) {
    for what in [DAEMON, FOLLOWER] {
        if let Some(folder) = std::env::var_os(what) {
            let stop = AtomicBool::new(false);
            let mut setup = setup(Path::new(&folder));
            setup.follow = what == FOLLOWER;
            run(&setup, &stop, &mut |_| {}).unwrap();
            return;
        }
    }
    hosts::inside(test, body);
}

/// Where the server listens.
pub fn server(family: Family) -> SocketAddr {
    SocketAddr::new(hosts::server(family), PORT)
}

/// Where one listens that takes both families, as most servers do: IPv4 comes with mapped addresses.
pub fn everywhere() -> SocketAddr {
    SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT)
}

/// What the tests' daemon is told to do; its files are in `folder`.
pub fn setup(folder: &Path) -> Setup {
    let place = |name: &str| Place {
        interface: Some(name.to_owned()),
        kind: None,
    };
    Setup {
        config: Daemon {
            policy: "break-before-make".to_owned(),
            take_over: true,
            socket: folder.join("oracle.sock"),
            kept: folder.join("kept.json"),
            home: place(NAMES[0]),
            backup: place(NAMES[1]),
            ..Daemon::default()
        },
        dry_run: false,
        follow: false,
    }
}

/// A daemon in a thread of this process, in this thread's namespace.
pub struct Running {
    stop: Arc<AtomicBool>,
    entries: Receiver<Entry>,
    pub seen: Mutex<Vec<Entry>>,
    pub thread: Option<JoinHandle<Result<(), OracleError>>>,
}

impl Running {
    pub fn start(setup: Setup) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, entries) = channel();
        let stopped = stop.clone();
        let work = move || {
            run(&setup, &stopped, &mut |entry| {
                eprintln!("{entry:?}");
                let _ = sender.send(entry.clone());
            })
        };
        let running = Running {
            stop,
            entries,
            seen: Mutex::default(),
            thread: Some(
                std::thread::Builder::new()
                    .name(THREAD.to_owned())
                    .spawn(work)
                    .unwrap(),
            ),
        };
        running.wait(|e| e.kind == Kind::Started);
        running
    }

    /// Waits for an entry; those before are kept.
    pub fn wait(&self, condition: impl Fn(&Entry) -> bool) -> Entry {
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.entries.recv_timeout(left) {
                Ok(entry) => {
                    self.seen.lock().unwrap().push(entry.clone());
                    if condition(&entry) {
                        return entry;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("it did not come"),
                Err(RecvTimeoutError::Disconnected) => panic!("the daemon ended before it came"),
            }
        }
    }

    /// Waits for `count` entries.
    pub fn wait_for(&self, count: usize, condition: impl Fn(&Entry) -> bool) {
        for _ in 0..count {
            self.wait(&condition);
        }
    }

    /// Tells it to stop, and waits; every entry there was.
    pub fn end(mut self) -> Vec<Entry> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().unwrap();
        thread.join().unwrap().unwrap();
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.extend(self.entries.try_iter());
        seen
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A daemon that is a process of its own, and so can be killed.
pub struct Process(std::process::Child);

impl Process {
    /// Starts one and waits until it answers.
    pub fn start(test: &str, folder: &Path) -> Process {
        Process::start_as(test, folder, DAEMON)
    }

    /// One that follows clients.
    pub fn follow(test: &str, folder: &Path) -> Process {
        Process::start_as(test, folder, FOLLOWER)
    }

    fn start_as(test: &str, folder: &Path, what: &str) -> Process {
        let mut command = test_again(test);
        command.env(what, folder);
        let process = Process(command.spawn().unwrap());
        let deadline = Instant::now() + LIMIT;
        while status(folder).is_none() {
            assert!(Instant::now() < deadline, "the daemon does not answer");
            std::thread::sleep(Duration::from_millis(10));
        }
        process
    }

    /// Sends it a signal.
    pub fn signal(&self, number: i32) {
        // SAFETY: the process is a child that was not waited for.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, number) }, 0);
    }

    /// SIGKILL.
    pub fn kill(self) {}
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the daemon with this folder answers.
pub fn status(folder: &Path) -> Option<serde_json::Value> {
    let mut stream = std::os::unix::net::UnixStream::connect(folder.join("oracle.sock")).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Waits until the daemon's status is so.
pub fn wait_for_status(folder: &Path, condition: impl Fn(&serde_json::Value) -> bool) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let status = status(folder);
        if status.as_ref().is_some_and(&condition) {
            return;
        }
        assert!(Instant::now() < deadline, "it did not come: {status:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The paths of the established subflows of each steered connection.
pub fn paths(status: &serde_json::Value) -> Vec<Vec<String>> {
    let list = |v: &serde_json::Value| v.as_array().cloned().unwrap_or_default();
    let steered = |c: &serde_json::Value| c["state"] == "steered";
    let of = |c: &serde_json::Value| {
        let open = list(&c["subflows"]);
        let open = open.iter().filter(|s| s["state"] == "established");
        open.map(|s| s["path"].as_str().unwrap_or("?").to_owned())
            .collect()
    };
    list(&status["connections"])
        .iter()
        .filter(|c| steered(c))
        .map(of)
        .collect()
}
