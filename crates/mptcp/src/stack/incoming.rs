//! What becomes of a packet that arrives: whose is it, and what if it is nobody's?

use super::{Stack, Transmit};
use crate::connection::{Connection, in_syn, join_option, reason};
use crate::subflow::Tuple;
use crate::wire::mptcp::{FastJoin, Join, MptcpOption};
use crate::wire::{Ecn, Flags, Options, Segment, Seq};
use model::Time;
use policy::SubflowId;
use std::net::SocketAddr;

/// Connections that peers began and did not complete, at most; further SYNs are dropped (Linux's
/// net.ipv4.tcp_max_syn_backlog is 512 to 4,096, by the memory).
const MAX_HALF_OPEN: usize = 1024;
/// Connections that wait to be accepted at most (Linux's net.core.somaxconn).
const MAX_BACKLOG: usize = 4096;
/// Resets for strays that wait to be sent at most.
const MAX_RESETS: usize = 64;

/// A reset for a segment that belongs to no connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct StrayReset {
    tuple: Tuple,
    seq: Seq,
    /// What to acknowledge, if the segment had no acknowledgement.
    ack: Option<Seq>,
    /// MP_TCPRST's reason, when it was a join.
    reason: Option<u8>,
}

impl StrayReset {
    /// As RFC 9293, section 3.10.7.1, has it.
    fn to(segment: &Segment<'_>, reason: Option<u8>) -> StrayReset {
        let tuple = tuple_of(segment);
        match segment.flags.ack {
            true => StrayReset {
                tuple,
                seq: segment.ack,
                ack: None,
                reason,
            },
            false => StrayReset {
                tuple,
                seq: Seq(0),
                ack: Some(segment.seq + segment.sequence_length()),
                reason,
            },
        }
    }

    pub(super) fn emit(self, packet: &mut [u8]) -> Transmit {
        let mut options = Options::default();
        if let Some(reason) = self.reason {
            options.mptcp.push(MptcpOption::Reset {
                transient: false,
                reason,
            });
        }
        let segment = Segment {
            source: self.tuple.local,
            destination: self.tuple.remote,
            ecn: Ecn::NotCapable,
            flags: Flags {
                rst: true,
                ack: self.ack.is_some(),
                ..Flags::default()
            },
            seq: self.seq,
            ack: self.ack.unwrap_or_default(),
            window: 0,
            options,
            payload: &[],
        };
        Transmit {
            length: segment.emit(packet),
            source: self.tuple.local.ip(),
            destination: self.tuple.remote.ip(),
        }
    }
}

/// The tuple of the connection that a segment is for, as this host sees it.
fn tuple_of(segment: &Segment<'_>) -> Tuple {
    Tuple {
        local: segment.destination,
        remote: segment.source,
    }
}

impl Stack {
    /// An IP packet arrived; what is not a valid segment is counted and dropped.
    pub fn receive(&mut self, now: Time, packet: &[u8]) {
        let mut segment = Segment::unread();
        let read = segment.read(packet, self.host.config.subflow.checksums);
        if read.is_err() {
            self.host.counters.malformed += 1;
            return;
        }
        let segment = &segment;
        if let Some((slot, subflow)) = self.demux.find(tuple_of(segment))
            && let Some(entry) = self.slots.get_mut(slot)
        {
            let ctx = &mut self.host.context(now);
            entry.connection.receive(ctx, subflow, segment);
            self.settle(now, slot);
            return;
        }
        let opens = segment.flags.syn && !segment.flags.ack && !segment.flags.rst;
        if opens && self.host.config.extensions.fast_join && self.host.config.multipath {
            match in_syn(&self.host.config.extensions, &segment.options.mptcp, false) {
                Some(Ok(join)) => return self.on_fast_join(now, &join, segment),
                Some(Err(_)) => {
                    self.host.counters.fast_joins_refused.malformed += 1;
                    return self.refuse(segment, Some(reason::MPTCP));
                }
                None => {}
            }
        }
        match join_option(segment) {
            Some(Join::Syn { token, .. }) if opens && self.host.config.multipath => {
                self.on_join(now, *token, segment);
            }
            _ if opens && self.is_listening(segment.destination) => self.on_syn(now, segment),
            _ => {
                self.host.counters.stray += 1;
                self.refuse(segment, None);
            }
        }
    }

    fn is_listening(&self, at: SocketAddr) -> bool {
        self.listeners.iter().any(|l| {
            l.port() == at.port()
                && (l.ip() == at.ip() || l.ip().is_unspecified() && l.is_ipv4() == at.is_ipv4())
        })
    }

    /// A reset in answer to a segment, unless it is one.
    #[cold]
    fn refuse(&mut self, segment: &Segment<'_>, reason: Option<u8>) {
        if !segment.flags.rst && self.resets.len() < MAX_RESETS {
            self.resets.push_back(StrayReset::to(segment, reason));
        }
    }

    /// A SYN for a listener.
    #[cold]
    fn on_syn(&mut self, now: Time, syn: &Segment<'_>) {
        if self.half_open >= MAX_HALF_OPEN
            || self.backlog.len() >= MAX_BACKLOG
            || !self.slots.has_room()
        {
            return;
        }
        let tuple = tuple_of(syn);
        let key = self.free_key();
        let start = self.numbers.start(now, tuple);
        let id = self.slots.next_id();
        let ctx = &mut self.host.context(now);
        let connection = Connection::accept(ctx, id, tuple, key, start, syn);
        let slot = self.slots.insert(connection);
        if let Some(entry) = self.slots.get_mut(slot) {
            entry.half_open = true;
        }
        self.half_open += 1;
        self.demux.insert(tuple, slot, SubflowId::new(0));
        self.register_token(slot);
        self.settle(now, slot);
    }

    /// A SYN that joins a connection: the token says which. The port need not be one that is
    /// listened to, because it may be a client's.
    #[cold]
    fn on_join(&mut self, now: Time, token: u32, syn: &Segment<'_>) {
        let found = self.tokens.get(&token).copied();
        let found = found.and_then(|slot| Some((slot, self.slots.get_mut(slot)?)));
        let Some((slot, entry)) = found.filter(|(_, e)| !e.connection.released) else {
            self.host.counters.join_no_token += 1;
            self.refuse(syn, Some(reason::MPTCP));
            return;
        };
        let tuple = tuple_of(syn);
        let start = self.numbers.start(now, tuple);
        let ctx = &mut self.host.context(now);
        match entry.connection.join(ctx, tuple, start, syn) {
            Ok(subflow) => {
                self.demux.insert(tuple, slot, subflow);
                self.settle(now, slot);
            }
            Err(reason) => self.refuse(syn, Some(reason)),
        }
    }

    /// A SYN that joins a connection and counts at once.
    #[cold]
    fn on_fast_join(&mut self, now: Time, join: &FastJoin, syn: &Segment<'_>) {
        let token = match join {
            FastJoin::Syn { token, .. } => self.tokens.get(token).copied(),
            FastJoin::SynAck { .. } => None,
        };
        let found = token.and_then(|slot| Some((slot, self.slots.get_mut(slot)?)));
        let Some((slot, entry)) = found.filter(|(_, e)| !e.connection.released) else {
            self.host.counters.fast_joins_refused.no_token += 1;
            self.refuse(syn, Some(reason::MPTCP));
            return;
        };
        let tuple = tuple_of(syn);
        let start = self.numbers.start(now, tuple);
        let ctx = &mut self.host.context(now);
        match entry.connection.fast_join(ctx, tuple, start, syn, join) {
            Ok(subflow) => {
                self.demux.insert(tuple, slot, subflow);
                self.settle(now, slot);
            }
            Err(reason) => self.refuse(syn, Some(reason)),
        }
    }
}
