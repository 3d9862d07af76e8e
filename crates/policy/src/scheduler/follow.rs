//! `follow`: where did the peer send last?
//!
//! MultiMob's scheduler for servers: the phone knows first which of its networks works, so the
//! answer takes the subflow on which its last original packet came (De Coninck and Bonaventure,
//! MultiMob, section III.A). Potentially failed subflows and those that already carried the data
//! are left out; of the rest the one with the most recent original reception is chosen, backup or
//! not; when its window has no room, the data waits for it rather than use an older one. With one
//! subflow there is nothing to choose.

use super::candidates::{admitted, fill, in_play, is_recovery, working};
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View};
use model::Time;
use std::cmp::Reverse;
use std::time::Duration;

/// The scheduler.
pub struct Follow;

/// Greater for what the peer used later. That the subflow came to be is an original reception.
fn recency(subflow: &Subflow) -> (Time, impl Ord + use<>) {
    let last = subflow.last_original.unwrap_or(subflow.established);
    let rtt = subflow.smoothed_rtt.unwrap_or(Duration::MAX);
    (last, (Reverse(rtt), Reverse(subflow.id)))
}

/// The most recent of those to `keep`, with room or without, that work; of those that may take
/// data when none works.
fn latest<'a>(view: &View<'a>, keep: impl Fn(&Subflow) -> bool) -> Option<&'a Subflow> {
    let keep = |s: &&Subflow| keep(s);
    if view.subflows.len() > 1 && working(view).next().is_some() {
        working(view).filter(keep).max_by_key(|s| recency(s))
    } else {
        in_play(view).filter(keep).max_by_key(|s| recency(s))
    }
}

impl Scheduler for Follow {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let bytes = admitted(view);
        let latest = latest(view, |_| true)?;
        (bytes > 0 && latest.has_room(bytes)).then(|| fill(view, latest))
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
        let fresh = latest(view, |s| !piece.carriers.contains(s.id));
        // Where it was delivered, and dropped above TCP.
        let delivered = || latest(view, |s| occasion == Occasion::Timeout && s.is_idle());
        let chosen = fresh.or_else(delivered)?;
        chosen
            .has_room(piece.bytes)
            .then(|| Reinjection::onto(chosen.id))
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        is_recovery(occasion)
    }
}
