//! How much more is acknowledged at once than the path delivers in the time? So much more has to be
//! in flight to keep sending in the silence between such acknowledgements.
//!
//! Linux: bbr_update_ack_aggregation. Not in draft-cardwell-iccrg-bbr-congestion-control-00.

use model::Time;
use std::time::Duration;

/// Round trips after which the older half of what is remembered is dropped (Linux:
/// bbr_extra_acked_win_rtts).
const ROUNDS: u32 = 5;
/// Packets after which an epoch is too old (Linux: bbr_ack_epoch_acked_reset_thresh).
const LONGEST_EPOCH: u64 = 1 << 20;
/// The excess is at most what is delivered in this time (Linux: bbr_extra_acked_max_us).
const MAX_TIME: Duration = Duration::from_millis(100);

/// The excess of the last five to ten round trips.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// The largest excess of the current five round trips and of those before, bytes.
    excess: [u64; 2],
    rounds: u32,
    epoch_start: Time,
    epoch_acked: u64,
}

impl Aggregation {
    /// Nothing seen yet.
    pub fn new(now: Time) -> Aggregation {
        Aggregation {
            excess: [0; 2],
            rounds: 0,
            epoch_start: now,
            epoch_acked: 0,
        }
    }

    /// Begins to count anew, because nothing was sent for a time.
    pub fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// `acked` more bytes at `now`, on a path of `rate` bytes a second.
    pub fn on_ack(
        &mut self,
        now: Time,
        acked: u64,
        rate: u64,
        window: u64,
        mss: u64,
        round_start: bool,
    ) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.excess = [0, self.excess[0]];
            }
        }
        let mut expected = delivered_in(now.since(self.epoch_start), rate);
        let total = self.epoch_acked.saturating_add(acked);
        if self.epoch_acked <= expected || total >= LONGEST_EPOCH.saturating_mul(mss) {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = self.epoch_acked.saturating_add(acked);
        let excess = self.epoch_acked.saturating_sub(expected).min(window);
        self.excess[0] = self.excess[0].max(excess);
    }

    /// What to have in flight beyond what the path needs, bytes.
    pub fn allowance(&self, rate: u64) -> u64 {
        let excess = self.excess[0].max(self.excess[1]);
        excess.min(delivered_in(MAX_TIME, rate))
    }
}

/// Bytes at `rate` bytes a second.
fn delivered_in(time: Duration, rate: u64) -> u64 {
    (time.as_secs_f64() * rate as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_acknowledgements_are_allowed_for_and_forgotten() {
        // 1 MB/s, acknowledged in bursts of 5 kB every 5 ms.
        let mut aggregation = Aggregation::new(Time::ZERO);
        let at = |aggregation: &mut Aggregation, ms: u64, acked: u64| {
            let round_start = ms.is_multiple_of(20);
            let now = Time::from_millis(ms);
            aggregation.on_ack(now, acked, 1_000_000, 50_000, 1_000, round_start);
        };
        for ms in (5..=20).step_by(5) {
            at(&mut aggregation, ms, 5_000);
        }
        assert_eq!(aggregation.allowance(1_000_000), 5_000);
        // Smooth ones, a little slower than the path: none is ahead by more than itself.
        for ms in 21..=400 {
            at(&mut aggregation, ms, 900);
        }
        assert_eq!(aggregation.allowance(1_000_000), 900);
        assert_eq!(aggregation.allowance(1_000), 100);
    }
}
