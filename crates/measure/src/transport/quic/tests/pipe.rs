//! A client and a server joined by pipes with delay, in virtual time.

use crate::transport::quic::{Congestion, Core, CoreConfig, Identity, PathAddress, Security};
use model::record::Event;
use model::{Name, PathIndex, Seed, Time};
use noq_proto::EcnCodepoint;
use policy::{Action, PathState, SubflowView};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use traffic::Channels;

pub const WIFI: PathIndex = PathIndex(0);
pub const CELLULAR: PathIndex = PathIndex(1);
const NAMES: [&str; 3] = ["wifi", "cellular", "ethernet"];

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn server_address() -> SocketAddr {
    SocketAddr::from(([10, 77, 0, 1], 4433))
}

fn client_address(path: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 77, path as u8 + 1, 2))
}

fn config(seed: u64, paths: usize) -> CoreConfig {
    let paths = (0..paths).map(|path| PathAddress {
        name: Name::from(NAMES[path]),
        client: client_address(path),
    });
    CoreConfig {
        base: Instant::now(),
        seed: Seed(seed),
        multipath: true,
        congestion: Congestion::Cubic,
        paths: paths.collect(),
        keep_alive: None,
        security: Security::Tls(Identity::generate().expect("a certificate")),
    }
}

/// One path: its delay, and which directions carry anything.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    pub one_way: Duration,
    pub up: bool,
    pub down: bool,
    /// Datagrams arrive in bursts, at multiples of this.
    pub burst: Duration,
}

struct Flight {
    to_server: bool,
    path: usize,
    ecn: Option<EcnCodepoint>,
    payload: Vec<u8>,
}

pub struct Joined {
    pub client: Core,
    pub server: Core,
    pub now: Time,
    pub pipes: Vec<Pipe>,
    flights: BTreeMap<(Time, u64), Flight>,
    sent: u64,
    /// Time, path, whether up, and size of each datagram.
    pub trace: Vec<(Time, usize, bool, usize)>,
}

impl Joined {
    pub fn new(multipath: bool, seed: u64, rtts_ms: &[u64]) -> Joined {
        Joined::with(multipath, multipath, Congestion::Cubic, seed, rtts_ms)
    }

    pub fn with(
        client_multipath: bool,
        server_multipath: bool,
        congestion: Congestion,
        seed: u64,
        rtts_ms: &[u64],
    ) -> Joined {
        let mut client = config(seed, rtts_ms.len());
        client.congestion = congestion;
        client.multipath = client_multipath;
        let mut server = client.clone();
        server.multipath = server_multipath;
        Joined::of(client, server, rtts_ms)
    }

    /// Multipath, with the client's configuration changed.
    pub fn configured(seed: u64, rtts_ms: &[u64], change: impl Fn(&mut CoreConfig)) -> Joined {
        let server = config(seed, rtts_ms.len());
        let mut client = server.clone();
        change(&mut client);
        Joined::of(client, server, rtts_ms)
    }

    /// Multipath, with packets protected like this.
    pub fn secured(seed: u64, rtts_ms: &[u64], security: &Security) -> Joined {
        let mut client = config(seed, rtts_ms.len());
        client.security = security.clone();
        Joined::of(client.clone(), client, rtts_ms)
    }

    /// A client that does not know this server.
    pub fn strangers(seed: u64, rtts_ms: &[u64]) -> Joined {
        let (client, server) = (config(seed, rtts_ms.len()), config(seed, rtts_ms.len()));
        Joined::of(client, server, rtts_ms)
    }

    fn of(client: CoreConfig, server: CoreConfig, rtts_ms: &[u64]) -> Joined {
        let pipe = |rtt: &u64| Pipe {
            one_way: ms(*rtt) / 2,
            up: true,
            down: true,
            burst: Duration::ZERO,
        };
        Joined {
            client: Core::client(client, server_address(), 2, Time::ZERO).expect("a client"),
            server: Core::server(server).expect("a server"),
            now: Time::ZERO,
            pipes: rtts_ms.iter().map(pipe).collect(),
            flights: BTreeMap::new(),
            sent: 0,
            trace: Vec::new(),
        }
    }

    /// Reads and forgets what the client received.
    pub fn drain_client(&mut self, channel: usize) {
        let mut buffer = [0; 4096];
        while self.client.read(channel, &mut buffer) > 0 {}
    }

    fn send(&mut self) {
        for to_server in [true, false] {
            let core = if to_server {
                &mut self.client
            } else {
                &mut self.server
            };
            while let Some(transmit) = core.poll_transmit(self.now) {
                let path = transmit.path.expect("a datagram takes a path").0;
                let pipe = self.pipes[path];
                let size = transmit.payload.len();
                self.trace.push((self.now, path, to_server, size));
                self.sent += 1;
                if if to_server { pipe.up } else { pipe.down } {
                    let flight = Flight {
                        to_server,
                        path,
                        ecn: transmit.ecn,
                        payload: transmit.payload.to_vec(),
                    };
                    let at = (self.now + pipe.one_way).as_nanos();
                    let burst = (pipe.burst.as_nanos() as u64).max(1);
                    let at = Time::from_nanos(at.next_multiple_of(burst));
                    self.flights.insert((at, self.sent), flight);
                }
            }
        }
    }

    /// Lets everything happen up to and including `until`.
    pub fn run_until(&mut self, until: Time) {
        loop {
            self.send();
            let arrival = self.flights.keys().next().map(|(at, _)| *at);
            let timers = [self.client.poll_at(), self.server.poll_at(), arrival];
            let next = timers.into_iter().flatten().min().unwrap_or(Time::MAX);
            if next > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            while self
                .flights
                .keys()
                .next()
                .is_some_and(|key| key.0 <= self.now)
            {
                self.deliver_next();
                // As the driver does; docs/decisions/0003-noq-paths.md says why.
                self.send();
            }
            for core in [&mut self.client, &mut self.server] {
                if core.poll_at().is_some_and(|at| at <= self.now) {
                    core.handle_timeouts(self.now);
                }
            }
        }
    }

    fn deliver_next(&mut self) {
        let Some((_, flight)) = self.flights.pop_first() else {
            return;
        };
        let client = SocketAddr::new(client_address(flight.path), 50_000 + flight.path as u16);
        let server = server_address();
        let (core, local, remote) = if flight.to_server {
            (&mut self.server, server, client)
        } else {
            (&mut self.client, client, server)
        };
        core.receive(self.now, local.ip(), remote, flight.ecn, &flight.payload);
    }

    pub fn run_for(&mut self, duration: Duration) {
        self.run_until(self.now + duration);
    }

    pub fn apply(&mut self, action: Action) -> Result<(), String> {
        let applied = self.client.apply(self.now, &action);
        self.send();
        applied
    }

    pub fn open(&mut self, path: PathIndex, backup: bool) -> Result<(), String> {
        self.apply(Action::Open {
            connection: 0,
            path,
            backup,
        })
    }

    pub fn close(&mut self, path: PathIndex) -> Result<(), String> {
        self.apply(Action::Close {
            connection: 0,
            path,
        })
    }

    pub fn set_backup(&mut self, path: PathIndex, backup: bool) -> Result<(), String> {
        self.apply(Action::SetBackup {
            connection: 0,
            path,
            backup,
        })
    }

    pub fn client_path(&mut self, path: PathIndex) -> Option<SubflowView> {
        let view = self.client.view(self.now);
        view.first()?.on(path).cloned()
    }

    pub fn server_path(&mut self, path: PathIndex) -> Option<SubflowView> {
        let view = self.server.view(self.now);
        view.first()?.on(path).cloned()
    }

    pub fn is_established(&mut self, path: PathIndex) -> bool {
        let view = self.client_path(path);
        view.is_some_and(|subflow| subflow.state == PathState::Established)
    }

    pub fn client_events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.client.events(&mut events);
        events
    }

    pub fn server_events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.server.events(&mut events);
        events
    }

    /// Datagrams per path and direction since `since`.
    pub fn datagrams(&self, since: Time, path: PathIndex, up: bool) -> usize {
        let trace = self.trace.iter();
        trace
            .filter(|(at, p, u, _)| *at >= since && *p == path.0 && *u == up)
            .count()
    }
}
