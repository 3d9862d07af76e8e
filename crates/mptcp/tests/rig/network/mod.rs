//! Which packet reaches which host when: hosts, the lanes between their addresses, and virtual
//! time.

pub mod lane;
pub mod log;
pub mod middlebox;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::time::Duration;

use lane::{Change, Fate, Lane};
use log::{Entry, Log};
use model::{Seed, Time};
use rand::RngExt;
use rand_pcg::Pcg64;
use walkabout_mptcp::connection::{Config, Event};
use walkabout_mptcp::stack::{ConnectionId, Stack};

/// Larger than any packet of these tests.
const PACKET: usize = 2048;
/// More events than this at one instant are a livelock.
const EVENTS_AT_ONCE: u32 = 10_000;

/// A host.
pub struct Host {
    /// Its transport layer.
    pub stack: Stack,
    /// What its stack told, in order.
    pub events: Vec<(Time, ConnectionId, Event)>,
    /// Packets it sent.
    pub sent: u64,
    /// Packets it received.
    pub received: u64,
}

/// Where packets between two addresses go.
struct Route {
    source: IpAddr,
    destination: IpAddr,
    lane: usize,
    host: usize,
}

/// The lanes of a path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// From the host that is named first.
    pub up: usize,
    /// To it.
    pub down: usize,
}

/// Hosts and what is between them.
pub struct Network {
    /// The time.
    pub now: Time,
    /// By the numbers that [`Network::add_host`] gave.
    pub hosts: Vec<Host>,
    /// By the numbers in [`Path`].
    pub lanes: Vec<Lane>,
    /// The packets so far, when they are wanted.
    pub log: Option<Log>,
    /// Packets of no route.
    pub unroutable: u64,
    routes: Vec<Route>,
    /// Arrival, a number that keeps the order, the host, and the buffer.
    travelling: BinaryHeap<Reverse<(Time, u64, usize, usize)>>,
    buffers: Vec<Vec<u8>>,
    free: Vec<usize>,
    count: u64,
    at_once: u32,
    random: Pcg64,
}

impl Network {
    /// Nothing yet.
    pub fn new(seed: u64) -> Network {
        Network {
            now: Time::ZERO,
            hosts: Vec::new(),
            lanes: Vec::new(),
            log: None,
            unroutable: 0,
            routes: Vec::new(),
            travelling: BinaryHeap::new(),
            buffers: Vec::new(),
            free: Vec::new(),
            count: 0,
            at_once: 0,
            random: Seed(seed).stream("network"),
        }
    }

    /// Adds a host; its number.
    pub fn add_host(&mut self, stack: Stack) -> usize {
        self.hosts.push(Host {
            stack,
            events: Vec::new(),
            sent: 0,
            received: 0,
        });
        self.hosts.len() - 1
    }

    /// A host with the stack of this configuration; `name` is that of its random stream.
    pub fn add_stack(&mut self, config: Config, seed: u64, name: &str) -> usize {
        self.add_host(Stack::new(config, Seed(seed), name))
    }

    /// Adds a lane; its number.
    pub fn add_lane(&mut self, lane: Lane) -> usize {
        self.lanes.push(lane);
        self.lanes.len() - 1
    }

    /// Sends what goes from `source` to `destination`, an address of `host`, over `lane`. A later
    /// route replaces an earlier one.
    pub fn route(&mut self, source: IpAddr, destination: IpAddr, lane: usize, host: usize) {
        self.routes
            .retain(|r| (r.source, r.destination) != (source, destination));
        self.routes.push(Route {
            source,
            destination,
            lane,
            host,
        });
    }

    /// What goes to or from an address has no route any more.
    pub fn forget(&mut self, address: IpAddr) {
        self.routes
            .retain(|r| r.source != address && r.destination != address);
    }

    /// Connects two addresses over two lanes that exist.
    pub fn connect(&mut self, near: (usize, IpAddr), far: (usize, IpAddr), path: Path) {
        self.route(near.1, far.1, path.up, far.0);
        self.route(far.1, near.1, path.down, near.0);
    }

    /// Makes the two lanes of a path, called `name>` and `name<`.
    pub fn add_path(
        &mut self,
        name: &str,
        delay: Duration,
        bottleneck: Option<(u64, usize)>,
    ) -> Path {
        let mut lane = |end: &str| {
            let lane = Lane::new(&format!("{name}{end}"), delay);
            self.add_lane(match bottleneck {
                Some((rate, queue)) => lane.with_rate(rate, queue),
                None => lane,
            })
        };
        Path {
            up: lane(">"),
            down: lane("<"),
        }
    }

    /// Both lanes of a path.
    pub fn each_lane(&mut self, path: Path, mut change: impl FnMut(&mut Lane)) {
        change(&mut self.lanes[path.up]);
        change(&mut self.lanes[path.down]);
    }

    /// A packet of unknown origin arrives at a host now.
    pub fn inject(&mut self, host: usize, packet: &[u8]) {
        let now = self.now;
        // Whoever injects may do so as often as it likes.
        self.at_once = 0;
        self.hosts[host].stack.receive(now, packet);
        self.settle(host);
    }

    /// Takes what a host has to send and to tell; to be called after every use of its stack.
    pub fn settle(&mut self, host: usize) {
        loop {
            let buffer = self.free_buffer();
            self.buffers[buffer].resize(PACKET, 0);
            let stack = &mut self.hosts[host].stack;
            let Some(sent) = stack.transmit(self.now, &mut self.buffers[buffer]) else {
                self.free.push(buffer);
                break;
            };
            self.occurs();
            self.buffers[buffer].truncate(sent.length);
            self.hosts[host].sent += 1;
            self.send(host, sent.source, sent.destination, buffer);
        }
        let Host { stack, events, .. } = &mut self.hosts[host];
        while let Some((connection, event)) = stack.next_event() {
            events.push((self.now, connection, event));
        }
    }

    fn free_buffer(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::with_capacity(PACKET));
            self.buffers.len() - 1
        })
    }

    fn occurs(&mut self) {
        self.at_once += 1;
        assert!(
            self.at_once < EVENTS_AT_ONCE,
            "livelock at {:?}: {} events",
            self.now,
            self.at_once
        );
    }

    /// The last `n` packets, for messages.
    pub fn recent(&self, n: usize) -> String {
        let text = self.log.as_ref().map(Log::render).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(n)..].join("\n")
    }

    fn send(&mut self, from: usize, source: IpAddr, destination: IpAddr, buffer: usize) {
        let route = self
            .routes
            .iter()
            .find(|r| (r.source, r.destination) == (source, destination));
        let Some(&Route { lane, host, .. }) = route else {
            self.unroutable += 1;
            self.note(from, None, Err("no route"), buffer);
            self.free.push(buffer);
            return;
        };
        let size = self.buffers[buffer].len();
        let fate = self.lanes[lane].enter(self.now, size, &mut self.random);
        let Fate::Arrives { at, twice, change } = fate else {
            if let Fate::Dropped(reason) = fate {
                self.note(from, Some(lane), Err(reason), buffer);
            }
            self.free.push(buffer);
            return;
        };
        self.note(from, Some(lane), Ok(at), buffer);
        let packet = &mut self.buffers[buffer];
        middlebox::strip(packet, self.lanes[lane].strip);
        match change {
            Change::Intact => {}
            Change::Garbled => middlebox::garble(packet, self.random.random::<u32>() as usize),
            Change::Corrupted => {
                let changed = middlebox::corrupt(packet, self.random.random::<u32>() as usize);
                self.lanes[lane].corrupted += u64::from(changed);
            }
        }
        self.count += 1;
        self.travelling
            .push(Reverse((at, self.count, host, buffer)));
        if twice {
            let packet = self.buffers[buffer].clone();
            let copy = self.free_buffer();
            self.buffers[copy] = packet;
            self.count += 1;
            self.travelling.push(Reverse((at, self.count, host, copy)));
        }
    }

    fn note(
        &mut self,
        host: usize,
        lane: Option<usize>,
        outcome: Result<Time, &'static str>,
        buffer: usize,
    ) {
        if let Some(log) = &mut self.log {
            log.entries.push(Entry {
                sent: self.now,
                outcome,
                host,
                lane: lane.map_or_else(|| "-".to_owned(), |l| self.lanes[l].name.clone()),
                packet: self.buffers[buffer].clone(),
            });
        }
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Time> {
        let arrival = self.travelling.peek().map(|t| t.0.0);
        let timers = self.hosts.iter().filter_map(|h| h.stack.poll_at());
        arrival.into_iter().chain(timers).min()
    }

    /// Lets happen what happens next, if by `until`; else it is `until` and the answer is no.
    pub fn step(&mut self, until: Time) -> bool {
        let at = match self.next_at() {
            Some(at) if at <= until => at.max(self.now),
            _ => {
                self.now = self.now.max(until);
                return false;
            }
        };
        if at > self.now {
            self.now = at;
            self.at_once = 0;
        }
        self.occurs();
        if let Some(&Reverse((arrival, _, host, buffer))) = self.travelling.peek()
            && arrival <= at
        {
            self.travelling.pop();
            self.hosts[host].received += 1;
            self.hosts[host].stack.receive(at, &self.buffers[buffer]);
            self.free.push(buffer);
            self.settle(host);
            return true;
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host]
                .stack
                .poll_at()
                .is_some_and(|due| due <= at)
            {
                self.hosts[host].stack.poll(at);
                self.settle(host);
            }
        }
        true
    }

    /// Lets everything happen up to `until`, with `turn` after each event.
    pub fn run(&mut self, until: Time, mut turn: impl FnMut(&mut Network)) {
        while self.step(until) {
            turn(self);
        }
    }

    /// Like [`Network::run`], but no longer than until `done`; whether it was.
    pub fn run_until(&mut self, until: Time, mut done: impl FnMut(&mut Network) -> bool) -> bool {
        loop {
            if done(self) {
                return true;
            }
            if !self.step(until) {
                return done(self);
            }
        }
    }
}

/// What a test that fails says: the packets before.
impl Drop for Network {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.recent(250));
            for host in &self.hosts {
                for (at, connection, event) in host.events.iter().rev().take(30).rev() {
                    println!("{at:?} {connection:?} {event:?}");
                }
            }
        }
    }
}

/// An address of the tests: host `host`'s of path `path`.
pub fn address(ipv6: bool, path: u8, host: u8) -> IpAddr {
    if ipv6 {
        IpAddr::from([0xfd00, 0, 0, path.into(), 0, 0, 0, host.into()])
    } else {
        IpAddr::from([10, 0, path, host])
    }
}
