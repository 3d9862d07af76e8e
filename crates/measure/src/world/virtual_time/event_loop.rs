//! In which order do things happen in virtual time? Always at the earliest moment at which a
//! link, a failure, a record or a host has something due; of what is due at one moment, failures
//! come first, then records of link states, then arrivals in the order of the links, then the
//! client, then the server.

use super::SimulationError;
use crate::addresses;
use crate::failure::{self, PathChange, Step};
use crate::host::{Client, Server, Turn};
use crate::lane::{DEVICE_DOWN, Lane, PacketBuf, STATE_PERIOD};
use crate::recording::Sink;
use crate::transport::{LocalPath, PacketEndpoint, PacketSetup};
use crate::world::plan::RunSpec;
use model::manifest::Stack;
use model::{Direction, PathIndex, Side, Time};
use network::link::Exit;
use network::topology;
use policy::list::Parameters;
use std::net::SocketAddr;
use std::time::Duration;

/// How long packets still move after the hosts have ended, so that the last words arrive.
const LINGER: Duration = Duration::from_millis(200);

/// More events than this at one moment are an endless loop, not a busy moment: the largest
/// window of a transport is some ten thousand packets.
const EVENTS_AT_ONCE: u64 = 1_000_000;

/// One run.
pub(super) struct EventLoop {
    now: Time,
    /// Up and down of the first path, up and down of the second ...
    lanes: Vec<Lane>,
    /// When each lane is due.
    lane_due: Vec<Time>,
    spare: Vec<PacketBuf>,
    client: Client,
    client_end: Box<dyn PacketEndpoint>,
    client_due: Time,
    server: Server,
    server_end: Box<dyn PacketEndpoint>,
    server_due: Time,
    /// The server's packet scheduler, where it is another than the client's.
    server_scheduler: Option<String>,
    steps: std::vec::IntoIter<Step>,
    changes: Vec<PathChange>,
    /// Whether the client's interface on each path is usable.
    usable: Vec<bool>,
    /// When the state of the links is written down, besides at every period.
    state_changes: std::vec::IntoIter<Time>,
    next_states: Time,
    /// When the next failure or record of the links' states is due.
    next_note: Time,
    /// Packets and turns so far.
    events: u64,
}

impl EventLoop {
    /// Sets everything up at time zero.
    pub(super) fn new(spec: &RunSpec) -> Result<EventLoop, SimulationError> {
        let (transport, policy) = (spec.transport()?, spec.policy()?);
        let scenario = &spec.scenario;
        let ends = transport.packets;
        let traces = spec.traces()?;
        if scenario.paths.len() > addresses::MAX_PATHS {
            return Err(SimulationError::TooManyPaths(scenario.paths.len()));
        }
        let mut lanes = Vec::new();
        for (index, path) in scenario.paths.iter().enumerate() {
            let index = PathIndex(index);
            let links = topology::build(scenario, index, spec.seed, &traces)?;
            for (link, direction) in [(links.up, Direction::Up), (links.down, Direction::Down)] {
                lanes.push(Lane::new(link, index, path.name.clone(), direction));
            }
        }
        let mut state_changes: Vec<Time> = lanes.iter().flat_map(|l| l.link.changes()).collect();
        state_changes.sort_unstable();
        state_changes.dedup();

        let paths: Vec<LocalPath> = scenario
            .paths
            .iter()
            .enumerate()
            .map(|(index, path)| LocalPath {
                name: path.name.clone(),
                kind: path.kind,
                address: addresses::client(scenario.family, index),
                interface: 0,
            })
            .collect();
        let application = scenario.application();
        let setup = PacketSetup {
            seed: spec.seed,
            server: SocketAddr::new(addresses::server(scenario.family), addresses::PORT),
            paths: &paths,
            channels: application.channels(),
            congestion: scenario.congestion.as_deref(),
            extensions: &scenario.multipath,
            scheduler: scenario.scheduler_of(Side::Client),
            policy,
        };
        let server_setup = PacketSetup {
            scheduler: scenario.scheduler_of(Side::Server),
            ..setup
        };
        let server_end = (ends.listen)(&server_setup).map_err(SimulationError::Setup)?;
        let client_end = (ends.connect)(&setup).map_err(SimulationError::Setup)?;
        let end = Time::ZERO + scenario.duration.get();
        let decides = transport.decides_at_run_time(spec.world, policy);
        let named = paths.iter().map(|path| (path.name.clone(), path.kind));
        let manager = decides.then(|| (policy.make)(&Parameters::of(scenario)));
        Ok(EventLoop {
            now: Time::ZERO,
            lane_due: vec![Time::MAX; lanes.len()],
            lanes,
            spare: Vec::new(),
            client: Client::new(named, &application, spec.seed, end, manager),
            client_end,
            client_due: Time::ZERO,
            server: Server::new(end),
            server_end,
            server_scheduler: transport.server_scheduler(spec.world, scenario),
            server_due: Time::ZERO,
            steps: failure::steps(scenario, spec.seed)?.into_iter(),
            changes: Vec::new(),
            usable: vec![true; scenario.paths.len()],
            state_changes: state_changes.into_iter(),
            next_states: Time::ZERO,
            next_note: Time::ZERO,
            events: 0,
        })
    }

    /// What carries the traffic.
    pub(super) fn stack(&self) -> Stack {
        Stack {
            server_scheduler: self.server_scheduler.clone(),
            ..self.client_end.stack()
        }
    }

    /// Packets that left a link, and turns of hosts, so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Runs to the end, whatever it is.
    pub(super) fn run(&mut self, sink: &mut dyn Sink) -> Result<(), SimulationError> {
        let result = self.run_hosts(sink);
        let now = self.now;
        self.client.end(now, &mut *self.client_end, sink);
        self.server.end(now, &mut *self.server_end, sink);
        self.send(true);
        self.send(false);
        self.linger(now + LINGER, sink);
        result
    }

    fn run_hosts(&mut self, sink: &mut dyn Sink) -> Result<(), SimulationError> {
        let mut at_once = 0;
        loop {
            let due = self.due();
            debug_assert!(due >= self.now, "time goes back");
            if due > self.now {
                (self.now, at_once) = (due, self.events);
            } else if self.events - at_once > EVENTS_AT_ONCE {
                return Err(SimulationError::Standstill {
                    at: self.now,
                    events: EVENTS_AT_ONCE,
                });
            }
            if self.next_note <= self.now {
                self.carry_out_failures(sink);
                self.log_states(sink);
                self.next_note = self.note_due();
            }
            for lane in 0..self.lanes.len() {
                if self.lane_due[lane] <= self.now {
                    self.deliver(lane, sink);
                }
            }
            if self.client_due <= self.now || !self.changes.is_empty() {
                self.events += 1;
                let settled = self.server.is_settled();
                let end = &mut *self.client_end;
                let turn = self
                    .client
                    .turn(self.now, end, &self.changes, settled, sink)?;
                self.changes.clear();
                self.send(true);
                match turn {
                    // What was sent since has set timers.
                    Turn::Until(until) => {
                        let timer = self.client_end.poll_at().unwrap_or(until);
                        self.client_due = until.min(timer);
                    }
                    Turn::Done => return Ok(()),
                }
            }
            if self.server_due <= self.now {
                self.events += 1;
                let was_settled = self.server.is_settled();
                let end = &mut *self.server_end;
                let until = self.server.turn(self.now, end, sink)?;
                self.send(false);
                let timer = self.server_end.poll_at().unwrap_or(until);
                self.server_due = until.min(timer);
                if self.server.is_settled() && !was_settled {
                    // The client may be waiting for nothing else.
                    self.client_due = self.now;
                }
            }
        }
    }

    /// The earliest moment at which something is due.
    fn due(&self) -> Time {
        let mut due = self.client_due.min(self.server_due).min(self.next_note);
        for &at in &self.lane_due {
            if at < due {
                due = at;
            }
        }
        due.max(self.now)
    }

    fn note_due(&self) -> Time {
        let step = self.steps.as_slice().first().map(|step| step.at);
        let change = self.state_changes.as_slice().first().copied();
        let due = [step, change].into_iter().flatten();
        due.fold(self.next_states, Time::min)
    }

    fn carry_out_failures(&mut self, sink: &mut dyn Sink) {
        while let Some(step) = self.steps.as_slice().first()
            && step.at <= self.now
        {
            if let Some(change) = step.note(self.now, sink) {
                self.usable[change.path.0] = change.up;
                self.changes.push(change);
            }
            self.steps.next();
        }
    }

    fn log_states(&mut self, sink: &mut dyn Sink) {
        let mut due = self.next_states <= self.now;
        while self
            .state_changes
            .as_slice()
            .first()
            .is_some_and(|at| *at <= self.now)
        {
            self.state_changes.next();
            due = true;
        }
        if due {
            for lane in &mut self.lanes {
                lane.log_state(self.now, sink);
            }
            while self.next_states <= self.now {
                self.next_states += STATE_PERIOD;
            }
        }
    }

    /// Takes what leaves a lane now to its host, which answers each packet before the next.
    fn deliver(&mut self, lane: usize, sink: &mut dyn Sink) {
        let up = self.lanes[lane].direction == Direction::Up;
        let path = self.lanes[lane].path;
        while let Some(exit) = self.lanes[lane].link.poll(self.now) {
            self.events += 1;
            let delivered = self.leave(lane, exit, sink);
            if let Some(packet) = delivered {
                match up {
                    true => self.server_end.receive(self.now, path, packet.packet()),
                    false => self.client_end.receive(self.now, path, packet.packet()),
                }
                self.spare.push(packet);
                self.send(!up);
                match up {
                    true => self.server_due = self.now,
                    false => self.client_due = self.now,
                }
            }
        }
        self.lane_due[lane] = self.lanes[lane].link.poll_at().unwrap_or(Time::MAX);
    }

    /// Writes a packet's end down; the packet, if it arrived.
    #[inline]
    fn leave(
        &mut self,
        lane: usize,
        exit: Exit<PacketBuf>,
        sink: &mut dyn Sink,
    ) -> Option<PacketBuf> {
        let lane = &mut self.lanes[lane];
        // What is on its way to an interface that is gone meanwhile arrives at none.
        let arrives = lane.direction == Direction::Up || self.usable[lane.path.0];
        let refused = (!arrives).then_some(DEVICE_DOWN);
        let observation = lane.observe(&exit, refused);
        sink.packet(&lane.name, &observation);
        match exit {
            Exit::Delivered { packet, .. } if arrives => Some(packet.payload),
            Exit::Delivered { packet, .. } | Exit::Dropped { packet, .. } => {
                self.spare.push(packet.payload);
                None
            }
        }
    }

    /// Puts everything that an end has to send onto its links.
    #[inline(always)]
    fn send(&mut self, is_client: bool) {
        // Mostly nothing.
        let may_transmit = match is_client {
            true => self.client_end.may_transmit(),
            false => self.server_end.may_transmit(),
        };
        if may_transmit {
            self.transmit(is_client);
        }
    }

    #[inline(never)]
    fn transmit(&mut self, is_client: bool) {
        let end = match is_client {
            true => &mut *self.client_end,
            false => &mut *self.server_end,
        };
        loop {
            let mut buffer = self.spare.pop().unwrap_or_else(PacketBuf::new);
            let Some((length, path)) = end.transmit(self.now, &mut buffer.bytes[..]) else {
                self.spare.push(buffer);
                return;
            };
            buffer.length = length;
            let index = 2 * path.0 + usize::from(!is_client);
            let lane = &mut self.lanes[index];
            lane.push(self.now, buffer, true);
            self.lane_due[index] = lane.link.poll_at().unwrap_or(Time::MAX);
            if !end.may_transmit() {
                return;
            }
        }
    }

    /// Lets the packets that are under way arrive; nobody answers them any more.
    fn linger(&mut self, until: Time, sink: &mut dyn Sink) {
        while let Some(due) = self.lane_due.iter().copied().min()
            && due <= until
        {
            self.now = due.max(self.now);
            for lane in 0..self.lanes.len() {
                if self.lane_due[lane] > self.now {
                    continue;
                }
                while let Some(exit) = self.lanes[lane].link.poll(self.now) {
                    let packet = self.leave(lane, exit, sink);
                    self.spare.extend(packet);
                }
                self.lane_due[lane] = self.lanes[lane].link.poll_at().unwrap_or(Time::MAX);
            }
        }
        self.now = until;
        for lane in &mut self.lanes {
            lane.log_state(until, sink);
            let name = lane.name.clone();
            for packet in lane.remaining() {
                sink.packet(&name, &packet);
            }
        }
    }
}
