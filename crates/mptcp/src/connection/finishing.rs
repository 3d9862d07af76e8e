//! How does a connection end: DATA_FIN, fast close, failure, or for want of subflows?

use super::machine::{Connection, Context, Stage};
use super::path::{Origin, Phase};
use super::shared::Protocol;
use super::{Event, Failure, SubflowError, reason};
use crate::subflow::{self, State};
use model::Time;
use policy::{SubflowId, SubflowSet};

impl Connection {
    /// Nothing more will be written.
    pub(crate) fn finish(&mut self, ctx: &mut Context<'_>) {
        if !self.is_over() && !self.sending.is_finished() {
            self.sending.finish();
            self.progress(ctx);
        }
    }

    /// Whether something can be read.
    pub(crate) fn is_readable(&self) -> bool {
        self.receiving.stream.readable() > 0
    }

    /// Gives at most `most` bytes of what is in order to `take`.
    pub(crate) fn read(
        &mut self,
        ctx: &mut Context<'_>,
        most: usize,
        take: &mut dyn FnMut(&[u8]),
    ) -> usize {
        let count = self.receiving.stream.read(most, take);
        if count == 0 || self.is_over() {
            return count;
        }
        let (paths, receiving) = (&self.paths, &mut self.receiving);
        receiving.window.on_read(ctx.now, count as u64, || {
            let usable = paths.iter().flatten().filter(|p| p.state.is_usable());
            usable
                .filter_map(|p| p.tcp.info(ctx.now).smoothed_rtt)
                .max()
        });
        let window = receiving.announce();
        let empty = receiving.stream.readable() == 0;
        for id in self.usable().iter() {
            let Some(path) = self.path_mut(id) else {
                continue;
            };
            path.tcp.set_receive_window(window);
            path.tcp.data_read(empty);
            // Mostly no acknowledgement is due yet.
            if path.tcp.is_ack_due() {
                self.make_ready(id);
            }
        }
        count
    }

    /// Ends it at once.
    pub(crate) fn abort(&mut self, ctx: &mut Context<'_>) {
        if !self.is_over() {
            // Linux's way: resets with MP_FASTCLOSE on all subflows (RFC 8684, section 3.5).
            self.shared.fast_close = self.shared.protocol == Protocol::Multipath;
            self.fail(ctx, Failure::Aborted);
        }
    }

    /// The peer wants it ended at once, with this side's key as proof.
    pub(super) fn on_fast_close(&mut self, ctx: &mut Context<'_>, key: u64) {
        if key == self.shared.local.key {
            ctx.counters.fast_closes += 1;
            self.fail(ctx, Failure::Reset);
        }
    }

    /// Ends before its time.
    #[cold]
    pub(super) fn fail(&mut self, ctx: &mut Context<'_>, failure: Failure) {
        if self.is_over() {
            return;
        }
        self.end(Some(failure));
        for id in self.select(|s| s.phase != Phase::Gone).iter() {
            if let Some(path) = self.path_mut(id) {
                path.state.phase = Phase::Closing;
                path.tcp.abort();
            }
            self.touch(id);
            self.check_end(ctx, id);
        }
        self.emit(ctx, Event::Failed(failure));
    }

    /// Nothing is sent any more.
    fn end(&mut self, failure: Option<Failure>) {
        self.stage = Stage::Over(failure);
        self.sending.buffer.clear();
        self.sending.sent.clear();
        self.sending.timeout_at = None;
        self.sending.rescue_from = None;
        self.shared.data_fin = None;
        self.addresses.forget_announcements();
        self.receiving.stream.finish();
        self.alone_since = None;
    }

    /// Everything was delivered, both ways: the subflows are closed (RFC 8684, section 3.3.3).
    #[cold]
    fn complete(&mut self, ctx: &mut Context<'_>) {
        if self.is_over() {
            return;
        }
        self.end(None);
        for id in self.select(|s| s.phase != Phase::Gone).iter() {
            if let Some(path) = self.path_mut(id) {
                match path.state.phase {
                    Phase::Opening => path.tcp.abort(),
                    _ => path.close(ctx.now),
                }
                path.state.phase = Phase::Closing;
                path.state.join_ack = None;
            }
            self.sending.views.mark(id);
            self.touch(id);
        }
        self.emit(ctx, Event::Closed);
    }

    /// Whether the peer's stream, or the connection, is complete now.
    pub(super) fn check_finish(&mut self, ctx: &mut Context<'_>) {
        if self.stage != Stage::Connected {
            return;
        }
        if self.receiving.take_finish() {
            self.emit(ctx, Event::PeerFinished);
            self.send_acks(self.usable());
        }
        if self.shared.protocol == Protocol::Multipath
            && self.sending.is_complete()
            && self.receiving.is_finished()
        {
            self.complete(ctx);
        }
    }

    /// Whether all was sent, so that the end can be signalled.
    pub(super) fn check_finish_sent(&mut self, ctx: &mut Context<'_>) {
        if self.stage != Stage::Connected
            || !self.sending.is_end_reached()
            || self.sending.fin_acked
        {
            return;
        }
        if self.shared.is_plain() {
            if !self.sending.fin_signalled {
                self.sending.fin_signalled = true;
                for id in self.usable().iter() {
                    if let Some(path) = self.path_mut(id) {
                        path.tcp.close(ctx.now);
                    }
                    self.touch(id);
                }
            }
        } else if self.shared.data_fin.is_none() {
            let end = self.sending.sent.next();
            self.shared.data_fin = Some(self.shared.local.numbers.number(end));
            if !self.sending.fin_signalled {
                self.sending.fin_signalled = true;
                self.send_acks(self.usable());
            }
            self.arm_timeout(ctx.now);
        }
    }

    /// The peer closed a subflow.
    #[cold]
    pub(super) fn on_subflow_fin(&mut self, ctx: &mut Context<'_>, id: SubflowId, bare: bool) {
        if self.shared.is_plain() && self.path(id).is_some_and(|p| p.state.fin_is_multipath) {
            // The peer had not fallen back when it closed this subflow: what it wrote since comes
            // over another one, which cannot be had any more.
            self.fail(ctx, Failure::Reset);
        } else if self.shared.is_plain() {
            let end = self.receiving.stream.next();
            self.receiving.learn_end(end);
        } else if bare {
            // The peer has fallen back where this side cannot: to it a FIN would be the end of
            // the stream.
            self.reset_subflow(ctx, id, reason::MPTCP);
        } else if self.path(id).is_some_and(|p| p.state.can_signal()) {
            self.close_path(ctx, id);
        }
    }

    /// Closes a subflow with a FIN; what it carried goes elsewhere.
    fn close_path(&mut self, ctx: &mut Context<'_>, id: SubflowId) {
        self.abandon(id);
        if let Some(path) = self.path_mut(id) {
            path.state.phase = Phase::Closing;
            path.state.join_ack = None;
            path.close(ctx.now);
        }
        self.touch(id);
        self.check_alone(ctx);
    }

    /// Resets a subflow with MP_TCPRST; what it carried goes elsewhere.
    pub(super) fn reset_subflow(&mut self, ctx: &mut Context<'_>, id: SubflowId, why: u8) {
        if self.path(id).is_none_or(|p| p.state.phase == Phase::Gone) {
            return;
        }
        self.abandon(id);
        if let Some(path) = self.path_mut(id) {
            path.state.phase = Phase::Closing;
            path.state.join_ack = None;
            path.state.outbox.reset = Some((false, why));
            path.tcp.abort();
        }
        self.touch(id);
        self.check_end(ctx, id);
    }

    /// Closes a subflow on request.
    pub(crate) fn close_subflow(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        reset: bool,
    ) -> Result<(), SubflowError> {
        self.check_multipath()?;
        let live = |phase| !matches!(phase, Phase::Closing | Phase::Gone);
        self.path(id)
            .filter(|p| live(p.state.phase))
            .ok_or(SubflowError::Unknown)?;
        // To a peer that has fallen back, or is about to, a FIN is the end of the stream.
        let may_be_plain = !self.shared.fully_established || self.shared.checksum;
        if reset || may_be_plain && self.may_fall_back(id) {
            self.reset_subflow(ctx, id, reason::UNSPECIFIED);
        } else {
            self.close_path(ctx, id);
            self.check_end(ctx, id);
        }
        self.progress(ctx);
        Ok(())
    }

    /// Whether a subflow's TCP came to its end, and what follows.
    pub(super) fn check_end(&mut self, ctx: &mut Context<'_>, id: SubflowId) {
        let Some(path) = self.path_mut(id) else {
            return;
        };
        let ended = matches!(path.tcp.state(), State::Closed | State::TimeWait);
        if !ended || path.state.phase == Phase::Gone {
            return;
        }
        let refused = path.tcp.failure() == Some(subflow::Failure::Refused);
        if refused && self.is_opening(id) {
            self.rejoin(ctx, id);
        }
        let Some(path) = self.path_mut(id) else {
            return;
        };
        path.state.phase = Phase::Gone;
        path.state.join_ack = None;
        let failure = path.tcp.failure();
        let (origin, controlled) = (path.state.origin, path.state.controlled);
        if controlled {
            self.controller.closed(id);
        }
        self.abandon(id);
        self.emit(ctx, Event::SubflowClosed(id, failure));
        if self.is_over() {
            return;
        }
        let first_failed = self.stage == Stage::Opening && origin == Origin::First;
        match (self.shared.protocol, failure) {
            _ if first_failed => self.fail(ctx, as_failure(failure)),
            (Protocol::Multipath, _) if self.shared.fully_established => self.check_alone(ctx),
            (Protocol::Plain, None) => {
                self.check_finish(ctx);
                // A peer that had said where its stream ends may have closed before that.
                if !self.receiving.is_finished() || !self.sending.is_end_reached() {
                    self.fail(ctx, Failure::Reset);
                    return;
                }
                self.end(None);
                self.emit(ctx, Event::Closed);
            }
            (_, failure) => self.fail(ctx, as_failure(failure)),
        }
    }

    /// Without any subflow the connection waits for one, if it has something to wait for.
    fn check_alone(&mut self, ctx: &mut Context<'_>) {
        if self.is_over() || self.has_live_paths() || self.shared.is_plain() {
            return;
        }
        let all_acked = self.sending.is_end_reached() && self.sending.sent.len() == 0;
        if all_acked && self.receiving.is_finished() {
            // Only the Data ACK of the end is missing, and the peer closes subflows only when it
            // has both ends.
            self.complete(ctx);
        } else {
            self.alone_since.get_or_insert(ctx.now);
        }
    }

    /// Resets subflows that were closed and whose peers did not close them in time.
    pub(super) fn poll_closing(&mut self, ctx: &mut Context<'_>) {
        let late = self.select(|s| s.close_by.is_some_and(|at| at <= ctx.now));
        for id in late.iter() {
            if let Some(path) = self.path_mut(id) {
                path.state.close_by = None;
                if path.state.phase == Phase::Closing {
                    path.tcp.abort();
                }
            }
            self.touch(id);
            self.check_end(ctx, id);
        }
    }

    /// When it gives up waiting for a subflow.
    pub(super) fn alone_deadline(&self) -> Option<Time> {
        Some(self.alone_since? + self.close_timeout)
    }

    /// Gives up waiting for a subflow.
    pub(super) fn poll_alone(&mut self, ctx: &mut Context<'_>) {
        if self.alone_deadline().is_some_and(|at| at <= ctx.now) {
            self.fail(ctx, Failure::TimedOut);
        }
    }

    /// The application forgets it.
    pub(crate) fn release(&mut self, ctx: &mut Context<'_>) {
        self.abort(ctx);
        self.released = true;
    }

    /// Marks a subflow potentially failed.
    pub(crate) fn mark_failed(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
    ) -> Result<(), SubflowError> {
        self.check_multipath()?;
        let path = self.path_mut(id).ok_or(SubflowError::Unknown)?;
        if !path.state.is_usable() {
            return Err(SubflowError::Unknown);
        }
        if !path.state.potentially_failed {
            path.state.potentially_failed = true;
            self.sending.views.mark(id);
            self.start_rescue();
            self.progress(ctx);
        }
        Ok(())
    }

    /// All subflows that can carry acknowledgements.
    pub(super) fn signalling(&self) -> SubflowSet {
        self.select(|s| s.phase == Phase::Usable)
    }
}

/// A connection's failure by that of its only subflow.
fn as_failure(failure: Option<subflow::Failure>) -> Failure {
    match failure {
        Some(subflow::Failure::Refused) => Failure::Refused,
        Some(subflow::Failure::TimedOut) => Failure::TimedOut,
        Some(subflow::Failure::Aborted) => Failure::Aborted,
        Some(subflow::Failure::Reset) | None => Failure::Reset,
    }
}
