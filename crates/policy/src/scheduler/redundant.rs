//! `redundant`: can every subflow carry everything?
//!
//! Latency bought with volume: whichever copy arrives first counts (Frömmgen et al., "ReMP TCP:
//! Low Latency Multipath TCP", ICC 2016). New data goes out on every subflow with room; a subflow
//! that had none then works through what it does not carry once nothing new waits.

use super::candidates::{admitted, by_rtt, in_play, once_more, whole_segments, with_room};
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, View};
use crate::subflow::SubflowSet;

/// The scheduler.
pub struct Redundant;

impl Scheduler for Redundant {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let open = with_room(view);
        // All copies have the same length, so the least room decides.
        let room = open
            .clone()
            .map(|s| whole_segments(s, s.window_room))
            .min()?;
        Some(Assignment {
            subflows: open.map(|s| s.id).collect(),
            bytes: admitted(view).min(room),
        })
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        let subflows: SubflowSet = in_play(view)
            .filter(|s| s.has_room(piece.bytes) && !piece.carriers.contains(s.id))
            .map(|s| s.id)
            .collect();
        if subflows.is_empty() {
            return once_more(in_play(view), occasion, piece, by_rtt)
                .map(|s| Reinjection::onto(s.id));
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
