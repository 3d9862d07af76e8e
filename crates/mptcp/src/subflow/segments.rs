//! How is a segment made: its numbers, window, flags and options?

use super::{Kind, OptionSource, State, Subflow};
use crate::wire::{Ecn, Flags, MptcpOptions, OPTION_SPACE, Options, Segment, Seq, Timestamps};
use bytes::Bytes;
use model::Time;

/// The bytes of one selective acknowledgement, and of the option without any, padded.
const SACK_BLOCK: usize = 8;
const SACK_HEADER: usize = 4;

/// What differs between segments.
pub(super) struct Draft<'a> {
    pub(super) kind: Kind,
    pub(super) seq: Seq,
    pub(super) flags: Flags,
    pub(super) ecn: Ecn,
    pub(super) payload: &'a [u8],
}

impl Subflow {
    /// The sequence number of an offset of ours.
    pub(super) fn send_seq(&self, position: u64) -> Seq {
        self.sender.initial + 1 + position as u32
    }

    /// The next sequence number.
    pub(super) fn next_seq(&self) -> Seq {
        match self.state {
            State::SynSent => self.sender.initial,
            _ => self.send_seq(self.sender.next),
        }
    }

    /// The acknowledgement number.
    pub(super) fn acknowledgement(&self) -> Seq {
        self.receive_seq(self.receiver.next as i64)
    }

    /// Writes a segment of a synchronised connection; it acknowledges what there is.
    pub(super) fn write(
        &mut self,
        now: Time,
        draft: Draft<'_>,
        source: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> usize {
        let mut flags = draft.flags;
        flags.ack = true;
        flags.ece = self.receiver.echo_mark;
        // In its place from the start: it is large.
        let mut segment = Segment {
            source: self.tuple.local,
            destination: self.tuple.remote,
            ecn: draft.ecn,
            flags,
            seq: draft.seq,
            ack: self.acknowledgement(),
            window: 0,
            options: Options {
                timestamps: self.timestamps_option(now),
                ..Options::default()
            },
            payload: draft.payload,
        };
        let options = &mut segment.options;
        let space = OPTION_SPACE.min(self.agreed.mss.saturating_sub(draft.payload.len()));
        let room = space.saturating_sub(options.len());
        source.options(draft.kind, draft.payload, room, &mut options.mptcp);
        let complete = self.sack_blocks(space, options);
        let next = self.receiver.next;
        segment.window = self.receive_window.announce(next, self.acks.full_segment());
        // A data segment too full to tell of gaps does not stand for the acknowledgement that
        // would.
        if complete || draft.payload.is_empty() {
            self.acks.sent(next);
            self.pending.ack = false;
        }
        self.counters.sent_segments += 1;
        segment.write(packet, self.config.checksums)
    }

    fn timestamps_option(&self, now: Time) -> Option<Timestamps> {
        self.agreed.timestamps.then(|| Timestamps {
            value: self.timestamp(now),
            echo: self.receiver.timestamp.map_or(0, |(recent, _)| recent),
        })
    }

    /// Selective acknowledgements, as many as there is room for in `space` beside the other
    /// options: what came twice, then the newest. Whether the first is told.
    fn sack_blocks(&mut self, space: usize, options: &mut Options) -> bool {
        let receiver = &mut self.receiver;
        if receiver.duplicate.is_none() && receiver.recent.is_empty() {
            return true;
        }
        let room = space.saturating_sub(options.len());
        let blocks = &mut options.sack;
        let most = room.saturating_sub(SACK_HEADER) / SACK_BLOCK;
        let most = most.min(blocks.capacity());
        if most == 0 {
            return false;
        }
        blocks.extend(receiver.duplicate.take());
        let base = receiver.initial + 1;
        let recent = receiver.recent.iter().take(most - blocks.len());
        blocks.extend(recent.map(|&(start, end)| (base + start as u32, base + end as u32)));
        true
    }

    /// Writes a SYN or SYN/ACK.
    #[cold]
    pub(super) fn write_syn(
        &mut self,
        now: Time,
        source: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> usize {
        let first = self.handshake.sent == 0;
        let answer = self.state == State::SynReceived;
        if first {
            self.handshake.first_sent = now;
        } else {
            // A path that drops SYNs which ask for ECN is not asked again (RFC 3168,
            // section 6.1.1.1).
            self.agreed.ecn &= answer;
        }
        let mut options = Options {
            mss: Some(self.config.mss),
            window_scale: self.config.window_scale.filter(|_| self.agreed.scaling),
            sack_permitted: self.agreed.sack,
            timestamps: self.timestamps_option(now),
            ..Options::default()
        };
        let mut payload = Bytes::new();
        let kind = if answer {
            Kind::SynAck
        } else if self.is_early() {
            options.timestamps = None;
            payload = self.early_payload();
            Kind::EarlySyn
        } else {
            Kind::Syn
        };
        let room = OPTION_SPACE - options.len();
        source.options(kind, &payload, room, &mut options.mptcp);
        let segment = Segment {
            source: self.tuple.local,
            destination: self.tuple.remote,
            ecn: Ecn::NotCapable,
            flags: Flags {
                syn: true,
                ack: answer,
                ece: self.agreed.ecn,
                cwr: self.agreed.ecn && !answer,
                ..Flags::default()
            },
            seq: self.sender.initial,
            ack: if answer {
                self.acknowledgement()
            } else {
                Seq(0)
            },
            window: self.receive_window.announce_syn(),
            options,
            payload: &payload,
        };
        self.handshake.sent += 1;
        self.handshake.due = false;
        self.counters.sent_segments += 1;
        segment.write(packet, self.config.checksums)
    }

    /// Writes a reset; with an acknowledgement if one is given (RFC 9293, section 3.10.7.1).
    #[cold]
    pub(super) fn write_reset(
        &mut self,
        seq: Seq,
        ack: Option<Seq>,
        source: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> usize {
        let mut mptcp = MptcpOptions::new();
        source.options(Kind::Reset, &[], OPTION_SPACE, &mut mptcp);
        let segment = Segment {
            source: self.tuple.local,
            destination: self.tuple.remote,
            ecn: Ecn::NotCapable,
            flags: Flags {
                rst: true,
                ack: ack.is_some(),
                ..Flags::default()
            },
            seq,
            ack: ack.unwrap_or_default(),
            window: 0,
            options: Options {
                mptcp,
                ..Options::default()
            },
            payload: &[],
        };
        self.counters.sent_segments += 1;
        segment.write(packet, self.config.checksums)
    }
}
