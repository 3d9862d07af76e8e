//! Does a token bucket police the path? Then its long-term rate is what can be sent, not what passes
//! while there are tokens.
//!
//! Flach et al., "An Internet-wide analysis of traffic policing" (SIGCOMM 2016), as in Linux:
//! bbr_lt_bw_sampling. Not in draft-cardwell-iccrg-bbr-congestion-control-00.

use model::Time;

/// Round trips an interval lasts at least (Linux: bbr_lt_intvl_min_rtts).
const MIN_ROUNDS: u32 = 4;
/// and at most.
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Lost of delivered bytes from which an interval counts as policed, in 256ths (Linux:
/// bbr_lt_loss_thresh).
const LOSS_THRESHOLD: u64 = 50;
/// Rates of two intervals are the same when they differ by an eighth (Linux: bbr_lt_bw_ratio)
const SAME_RATIO: u64 = 8;
/// or by this many bytes a second (Linux: bbr_lt_bw_diff).
const SAME_DIFFERENCE: u64 = 500;
/// Round trips of probing for which the rate is used (Linux: bbr_lt_bw_max_rtts).
const ROUNDS_IN_USE: u32 = 48;

/// Looks for a policer.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    /// The rate of the last interval that was lossy, bytes a second.
    rate: Option<u64>,
    in_use: bool,
    rounds: u32,
    interval: Option<Interval>,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Time,
    delivered: u64,
    lost: u64,
}

/// What an acknowledgement tells of it.
pub struct Observation {
    /// When.
    pub now: Time,
    /// Bytes delivered in all.
    pub delivered: u64,
    /// Bytes lost since the observation before.
    pub lost: u64,
    /// Whether the application limited the rate.
    pub app_limited: bool,
    /// Whether a round trip began.
    pub round_start: bool,
    /// Whether the sender is in its cycle of gains.
    pub cycling: bool,
}

impl Policer {
    /// The rate it polices at, if there is one.
    pub fn rate(&self) -> Option<u64> {
        self.rate.filter(|_| self.in_use)
    }

    /// Takes note; returns whether the rate stops being used with it.
    pub fn on_ack(&mut self, seen: &Observation) -> bool {
        if self.in_use {
            if seen.cycling && seen.round_start {
                self.rounds += 1;
                if self.rounds >= ROUNDS_IN_USE {
                    *self = Policer::default();
                    return true;
                }
            }
            return false;
        }
        // The first loss begins it: tokens that were left over would make the rate too large.
        let Some(interval) = &mut self.interval else {
            if seen.lost > 0 {
                self.begin(seen);
            }
            return false;
        };
        interval.lost = interval.lost.saturating_add(seen.lost);
        let interval = *interval;
        self.rounds += u32::from(seen.round_start);
        if seen.app_limited || self.rounds > MAX_ROUNDS {
            *self = Policer::default();
            return false;
        }
        // A loss ends it as well: the tokens are used up again.
        if self.rounds < MIN_ROUNDS || seen.lost == 0 {
            return false;
        }
        let delivered = seen.delivered.saturating_sub(interval.delivered);
        let lossy =
            u128::from(interval.lost) * 256 >= u128::from(delivered) * u128::from(LOSS_THRESHOLD);
        let time = seen.now.since(interval.start);
        if delivered == 0 || !lossy || time.as_millis() == 0 {
            return false;
        }
        self.conclude((delivered as f64 / time.as_secs_f64()) as u64, seen);
        false
    }

    fn conclude(&mut self, rate: u64, seen: &Observation) {
        if let Some(before) = self.rate {
            let difference = rate.abs_diff(before);
            if difference <= before / SAME_RATIO || difference <= SAME_DIFFERENCE {
                self.rate = Some(rate.midpoint(before));
                self.in_use = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(seen);
    }

    fn begin(&mut self, seen: &Observation) {
        self.rounds = 0;
        self.interval = Some(Interval {
            start: seen.now,
            delivered: seen.delivered,
            lost: 0,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of 100 ms in which `delivered` arrive and `lost` don't.
    fn round(policer: &mut Policer, number: u64, delivered: u64, lost: u64) -> bool {
        policer.on_ack(&Observation {
            now: Time::from_millis(100 * number),
            delivered: number * delivered,
            lost,
            app_limited: false,
            round_start: true,
            cycling: true,
        })
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policer_for_48_rounds() {
        let mut policer = Policer::default();
        for number in 1..=8 {
            round(&mut policer, number, 10_000, 3_000);
            assert_eq!(policer.rate(), None, "{number}");
        }
        round(&mut policer, 9, 10_000, 3_000);
        assert_eq!(policer.rate(), Some(100_000));
        let ends = (10..100).find(|number| round(&mut policer, *number, 10_000, 0));
        assert_eq!(ends, Some(9 + 48));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn little_loss_is_no_policer() {
        let mut policer = Policer::default();
        for number in 1..=200 {
            round(&mut policer, number, 10_000, 1_900);
            assert_eq!(policer.rate(), None, "{number}");
        }
    }
}
