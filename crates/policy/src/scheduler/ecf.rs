//! `ecf`: is all that waits delivered earlier if the data waits for the fastest subflow?
//!
//! Lim, Nahum, Towsley and Gibbens, "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths",
//! CoNEXT 2017, algorithm 1. With k bytes that wait, the fastest subflow f without room and a
//! slower one s with room, f would be done after `1 + k / CWND_f` of its round trips (the first
//! passes until it has room). Data waits for f when that is earlier than one round trip of s by a
//! margin, and s would take longer than two round trips of f. As in the authors' implementation
//! (`mptcp_ecf.c`), what waits takes one round trip at least, on either.

use super::candidates::{by_rtt, fill, in_play, segment, with_room};
use super::penalty::Penalties;
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View, lowest_rtt};

/// The scheduler.
#[derive(Default)]
pub struct Ecf {
    penalties: Penalties,
    /// Whether the last decision was to wait: it then takes more to use the slower subflow.
    waiting: bool,
}

/// The inverse of beta, by which round trips of the slower subflow count for more while waiting.
const BETA_INVERSE: u128 = 4;

/// The longest time or most bytes that are told apart: 2^56 ns are two years, 2^56 bytes 72 PB,
/// and their product times [`BETA_INVERSE`] and what is added still fits.
const MOST: u128 = 1 << 56;

impl Ecf {
    /// Whether to wait for `fast` although `slow` has room, while `waiting` bytes wait.
    fn waits_for(&mut self, fast: &Subflow, slow: &Subflow, waiting: u64) -> bool {
        let (Some(fast_rtt), Some(slow_rtt)) = (fast.smoothed_rtt, slow.smoothed_rtt) else {
            return false;
        };
        let [fast_rtt, slow_rtt, delta] = [
            fast_rtt,
            slow_rtt,
            fast.rtt_variation.max(slow.rtt_variation),
        ]
        .map(|time| time.as_nanos().min(MOST));
        // Everything is multiplied by the window, so that nothing is divided.
        let [fast_window, slow_window, bytes] =
            [fast.window.max(1), slow.window.max(1), waiting].map(|b| u128::from(b).min(MOST));

        let over_fast = (fast_window + bytes.max(fast_window)) * fast_rtt;
        let one_slow = fast_window * (slow_rtt + delta);
        let hysteresis = BETA_INVERSE + u128::from(self.waiting);
        if BETA_INVERSE * over_fast >= hysteresis * one_slow {
            self.waiting = false;
            return false;
        }
        let over_slow = bytes.max(slow_window) * slow_rtt;
        let slower = over_slow >= slow_window * (2 * fast_rtt + delta);
        // The paper leaves `waiting` as it was when the slower subflow is fast enough.
        self.waiting |= slower;
        slower
    }
}

impl Scheduler for Ecf {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let slow = with_room(view).min_by_key(|s| by_rtt(s))?;
        let fast = in_play(view).min_by_key(|s| by_rtt(s))?;
        if fast.id == slow.id {
            return Some(fill(view, fast));
        }
        (!self.waits_for(fast, slow, view.unsent)).then(|| segment(view, slow))
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        lowest_rtt::reinject(&mut self.penalties, view, occasion, piece)
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        lowest_rtt::reinjects_on(occasion)
    }
}
