//! `lowest-rtt`: which subflow with room answers fastest?
//!
//! The reference scheduler of the papers on Multipath TCP: the lowest smoothed round-trip time
//! among the subflows whose congestion window has room (Raiciu et al., NSDI 2012; Paasch et al.,
//! "Experimental Evaluation of Multipath TCP Schedulers", CSWS 2014), with opportunistic
//! retransmission and penalisation. A subflow is left out from the expiry of its retransmission
//! timer until new data is acknowledged on it; backups serve when all regular subflows are left
//! out (De Coninck and Bonaventure, MultiMob, section II).

use super::candidates::{by_rtt, fill, in_play, once_more, with_room};
use super::penalty::Penalties;
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, View};

/// The scheduler.
#[derive(Default)]
pub struct LowestRtt {
    penalties: Penalties,
}

impl Scheduler for LowestRtt {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let fastest = with_room(view).min_by_key(|s| by_rtt(s))?;
        Some(fill(view, fastest))
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        reinject(&mut self.penalties, view, occasion, piece)
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        reinjects_on(occasion)
    }
}

/// What this scheduler and those that refine it send once more.
pub(super) fn reinject(
    penalties: &mut Penalties,
    view: &View<'_>,
    occasion: Occasion,
    piece: &Piece,
) -> Option<Reinjection> {
    match occasion {
        Occasion::Idle => None,
        Occasion::WindowBlocked => penalties.unblock(view, piece),
        Occasion::Timeout | Occasion::SubflowFailed | Occasion::SubflowClosed => {
            let fastest = once_more(in_play(view), occasion, piece, by_rtt)?;
            Some(Reinjection::onto(fastest.id))
        }
    }
}

/// On which occasions [`reinject`] ever answers.
pub(super) fn reinjects_on(occasion: Occasion) -> bool {
    occasion != Occasion::Idle
}
