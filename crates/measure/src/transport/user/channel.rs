//! One connection as a channel: what is written waits in front of the stack's send buffer until the
//! stack takes it.

use super::packets::Packets;
use bytes::Bytes;
use model::{PathIndex, Time};
use mptcp::connection::Info;
use mptcp::stack::{ConnectionId, Stack};
use policy::SubflowId;
use traffic::Channels;

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The first handshake is under way.
    Connecting,
    /// Data can flow.
    Open,
    /// Over, for good.
    Closed,
}

/// What waits is handed over in parts that end at multiples of this many bytes, counted from when
/// nothing waited: as from the ring of 1 MiB that holds what an application keeps waiting. No segment
/// reaches across.
const RING: usize = 1 << 20;

/// One connection.
pub(super) struct Channel {
    pub id: ConnectionId,
    pub phase: Phase,
    /// Whether the peer has finished: what can be read is the last.
    pub peer_finished: bool,
    /// Which path each of its subflows takes.
    pub subflows: Vec<(SubflowId, PathIndex)>,
    /// The paths that have carried data.
    pub used: Vec<PathIndex>,
    /// Whether subflows can be opened, as far as was looked.
    pub can_join: bool,
    /// How many packets had arrived at this end when nothing more could be read.
    empty_at: Option<u64>,
    /// Bytes written that wait in front of the stack's send buffer.
    queued: usize,
    /// Bytes handed over since nothing waited.
    handed: usize,
}

impl Channel {
    pub(super) fn new(id: ConnectionId, phase: Phase) -> Channel {
        Channel {
            id,
            phase,
            peer_finished: false,
            subflows: Vec::new(),
            used: Vec::new(),
            can_join: false,
            empty_at: None,
            queued: 0,
            handed: 0,
        }
    }

    /// Bytes written and not yet taken by the stack.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// Lets the stack take as much of what waits as it has room for. What was written in one turn of
    /// the host is handed over together, so that it goes into as few segments as it can, as over the
    /// kernel's.
    pub(super) fn push(&mut self, now: Time, stack: &mut Stack) {
        while self.phase == Phase::Open && self.queued > 0 {
            let part = self.queued.min(RING - self.handed % RING);
            let taken = stack.admit(now, self.id, part);
            self.queued -= taken;
            self.handed += taken;
            if taken < part {
                return;
            }
        }
        if self.queued == 0 {
            self.handed = 0;
        }
    }

    /// Ends the channel; what is queued is dropped.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Closed;
        self.queued = 0;
    }
}

impl Packets {
    /// The connection of a channel that `bytes` are written to; none once it is over.
    fn writable(&mut self, channel: usize, bytes: usize) -> Option<ConnectionId> {
        let channels = self.channels.get_mut(channel);
        let open = channels.filter(|channel| channel.phase != Phase::Closed)?;
        open.queued += bytes;
        Some(open.id)
    }
}

impl Channels for Packets {
    fn write(&mut self, channel: usize, data: &[u8]) {
        if let Some(open) = self.writable(channel, data.len()) {
            self.stack.enqueue(open, data);
        }
    }

    fn write_bytes(&mut self, channel: usize, data: Bytes) {
        if let Some(open) = self.writable(channel, data.len()) {
            self.stack.enqueue_bytes(open, data);
        }
    }

    fn queued(&self, channel: usize) -> usize {
        self.channels.get(channel).map_or(0, Channel::queued)
    }

    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let (most, mut at) = (buffer.len(), 0);
        self.read_pieces(channel, most, &mut |bytes| {
            buffer[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        })
    }

    fn read_each(
        &mut self,
        channel: usize,
        buffer: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> usize {
        self.read_pieces(channel, buffer.len(), take)
    }

    fn is_open(&self, channel: usize) -> bool {
        let channel = self.channels.get(channel);
        channel.is_some_and(|channel| channel.phase != Phase::Closed)
    }
}

impl Packets {
    /// Gives at most `most` bytes of what has arrived to `take`.
    fn read_pieces(&mut self, channel: usize, most: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let Some(open) = self.channels.get_mut(channel) else {
            return 0;
        };
        // Asked until there is nothing, turn after turn: looking costs as much as reading.
        if open.empty_at == Some(self.arrivals) && !open.peer_finished {
            return 0;
        }
        let count = self.stack.read_each(self.now, open.id, most, take);
        if count < most {
            open.empty_at = Some(self.arrivals);
        }
        if count == 0 && open.peer_finished && open.phase == Phase::Open && most > 0 {
            let at_end = |info: Info| info.at_end;
            if self.stack.info(open.id).is_none_or(at_end) {
                self.end(self.now, channel, "the peer closed the connection");
            }
        }
        count
    }
}
