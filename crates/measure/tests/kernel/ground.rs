//! What do the tests run on the two hosts, and how do they wait for it?

use crate::hosts::{self, Hosts, NAMES, RULES, USUAL};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use model::record::Sample;
use model::{Family, Name, PathIndex, PathKind};
use traffic::Channels;
use walkabout_measure::Clock;
use walkabout_measure::transport::kernel::{
    Client, ClientConfig, PathManagement, Protocol, Server, ServerConfig,
};
use walkabout_measure::transport::{Binding, Endpoint, LocalPath, SocketEndpoint};

use nix::sched::{CloneFlags, setns};

/// Nothing here takes longer unless it is broken.
const LIMIT: Duration = Duration::from_secs(60);

/// Bytes that differ along their length.
pub fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 251) as u8).collect()
}

fn client_address(path: usize) -> IpAddr {
    hosts::address(Family::Ipv4, path, USUAL)
}

/// The hosts, and the time.
pub struct Ground {
    pub clock: Clock,
    hosts: Hosts,
}

impl Ground {
    pub fn new() -> Ground {
        Ground {
            clock: Clock::start(),
            hosts: Hosts::new(RULES),
        }
    }

    /// Gives the client its address on `path` and the routes that go with it.
    pub fn restore(&self, path: PathIndex) {
        self.hosts.give_address(path.0, USUAL);
    }

    /// Takes the client's address on `path` away; the kernel takes the routes.
    pub fn withdraw(&self, path: PathIndex) {
        self.hosts.take_address(path.0, USUAL);
    }

    /// Loses every packet of `path` in these directions without a word.
    pub fn lose(&self, path: PathIndex, up: bool, down: bool) {
        self.hosts.lose(path.0, up, down);
    }

    /// A server that echoes every channel, in a thread of its own.
    pub fn serve(&self, protocol: Protocol) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, wait) = channel();
        let (report, subflows) = channel();
        let (namespace, clock) = (self.hosts.server.clone(), self.clock);
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            let config = ServerConfig {
                protocol,
                address: SocketAddr::new(hosts::server(Family::Ipv4), 0),
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
            address: SocketAddr::new(hosts::server(Family::Ipv4), 9),
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
