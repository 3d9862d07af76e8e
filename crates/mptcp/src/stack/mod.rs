//! A host's transport layer: which connection is a packet for, and who is listening?

mod demux;
mod incoming;
mod numbers;
mod settling;
mod slots;
mod timers;

#[cfg(test)]
mod tests;

use crate::connection::{
    Config, Connection, Context, Event, Info, SendBuffer, SubflowError, SubflowInfo,
};
use bytes::Bytes;
use demux::Demux;
use incoming::StrayReset;
use model::{Seed, Time};
use numbers::Numbers;
use policy::SubflowId;
use rand_pcg::Pcg64;
use slots::Slots;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use timers::Timers;

/// A connection of a stack; never given twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The packet's length.
    pub length: usize,
    /// Its source address.
    pub source: IpAddr,
    /// Its destination.
    pub destination: IpAddr,
}

/// What a stack counted; the names follow Linux's MIB where it has the same.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets that were no valid segment.
    pub malformed: u64,
    /// Segments that belonged to no connection.
    pub stray: u64,
    /// Resets sent.
    pub resets_sent: u64,
    /// Segments answered with a challenge ACK, or ignored over its limit.
    pub challenges: u64,
    /// Joins refused for an unknown token.
    pub join_no_token: u64,
    /// Joins refused for a wrong HMAC.
    pub join_bad_hmac: u64,
    /// ADD_ADDR with a wrong HMAC.
    pub add_addr_bad_hmac: u64,
    /// Joins that completed.
    pub joins: u64,
    /// Connections that fell back to plain TCP.
    pub fallbacks: u64,
    /// DSS checksums that were wrong.
    pub checksum_errors: u64,
    /// Mappings that contradicted others or were out of bounds.
    pub bad_mappings: u64,
    /// MP_FASTCLOSE received.
    pub fast_closes: u64,
    /// FAST_JOIN accepted, sent, and followed by an MP_JOIN because they came to nothing.
    pub fast_joins: u64,
    /// See `fast_joins`.
    pub fast_joins_sent: u64,
    /// See `fast_joins`.
    pub fast_joins_given_up: u64,
    /// FAST_JOIN refused.
    pub fast_joins_refused: RefusedJoins,
    /// Options of extensions that were too short or too long.
    pub malformed_extensions: u64,
    /// Retransmission timeouts asked for.
    pub rto_requests: u64,
    /// Retransmission timeouts told.
    pub rto_answers: u64,
    /// Subflows that were starved.
    pub starved: u64,
}

/// FAST_JOIN refused, by the reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RefusedJoins {
    /// No connection has the token.
    pub no_token: u64,
    /// The connection has not agreed on fast joins.
    pub not_agreed: u64,
    /// The option's HMAC was wrong.
    pub forged: u64,
    /// The number was outside of the window.
    pub out_of_window: u64,
    /// The number was used before.
    pub replayed: u64,
    /// The option or the data was not whole.
    pub malformed: u64,
    /// There were too many subflows.
    pub resources: u64,
}

/// What connections use of their stack while it works on one of them.
struct Host {
    config: Config,
    random: Pcg64,
    events: VecDeque<(ConnectionId, Event)>,
    counters: Counters,
}

impl Host {
    fn context(&mut self, now: Time) -> Context<'_> {
        Context {
            now,
            config: &self.config,
            events: &mut self.events,
            counters: &mut self.counters,
            random: &mut self.random,
        }
    }
}

/// A host's transport layer.
pub struct Stack {
    host: Host,
    numbers: Numbers,
    slots: Slots,
    demux: Demux,
    /// Which connection has the token.
    tokens: BTreeMap<u32, usize>,
    listeners: Vec<SocketAddr>,
    /// Connected, and not accepted by the application.
    backlog: VecDeque<ConnectionId>,
    /// Connections that peers began and that are not connected.
    half_open: usize,
    timers: Timers,
    /// Connections that may have something to transmit, each once.
    ready: VecDeque<usize>,
    /// Resets for segments that belong to no connection.
    resets: VecDeque<StrayReset>,
    /// Those whose timers are due, while they are looked at.
    due: Vec<usize>,
}

impl Stack {
    /// A stack that draws keys, nonces, ports and sequence numbers from the seed's stream `name`.
    pub fn new(config: Config, seed: Seed, name: &str) -> Stack {
        let mut random = seed.stream(name);
        Stack {
            numbers: Numbers::new(&mut random),
            demux: Demux::new(&mut random),
            host: Host {
                config,
                random,
                events: VecDeque::new(),
                counters: Counters::default(),
            },
            slots: Slots::default(),
            tokens: BTreeMap::new(),
            listeners: Vec::new(),
            backlog: VecDeque::new(),
            half_open: 0,
            timers: Timers::default(),
            ready: VecDeque::new(),
            resets: VecDeque::new(),
            due: Vec::new(),
        }
    }

    /// Accepts connections at `address` from now on; an unspecified one stands for all.
    pub fn listen(&mut self, address: SocketAddr) {
        if !self.listeners.contains(&address) {
            self.listeners.push(address);
        }
    }

    /// A connection that a peer made and that can carry data, each once.
    #[inline]
    pub fn accept(&mut self) -> Option<ConnectionId> {
        self.backlog.pop_front()
    }

    /// Begins to connect from `local` (port 0, or one in use towards `remote`: another is chosen)
    /// to `remote`.
    pub fn connect(&mut self, now: Time, local: SocketAddr, remote: SocketAddr) -> ConnectionId {
        let tuple = self.free_tuple(local, remote);
        let key = self.free_key();
        let start = self.numbers.start(now, tuple);
        let id = self.slots.next_id();
        let connection = Connection::connect(&mut self.host.context(now), id, tuple, key, start);
        let slot = self.slots.insert(connection);
        self.demux.insert(tuple, slot, SubflowId::new(0));
        self.register_token(slot);
        self.settle(now, slot);
        id
    }

    /// Takes as much of `data` as the send buffer has room for; returns how much. What was enqueued
    /// goes first: nothing is taken as long as it waits.
    pub fn write(&mut self, now: Time, connection: ConnectionId, data: &[u8]) -> usize {
        self.with(now, connection, |c, ctx| c.write(ctx, data))
            .unwrap_or(0)
    }

    /// Keeps all of `data`, in front of the send buffer: [`Stack::admit`] writes it.
    pub fn enqueue(&mut self, connection: ConnectionId, data: &[u8]) {
        if let Some(buffer) = self.send_buffer(connection) {
            buffer.enqueue(data);
        }
    }

    /// The same of data that nobody changes any more, which need not be copied.
    pub fn enqueue_bytes(&mut self, connection: ConnectionId, data: Bytes) {
        if let Some(buffer) = self.send_buffer(connection) {
            buffer.enqueue_bytes(data);
        }
    }

    fn send_buffer(&mut self, connection: ConnectionId) -> Option<&mut SendBuffer> {
        let slot = self.slots.find(connection)?;
        Some(self.slots.get_mut(slot)?.connection.send_buffer())
    }

    /// Writes at most `most` bytes of what was enqueued, as much as the send buffer has room for;
    /// returns how much.
    pub fn admit(&mut self, now: Time, connection: ConnectionId, most: usize) -> usize {
        let Some(slot) = self.slots.find(connection) else {
            return 0;
        };
        let entry = self.slots.get_mut(slot).filter(|s| !s.connection.released);
        let count = entry.map_or(0, |s| s.connection.admit(&mut self.host.context(now), most));
        // Mostly there is no room, and nothing to look after.
        if count > 0 {
            self.settle(now, slot);
        }
        count
    }

    /// Reads what has arrived; returns how much, 0 when nothing waits.
    pub fn read(&mut self, now: Time, connection: ConnectionId, buffer: &mut [u8]) -> usize {
        let (most, mut at) = (buffer.len(), 0);
        self.read_each(now, connection, most, &mut |bytes| {
            buffer[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        })
    }

    /// Gives at most `most` bytes of what has arrived to `take`, in order and in pieces; returns how
    /// much.
    pub fn read_each(
        &mut self,
        now: Time,
        connection: ConnectionId,
        most: usize,
        take: &mut dyn FnMut(&[u8]),
    ) -> usize {
        let Some(slot) = self.slots.find(connection) else {
            return 0;
        };
        let entry = self.slots.get_mut(slot);
        let Some(entry) = entry.filter(|e| e.connection.is_readable() && !e.connection.released)
        else {
            return 0;
        };
        let count = entry
            .connection
            .read(&mut self.host.context(now), most, take);
        // Reading sets no timer; mostly it makes no acknowledgement due either.
        if entry.connection.is_ready() {
            self.settle(now, slot);
        }
        count
    }

    /// Nothing more will be written: DATA_FIN (or FIN) follows.
    pub fn finish(&mut self, now: Time, connection: ConnectionId) {
        self.with(now, connection, |c, ctx| c.finish(ctx));
    }

    /// Ends the connection at once: MP_FASTCLOSE (or a reset).
    pub fn abort(&mut self, now: Time, connection: ConnectionId) {
        self.with(now, connection, |c, ctx| c.abort(ctx));
    }

    /// Forgets a connection, aborting it if it is not over.
    pub fn release(&mut self, now: Time, connection: ConnectionId) {
        self.backlog.retain(|id| *id != connection);
        self.with(now, connection, |c, ctx| c.release(ctx));
    }

    /// Opens a subflow from `local` (port 0, or one in use towards `remote`: another is chosen)
    /// to `remote`, with a FAST_JOIN where both ends have that extension.
    pub fn open_subflow(
        &mut self,
        now: Time,
        connection: ConnectionId,
        local: SocketAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> Result<SubflowId, SubflowError> {
        let slot = self
            .slots
            .find(connection)
            .ok_or(SubflowError::NotConnected)?;
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(SubflowError::Family(local.ip()));
        }
        let tuple = self.free_tuple(local, remote);
        let start = self.numbers.start(now, tuple);
        let id = self
            .with(now, connection, |c, ctx| {
                c.open_subflow(ctx, tuple, start, backup, true)
            })
            .unwrap_or(Err(SubflowError::NotConnected))?;
        self.demux.insert(tuple, slot, id);
        Ok(id)
    }

    /// Closes a subflow, with a FIN or (`reset`) at once; what it carried is sent elsewhere. The
    /// connection goes on without any for [`Config::close_timeout`].
    pub fn close_subflow(
        &mut self,
        now: Time,
        connection: ConnectionId,
        subflow: SubflowId,
        reset: bool,
    ) -> Result<(), SubflowError> {
        self.with(now, connection, |c, ctx| {
            c.close_subflow(ctx, subflow, reset)
        })
        .unwrap_or(Err(SubflowError::NotConnected))
    }

    /// Makes a subflow a backup or regular, and tells the peer (MP_PRIO).
    pub fn set_backup(
        &mut self,
        now: Time,
        connection: ConnectionId,
        subflow: SubflowId,
        backup: bool,
    ) -> Result<(), SubflowError> {
        self.with(now, connection, |c, ctx| c.set_backup(ctx, subflow, backup))
            .unwrap_or(Err(SubflowError::NotConnected))
    }

    /// Marks a subflow potentially failed until something new is acknowledged on it.
    pub fn mark_failed(
        &mut self,
        now: Time,
        connection: ConnectionId,
        subflow: SubflowId,
    ) -> Result<(), SubflowError> {
        self.with(now, connection, |c, ctx| c.mark_failed(ctx, subflow))
            .unwrap_or(Err(SubflowError::NotConnected))
    }

    /// Announces an address of this host to the peer (ADD_ADDR); `port` 0 for the connection's.
    /// It is announced again until the peer echoes it, at most three times.
    pub fn announce(
        &mut self,
        now: Time,
        connection: ConnectionId,
        address: SocketAddr,
    ) -> Result<u8, SubflowError> {
        self.with(now, connection, |c, ctx| c.announce(ctx, address))
            .unwrap_or(Err(SubflowError::NotConnected))
    }

    /// Withdraws an address of this host (REMOVE_ADDR) and resets the subflows from it.
    pub fn withdraw(
        &mut self,
        now: Time,
        connection: ConnectionId,
        address: IpAddr,
    ) -> Result<(), SubflowError> {
        self.with(now, connection, |c, ctx| c.withdraw(ctx, address))
            .unwrap_or(Err(SubflowError::NotConnected))
    }

    /// The next IP packet to send now. Call it after every other call until there is none.
    pub fn transmit(&mut self, now: Time, packet: &mut [u8]) -> Option<Transmit> {
        if let Some(reset) = self.resets.pop_front() {
            self.host.counters.resets_sent += 1;
            return Some(reset.emit(packet));
        }
        while let Some(&slot) = self.ready.front() {
            let sent = self.slots.get_mut(slot).and_then(|s| {
                let ctx = &mut self.host.context(now);
                let sent = s.connection.transmit(ctx, packet)?;
                Some((sent, s.connection.is_ready()))
            });
            match sent {
                Some((sent, more)) => {
                    if !more {
                        self.rest(now, slot);
                    } else if self.ready.len() > 1 {
                        self.ready.rotate_left(1);
                    }
                    return Some(sent);
                }
                None => self.rest(now, slot),
            }
        }
        None
    }

    /// Whether [`Stack::transmit`] may have something: asked far more often than there is.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        !self.ready.is_empty() || !self.resets.is_empty()
    }

    /// The connection whose turn it is has nothing more to send.
    fn rest(&mut self, now: Time, slot: usize) {
        self.ready.pop_front();
        if let Some(entry) = self.slots.get_mut(slot) {
            entry.queued = false;
        }
        self.settle(now, slot);
    }

    /// When to call [`Stack::poll`] next; now and then that is too early, and nothing is due.
    #[inline]
    pub fn poll_at(&self) -> Option<Time> {
        self.timers.first()
    }

    /// Timers that are due.
    pub fn poll(&mut self, now: Time) {
        let mut due = std::mem::take(&mut self.due);
        self.timers.take_due(now, &mut due);
        for slot in due.drain(..) {
            if let Some(entry) = self.slots.get_mut(slot) {
                entry.timer = None;
                entry.connection.poll(&mut self.host.context(now));
                self.settle(now, slot);
            }
        }
        self.due = due;
    }

    /// What happened since the last call, in order.
    #[inline]
    pub fn next_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.host.events.pop_front()
    }

    /// What is known of a connection; `None` when it was released.
    pub fn info(&self, connection: ConnectionId) -> Option<Info> {
        let entry = self.slots.get(self.slots.find(connection)?)?;
        (!entry.connection.released).then(|| entry.connection.info())
    }

    /// Its subflows, by their numbers.
    pub fn subflows(&self, now: Time, connection: ConnectionId, subflows: &mut Vec<SubflowInfo>) {
        subflows.clear();
        let slot = self.slots.find(connection);
        if let Some(entry) = slot.and_then(|slot| self.slots.get(slot)) {
            entry.connection.subflows(now, subflows);
        }
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        self.host.counters
    }
}
