//! `blest`: would data on the slower subflow fill the peer's window before the faster one can?
//!
//! Ferlin, Alay, Mehani and Boreli, "BLEST: Blocking Estimation-based MPTCP Scheduler for
//! Heterogeneous Networks", IFIP Networking 2016. When the fastest subflow F has no room and a
//! slower one S has, F would send X bytes during a round trip of S; if the peer's window less
//! what S then holds does not take `lambda * X`, S is left alone. The values of lambda and the
//! estimate during slow start are those of the authors' implementation in the Multipath TCP
//! kernel (`mptcp_blest.c`).

use super::candidates::{by_rtt, fill, in_play, segment, with_room};
use super::penalty::Penalties;
use super::{Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View, lowest_rtt};
use model::Time;
use std::time::Duration;

/// The scheduler.
pub struct Blest {
    penalties: Penalties,
    /// Lambda in thousandths.
    lambda: u64,
    /// When lambda was adapted last.
    adapted: Option<Time>,
    /// Whether the peer's window blocked the connection since.
    blocked: bool,
}

/// Lambda at first, and its bounds, in thousandths.
const LAMBDA: u64 = 1_200;
const LAMBDA_LEAST: u64 = 1_000;
const LAMBDA_MOST: u64 = 1_300;
/// How lambda changes after a round trip of the slower subflow with blocking and without.
const LAMBDA_UP: u64 = 40;
const LAMBDA_DOWN: u64 = 10;
/// Round trips that slow start is followed for at most: the window doubles in each.
const SLOW_START_ROUNDS: u64 = 16;

impl Default for Blest {
    fn default() -> Blest {
        Blest {
            penalties: Penalties::default(),
            lambda: LAMBDA,
            adapted: None,
            blocked: false,
        }
    }
}

impl Blest {
    /// Once a round trip `slow_rtt`: more caution after blocking, less without.
    fn adapt(&mut self, now: Time, slow_rtt: Duration) {
        match self.adapted {
            Some(at) if now.since(at) < slow_rtt => return,
            Some(_) if self.blocked => self.lambda = LAMBDA_MOST.min(self.lambda + LAMBDA_UP),
            Some(_) => self.lambda = LAMBDA_LEAST.max(self.lambda - LAMBDA_DOWN),
            None => {}
        }
        self.blocked = false;
        self.adapted = Some(now);
    }
}

/// X: the bytes that `fast` sends during a round trip of `slow_rtt`, or nothing known of it.
fn bytes_meanwhile(fast: &Subflow, slow_rtt: Duration) -> Option<u128> {
    let fast_rtt = fast.smoothed_rtt?.as_nanos().max(1);
    let rounds = slow_rtt.as_nanos().div_ceil(fast_rtt).max(1);
    let window = u128::from(fast.window);
    let bytes = if fast.in_slow_start {
        let rounds = rounds.min(u128::from(SLOW_START_ROUNDS));
        window.saturating_mul((1 << rounds) - 1)
    } else {
        // (CWND + (rounds - 1) / 2) * rounds segments: one more each round.
        let growth = u128::from(fast.mss).saturating_mul(rounds - 1) / 2;
        window.saturating_add(growth).saturating_mul(rounds)
    };
    Some(bytes)
}

impl Scheduler for Blest {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        let slow = with_room(view).min_by_key(|s| by_rtt(s))?;
        let fast = in_play(view).min_by_key(|s| by_rtt(s))?;
        if fast.id == slow.id {
            return Some(fill(view, fast));
        }
        let Some(slow_rtt) = slow.smoothed_rtt else {
            return Some(segment(view, slow));
        };
        self.adapt(view.now, slow_rtt);
        let window = u128::from(view.unacked) + u128::from(view.send_window);
        let held = u128::from(slow.unacked) + u128::from(slow.queued) + u128::from(slow.mss);
        let wanted = bytes_meanwhile(fast, slow_rtt)?.saturating_mul(u128::from(self.lambda));
        let fits = wanted <= window.saturating_sub(held).saturating_mul(1_000);
        fits.then(|| segment(view, slow))
    }

    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection> {
        let answer = lowest_rtt::reinject(&mut self.penalties, view, occasion, piece);
        self.blocked |= occasion == Occasion::WindowBlocked && answer.is_some();
        answer
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        lowest_rtt::reinjects_on(occasion)
    }
}
