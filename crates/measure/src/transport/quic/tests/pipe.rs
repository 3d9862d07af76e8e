//! A client and a server joined by pipes with delay, in virtual time, and the interactive
//! traffic that shows how long they stall.

use crate::transport::quic::core::{Core, CoreConfig, PathAddress};
use crate::transport::quic::{Congestion, Identity};
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
/// F6: a chunk of 2,000 bytes every 100 ms each way, answered by 9 bytes.
pub const CHUNK: usize = 2_000;
const ANSWER: usize = 9;
const PERIOD: Duration = Duration::from_millis(100);

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
        identity: Identity::generate().expect("a certificate"),
    }
}

/// One path: its delay, and which directions carry anything.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    pub one_way: Duration,
    pub up: bool,
    pub down: bool,
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
                    let at = self.now + pipe.one_way;
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

/// One direction of the interactive traffic over one channel.
struct Stream {
    channel: usize,
    sent: Vec<Time>,
    answered: Vec<Time>,
    received: usize,
    answer_bytes: usize,
}

/// F6 over channel 0 (up) and channel 1 (down).
pub struct Interactive {
    up: Stream,
    down: Stream,
    next: Time,
}

/// The longest application delay of chunks sent after a moment, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    pub up_ms: f64,
    pub down_ms: f64,
    pub unanswered: usize,
}

impl Interactive {
    pub fn new(start: Time) -> Interactive {
        let stream = |channel| Stream {
            channel,
            sent: Vec::new(),
            answered: Vec::new(),
            received: 0,
            answer_bytes: 0,
        };
        Interactive {
            up: stream(0),
            down: stream(1),
            next: start,
        }
    }

    /// Runs the traffic for `duration`, calling `manage` every `period` of a path manager.
    pub fn run(
        &mut self,
        joined: &mut Joined,
        duration: Duration,
        period: Duration,
        mut manage: impl FnMut(&mut Joined),
    ) {
        let end = joined.now + duration;
        let mut next_decision = joined.now;
        while joined.now < end {
            // 1 ms is fine enough against round trips of 20 ms.
            joined.run_for(ms(1));
            if joined.now >= self.next {
                self.next += PERIOD;
                joined.client.write(self.up.channel, &[1; CHUNK]);
                self.up.sent.push(joined.now);
                // The first byte on channel 1 opens it for the server.
                if self.down.sent.is_empty() {
                    joined.client.write(self.down.channel, &[0; ANSWER]);
                    self.down.sent.push(joined.now);
                } else {
                    joined.server.write(self.down.channel, &[2; CHUNK]);
                    self.down.sent.push(joined.now);
                }
            }
            exchange(
                &mut self.up,
                &mut joined.client,
                &mut joined.server,
                joined.now,
            );
            exchange(
                &mut self.down,
                &mut joined.server,
                &mut joined.client,
                joined.now,
            );
            if joined.now >= next_decision {
                next_decision += period;
                manage(joined);
            }
        }
    }

    /// A chunk that was never answered counts with its age at `now`.
    pub fn delays(&self, since: Time, now: Time) -> Delays {
        Delays {
            up_ms: self.up.worst(since, now),
            down_ms: self.down.worst(since, now),
            unanswered: self.up.unanswered() + self.down.unanswered(),
        }
    }
}

fn exchange(stream: &mut Stream, sender: &mut Core, receiver: &mut Core, now: Time) {
    let mut buffer = [0; 4096];
    loop {
        let n = receiver.read(stream.channel, &mut buffer);
        if n == 0 {
            break;
        }
        let before = stream.received / CHUNK;
        stream.received += n;
        for _ in before..stream.received / CHUNK {
            receiver.write(stream.channel, &[3; ANSWER]);
        }
    }
    loop {
        let n = sender.read(stream.channel, &mut buffer);
        if n == 0 {
            break;
        }
        stream.answer_bytes += n;
        while stream.answered.len() < stream.answer_bytes / ANSWER {
            stream.answered.push(now);
        }
    }
}

impl Stream {
    fn worst(&self, since: Time, now: Time) -> f64 {
        let delays = self.sent.iter().enumerate().filter(|(_, at)| **at >= since);
        delays
            .map(|(n, at)| self.answered.get(n).copied().unwrap_or(now).since(*at))
            .map(|delay| delay.as_secs_f64() * 1e3)
            .fold(0.0, f64::max)
    }

    fn unanswered(&self) -> usize {
        self.sent.len() - self.answered.len()
    }
}
