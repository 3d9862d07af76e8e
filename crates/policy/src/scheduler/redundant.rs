//! `redundant`: can every subflow carry everything?
//!
//! Latency bought with volume: whichever copy arrives first counts (Frömmgen et al., "ReMP TCP:
//! Low Latency Multipath TCP", ICC 2016). Each subflow works through all data in order, at its own
//! pace, but for what is acknowledged meanwhile: new data goes out on the subflows that carry all
//! that was sent before; those that lag behind first repeat what they do not carry.

use super::candidates::{admitted, by_rtt, in_play, once_more, whole_segments, with_room};
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View};
use crate::subflow::{SubflowId, SubflowSet};
use model::Time;

/// The scheduler.
#[derive(Default)]
pub struct Redundant {
    /// Up to which data sequence number each subflow carries what is not acknowledged, and when
    /// it was established: its number may have been another's before.
    carried: [(Time, u64); SubflowId::MAX],
    /// The subflows that took new data last; how much that came to be shows in the next view.
    last: SubflowSet,
}

impl Redundant {
    /// Up to which data sequence number, beyond the first unacknowledged one, `subflow` carries
    /// all.
    fn lead(&self, view: &View<'_>, subflow: &Subflow) -> u64 {
        let (established, end) = self.carried[subflow.id.index()];
        let lead = end.wrapping_sub(view.first_unacked);
        // What lies behind the first unacknowledged byte wraps to a distance nobody has sent.
        if established == subflow.established && lead <= view.unacked {
            lead
        } else {
            0
        }
    }

    /// `subflow` carries `lead` bytes from the first unacknowledged one on.
    fn advance(&mut self, view: &View<'_>, subflow: &Subflow, lead: u64) {
        let end = view.first_unacked.wrapping_add(lead);
        self.carried[subflow.id.index()] = (subflow.established, end);
    }

    /// Those that took new data last carry all that was sent.
    fn settle(&mut self, view: &View<'_>) {
        let last = std::mem::take(&mut self.last);
        for subflow in view.subflows.iter().filter(|s| last.contains(s.id)) {
            if self.carried[subflow.id.index()].0 == subflow.established {
                self.advance(view, subflow, view.unacked);
            }
        }
    }

    /// `piece` is offered because no new data is sent: who has room for it was given all before
    /// it that was offered, and what was not offered all carry.
    fn pass(&mut self, view: &View<'_>, piece: &Piece) {
        let start = piece.dsn.wrapping_sub(view.first_unacked);
        let end = start.saturating_add(piece.bytes).min(view.unacked);
        for subflow in in_play(view).filter(|s| s.has_room(piece.bytes)) {
            self.advance(view, subflow, end.max(self.lead(view, subflow)));
        }
    }
}

impl Scheduler for Redundant {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        self.settle(view);
        // Nothing is repeated on a subflow that has no other beside it; and when nothing is in
        // flight although something is not acknowledged, only a timeout helps that.
        let alone = in_play(view).nth(1).is_none();
        let quiet = in_play(view).all(Subflow::is_idle);
        let open = with_room(view).filter(|s| alone || quiet || self.lead(view, s) == view.unacked);
        // All copies have the same length, so the least room decides.
        let room = open
            .clone()
            .map(|s| whole_segments(s, s.window_room))
            .min()?;
        let subflows: SubflowSet = open.map(|s| s.id).collect();
        self.last = subflows;
        for subflow in view.subflows.iter().filter(|s| subflows.contains(s.id)) {
            self.advance(view, subflow, view.unacked);
        }
        Some(Assignment {
            subflows,
            bytes: admitted(view).min(room),
        })
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        self.settle(view);
        let mut subflows: SubflowSet = in_play(view)
            .filter(|s| s.has_room(piece.bytes) && !piece.carriers.contains(s.id))
            .map(|s| s.id)
            .collect();
        if occasion == Occasion::Idle {
            self.pass(view, piece);
        }
        if subflows.is_empty() {
            subflows = SubflowSet::only(once_more(in_play(view), occasion, piece, by_rtt)?.id);
        }
        Some(Reinjection {
            subflows,
            penalised: None,
        })
    }

    fn reinjects_on(&self, _: Occasion) -> bool {
        true
    }
}
