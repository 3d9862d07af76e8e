//! How does the stack meet its driver? It hands over IP packets with the path they take, and
//! takes those that arrive.

use super::channel::{Channel, Phase};
use super::observe::Observed;
use super::settings::{self, Setup, UserError};
use crate::transport::{Endpoint, PacketEndpoint};
use model::manifest::Stack as StackRow;
use model::record::{Event, EventKind, Sample};
use model::{Name, PathIndex, Side, Time};
use mptcp::connection::{self, Config, SubflowInfo};
use mptcp::stack::{ConnectionId, Stack};
use policy::{Action, ConnectionView};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// A path as this end knows it.
pub(super) struct Path {
    pub name: Name,
    /// The client's address on it, which tells the subflows apart at both ends.
    pub client: IpAddr,
    /// Whether the client's host has the address.
    pub present: bool,
    /// Whether it was noted that the host has it not.
    pub refusal_noted: bool,
}

/// One end of TCP or Multipath TCP as a state machine over IP packets.
pub struct Packets {
    pub(super) side: Side,
    pub(super) stack: Stack,
    pub(super) config: Config,
    pub(super) server: SocketAddr,
    pub(super) paths: Vec<Path>,
    /// A channel's number is its connection's in views, records and events.
    pub(super) channels: Vec<Channel>,
    pub(super) numbers: BTreeMap<ConnectionId, usize>,
    accepted: VecDeque<usize>,
    pub(super) events: Vec<Event>,
    /// Whether the path manager should be asked.
    pub(super) changed: bool,
    /// Whether subflows can be opened on each connection that is open.
    pub(super) can_join: bool,
    /// Why the first connection that failed to be made did.
    pub(super) connect_failure: Option<String>,
    /// Packets that arrived.
    pub(super) arrivals: u64,
    /// When the driver was last here: channels are read and written at no other time.
    pub(super) now: Time,
    /// Whether what happens now follows from an action of the path manager.
    pub(super) acting: bool,
    /// Whether the scheduler leaves out a subflow that is potentially failed.
    pub(super) heeds_suspicion: bool,
    /// The subflows looked at last, and those of them that count.
    pub(super) seen: Vec<SubflowInfo>,
    pub(super) observed: Vec<Observed>,
}

impl Packets {
    /// A client that begins to connect over the first path, once for each channel.
    pub fn connect(now: Time, setup: Setup<'_>, channels: usize) -> Result<Packets, UserError> {
        let Some((_, first)) = setup.paths.first().filter(|_| channels > 0) else {
            return Err(UserError::Empty);
        };
        let (local, server) = (SocketAddr::new(*first, 0), setup.server);
        let mut end = Packets::new(setup, Side::Client)?;
        for number in 0..channels {
            let id = end.stack.connect(now, local, server);
            end.numbers.insert(id, number);
            end.channels.push(Channel::new(id, Phase::Connecting));
        }
        end.settle(now);
        Ok(end)
    }

    /// A server that accepts connections at its address.
    pub fn listen(setup: Setup<'_>) -> Result<Packets, UserError> {
        let server = setup.server;
        let mut end = Packets::new(setup, Side::Server)?;
        end.stack.listen(server);
        Ok(end)
    }

    fn new(setup: Setup<'_>, side: Side) -> Result<Packets, UserError> {
        let config = settings::config(&setup)?;
        let heeds_suspicion = (config.scheduler.make)().heeds_failed();
        let name = match side {
            Side::Client => "client.stack",
            Side::Server => "server.stack",
        };
        let paths = setup.paths.into_iter().map(|(name, client)| Path {
            name,
            client,
            present: true,
            refusal_noted: false,
        });
        Ok(Packets {
            side,
            stack: Stack::new(config.clone(), setup.seed, name),
            config,
            server: setup.server,
            paths: paths.collect(),
            channels: Vec::new(),
            numbers: BTreeMap::new(),
            accepted: VecDeque::new(),
            events: Vec::new(),
            changed: false,
            can_join: true,
            connect_failure: None,
            arrivals: 0,
            now: Time::ZERO,
            acting: false,
            heeds_suspicion,
            seen: Vec::new(),
            observed: Vec::new(),
        })
    }

    /// The path of a client's address.
    pub(super) fn path_of(&self, client: IpAddr) -> Option<PathIndex> {
        let index = self.paths.iter().position(|path| path.client == client)?;
        Some(PathIndex(index))
    }

    /// Takes in what happened in the stack.
    #[inline]
    pub(super) fn settle(&mut self, now: Time) {
        self.now = now;
        while let Some(id) = self.stack.accept() {
            self.accept(id);
        }
        while let Some((id, event)) = self.stack.next_event() {
            self.hear(now, id, &event);
        }
        if !self.can_join {
            self.look_whether_joins_are_possible();
        }
    }

    #[cold]
    fn accept(&mut self, id: ConnectionId) {
        let number = self.channels.len();
        self.numbers.insert(id, number);
        self.channels.push(Channel::new(id, Phase::Open));
        self.accepted.push_back(number);
    }

    #[cold]
    fn hear(&mut self, now: Time, id: ConnectionId, event: &connection::Event) {
        // What was not accepted yet has nothing to tell.
        if let Some(&number) = self.numbers.get(&id) {
            self.take_in(now, number, event);
        }
    }

    /// Nothing tells when subflows can be opened; until then a path manager is not asked.
    #[cold]
    fn look_whether_joins_are_possible(&mut self) {
        let open = |channel: &&mut Channel| channel.phase == Phase::Open && !channel.can_join;
        let mut all = true;
        for channel in self.channels.iter_mut().filter(open) {
            let info = self.stack.info(channel.id);
            channel.can_join = info.is_none_or(|i| !i.multipath || i.fully_established);
            self.changed |= channel.can_join;
            all &= channel.can_join;
        }
        self.can_join = all;
    }

    /// A packet was to leave from an address that the host has not.
    #[cold]
    fn note_refusal(&mut self, now: Time, path: PathIndex) {
        if !std::mem::replace(&mut self.paths[path.0].refusal_noted, true) {
            let detail = "the host has no such address any more; packets count as lost";
            self.event(now, EventKind::Note, None, Some(path), detail);
        }
    }

    /// Hands each channel's queue to the stack.
    fn push(&mut self, now: Time) {
        for channel in &mut self.channels {
            channel.push(now, &mut self.stack);
        }
    }
}

impl PacketEndpoint for Packets {
    fn receive(&mut self, now: Time, _path: PathIndex, packet: &[u8]) {
        self.arrivals += 1;
        self.stack.receive(now, packet);
    }

    fn may_transmit(&self) -> bool {
        self.stack.may_transmit()
    }

    fn transmit(&mut self, now: Time, packet: &mut [u8]) -> Option<(usize, PathIndex)> {
        loop {
            let sent = self.stack.transmit(now, packet)?;
            let client = match self.side {
                Side::Client => sent.source,
                Side::Server => sent.destination,
            };
            // Who comes from elsewhere gets no answer.
            let Some(path) = self.path_of(client) else {
                continue;
            };
            if self.paths[path.0].present {
                return Some((sent.length, path));
            }
            self.note_refusal(now, path);
        }
    }
}

impl Endpoint for Packets {
    fn poll_at(&self) -> Option<Time> {
        self.stack.poll_at()
    }

    fn poll(&mut self, now: Time) -> io::Result<()> {
        if self.stack.poll_at().is_some_and(|at| at <= now) {
            self.stack.poll(now);
        }
        self.settle(now);
        self.push(now);
        match &self.connect_failure {
            Some(reason) => Err(io::Error::other(reason.clone())),
            None => Ok(()),
        }
    }

    fn flush(&mut self, now: Time) -> io::Result<()> {
        self.push(now);
        self.settle(now);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        let mut channels = self.channels.iter();
        self.side == Side::Server || channels.all(|channel| channel.phase == Phase::Open)
    }

    fn accepted(&mut self) -> Option<usize> {
        self.accepted.pop_front()
    }

    fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        self.views(now)
    }

    fn apply(&mut self, now: Time, action: &Action) -> Result<(), String> {
        self.carry_out(now, action)
    }

    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        self.rows(now, samples);
    }

    fn events(&mut self, events: &mut Vec<Event>) {
        if !self.events.is_empty() {
            events.append(&mut self.events);
        }
    }

    fn path_changed(&mut self, _now: Time, path: PathIndex, up: bool) {
        let path = &mut self.paths[path.0];
        path.present = up;
        path.refusal_noted &= !up;
        self.changed = true;
    }

    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    fn stack(&self) -> StackRow {
        let (path_manager, scheduler) = match self.config.multipath {
            true => ("userspace", self.config.scheduler.name),
            false => ("none", "none"),
        };
        StackRow {
            name: "walkabout".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            congestion: self.config.controller.name.to_owned(),
            path_manager: path_manager.to_owned(),
            scheduler: scheduler.to_owned(),
            server_scheduler: None,
            security: None,
        }
    }

    fn close(&mut self, now: Time) {
        self.push(now);
        for channel in self.channels.iter().filter(|c| c.phase == Phase::Open) {
            self.stack.finish(now, channel.id);
        }
        self.settle(now);
    }
}
