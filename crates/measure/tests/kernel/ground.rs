//! Where the tests run: a client's and a server's network namespace with two links between.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use model::record::Sample;
use model::{Name, PathIndex, PathKind};
use traffic::Channels;
use walkabout_measure::Clock;
use walkabout_measure::transport::kernel::{
    Client, ClientConfig, PathManagement, Protocol, Server, ServerConfig,
};
use walkabout_measure::transport::{Binding, Endpoint, LocalPath, SocketEndpoint};

use nix::sched::{CloneFlags, setns, unshare};

/// Set in the process that runs a test's body.
const INSIDE: &str = "WALKABOUT_TEST_INSIDE";
/// Nothing here takes longer unless it is broken.
const LIMIT: Duration = Duration::from_secs(20);
const NAMES: [&str; 2] = ["wifi", "cell"];

/// Runs `body` in this test's own process, in new user and network namespaces.
pub fn inside(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1");
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

/// Bytes that differ along their length.
pub fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 251) as u8).collect()
}

fn client_address(path: usize) -> IpAddr {
    IpAddr::from([10, 77, path as u8 + 1, 2])
}

fn own_namespace() -> File {
    File::open("/proc/thread-self/ns/net").unwrap()
}

fn ip(command: &str) {
    let output = Command::new("ip")
        .args(command.split_whitespace())
        .output()
        .expect("these tests need the `ip` command (package iproute2)");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {command}: {error}");
}

/// A client (this thread's namespace) and a server.
pub struct Ground {
    pub clock: Clock,
    server: Arc<File>,
}

impl Ground {
    pub fn new() -> Ground {
        // Several grounds may follow each other in one process.
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link add {name} type veth peer name s{n}"));
        }
        let server = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            own_namespace()
        });
        let server = Arc::new(server.join().unwrap());
        let ground = Ground {
            clock: Clock::start(),
            server,
        };
        ground.lay();
        ground
    }

    fn lay(&self) {
        ip("link set lo up");
        // A thread that stays in the server's namespace lets `ip` name it by its id.
        let (ready, wait) = channel();
        let (done, stay) = channel::<()>();
        let server = self.server.clone();
        let holder = std::thread::spawn(move || {
            setns(server.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            // SAFETY: gettid has no arguments and cannot fail.
            ready.send(unsafe { libc::gettid() }).unwrap();
            let _ = stay.recv();
        });
        let holder_id = wait.recv().unwrap();
        for n in 0..NAMES.len() {
            ip(&format!("link set s{n} netns {holder_id}"));
        }
        drop(done);
        holder.join().unwrap();
        self.at_server(|| {
            ip("link set lo up");
            ip("addr add 10.77.0.1/32 dev lo");
            for n in 0..NAMES.len() {
                ip(&format!("addr add 10.77.{}.1/24 dev s{n}", n + 1));
                ip(&format!("link set s{n} up"));
            }
        });
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link set {name} up"));
            let table = 100 + n;
            ip(&format!(
                "rule add from {} lookup {table}",
                client_address(n)
            ));
            ip(&format!(
                "route add unreachable default table {table} metric 9999"
            ));
            self.restore(PathIndex(n));
        }
    }

    fn at_server<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        let server = &self.server;
        std::thread::scope(|scope| {
            let there = scope.spawn(move || {
                setns(server.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
                run()
            });
            there.join().unwrap()
        })
    }

    /// Gives the client its address on `path` and the routes that go with it.
    pub fn restore(&self, path: PathIndex) {
        let (n, name) = (path.0, NAMES[path.0]);
        let gateway = format!("10.77.{}.1", n + 1);
        ip(&format!("addr add {}/24 dev {name}", client_address(n)));
        ip(&format!(
            "route replace default via {gateway} dev {name} table {}",
            100 + n
        ));
        ip(&format!(
            "route replace default via {gateway} dev {name} metric {}",
            100 + n
        ));
    }

    /// Takes the client's address on `path` away; the kernel takes the routes.
    pub fn withdraw(&self, path: PathIndex) {
        let (n, name) = (path.0, NAMES[path.0]);
        ip(&format!("addr del {}/24 dev {name}", client_address(n)));
    }

    /// Loses every packet of `path` in these directions without a word: the neighbour's
    /// address is wrong, so the other end ignores what arrives.
    pub fn lose(&self, path: PathIndex, up: bool, down: bool) {
        let (n, name) = (path.0, NAMES[path.0]);
        let nobody = "lladdr 02:00:00:00:00:99 nud permanent";
        if up {
            ip(&format!(
                "neigh replace 10.77.{}.1 {nobody} dev {name}",
                n + 1
            ));
        }
        if down {
            let address = client_address(n);
            self.at_server(|| ip(&format!("neigh replace {address} {nobody} dev s{n}")));
        }
    }

    /// A server that echoes every channel, in a thread of its own.
    pub fn serve(&self, protocol: Protocol) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, wait) = channel();
        let (report, subflows) = channel();
        let (namespace, clock) = (self.server.clone(), self.clock);
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            let config = ServerConfig {
                protocol,
                address: SocketAddr::from(([10, 77, 0, 1], 0)),
                paths: NAMES
                    .iter()
                    .enumerate()
                    .map(|(n, name)| (client_address(n), Name::from(*name)))
                    .collect(),
                follow: false,
                congestion: Some("reno".to_owned()),
                clock,
            };
            let mut server = Server::listen(config).unwrap();
            ready.send(server.local_address().unwrap()).unwrap();
            let mut open = Vec::new();
            let mut buffer = vec![0; 65536];
            while !stopped.load(Ordering::Relaxed) {
                wait_for(&server, Duration::from_millis(5));
                server.poll(clock.now()).unwrap();
                open.extend(std::iter::from_fn(|| server.accepted()));
                for channel in &open {
                    loop {
                        let count = server.read(*channel, &mut buffer);
                        if count == 0 {
                            break;
                        }
                        server.write(*channel, &buffer[..count]);
                    }
                }
                server.flush(clock.now()).unwrap();
                let mut seen = Vec::new();
                server.sample(clock.now(), &mut seen);
                let _ = report.send(seen);
            }
        });
        Running {
            address: wait.recv().expect("the server listens"),
            subflows: Some(subflows),
            stop,
            thread: Some(thread),
        }
    }

    /// An address on which nobody listens.
    pub fn nobody(&self) -> Running {
        Running {
            address: SocketAddr::from(([10, 77, 0, 1], 9)),
            subflows: None,
            stop: Arc::default(),
            thread: None,
        }
    }

    pub fn connect(
        &self,
        protocol: Protocol,
        management: PathManagement,
        channels: usize,
        server: &Running,
    ) -> Client {
        let path = |(n, name): (usize, &&str)| LocalPath {
            name: Name::from(*name),
            kind: [PathKind::Wifi, PathKind::Cellular][n],
            address: client_address(n),
            interface: nix::net::if_::if_nametoindex(*name).unwrap(),
        };
        Client::connect(ClientConfig {
            protocol,
            server: server.address,
            paths: NAMES.iter().enumerate().map(path).collect(),
            channels,
            congestion: Some("reno".to_owned()),
            management,
            clock: self.clock,
            binding: Binding::Address,
        })
        .unwrap()
    }

    /// Polls the client whenever something happens until `done`.
    pub fn drive(&self, client: &mut Client, mut done: impl FnMut(&mut Client) -> bool) {
        let begin = self.clock.now();
        while !done(client) {
            assert!(
                self.clock.now().since(begin) < LIMIT,
                "nothing came of it: {:#?}",
                client.view(self.clock.now())
            );
            wait_for(client, Duration::from_millis(5));
            client.poll(self.clock.now()).unwrap();
        }
    }

    pub fn drive_to_error(&self, client: &mut Client) -> io::Error {
        let begin = self.clock.now();
        loop {
            assert!(self.clock.now().since(begin) < LIMIT, "no error");
            wait_for(client, Duration::from_millis(5));
            if let Err(error) = client.poll(self.clock.now()) {
                return error;
            }
        }
    }

    /// Reads `count` bytes from a channel.
    pub fn receive(&self, client: &mut Client, channel: usize, count: usize) -> Vec<u8> {
        let mut received = Vec::new();
        let mut buffer = vec![0; 65536];
        self.drive(client, |client| {
            let room = buffer.len().min(count - received.len());
            let read = client.read(channel, &mut buffer[..room]);
            received.extend(&buffer[..read]);
            received.len() == count
        });
        received
    }

    /// Sends `data` on a channel and expects it back intact.
    pub fn echo(&self, client: &mut Client, channel: usize, data: &[u8]) {
        client.write(channel, data);
        client.flush(self.clock.now()).unwrap();
        assert!(
            self.receive(client, channel, data.len()) == data,
            "not intact"
        );
    }
}

fn wait_for(endpoint: &impl SocketEndpoint, at_most: Duration) {
    let mut wanted = Vec::new();
    endpoint.wait_for(&mut wanted);
    let entry = |(fd, write): &(i32, bool)| libc::pollfd {
        fd: *fd,
        events: libc::POLLIN | if *write { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    let mut fds: Vec<_> = wanted.iter().map(entry).collect();
    let timeout = at_most.as_millis() as i32;
    // SAFETY: the pointer and length are those of the live list.
    unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) };
}

/// A running server; it stops when dropped.
pub struct Running {
    pub address: SocketAddr,
    subflows: Option<Receiver<Vec<Sample>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Waits until the server sees exactly these paths on a connection, and whether the client
    /// asked for them as backup.
    pub fn expect_subflows(&self, connection: usize, paths: &[(&str, bool)]) {
        let seen = self.subflows.as_ref().expect("a running server");
        let begin = std::time::Instant::now();
        let mut last = Vec::new();
        while begin.elapsed() < LIMIT {
            let rows = seen.recv_timeout(LIMIT).expect("the server runs");
            let rows = rows.iter().filter(|r| r.connection == connection as u64);
            last = rows
                .filter_map(|r| Some((r.path.clone()?.to_string(), r.peer_backup)))
                .collect();
            let expected = paths.iter().map(|(name, b)| ((*name).to_owned(), Some(*b)));
            if last.iter().cloned().eq(expected) {
                return;
            }
        }
        panic!("the server has {last:?} instead of {paths:?} on connection {connection}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server failed");
        }
    }
}
