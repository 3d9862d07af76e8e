//! When does a connection become plain TCP (RFC 8684, section 3.7)?

use super::machine::{Connection, Context, Stage};
use super::receiving::Fault;
use super::shared::Protocol;
use super::{Event, FallbackReason, reason};
use crate::subflow::{Received, State};
use crate::wire::Segment;
use policy::{SubflowId, SubflowSet};

impl Connection {
    /// Whether the data in flight is contiguous in both directions and nothing went twice, so
    /// that plain TCP can go on where this is.
    pub(super) fn may_fall_back(&self, id: SubflowId) -> bool {
        let others = self
            .paths
            .iter()
            .flatten()
            .any(|p| p.state.id != id && (p.state.is_usable() || p.state.join_ack.is_some()));
        self.single && !others && self.receiving.stream.is_contiguous()
    }

    /// Plain TCP from here on, on this subflow.
    #[cold]
    pub(super) fn fall_back(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        reason: FallbackReason,
    ) {
        if self.shared.is_plain() {
            return;
        }
        // Before: the end of plain TCP's only subflow would be that of the connection.
        let joining = self.select(|s| s.id != id);
        for other in joining.iter() {
            self.reset_subflow(ctx, other, reason::MPTCP);
        }
        self.shared.protocol = Protocol::Plain;
        self.shared.data_fin = None;
        self.shared.announcements.clear();
        self.addresses.forget_announcements();
        self.forget_extensions();
        self.sending.timeout_at = None;
        self.sending.rescue_from = None;
        self.sending.sent.clear();
        ctx.counters.fallbacks += 1;
        if let Some(path) = self.paths.get_mut(id.index()).and_then(Option::as_mut) {
            self.receiving.become_plain(&mut path.state.incoming);
            path.state.potentially_failed = false;
            path.state.stale = false;
            self.sending
                .sent
                .acknowledge(path.tcp.info(ctx.now).acked_offset);
            // A DATA_FIN says nothing any more, acknowledged or not: a FIN must.
            self.sending.fin_signalled = false;
            self.sending.fin_acked = false;
        }
        let opening = self.stage == Stage::Opening;
        if opening {
            self.connected(ctx, id);
        }
        self.emit(ctx, Event::Fallback(reason));
    }

    /// A segment without any option of Multipath TCP acknowledged data, or ended the stream, on
    /// the only subflow: the peer, or what is between, has given it up.
    pub(super) fn check_bare(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        segment: &Segment<'_>,
        result: &Received,
    ) {
        let telling = result.acked || result.fin;
        if self.shared.protocol == Protocol::Multipath
            && self.stage == Stage::Connected
            && telling
            && segment.options.mptcp.is_empty()
            && segment.payload.is_empty()
            && self.may_fall_back(id)
            && self
                .path(id)
                .is_some_and(|p| p.state.is_usable() && p.tcp.state() != State::TimeWait)
        {
            self.fall_back(ctx, id, FallbackReason::NoMapping);
        }
    }

    /// Data became plain TCP's while it was taken.
    #[cold]
    pub(super) fn on_receiving_fell_back(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        fault: Fault,
    ) {
        let why = match fault {
            Fault::NoMapping if !self.receiving.mapped => FallbackReason::HandshakeStripped,
            Fault::NoMapping => FallbackReason::NoMapping,
            Fault::ChecksumMissing | Fault::Checksum(_) => FallbackReason::Checksum,
            Fault::Infinite => FallbackReason::Peer,
        };
        if let Fault::Checksum(dsn) = fault {
            ctx.counters.checksum_errors += 1;
            if let Some(path) = self.path_mut(id) {
                path.state.outbox.fail = Some(dsn);
            }
            self.send_acks(SubflowSet::only(id));
        }
        self.fall_back(ctx, id, why);
    }

    /// Data of a subflow could not be taken, and it cannot become plain TCP.
    #[cold]
    pub(super) fn on_fault(&mut self, ctx: &mut Context<'_>, id: SubflowId, fault: Fault) {
        let why = match fault {
            Fault::Checksum(dsn) => {
                ctx.counters.checksum_errors += 1;
                if let Some(path) = self.path_mut(id) {
                    path.state.outbox.fail = Some(dsn);
                }
                reason::MIDDLEBOX
            }
            Fault::NoMapping | Fault::ChecksumMissing | Fault::Infinite => reason::MPTCP,
        };
        self.reset_subflow(ctx, id, why);
    }

    /// MP_FAIL: the peer found a wrong checksum.
    pub(super) fn on_peer_fail(&mut self, ctx: &mut Context<'_>, id: SubflowId, dsn: u64) {
        if !self.may_fall_back(id) {
            self.reset_subflow(ctx, id, reason::MIDDLEBOX);
            return;
        }
        self.shared.infinite = Some(self.sending.sent.first());
        if let Some(path) = self.path_mut(id) {
            path.state.outbox.fail = Some(dsn);
        }
        self.send_acks(SubflowSet::only(id));
        self.fall_back(ctx, id, FallbackReason::Peer);
    }
}
