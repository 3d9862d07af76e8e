//! HyStart: when has slow start found enough of a window, before it costs a loss?
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start" (Computer Networks 55(9), 2011), as Linux
//! has it in tcp_cubic.c rather than HyStart++ (RFC 9406): either a train of closely spaced
//! acknowledgements that is longer than half of the smallest round-trip time, or a round whose
//! smallest round-trip time is an eighth above it, ends slow start at once.

use super::Ack;
use model::Time;
use std::time::Duration;

/// Smallest window at which it looks, segments (Linux: hystart_low_window).
const LOW_WINDOW: u64 = 16;
/// Round-trip times of a round to look at before it is judged (Linux: HYSTART_MIN_SAMPLES).
const MIN_SAMPLES: u32 = 8;
/// How much later than the smallest round-trip time is late: an eighth of it, but at least
/// (Linux: HYSTART_DELAY_MIN)
const DELAY_MIN: Duration = Duration::from_millis(4);
/// and at most this (Linux: HYSTART_DELAY_MAX).
const DELAY_MAX: Duration = Duration::from_millis(16);
/// Acknowledgements not further apart belong to one train (Linux: hystart_ack_delta_us).
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// What a train may be longer for the aggregation of packets at the ends (Linux:
/// hystart_ack_delay, at rates below 2 Gbit/s).
const TRAIN_SLACK: Duration = Duration::from_millis(1);

/// What it knows of the round trip that is under way.
#[derive(Clone, Debug)]
pub struct HyStart {
    round_start: Time,
    /// The round is over when more than this was delivered.
    round_end: u64,
    last_ack: Time,
    smallest: Duration,
    samples: u32,
    found: bool,
}

impl HyStart {
    /// At the beginning of slow start.
    pub fn new(now: Time) -> HyStart {
        HyStart {
            round_start: now,
            round_end: 0,
            last_ack: now,
            smallest: Duration::MAX,
            samples: 0,
            found: false,
        }
    }

    /// Whether slow start is to end with this acknowledgement, of which the round-trip time was
    /// `rtt`, when the smallest is `min_rtt`.
    pub fn ends(&mut self, ack: &Ack, rtt: Duration, min_rtt: Duration, window: u64) -> bool {
        if self.found || window < LOW_WINDOW {
            return false;
        }
        if ack.delivered > self.round_end {
            self.round_start = ack.now;
            self.last_ack = ack.now;
            self.round_end = ack.delivered.saturating_add(ack.in_flight);
            self.smallest = Duration::MAX;
            self.samples = 0;
        }
        self.found = self.train_is_long(ack.now, min_rtt) || self.delay_grew(rtt, min_rtt);
        self.found
    }

    fn train_is_long(&mut self, now: Time, min_rtt: Duration) -> bool {
        if now.since(self.last_ack) > TRAIN_SPACING {
            return false;
        }
        self.last_ack = now;
        // Half, because the sender does not pace (Linux: SK_PACING_NONE).
        now.since(self.round_start) > min_rtt.saturating_add(TRAIN_SLACK) / 2
    }

    fn delay_grew(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        self.smallest = self.smallest.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let late = (min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.smallest > min_rtt.saturating_add(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(now: Time, delivered: u64) -> Ack {
        Ack {
            now,
            acked: 2,
            rtt: None,
            smoothed_rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: 40,
            window_limited: true,
            lost: 0,
            in_recovery: false,
            delivered,
            rate: None,
        }
    }

    /// Which acknowledgement of a round ends slow start, when they are `spacing` apart and show
    /// `rtt` of at least 40 ms.
    fn ends_at(spacing: Duration, rtt: Duration, window: u64) -> Option<u64> {
        let mut hystart = HyStart::new(Time::ZERO);
        let min_rtt = Duration::from_millis(40);
        (0..20).find(|i| {
            let now = Time::from_millis(40) + spacing * (*i as u32);
            hystart.ends(&ack(now, 1 + 2 * i), rtt, min_rtt, window)
        })
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        let rtt = Duration::from_millis(40);
        // (40 + 1) / 2 = 20.5 ms: the twelfth gap of 1.9 ms passes it.
        assert_eq!(ends_at(Duration::from_micros(1_900), rtt, 16), Some(11));
        assert_eq!(ends_at(Duration::from_micros(2_100), rtt, 16), None);
        assert_eq!(ends_at(Duration::from_micros(1_900), rtt, 15), None);
    }

    #[test]
    fn a_round_with_an_eighth_more_delay_ends_it_after_eight_samples() {
        let apart = Duration::from_millis(3);
        assert_eq!(ends_at(apart, Duration::from_micros(45_001), 16), Some(8));
        assert_eq!(ends_at(apart, Duration::from_micros(45_000), 16), None);
    }
}
