//! Two stacks back to back in memory, with what is between them.

use super::scheduler;
use crate::connection::{Config, Event, Info, SubflowInfo};
use crate::stack::{ConnectionId, Stack};
use crate::subflow;
use crate::wire::Segment;
use model::{Seed, Time};
use policy::SubflowId;
use rand::RngExt;
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

/// What is between the hosts does with a segment: `None` drops it.
pub(super) type Middlebox = Box<dyn FnMut(usize, &mut Segment<'_>) -> Option<()>>;

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The `n`th path's address of the client.
pub(super) fn client(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, n, 1], 0))
}

pub(super) fn server() -> SocketAddr {
    SocketAddr::from(([10, 9, 0, 1], 80))
}

pub(super) fn config() -> Config {
    Config {
        multipath: true,
        checksum: false,
        send_buffer: 4 << 20,
        receive_buffer: 6 << 20,
        stale_loss_count: 4,
        close_timeout: Duration::from_secs(60),
        scheduler: &scheduler::LOWEST,
        controller: policy::congestion::list::find("reno").unwrap(),
        extensions: crate::connection::Extensions::default(),
        subflow: subflow::Config::default(),
    }
}

/// A path, named by the client's address.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) delay: Duration,
    pub(super) loss: f64,
    pub(super) up: bool,
}

pub(super) struct World {
    pub(super) now: Time,
    pub(super) stacks: [Stack; 2],
    pub(super) links: BTreeMap<IpAddr, Link>,
    pub(super) middlebox: Option<Middlebox>,
    /// Whether the applications read what arrives.
    pub(super) reading: [bool; 2],
    pub(super) read: [BTreeMap<ConnectionId, Vec<u8>>; 2],
    pub(super) events: [Vec<(ConnectionId, Event)>; 2],
    /// Every segment that was sent, shortly.
    pub(super) packets: u64,
    in_flight: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    random: Pcg64,
}

impl World {
    pub(super) fn new(client: Config, server_config: Config) -> World {
        World::seeded(client, server_config, Seed(1))
    }

    /// With other keys, ports and initial sequence numbers.
    pub(super) fn seeded(client: Config, server_config: Config, seed: Seed) -> World {
        let mut server_stack = Stack::new(server_config, seed, "server");
        server_stack.listen(server());
        let mut links = BTreeMap::new();
        for n in 1..=3 {
            let link = Link {
                delay: ms(5 * u64::from(n)),
                loss: 0.0,
                up: true,
            };
            links.insert(super::rig::client(n).ip(), link);
        }
        World {
            now: Time::from_millis(1),
            stacks: [Stack::new(client, seed, "client"), server_stack],
            links,
            middlebox: None,
            reading: [true; 2],
            read: Default::default(),
            events: Default::default(),
            packets: 0,
            in_flight: BTreeMap::new(),
            random: Seed(7).stream("network"),
        }
    }

    pub(super) fn link(&mut self, n: u8) -> &mut Link {
        self.links.get_mut(&client(n).ip()).unwrap()
    }

    pub(super) fn connect(&mut self) -> ConnectionId {
        self.stacks[CLIENT].connect(self.now, client(1), server())
    }

    /// A connection on which both sides know that both speak Multipath TCP, and the server's end.
    pub(super) fn connected(&mut self) -> (ConnectionId, ConnectionId) {
        let id = self.connect();
        self.run(ms(50));
        let other = self.stacks[SERVER].accept().expect("a connection");
        assert_eq!(self.stacks[CLIENT].write(self.now, id, b"hello"), 5);
        self.run(ms(100));
        (id, other)
    }

    /// Opens a further subflow from the client's `n`th address.
    pub(super) fn join(&mut self, id: ConnectionId, n: u8, backup: bool) -> SubflowId {
        let opened = self.stacks[CLIENT].open_subflow(self.now, id, client(n), server(), backup);
        let subflow = opened.expect("a subflow");
        self.run(ms(100));
        subflow
    }

    fn send_all(&mut self) {
        let mut packet = [0; 2048];
        for host in [CLIENT, SERVER] {
            while let Some(transmit) = self.stacks[host].transmit(self.now, &mut packet) {
                self.packets += 1;
                let mut bytes = packet[..transmit.length].to_vec();
                let path = match host {
                    CLIENT => transmit.source,
                    _ => transmit.destination,
                };
                let Some(link) = self.links.get(&path).cloned() else {
                    continue;
                };
                let lost = link.loss > 0.0 && self.random.random_bool(link.loss);
                if !link.up || lost {
                    continue;
                }
                let original = bytes.clone();
                let mut segment = Segment::parse(&original).expect("a valid segment");
                if let Some(middlebox) = &mut self.middlebox {
                    if middlebox(host, &mut segment).is_none() {
                        continue;
                    }
                    let mut changed = [0; 2048];
                    let length = segment.emit(&mut changed);
                    bytes = changed[..length].to_vec();
                }
                let at = self.now + link.delay;
                self.in_flight.insert((at, self.packets), (1 - host, bytes));
            }
            while let Some(event) = self.stacks[host].next_event() {
                self.events[host].push(event);
            }
        }
    }

    fn read_all(&mut self) {
        let mut buffer = [0; 16_384];
        for host in [CLIENT, SERVER] {
            if !self.reading[host] {
                continue;
            }
            let known: Vec<ConnectionId> = self.events[host].iter().map(|e| e.0).collect();
            for id in std::collections::BTreeSet::from_iter(known) {
                loop {
                    let count = self.stacks[host].read(self.now, id, &mut buffer);
                    if count == 0 {
                        break;
                    }
                    let all = self.read[host].entry(id).or_default();
                    all.extend_from_slice(&buffer[..count]);
                }
            }
        }
    }

    /// Lets time pass, until there is nothing to do or `after` is over.
    pub(super) fn run(&mut self, after: Duration) {
        self.run_with(after, &mut |_| false);
    }

    /// Lets time pass until `done`; `work` of the applications goes on after each step.
    pub(super) fn run_with(
        &mut self,
        after: Duration,
        done: &mut dyn FnMut(&mut World) -> bool,
    ) -> bool {
        let end = self.now + after;
        let mut steps = 0;
        loop {
            self.send_all();
            self.read_all();
            let finished = done(self);
            self.send_all();
            if finished {
                return true;
            }
            let arrival = self.in_flight.keys().next().map(|k| k.0);
            let timers = self.stacks.iter().filter_map(Stack::poll_at).min();
            let next = [arrival, timers].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else {
                self.now = end;
                return false;
            };
            steps = if next > self.now { 0 } else { steps + 1 };
            assert!(steps < 100_000, "time stands still at {:?}", self.now);
            self.now = self.now.max(next);
            while let Some((&(at, number), _)) = self.in_flight.first_key_value()
                && at <= self.now
            {
                let (host, bytes) = self.in_flight.remove(&(at, number)).unwrap();
                self.stacks[host].receive(self.now, &bytes);
            }
            for stack in &mut self.stacks {
                if stack.poll_at().is_some_and(|at| at <= self.now) {
                    stack.poll(self.now);
                }
            }
        }
    }

    pub(super) fn info(&self, host: usize, id: ConnectionId) -> Info {
        self.stacks[host].info(id).expect("a connection")
    }

    pub(super) fn subflows(&self, host: usize, id: ConnectionId) -> Vec<SubflowInfo> {
        let mut subflows = Vec::new();
        self.stacks[host].subflows(self.now, id, &mut subflows);
        subflows
    }

    pub(super) fn events_of(&self, host: usize, id: ConnectionId) -> Vec<Event> {
        let all = self.events[host].iter();
        all.filter(|e| e.0 == id).map(|e| e.1.clone()).collect()
    }

    pub(super) fn has_event(&self, host: usize, id: ConnectionId, event: &Event) -> bool {
        self.events_of(host, id).contains(event)
    }

    pub(super) fn received(&self, host: usize, id: ConnectionId) -> &[u8] {
        self.read[host].get(&id).map_or(&[], Vec::as_slice)
    }

    /// Both sides send `bytes` and finish; whether all arrives within `time`.
    pub(super) fn exchange(
        &mut self,
        ids: (ConnectionId, ConnectionId),
        bytes: [usize; 2],
        time: Duration,
    ) {
        let ids = [ids.0, ids.1];
        let data: [Vec<u8>; 2] = [0, 1].map(|host| pattern(bytes[host], host as u8));
        let before: [usize; 2] = [0, 1].map(|host| self.received(host, ids[host]).len());
        let mut written = [0, 0];
        let closed = self.run_with(time, &mut |world| {
            for host in [CLIENT, SERVER] {
                let (now, id) = (world.now, ids[host]);
                if written[host] < data[host].len() {
                    let rest = &data[host][written[host]..];
                    let rest = &rest[..rest.len().min(65_536)];
                    written[host] += world.stacks[host].write(now, id, rest);
                } else {
                    world.stacks[host].finish(now, id);
                }
            }
            [CLIENT, SERVER]
                .iter()
                .all(|host| world.has_event(*host, ids[*host], &Event::Closed))
        });
        for host in [CLIENT, SERVER] {
            let got = &self.received(host, ids[host])[before[host]..];
            let want = &data[1 - host];
            assert!(
                got == want,
                "host {host} read {} of {} bytes; {:?} {:?}\n{:#?}\n{:#?}",
                got.len(),
                want.len(),
                self.info(CLIENT, ids[0]),
                self.info(SERVER, ids[1]),
                self.subflows(CLIENT, ids[0]),
                self.subflows(SERVER, ids[1]),
            );
        }
        assert!(
            closed,
            "{:?} {:?}",
            self.events_of(CLIENT, ids[0]),
            self.events_of(SERVER, ids[1])
        );
    }
}

/// Bytes that differ everywhere.
pub(super) fn pattern(length: usize, salt: u8) -> Vec<u8> {
    let byte = |i: usize| (i.wrapping_mul(31) ^ (i >> 8) ^ (i >> 16)) as u8 ^ salt;
    (0..length).map(byte).collect()
}
