//! `round-robin`: whose turn is it?
//!
//! The subflows with room take one segment each, in turn (Paasch et al., "Experimental
//! Evaluation of Multipath TCP Schedulers", CSWS 2014; the round is bound by the
//! congestion windows, so that in bulk transfers each subflow gets what its window clocks out).

use super::candidates::{in_play, is_recovery, once_more, segment, with_room};
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View};
use crate::subflow::SubflowId;

/// The scheduler.
#[derive(Default)]
pub struct RoundRobin {
    last: Option<SubflowId>,
}

impl RoundRobin {
    /// How many turns away `subflow` is: those numbered after the last one come first.
    fn turn(&self, subflow: &Subflow) -> (bool, SubflowId) {
        (self.last.is_some_and(|last| subflow.id <= last), subflow.id)
    }
}

impl Scheduler for RoundRobin {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let chosen = with_room(view).min_by_key(|s| self.turn(s))?;
        self.last = Some(chosen.id);
        Some(segment(view, chosen))
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        if !is_recovery(occasion) {
            return None;
        }
        let chosen = once_more(in_play(view), occasion, piece, |s| self.turn(s))?;
        self.last = Some(chosen.id);
        Some(Reinjection::onto(chosen.id))
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        is_recovery(occasion)
    }
}
