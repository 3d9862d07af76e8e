//! What do the options of a segment that arrived say?

use super::machine::{Connection, Context, Stage};
use super::mapping::{Added, Mapping};
use super::path::{Origin, Phase};
use super::receiving::{Fault, Outcome};
use super::shared::Protocol;
use super::{Failure, FallbackReason, reason};
use crate::subflow::Received;
use crate::wire::Segment;
use crate::wire::mptcp::{self, Dss, Features, Join, MptcpOption, Number};
use policy::{SubflowId, SubflowSet};

impl Connection {
    /// Heeds the options of an acceptable segment that is no reset.
    pub(super) fn read_options(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
        result: &Received,
    ) {
        if self.shared.is_plain() {
            self.check_in_step(ctx, id, segment);
            return;
        }
        if segment.flags.syn {
            return;
        }
        self.confirm(ctx, id, segment, result);
        self.check_bare(ctx, id, segment, result);
        for option in &segment.options.mptcp {
            // Each may be the last that is heeded.
            let heeded = self
                .path(id)
                .is_some_and(|p| !matches!(p.state.phase, Phase::Opening | Phase::Gone));
            if !heeded || self.shared.protocol != Protocol::Multipath {
                return;
            }
            match option {
                MptcpOption::Dss(dss) => self.read_dss(ctx, id, dss),
                MptcpOption::Capable(capable) => {
                    if let (Some(length), Some(numbers)) =
                        (capable.data_length, self.receiving.numbers)
                    {
                        let first = mptcp::Mapping {
                            dsn: Number::Wide(numbers.number(0)),
                            subflow_seq: 1,
                            length,
                            checksum: capable.data_checksum,
                        };
                        self.read_mapping(ctx, id, first, false);
                    }
                }
                MptcpOption::Join(Join::Ack { .. }) => {
                    // The fourth ACK was lost.
                    if !result.established {
                        self.send_acks(SubflowSet::only(id));
                    }
                }
                MptcpOption::Join(_) | MptcpOption::Reset { .. } => {}
                // Addresses are of no use any more.
                MptcpOption::AddAddr(_) | MptcpOption::RemoveAddr(_) if self.is_over() => {}
                MptcpOption::AddAddr(add) => self.read_add_addr(ctx, id, add),
                MptcpOption::RemoveAddr(ids) => self.read_remove_addr(ctx, ids),
                MptcpOption::Prio { backup } => self.read_priority(ctx, id, *backup),
                MptcpOption::Fail { dsn } => self.on_peer_fail(ctx, id, *dsn),
                MptcpOption::FastClose { key } => self.on_fast_close(ctx, *key),
                MptcpOption::Private(option) => self.read_private(ctx, id, option),
            }
        }
    }

    /// Plain TCP cannot tell data that is sent once more from new data.
    fn check_in_step(&mut self, ctx: &mut Context<'_>, id: SubflowId, segment: &Segment<'_>) {
        let mappings = segment
            .options
            .mptcp
            .iter()
            .filter_map(|option| match option {
                MptcpOption::Dss(dss) => dss.mapping,
                _ => None,
            });
        let out_of_step = |mapping: mptcp::Mapping| {
            let path = self.path(id);
            path.is_some_and(|p| self.receiving.is_out_of_step(&p.state.incoming, &mapping))
        };
        if mappings.into_iter().any(out_of_step) {
            ctx.counters.bad_mappings += 1;
            self.fail(ctx, Failure::Reset);
        }
    }

    /// What a FIN closes, which may be in order only later.
    #[inline]
    pub(super) fn note_fin(&mut self, id: SubflowId, segment: &Segment<'_>) {
        if !segment.flags.fin {
            return;
        }
        let (mut signal, mut fell_back) = (false, false);
        for option in &segment.options.mptcp {
            match option {
                MptcpOption::Dss(dss) => {
                    signal = true;
                    fell_back |= dss.mapping.is_some_and(|mapping| mapping.length == 0);
                }
                MptcpOption::Fail { .. } => fell_back = true,
                _ => {}
            }
        }
        if let Some(path) = self.path_mut(id) {
            path.state.fin_is_multipath |= signal && !fell_back;
        }
    }

    fn read_dss(&mut self, ctx: &mut Context<'_>, id: SubflowId, dss: &Dss) {
        if let Some(ack) = dss.data_ack {
            self.shared.fully_established = true;
            let waits = self.path(id).map(|p| p.state.phase) == Some(Phase::PreEstablished);
            if waits {
                self.subflow_usable(ctx, id);
            }
            self.on_data_ack(ctx, id, ack);
        }
        if let Some(mapping) = dss.mapping {
            if self.shared.agreed.has(Features::IDLE_FLAG) && mapping.subflow_seq != 0 {
                let length = mapping.length.saturating_sub(u16::from(dss.data_fin));
                self.note_idle_flag(&mapping, length, dss.idle);
            }
            self.read_mapping(ctx, id, mapping, dss.data_fin);
        }
    }

    /// A data sequence mapping: it is kept until the data it speaks of is in order.
    fn read_mapping(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        wire: mptcp::Mapping,
        data_fin: bool,
    ) {
        if wire.length == 0 {
            if self.may_fall_back(id) {
                self.fall_back(ctx, id, FallbackReason::Peer);
            } else {
                self.on_fault(ctx, id, Fault::Infinite);
            }
            return;
        }
        if data_fin && wire.length == 1 {
            if self.receiving.is_finished() {
                // The Data ACK of it was lost.
                self.send_acks(SubflowSet::only(id));
            } else if !self.receiving.learn_fin(&wire) {
                ctx.counters.bad_mappings += 1;
            }
            return;
        }
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let incoming = &mut path.state.incoming;
        // The first byte has subflow sequence number 1.
        let ahead = wire
            .subflow_seq
            .wrapping_sub(1)
            .wrapping_sub(incoming.next as u32) as i32;
        let Some(start) = incoming.next.checked_add_signed(i64::from(ahead)) else {
            ctx.counters.bad_mappings += 1;
            return;
        };
        let mapping = Mapping {
            start,
            length: wire.length - u16::from(data_fin),
            data_fin,
            wire,
        };
        if mapping.end() <= incoming.next {
            return;
        }
        // Where a segment is accepted its mapping is, however far a shared window shut since.
        if start > path.tcp.accepted_edge() {
            ctx.counters.bad_mappings += 1;
            return;
        }
        match self.receiving.learn(incoming, mapping) {
            Added::Taken => {}
            Added::Full => ctx.counters.bad_mappings += 1,
            Added::Contradicts => {
                ctx.counters.bad_mappings += 1;
                self.reset_subflow(ctx, id, reason::MPTCP);
            }
        }
    }

    /// Takes what is in order now.
    pub(super) fn take_payload(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
        result: &Received,
    ) {
        if result.in_order.is_none() && !result.buffered {
            return;
        }
        let may_fall_back = self.may_fall_back(id);
        let listening = self.stage == Stage::Connected;
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if !listening || matches!(path.state.phase, Phase::Opening | Phase::Gone) {
            // Data for a connection that is over, or on a join that has not proved itself.
            if result.buffered {
                path.tcp.take_buffered(&mut |_, _| {});
            }
            return;
        }
        let incoming = &mut path.state.incoming;
        let receiving = &mut self.receiving;
        let mut outcome = Outcome::default();
        if let Some(new) = result.in_order {
            let bytes = &segment.payload[new.start..new.start + new.length];
            receiving.take(incoming, new.offset, bytes, may_fall_back, &mut outcome);
        }
        if result.buffered {
            path.tcp.take_buffered(&mut |offset, bytes| {
                receiving.take(incoming, offset, bytes, may_fall_back, &mut outcome);
            });
        }
        if outcome.new {
            path.state.last_original = Some(ctx.now);
            self.note_new_data(id);
        }
        ctx.counters.bad_mappings += outcome.bad;
        if let Some(fault) = outcome.fell_back {
            self.on_receiving_fell_back(ctx, id, fault);
        }
        if let Some(fault) = outcome.fault {
            self.on_fault(ctx, id, fault);
        }
    }

    /// A Data ACK, with the window of the segment it came with.
    pub(super) fn on_data_ack(&mut self, ctx: &mut Context<'_>, id: SubflowId, ack: Number) {
        let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let sending = &mut self.sending;
        let first = sending.sent.first();
        let ahead = self.shared.local.numbers.beyond(ack, first);
        let end = sending.sent.next() + u64::from(sending.fin_signalled);
        let Some(acked) = first.checked_add_signed(ahead).filter(|a| *a <= end) else {
            return;
        };
        let edge = acked.saturating_add(path.tcp.peer_window());
        sending.admit(edge);
        let fin = acked > sending.sent.next() && !sending.fin_acked;
        if ahead <= 0 && !fin {
            return;
        }
        path.state.last_original = Some(ctx.now);
        sending.sent.acknowledge(acked);
        sending.timeout_at = None;
        sending.fin_timeouts = 0;
        if fin {
            sending.fin_acked = true;
            self.shared.data_fin = None;
        }
    }

    /// Something new was acknowledged on a subflow.
    pub(super) fn on_acked(&mut self, ctx: &Context<'_>, id: SubflowId) {
        self.on_subflow_acked(id);
        let plain = self.shared.is_plain();
        if let Some(path) = self.path(id).filter(|_| plain)
            && path.state.origin == Origin::First
        {
            let acked = path.tcp.info(ctx.now).acked_offset;
            self.sending.sent.acknowledge(acked);
        }
    }

    /// The options of a reset.
    #[cold]
    pub(super) fn read_reset(&mut self, ctx: &mut Context<'_>, segment: &Segment<'_>) {
        for option in &segment.options.mptcp {
            if let MptcpOption::FastClose { key } = option
                && self.shared.protocol == Protocol::Multipath
            {
                self.on_fast_close(ctx, *key);
            }
        }
    }
}
