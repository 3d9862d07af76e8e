//! What is sent once more on another subflow, and when?

use super::machine::{Connection, Context, Stage};
use super::path::Phase;
use super::sent::Sent;
use model::Time;
use policy::scheduler::{MIN_TIMEOUT, Occasion, Piece, Reinjection};
use policy::{SubflowId, SubflowSet};
use std::time::Duration;

/// Pieces that the scheduler is offered at most, each time nothing new waits.
const IDLE_OFFERS: usize = 16;
/// The longest time between DATA_FINs sent again: Linux's TCP_RTO_MAX.
const MAX_FIN_TIMEOUT: Duration = Duration::from_secs(120);

impl Connection {
    /// Asks the scheduler about `count` pieces from the `index`th on, which have the same
    /// carriers, and sends them if it wants; whether it did.
    #[cold]
    fn offer(&mut self, ctx: &Context<'_>, occasion: Occasion, index: usize, count: usize) -> bool {
        let now = ctx.now;
        let sent = &self.sending.sent;
        let Some(first) = sent.get(index) else {
            return false;
        };
        let carriers = first.carriers;
        let bytes = (index..index + count)
            .filter_map(|i| sent.get(i))
            .map(|p| p.data.len() as u64)
            .sum();
        let piece = Piece {
            dsn: first.offset,
            bytes,
            carriers,
            first_sent: first.first_sent,
        };
        let Some(Reinjection {
            subflows,
            penalised,
        }) = self.sending.ask_reinjection(now, occasion, &piece)
        else {
            return false;
        };
        if let Some(penalised) = penalised {
            self.penalise(now, penalised);
        }
        let views = self.sending.views.all();
        let subflows: SubflowSet = views
            .iter()
            .filter(|v| subflows.contains(v.id))
            .filter(|v| !carriers.contains(v.id) || v.is_idle())
            .map(|v| v.id)
            .collect();
        self.send_again(now, subflows, index, count)
    }

    /// Sends `count` pieces from the `index`th on once more on `subflows`; whether there is one.
    #[cold]
    fn send_again(&mut self, now: Time, subflows: SubflowSet, index: usize, count: usize) -> bool {
        if subflows.is_empty() {
            return false;
        }
        self.single = false;
        for i in index..index + count {
            let Some(Sent {
                offset, data, fin, ..
            }) = self.sending.sent.get(i).cloned()
            else {
                break;
            };
            for id in subflows.iter() {
                self.enqueue(now, id, offset, &data, fin);
                self.sending.reinjected += data.len() as u64;
            }
            self.sending.sent.add_carriers(i, subflows);
        }
        true
    }

    /// Halves the window of a subflow, at most once a round trip.
    fn penalise(&mut self, now: Time, id: SubflowId) {
        let Some(path) = self.path_mut(id) else {
            return;
        };
        let round_trip = path.tcp.info(now).smoothed_rtt.unwrap_or(MIN_TIMEOUT);
        let recent = path
            .state
            .last_penalty
            .is_some_and(|last| now.since(last) < round_trip);
        if !recent {
            path.state.last_penalty = Some(now);
            self.controller.on_penalty(id, now);
            self.sending.views.mark(id);
        }
    }

    /// Pieces that no working subflow carries are looked for again.
    pub(super) fn start_rescue(&mut self) {
        if !self.shared.is_plain() {
            self.sending.rescue_from = Some(self.sending.sent.first());
        }
    }

    /// Offers pieces that no working subflow carries, in order, until the scheduler declines.
    #[cold]
    pub(super) fn rescue(&mut self, ctx: &Context<'_>) {
        let Some(from) = self.sending.rescue_from else {
            return;
        };
        let working = self.sending.views.working();
        let wanted = |occasion| self.sending.scheduler.reinjects_on(occasion);
        let (closed, failed) = (
            wanted(Occasion::SubflowClosed),
            wanted(Occasion::SubflowFailed),
        );
        let mut index = self.sending.sent.index_of(from);
        let mut declined = None;
        while let Some(piece) = self.sending.sent.get(index) {
            let offset = piece.offset;
            let occasion = match piece.carriers {
                SubflowSet::EMPTY => closed.then_some(Occasion::SubflowClosed),
                some if some.iter().any(|id| working.contains(id)) => None,
                _ => failed.then_some(Occasion::SubflowFailed),
            };
            if let Some(occasion) = occasion
                && !self.offer(ctx, occasion, index, 1)
            {
                declined.get_or_insert(offset);
                // What nobody carries is not held up by what a failed subflow may yet deliver.
                if occasion == Occasion::SubflowClosed || self.sending.sent.orphans() == 0 {
                    break;
                }
            }
            index += 1;
        }
        self.sending.rescue_from = declined;
    }

    /// No new data is sent now while a subflow has room: offers the pieces that not all carry, in
    /// order, until one is sent; whether one was.
    pub(super) fn offer_idle(&mut self, ctx: &Context<'_>) -> bool {
        if !self.sending.scheduler.reinjects_on(Occasion::Idle) {
            return false;
        }
        let everyone = self.sending.views.set();
        let from = self.sending.carried_everywhere;
        let mut index = self.sending.sent.index_of(from);
        let (mut declined, mut everywhere) = (0, true);
        while self.sending.views.has_room() && declined < IDLE_OFFERS {
            let Some(piece) = self.sending.sent.get(index) else {
                break;
            };
            let (carriers, end) = (piece.carriers, piece.end());
            if !everyone.iter().all(|id| carriers.contains(id)) {
                everywhere = false;
                if self.offer(ctx, Occasion::Idle, index, 1) {
                    return true;
                }
                declined += 1;
            } else if everywhere {
                self.sending.carried_everywhere = end;
            }
            index += 1;
        }
        false
    }

    /// The peer's window is full while a subflow has room: the piece that holds it back.
    pub(super) fn offer_blocked(&mut self, ctx: &Context<'_>) {
        let wanted = self.sending.scheduler.reinjects_on(Occasion::WindowBlocked);
        if wanted && self.sending.views.has_room() {
            self.offer(ctx, Occasion::WindowBlocked, 0, 1);
        }
    }

    /// Starts the connection's retransmission timer if something waits and it does not run.
    pub(super) fn arm_timeout(&mut self, now: Time) {
        let sending = &mut self.sending;
        if sending.sent.len() > 0 {
            if sending.timeout_at.is_none() {
                let timeout = sending.ask_timeout(now);
                sending.timeout_at = Some(now + timeout);
            }
        } else if sending.fin_signalled && !sending.fin_acked && !self.shared.is_plain() {
            if sending.timeout_at.is_none() {
                // As Linux's mptcp_set_datafin_timeout.
                let timeout = MIN_TIMEOUT * 2_u32.pow(sending.fin_timeouts.min(9));
                sending.timeout_at = Some(now + timeout.min(MAX_FIN_TIMEOUT));
            }
        } else {
            sending.timeout_at = None;
        }
    }

    /// The connection's retransmission timer, if it fires.
    pub(super) fn poll_retransmission(&mut self, ctx: &mut Context<'_>) {
        if self.sending.timeout_at.is_none_or(|at| at > ctx.now) {
            return;
        }
        self.sending.timeout_at = None;
        if self.stage != Stage::Connected || self.shared.is_plain() {
            return;
        }
        if self.sending.sent.len() == 0 {
            self.sending.fin_timeouts += 1;
            self.send_acks(self.usable());
            self.arm_timeout(ctx.now);
            return;
        }
        self.check_stale(ctx.now, ctx.config.stale_loss_count);
        self.refresh_views(ctx.now);
        if !self.sending.views.all().is_empty() {
            let count = self.sending.sent.first_unit();
            let views = self.sending.views.all();
            // Every subflow delivered what it was given, and the peer dropped it above TCP:
            // nothing else would ever move it, whatever the scheduler thinks.
            let stuck = views.iter().all(|v| v.is_idle()).then_some(views[0].id);
            if !self.offer(ctx, Occasion::Timeout, 0, count)
                && let Some(first) = stuck
            {
                self.send_again(ctx.now, SubflowSet::only(first), 0, count);
            }
        }
        self.arm_timeout(ctx.now);
    }

    /// Counts how often the timer found subflows with data that heard nothing since, and leaves
    /// out those where that is too often while another is better off (Linux's
    /// mptcp_pm_subflow_chk_stale).
    fn check_stale(&mut self, now: Time, limit: u32) {
        for index in 0..self.paths.len() {
            let Some(path) = &mut self.paths[index] else {
                continue;
            };
            let info = path.tcp.info(now);
            if !path.state.is_usable() || info.unacked + info.queued == 0 {
                continue;
            }
            let state = &mut path.state;
            if state.stale_count == 0 {
                state.stale_mark = info.received_segments;
                state.stale_count = 1;
            } else if state.stale_mark == info.received_segments {
                state.stale_count = state.stale_count.saturating_add(1);
            } else {
                state.stale_count = 0;
            }
            self.sending.views.mark(path.state.id);
        }
        let calm = limit.saturating_sub(1).max(1);
        for index in 0..self.paths.len() {
            let Some(path) = &self.paths[index] else {
                continue;
            };
            let state = &path.state;
            if limit == 0 || !state.is_usable() || state.stale || state.stale_count <= limit {
                continue;
            }
            let better = self.paths.iter().enumerate().any(|(other, path)| {
                let state = path.as_ref().map(|p| &p.state);
                other != index
                    && state.is_some_and(|s| s.is_usable() && !s.stale && s.stale_count < calm)
            });
            if better && let Some(path) = &mut self.paths[index] {
                path.state.stale = true;
                self.start_rescue();
            }
        }
    }

    /// A subflow's timers ran: its retransmission timer makes it potentially failed (De Coninck
    /// and Bonaventure, MultiMob).
    pub(super) fn check_timeout(&mut self, ctx: &Context<'_>, id: SubflowId) {
        let Some(path) = self.path_mut(id) else {
            return;
        };
        let timeouts = path.tcp.info(ctx.now).timeouts;
        let fired = timeouts > path.state.timeouts;
        path.state.timeouts = timeouts;
        if fired && path.state.is_usable() && !path.state.potentially_failed {
            path.state.potentially_failed = true;
            self.sending.views.mark(id);
            self.start_rescue();
        }
    }

    /// Something new was acknowledged on a subflow.
    pub(super) fn on_subflow_acked(&mut self, id: SubflowId) {
        if let Some(path) = self.path_mut(id) {
            path.state.timeouts = 0;
            path.state.potentially_failed = false;
        }
    }

    /// A subflow carries nothing any more: what only it carried waits for another.
    pub(super) fn abandon(&mut self, id: SubflowId) {
        if let Some(path) = self.path_mut(id) {
            while path.tcp.take_unsent().is_some() {}
        }
        self.sending.views.mark(id);
        self.sending.sent.remove_carrier(id);
        if self.sending.sent.orphans() > 0 {
            self.start_rescue();
        }
    }

    /// Whether a subflow is left that carries data or will.
    pub(super) fn has_live_paths(&self) -> bool {
        let phases = self.paths.iter().flatten().map(|p| p.state.phase);
        phases
            .into_iter()
            .any(|p| !matches!(p, Phase::Closing | Phase::Gone))
    }
}
