//! Where the tests run: a desktop with two links, `wifi` and `cell`, to a server, each host in a network
//! namespace of its own; applications that know nothing of it all; and the daemon.

use model::daemon::{Daemon, Place};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use walkabout_measure::oracle::{Entry, Kind, OracleError, Setup, run};

/// Set in the process that runs a test's body.
const INSIDE: &str = "WALKABOUT_TEST_INSIDE";
/// Set in the process that is the daemon and nothing else.
const DAEMON: &str = "WALKABOUT_TEST_DAEMON";
/// Nothing here takes longer unless it is broken, a hold-down that has doubled some times included.
pub const LIMIT: Duration = Duration::from_secs(150);
pub const NAMES: [&str; 2] = ["wifi", "cell"];
const SERVER: [u8; 4] = [10, 77, 0, 1];
const PORT: u16 = 8080;
const IPPROTO_MPTCP: i32 = 262;
/// The name of a daemon's thread.
pub const THREAD: &str = "oracle";

/// Runs `body` in this test's own process, in new user and network namespaces.
pub fn inside(test: &str, body: impl FnOnce()) {
    if let Some(folder) = std::env::var_os(DAEMON) {
        let stop = AtomicBool::new(false);
        let setup = setup(Path::new(&folder));
        run(&setup, &stop, &mut |_| {}).unwrap();
        return;
    }
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let mut command = test_again(test);
    command.env(INSIDE, "1");
    let enter = move || {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    // SAFETY: the closure only makes system calls; the child has one thread and execs next.
    unsafe { command.pre_exec(enter) };
    let output = command.output().expect("user and network namespaces");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    let mut out = io::stdout().lock();
    writeln!(out, "{text}{error}").unwrap();
    assert!(output.status.success(), "{test} failed, see above");
    assert!(text.contains("1 passed"), "{test} is not this test's name");
}

/// For the benchmark: runs the rest of this program in new user and network namespaces.
#[allow(dead_code)]
pub fn enter() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(std::env::args().skip(1)).env(INSIDE, "1");
    let namespaces = move || {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    // SAFETY: the closure only makes system calls; the child has one thread and execs next.
    unsafe { command.pre_exec(namespaces) };
    let status = command.status().expect("user and network namespaces");
    std::process::exit(status.code().unwrap_or(1));
}

fn test_again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command
}

pub fn ip(command: &str) {
    let output = Command::new("ip")
        .args(command.split_whitespace())
        .output()
        .expect("these tests need the `ip` command (package iproute2)");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {command}: {error}");
}

/// A setting of this network namespace.
pub fn sysctl(name: &str) -> String {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// The client (this thread's namespace) and the server, which echoes what it gets.
pub struct Ground {
    server: Arc<File>,
}

impl Ground {
    pub fn new() -> Ground {
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link add {name} type veth peer name s{n}"));
        }
        let (ready, wait) = channel();
        let (done, stay) = channel::<()>();
        let holder = std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            // SAFETY: gettid has no arguments and cannot fail.
            let id = unsafe { libc::gettid() };
            ready
                .send((File::open("/proc/thread-self/ns/net").unwrap(), id))
                .unwrap();
            let _ = stay.recv();
        });
        let (server, holder_id) = wait.recv().unwrap();
        for n in 0..NAMES.len() {
            ip(&format!("link set s{n} netns {holder_id}"));
        }
        drop(done);
        holder.join().unwrap();
        let ground = Ground {
            server: Arc::new(server),
        };
        ground.at_server(|| {
            ip("link set lo up");
            ip("addr add 10.77.0.1/32 dev lo");
            for n in 1..=NAMES.len() {
                ip(&format!("addr add 10.77.{n}.1/24 dev s{}", n - 1));
                ip(&format!("link set s{} up", n - 1));
            }
            ip("mptcp limits set subflows 8 add_addr_accepted 8");
        });
        ip("link set lo up");
        std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "2").unwrap();
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link set {name} up"));
            ground.address(n, 2);
        }
        ground
    }

    /// Gives the client's interface `n` the address with this last byte, and its routes.
    pub fn address(&self, n: usize, last: u8) {
        let (net, name) = (n + 1, NAMES[n]);
        ip(&format!("addr replace 10.77.{net}.{last}/24 dev {name}"));
        ip(&format!(
            "route replace default via 10.77.{net}.1 dev {name} metric {net}00"
        ));
    }

    pub fn at_server<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                setns(self.server.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
                run()
            });
            there.join().unwrap()
        })
    }

    /// Echoes what comes, on every connection, until the process ends.
    pub fn serve(&self) {
        let listener = self.at_server(|| {
            let fd = mptcp_socket();
            let one = 1i32;
            // SAFETY: a live descriptor, a live integer and its length; a live address.
            unsafe {
                libc::setsockopt(
                    fd,
                    libc::SOL_SOCKET,
                    libc::SO_REUSEADDR,
                    (&raw const one).cast(),
                    4,
                );
                let address = server_address();
                let length = size_of::<libc::sockaddr_in>() as u32;
                assert_eq!(libc::bind(fd, (&raw const address).cast(), length), 0);
                assert_eq!(libc::listen(fd, 1_024), 0);
                std::net::TcpListener::from_raw_fd(fd)
            }
        });
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while let Ok(got @ 1..) = stream.read(&mut buffer) {
                        if stream.write_all(&buffer[..got]).is_err() {
                            break;
                        }
                    }
                });
            }
        });
    }

    /// Loses every packet of a path in these directions without a word: the neighbours' addresses are wrong, so
    /// the other end ignores what arrives.
    pub fn lose(&self, n: usize, up: bool, down: bool) {
        let nobody = "lladdr 02:00:00:00:00:99 nud permanent";
        let net = n + 1;
        if up {
            ip(&format!(
                "neigh replace 10.77.{net}.1 {nobody} dev {}",
                NAMES[n]
            ));
        }
        if down {
            self.at_server(|| ip(&format!("neigh replace 10.77.{net}.2 {nobody} dev s{n}")));
        }
    }

    /// The path works again.
    pub fn find_again(&self, n: usize) {
        let net = n + 1;
        // Forgotten, and not merely changed: the next packet asks for the neighbour.
        let _ = Command::new("ip")
            .args(["neigh", "del", &format!("10.77.{net}.1"), "dev", NAMES[n]])
            .output();
        self.at_server(|| {
            let _ = Command::new("ip")
                .args([
                    "neigh",
                    "del",
                    &format!("10.77.{net}.2"),
                    "dev",
                    &format!("s{n}"),
                ])
                .output();
        });
    }
}

fn mptcp_socket() -> i32 {
    // SAFETY: no pointers.
    let fd = unsafe {
        libc::socket(
            libc::AF_INET,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
            IPPROTO_MPTCP,
        )
    };
    assert!(fd >= 0, "no MPTCP: {}", io::Error::last_os_error());
    fd
}

fn server_address() -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: PORT.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(SERVER),
        },
        sin_zero: [0; 8],
    }
}

/// A connection as any application makes it.
pub fn connect() -> TcpStream {
    let fd = mptcp_socket();
    let address = server_address();
    let length = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: a live descriptor, a live address and its length.
    let done = unsafe { libc::connect(fd, (&raw const address).cast(), length) };
    assert_eq!(done, 0, "cannot connect: {}", io::Error::last_os_error());
    // SAFETY: nobody else has the descriptor.
    unsafe { TcpStream::from_raw_fd(fd) }
}

/// An application that sends 200 bytes every 20 ms and counts what comes back.
pub struct App {
    answered: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl App {
    pub fn start() -> App {
        let mut stream = connect();
        let answered = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (count, mut from) = (answered.clone(), stream.try_clone().unwrap());
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 200];
            while from.read_exact(&mut buffer).is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let stopped = stop.clone();
        let writer = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) && stream.write_all(&[7; 200]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
        App {
            answered,
            stop,
            threads: vec![reader, writer],
        }
    }

    /// Waits until `more` further messages were answered.
    pub fn goes_on(&self, more: usize) {
        let wanted = self.answered.load(Ordering::Relaxed) + more;
        let deadline = Instant::now() + LIMIT;
        while self.answered.load(Ordering::Relaxed) < wanted {
            assert!(Instant::now() < deadline, "the connection does not go on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
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

/// A daemon that is a process of its own, and so can be killed.
pub struct Process(std::process::Child);

impl Process {
    /// Starts one and waits until it answers.
    pub fn start(test: &str, folder: &Path) -> Process {
        let mut command = test_again(test);
        command.env(DAEMON, folder);
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
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
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
