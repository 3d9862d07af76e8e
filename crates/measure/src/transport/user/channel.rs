//! One connection as a channel: what is written waits here until the stack takes it.

use super::packets::Packets;
use model::{PathIndex, Time};
use mptcp::connection::Info;
use mptcp::stack::{ConnectionId, Stack};
use policy::SubflowId;
use std::collections::VecDeque;
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
    /// Written and not yet taken by the stack.
    outgoing: VecDeque<u8>,
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
            outgoing: VecDeque::new(),
        }
    }

    /// Bytes written and not yet taken by the stack.
    pub(super) fn queued(&self) -> usize {
        self.outgoing.len()
    }

    /// Hands the stack as much of the queue as it takes. What was written in one turn of the host
    /// is handed over together, so that it goes into as few segments as it can, as over the
    /// kernel's; an empty queue begins anew, so what follows is in one piece.
    pub(super) fn push(&mut self, now: Time, stack: &mut Stack) {
        while self.phase == Phase::Open && !self.outgoing.is_empty() {
            let (front, _) = self.outgoing.as_slices();
            let (length, taken) = (front.len(), stack.write(now, self.id, front));
            self.outgoing.drain(..taken);
            if taken < length {
                return;
            }
        }
    }

    /// Puts `data` into the queue, unless the connection is over.
    fn write(&mut self, data: &[u8]) {
        if self.phase != Phase::Closed {
            self.outgoing.extend(data);
        }
    }

    /// Ends the channel; what is queued is dropped.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Closed;
        self.outgoing = VecDeque::new();
    }
}

impl Channels for Packets {
    fn write(&mut self, channel: usize, data: &[u8]) {
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.write(data);
        }
    }

    fn queued(&self, channel: usize) -> usize {
        self.channels.get(channel).map_or(0, Channel::queued)
    }

    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let Some(open) = self.channels.get_mut(channel) else {
            return 0;
        };
        // Asked until there is nothing, turn after turn: looking costs as much as reading.
        if open.empty_at == Some(self.arrivals) && !open.peer_finished {
            return 0;
        }
        let count = self.stack.read(self.now, open.id, buffer);
        if count < buffer.len() {
            open.empty_at = Some(self.arrivals);
        }
        if count == 0 && open.peer_finished && open.phase == Phase::Open && !buffer.is_empty() {
            let at_end = |info: Info| info.at_end;
            if self.stack.info(open.id).is_none_or(at_end) {
                self.end(self.now, channel, "the peer closed the connection");
            }
        }
        count
    }

    fn is_open(&self, channel: usize) -> bool {
        let channel = self.channels.get(channel);
        channel.is_some_and(|channel| channel.phase != Phase::Closed)
    }
}
