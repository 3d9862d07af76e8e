//! Does the driver carry paths over real sockets? Addresses of the loopback network stand for
//! paths.

use crate::Clock;
use crate::transport::quic::socket::Socket;
use crate::transport::quic::udp::{Client, ClientConfig, Server, ServerConfig};
use crate::transport::quic::{
    Congestion, Core, CoreConfig, Identity, PathAddress, QuicError, Security,
};
use crate::transport::{Binding, Endpoint, LocalPath, SocketEndpoint};
use model::record::{Event, EventKind};
use model::{Name, PathIndex, PathKind, Seed};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use noq_proto::EcnCodepoint;
use policy::{Action, PathState};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};
use traffic::Channels;

const PATIENCE: Duration = Duration::from_secs(10);

struct Pair {
    client: Client,
    server: Server,
    clock: Clock,
}

fn config(addresses: &[&str]) -> (ClientConfig, ServerConfig) {
    let clock = Clock::start();
    let identity = Identity::generate().unwrap();
    let paths: Vec<LocalPath> = addresses
        .iter()
        .enumerate()
        .map(|(index, address)| LocalPath {
            name: Name::from(format!("path{index}").as_str()),
            kind: PathKind::Wifi,
            address: address.parse().unwrap(),
            interface: 1,
        })
        .collect();
    let server = ServerConfig {
        multipath: true,
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        paths: paths
            .iter()
            .map(|path| PathAddress {
                name: path.name.clone(),
                client: path.address,
            })
            .collect(),
        congestion: None,
        clock,
        seed: Seed(1),
        identity: identity.clone(),
    };
    let client = ClientConfig {
        multipath: true,
        server: server.address,
        paths,
        channels: 2,
        keep_alive: None,
        congestion: None,
        clock,
        seed: Seed(1),
        pin: identity.pin(),
        binding: Binding::Address,
    };
    (client, server)
}

impl Pair {
    fn new(addresses: &[&str]) -> Pair {
        let (mut client, server) = config(addresses);
        let clock = client.clock;
        let server = Server::listen(server).unwrap();
        client.server = server.local_address();
        let client = Client::connect(client).unwrap();
        let mut pair = Pair {
            client,
            server,
            clock,
        };
        pair.until("connected", |pair| pair.client.is_connected());
        pair
    }

    /// Runs both ends until `done`.
    fn until(&mut self, what: &str, mut done: impl FnMut(&mut Pair) -> bool) {
        let start = Instant::now();
        loop {
            let now = self.clock.now();
            self.client.poll(now).unwrap();
            self.server.poll(now).unwrap();
            if done(self) {
                return;
            }
            let waited = start.elapsed();
            assert!(waited < PATIENCE, "not {what} within {waited:?}");
            let mut fds = Vec::new();
            self.client.wait_for(&mut fds);
            self.server.wait_for(&mut fds);
            let mut fds: Vec<PollFd> = fds
                .iter()
                .map(|(fd, _)| {
                    // SAFETY: the sockets stay open for the length of this call to poll.
                    let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
                    PollFd::new(fd, PollFlags::POLLIN)
                })
                .collect();
            let timers = [self.client.poll_at(), self.server.poll_at()];
            let next = timers.into_iter().flatten().min();
            let wait = next.map_or(PATIENCE, |at| at.since(self.clock.now()));
            let wait = wait.min(Duration::from_millis(100)) + Duration::from_millis(1);
            poll(&mut fds, PollTimeout::try_from(wait).unwrap()).unwrap();
        }
    }

    fn exchange(&mut self, size: usize) {
        self.client.write(0, &vec![1; size]);
        self.client.flush(self.clock.now()).unwrap();
        let (mut received, mut answered) = (0, 0);
        let mut buffer = vec![0; 65_536];
        self.until("exchanged", |pair| {
            let n = pair.server.read(0, &mut buffer);
            received += n;
            pair.server.write(0, &buffer[..n]);
            pair.server.flush(pair.clock.now()).unwrap();
            answered += pair.client.read(0, &mut buffer);
            received == size && answered == size
        });
    }

    fn apply(&mut self, action: Action) {
        self.client.apply(self.clock.now(), &action).unwrap();
    }

    fn state(&mut self, path: PathIndex) -> Option<PathState> {
        let view = self.client.view(self.clock.now());
        view[0].on(path).map(|subflow| subflow.state)
    }

    fn sent_bytes(&mut self, path: usize) -> u64 {
        let mut samples = Vec::new();
        self.client.sample(self.clock.now(), &mut samples);
        let rows = samples.iter().filter(|row| row.path.is_some());
        rows.map(|row| row.sent_bytes.unwrap()).nth(path).unwrap()
    }
}

fn open(path: PathIndex) -> Action {
    Action::Open {
        connection: 0,
        path,
        backup: false,
    }
}

fn close(path: PathIndex) -> Action {
    Action::Close {
        connection: 0,
        path,
    }
}

const FIRST: PathIndex = PathIndex(0);
const SECOND: PathIndex = PathIndex(1);

#[test]
fn data_moves_between_sockets_with_their_paths() {
    let mut pair = Pair::new(&["127.0.0.2", "127.0.0.3"]);
    pair.exchange(200_000);
    pair.apply(open(SECOND));
    pair.until("open", |pair| {
        pair.state(SECOND) == Some(PathState::Established)
    });
    pair.apply(close(FIRST));
    let (first, second) = (pair.sent_bytes(0), pair.sent_bytes(1));
    pair.exchange(200_000);
    assert!(pair.sent_bytes(1) > second + 200_000);
    assert!(pair.sent_bytes(0) < first + 10_000);
    pair.until("closed", |pair| pair.state(FIRST).is_none());
    // Back again, over a socket made anew.
    pair.client.path_changed(pair.clock.now(), FIRST, true);
    pair.apply(open(FIRST));
    pair.until("open again", |pair| {
        pair.state(FIRST) == Some(PathState::Established)
    });
    pair.apply(close(SECOND));
    pair.exchange(200_000);
    assert_eq!(pair.client.refused(), 0);
    let mut events: Vec<Event> = Vec::new();
    pair.server.events(&mut events);
    let opened = events.iter().filter(|e| e.kind == EventKind::PathOpened);
    let opened: Vec<_> = opened
        .map(|e| e.path.clone().unwrap().to_string())
        .collect();
    assert_eq!(opened, ["path0", "path1", "path0"]);
    pair.client.close(pair.clock.now());
    pair.until("told", |pair| !pair.server.is_open(0));
}

#[test]
fn a_path_without_its_address_loses_packets_and_nothing_else() {
    // 192.0.2.0/24 is for documentation (RFC 5737): no interface of this host has it.
    let mut pair = Pair::new(&["127.0.0.4", "192.0.2.7"]);
    pair.apply(open(SECOND));
    pair.exchange(100_000);
    pair.until("refused", |pair| pair.client.refused() > 0);
    assert_eq!(pair.state(SECOND), Some(PathState::Opening));
    let mut events: Vec<Event> = Vec::new();
    pair.client.events(&mut events);
    let notes = events.iter().filter(|e| e.kind == EventKind::Note);
    assert_eq!(notes.count(), 1, "{events:?}");
    pair.client.path_changed(pair.clock.now(), SECOND, true);
    pair.apply(close(SECOND));
    pair.exchange(100_000);
}

#[test]
fn an_address_in_use_or_an_unknown_controller_is_an_error() {
    let (mut client, server) = config(&["127.0.0.5"]);
    let first = Server::listen(server.clone()).unwrap();
    let second = ServerConfig {
        address: first.local_address(),
        ..server
    };
    let error = Server::listen(second).err().unwrap();
    assert!(matches!(error, QuicError::Socket { .. }), "{error}");
    client.congestion = Some("vegas".to_owned());
    client.server = first.local_address();
    let error = Client::connect(client).err().unwrap();
    assert!(error.to_string().contains("cubic, reno or bbr"), "{error}");
}

#[test]
fn another_certificate_is_refused_and_a_pin_is_no_key() {
    let (mut client, server) = config(&["127.0.0.7"]);
    let right = client.pin;
    client.pin.0[31] ^= 1;
    assert_ne!(client.pin, right);
    let clock = client.clock;
    let mut server = Server::listen(server).unwrap();
    client.server = server.local_address();
    let mut client = Client::connect(client).unwrap();
    let start = Instant::now();
    let error = loop {
        assert!(start.elapsed() < PATIENCE, "it was accepted");
        let now = clock.now();
        server.poll(now).unwrap();
        match client.poll(now) {
            Ok(()) => assert!(!client.is_connected()),
            Err(error) => break error.to_string(),
        }
    };
    assert!(
        error.contains("handshake with the server failed"),
        "{error}"
    );

    let (client, _) = config(&["127.0.0.7"]);
    let config = CoreConfig {
        base: Instant::now(),
        seed: Seed(1),
        multipath: true,
        congestion: Congestion::default(),
        paths: vec![PathAddress {
            name: Name::from("wifi"),
            client: client.paths[0].address,
        }],
        keep_alive: None,
        security: Security::Pinned(client.pin),
    };
    let error = Core::server(config).err().expect("it has no key");
    assert!(error.to_string().contains("with its key"), "{error}");
}

#[test]
fn one_connection_after_the_other() {
    let (mut first, server) = config(&["127.0.0.8"]);
    let clock = first.clock;
    let mut server = Server::listen(server).unwrap();
    first.server = server.local_address();
    let second = ClientConfig {
        seed: Seed(2),
        ..first.clone()
    };
    let mut read = Vec::new();
    for (number, config) in [first, second].into_iter().enumerate() {
        let client = Client::connect(config).unwrap();
        let mut pair = Pair {
            client,
            server,
            clock,
        };
        pair.until("connected", |pair| pair.client.is_connected());
        pair.client.write(0, &[number as u8; 3]);
        pair.client.flush(clock.now()).unwrap();
        let mut buffer = [9; 3];
        let mut channel = None;
        pair.until("read", |pair| {
            channel = channel.or_else(|| pair.server.accepted());
            channel.is_some_and(|channel| pair.server.read(channel, &mut buffer) > 0)
        });
        read.push(buffer);
        pair.client.close(clock.now());
        // noq forgets a connection some time after it was closed.
        pair.until("forgotten", |pair| pair.server.poll_at().is_none());
        server = pair.server;
    }
    assert_eq!(read, [[0; 3], [1; 3]]);
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_burst_says_so() {
    let mut pair = Pair::new(&["127.0.0.9"]);
    pair.client.write(0, &vec![1; 200_000]);
    pair.client.flush(pair.clock.now()).unwrap();
    pair.client.close(pair.clock.now());
    let Pair {
        client,
        mut server,
        clock,
    } = pair;
    drop(client);
    let start = Instant::now();
    let mut events = Vec::new();
    while !events
        .iter()
        .any(|e: &Event| e.kind == EventKind::Disconnected)
    {
        server.poll(clock.now()).unwrap();
        server.events(&mut events);
        assert!(start.elapsed() < PATIENCE, "not told");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn sockets_carry_the_ecn_codepoint() {
    for address in ["127.0.0.6", "::1"] {
        let address = SocketAddr::new(address.parse::<IpAddr>().unwrap(), 0);
        let (Ok(mut a), Ok(mut b)) = (Socket::bind(address, None), Socket::bind(address, None))
        else {
            assert!(address.is_ipv6(), "a host may lack IPv6, but not IPv4");
            eprintln!("skipped: this host has no IPv6 loopback address");
            continue;
        };
        let mut buffer = [0; 64];
        for ecn in [None, Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ce)] {
            a.send(b.address(), ecn, b"packet").unwrap();
            // Loopback delivers before the call returns.
            let arrival = b.receive(&mut buffer).unwrap();
            assert_eq!(arrival.size, 6);
            assert_eq!(arrival.remote, a.address());
            assert_eq!(arrival.ecn.map(|e| e as u8), ecn.map(|e| e as u8));
        }
        assert!(b.receive(&mut buffer).is_none());
    }
}
