//! Was a reduction of the window a mistake, and how is it undone (Eifel by timestamps, RFC 3522
//! and 4015; DSACK, RFC 3708; F-RTO, RFC 5682)?

use super::recovery::Phase;
use super::{Congestion, Subflow};
use model::Time;

impl Subflow {
    /// From now on retransmissions are counted, so that duplicates of all of them prove them
    /// superfluous.
    pub(super) fn begin_undo(&mut self) {
        self.recovery.undo_from = Some(self.sender.una);
        let probe = self.recovery.probe_end.is_some() && self.recovery.probe_again;
        let resent = self.board.resent.segments + u64::from(probe);
        self.recovery.undo_resent = (resent > 0).then_some(resent);
    }

    /// Whether the timestamp echoed is from before the first retransmission, so that the
    /// original arrived; or nothing was sent again.
    fn original_arrived(&self) -> bool {
        match (self.recovery.first_resent, self.sender.echo) {
            (None, _) => true,
            (Some(first), Some(echo)) => (echo.wrapping_sub(self.timestamp(first)) as i32) < 0,
            (Some(_), None) => false,
        }
    }

    fn may_undo(&self) -> bool {
        self.recovery.undo_from.is_some()
            && (self.recovery.undo_resent == Some(0) || self.original_arrived())
    }

    fn undo(&mut self, unmark: bool, now: Time, congestion: &mut Congestion<'_>) {
        if unmark {
            self.board.unmark_lost();
        }
        if self.recovery.undoable {
            congestion.controller.on_spurious(congestion.id, now);
            self.sender.reduced = false;
        } else if self.recovery.phase > Phase::Disorder {
            congestion.controller.on_recovered(congestion.id, now);
        }
        self.recovery.loss_window = None;
        self.recovery.undo_from = None;
        // Whether something is lost is to be judged anew.
        self.rack.advanced = true;
    }

    /// Everything that was out when the phase began is acknowledged. Whether the phase has to be
    /// held, because without selective acknowledgements later duplicates would mislead
    /// (RFC 6582, section 4).
    pub(super) fn leave_recovery(&mut self, now: Time, congestion: &mut Congestion<'_>) -> bool {
        let undone = self.may_undo();
        if undone {
            self.undo(false, now, congestion);
        } else {
            self.rack.persistence = self.rack.persistence.saturating_sub(1);
        }
        if self.hold_without_sack() {
            return true;
        }
        if !undone {
            congestion.controller.on_recovered(congestion.id, now);
        }
        self.recovery.phase = Phase::Open;
        self.recovery.loss_window = None;
        false
    }

    fn hold_without_sack(&mut self) -> bool {
        if self.agreed.sack || self.sender.una != self.recovery.high {
            return false;
        }
        if !self.anything_resent() {
            self.recovery.first_resent = None;
        }
        true
    }

    /// Every retransmission was reported as a duplicate. Whether the reduction was undone.
    pub(super) fn undo_for_duplicates(
        &mut self,
        now: Time,
        congestion: &mut Congestion<'_>,
    ) -> bool {
        if self.recovery.undo_from.is_none() || self.recovery.undo_resent != Some(0) {
            return false;
        }
        self.rack.persist();
        self.undo(false, now, congestion);
        true
    }

    /// A hole was filled in recovery by what was only late. Whether nothing more is to be done,
    /// as retransmissions are still out.
    pub(super) fn undo_partially(
        &mut self,
        now: Time,
        prior_una: u64,
        congestion: &mut Congestion<'_>,
    ) -> bool {
        if self.recovery.undo_from.is_none() || !self.original_arrived() {
            return false;
        }
        self.check_reordering(prior_una);
        if self.board.resent.segments > 0 {
            return true;
        }
        if !self.anything_resent() {
            self.recovery.first_resent = None;
        }
        self.undo(true, now, congestion);
        self.keep_open();
        false
    }

    /// The timeout was a mistake: `certainly`, or by timestamps or duplicates. Whether it was.
    pub(super) fn undo_timeout(
        &mut self,
        certainly: bool,
        now: Time,
        congestion: &mut Congestion<'_>,
    ) -> bool {
        if !certainly && !self.may_undo() {
            return false;
        }
        self.undo(true, now, congestion);
        self.recovery.timeouts = 0;
        if !self.hold_without_sack() && (certainly || self.agreed.sack) {
            self.recovery.phase = Phase::Open;
        }
        true
    }

    /// What a report of duplicates from `start` to `end` says of our retransmissions
    /// (tcp_dsack_seen): how many segments they were, 0 when it is not credible. Second: whether
    /// it is the tail loss probe.
    pub(super) fn duplicates_reported(&mut self, start: u64, end: u64) -> (u64, bool) {
        let length = end - start;
        let mss = self.agreed.payload as u64;
        if length > self.sender.max_window {
            return (0, false);
        }
        let segments = length.div_ceil(mss).max(1);
        let of_probe = segments == 1 && self.recovery.probe_end == Some(end);
        self.recovery.duplicates += segments;
        if self.recovery.duplicates > self.counters.retransmitted_segments {
            return (0, false);
        }
        if self.recovery.reordering_seen && !of_probe {
            self.rack.duplicate_seen = true;
        }
        (segments, of_probe)
    }

    /// `segments` retransmissions that ended at `end` were superfluous.
    pub(super) fn superfluous(&mut self, segments: u64, end: u64) {
        if let (Some(from), Some(resent)) = (self.recovery.undo_from, self.recovery.undo_resent)
            && end > from
        {
            self.recovery.undo_resent = Some(resent.saturating_sub(segments));
        }
    }
}
