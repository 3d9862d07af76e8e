//! `follow`: where did the peer send last?
//!
//! MultiMob's scheduler for servers: the phone knows first which of its networks works, so the
//! answer takes the subflow on which its last original packet came (De Coninck and Bonaventure,
//! MultiMob, section III.A). Potentially failed subflows and those that already carried the data
//! are left out; of the rest the one with the most recent original reception is chosen, backup or
//! not; when its window has no room, the data waits for it rather than use an older one. With one
//! subflow there is nothing to choose.

use super::candidates::{admitted, fill, in_play, is_recovery};
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View};
use crate::subflow::SubflowSet;
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

/// The most recent, with room or without, of those that work and are not among `carriers`; of
/// those that may take data when none works.
fn latest<'a>(view: &View<'a>, carriers: SubflowSet) -> Option<&'a Subflow> {
    if let [only] = view.subflows {
        return Some(only).filter(|s| !carriers.contains(s.id));
    }
    let fresh = |s: &&Subflow| !carriers.contains(s.id);
    // What is idle without room never gets any: nothing comes back.
    let works = |s: &&Subflow| s.works() && (s.window_room > 0 || !s.is_idle());
    if view.subflows.iter().any(|s| works(&s)) {
        let some = view.subflows.iter().filter(works);
        some.filter(fresh).max_by_key(|s| recency(s))
    } else {
        in_play(view).filter(fresh).max_by_key(|s| recency(s))
    }
}

impl Scheduler for Follow {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let bytes = admitted(view);
        let latest = latest(view, SubflowSet::EMPTY)?;
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
        let fresh = latest(view, piece.carriers);
        // After a timeout what was delivered, and dropped above TCP, goes where the peer is.
        let delivered = || latest(view, SubflowSet::EMPTY).filter(|s| s.is_idle());
        let chosen = fresh.or_else(|| (occasion == Occasion::Timeout).then(delivered).flatten())?;
        chosen
            .has_room(piece.bytes)
            .then(|| Reinjection::onto(chosen.id))
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        is_recovery(occasion)
    }
}
