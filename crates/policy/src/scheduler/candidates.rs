//! Which subflows may take data at all, before a scheduler prefers one to another?
//!
//! The schedulers that share this answer use backups only when every regular subflow is
//! potentially failed or stale, as the reference scheduler of De Coninck and Bonaventure
//! (MultiMob) does. One addition keeps a connection from standing still: when no subflow works
//! at all, those that have nothing outstanding may take data, for nothing else could ever show
//! that they work again.

use super::{Assignment, Occasion, Piece, Subflow, View};
use crate::subflow::{SubflowId, SubflowSet};
use std::time::Duration;

/// How soon a subflow's turn comes; only those of the least rank there is may take data.
fn rank(subflow: &Subflow) -> u8 {
    match (subflow.works(), subflow.backup, subflow.is_idle()) {
        _ if is_stuck(subflow) => UNABLE,
        (true, false, _) => 0,
        (true, true, _) => 1,
        (false, false, true) => 2,
        (false, true, true) => 3,
        (false, _, false) => UNABLE,
    }
}

/// Whether it has no room and never will, for nothing comes back that makes some.
fn is_stuck(subflow: &Subflow) -> bool {
    subflow.is_idle() && subflow.window_room == 0
}

/// Those that work, backups or not, with room or without.
pub(super) fn working<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Subflow> + Clone + use<'a> {
    let works = |s: &&Subflow| s.works() && !is_stuck(s);
    view.subflows.iter().filter(works)
}

/// The rank of those that take no data: they do not work, but what they retransmit may yet show
/// that they do.
const UNABLE: u8 = 4;

/// The subflows that may take data, with room or without. One that is alone always may: such a
/// connection is TCP.
pub(super) fn in_play<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Subflow> + Clone + use<'a> {
    let subflows = view.subflows;
    let alone = subflows.len() == 1;
    let least = subflows.iter().map(rank).min().unwrap_or(UNABLE);
    subflows
        .iter()
        .filter(move |s| alone || least < UNABLE && rank(s) == least)
}

/// By smoothed round-trip time, the unmeasured last.
pub(super) fn by_rtt(subflow: &Subflow) -> (Duration, SubflowId) {
    (subflow.smoothed_rtt.unwrap_or(Duration::MAX), subflow.id)
}

/// How much of the new data the peer's window admits now.
pub(super) fn admitted(view: &View<'_>) -> u64 {
    view.unsent.min(view.send_window)
}

/// Those in play that have room for new data.
pub(super) fn with_room<'a>(
    view: &View<'a>,
) -> impl Iterator<Item = &'a Subflow> + Clone + use<'a> {
    let bytes = admitted(view);
    in_play(view).filter(move |s| bytes > 0 && s.has_room(bytes))
}

/// As much new data as `subflow` has room for, in whole segments where there is more than one.
pub(super) fn fill(view: &View<'_>, subflow: &Subflow) -> Assignment {
    assign(
        subflow,
        admitted(view).min(whole_segments(subflow, subflow.window_room)),
    )
}

/// One segment of new data.
pub(super) fn segment(view: &View<'_>, subflow: &Subflow) -> Assignment {
    assign(subflow, admitted(view).min(subflow.mss.max(1)))
}

/// `room` less what is not a whole segment; all of it when it is less than one.
pub(super) fn whole_segments(subflow: &Subflow, room: u64) -> u64 {
    let mss = subflow.mss.max(1);
    if room < mss { room } else { room - room % mss }
}

fn assign(subflow: &Subflow, bytes: u64) -> Assignment {
    Assignment {
        subflows: SubflowSet::only(subflow.id),
        bytes,
    }
}

/// Where `piece` goes once more: to the first by `order` of the `allowed` that have room and do
/// not carry it. After a timeout also to one that delivered it, see
/// [`super::Reinjection::subflows`].
pub(super) fn once_more<'a, K: Ord>(
    allowed: impl Iterator<Item = &'a Subflow> + Clone,
    occasion: Occasion,
    piece: &Piece,
    order: impl Fn(&Subflow) -> K,
) -> Option<&'a Subflow> {
    let open = allowed.filter(|s| s.has_room(piece.bytes));
    let fresh = open.clone().filter(|s| !piece.carriers.contains(s.id));
    let delivered = open.filter(|s| occasion == Occasion::Timeout && s.is_idle());
    let first = fresh.min_by_key(|s| order(s));
    first.or_else(|| delivered.min_by_key(|s| order(s)))
}

/// The occasions on which all but the kernel's scheduler move data: something is overdue, or its
/// subflow is failed or gone.
pub(super) fn is_recovery(occasion: Occasion) -> bool {
    match occasion {
        Occasion::Timeout | Occasion::SubflowFailed | Occasion::SubflowClosed => true,
        Occasion::WindowBlocked | Occasion::Idle => false,
    }
}
