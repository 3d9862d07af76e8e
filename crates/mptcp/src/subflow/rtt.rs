//! How long is a round trip, and how long until a retransmission (RFC 6298 as Linux does it)?
//!
//! Linux (tcp_rtt_estimator, tcp_set_rto) differs from the RFC's text in three ways that show
//! in milliseconds: the floor of [`Config::min_rto`](super::Config::min_rto) applies to the
//! variance and not to the sum, so RTO = SRTT + max(200 ms, variance); the variance is the
//! largest mean deviation of the last round trip, and falls by a quarter a round trip; and a
//! round trip shorter than expected moves the mean deviation with an eighth of the gain.

use super::Config;
use model::Time;
use std::time::Duration;

/// For how long a smallest round trip counts: 300 s in Linux (net.ipv4.tcp_min_rtt_wlen).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Round-trip times. Inside, microseconds scaled as in Linux, so that rounding agrees.
#[derive(Debug)]
pub(super) struct RoundTrip {
    /// Eight times the smoothed round-trip time; 0 before the first sample.
    smoothed_x8: i64,
    /// The smoothed round-trip time, which is asked for more often than it changes.
    smoothed: Option<Duration>,
    /// Four times the mean deviation.
    deviation_x4: i64,
    /// The largest `deviation_x4` of this round trip, never below the floor.
    largest: i64,
    /// What is added to the smoothed time.
    variance: i64,
    /// Where the round trip ends over which `largest` is taken: an offset.
    round_end: u64,
    min: WindowedMin,
    rto: Duration,
    floor: i64,
    ceiling: Duration,
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn duration(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0) as u64)
}

impl RoundTrip {
    pub(super) fn new(config: &Config) -> RoundTrip {
        RoundTrip {
            smoothed_x8: 0,
            smoothed: None,
            deviation_x4: 0,
            largest: 0,
            variance: 0,
            round_end: 0,
            min: WindowedMin::default(),
            rto: config.initial_rto,
            floor: micros(config.min_rto),
            ceiling: config.max_rto,
        }
    }

    /// A measurement for the timeout; `una` and `next` are the offsets of the first byte not
    /// acknowledged and of the next one to send. Ends any backoff (RFC 6298, section 5.7).
    pub(super) fn sample(&mut self, rtt: Duration, una: u64, next: u64) {
        let measured = micros(rtt);
        if self.smoothed_x8 == 0 {
            // The first: RTO = 3 times it, or the floor.
            self.smoothed_x8 = (measured << 3).max(1);
            self.deviation_x4 = measured << 1;
            self.variance = self.deviation_x4.max(self.floor);
            self.largest = self.variance;
            self.round_end = next;
        } else {
            let error = measured - (self.smoothed_x8 >> 3);
            self.smoothed_x8 = (self.smoothed_x8 + error).max(1);
            let mut change = error.abs() - (self.deviation_x4 >> 2);
            if error < 0 && change > 0 {
                change >>= 3;
            }
            self.deviation_x4 += change;
            if self.deviation_x4 > self.largest {
                self.largest = self.deviation_x4;
                self.variance = self.variance.max(self.largest);
            }
            if una > self.round_end {
                if self.largest < self.variance {
                    self.variance -= (self.variance - self.largest) >> 2;
                }
                self.round_end = next;
                self.largest = self.floor;
            }
        }
        self.smoothed = Some(duration(self.smoothed_x8 >> 3));
        self.rto = duration((self.smoothed_x8 >> 3) + self.variance).min(self.ceiling);
    }

    /// A measurement for the smallest round trip; one that may have waited for a delayed
    /// acknowledgement counts only when it is smaller.
    pub(super) fn sample_min(&mut self, now: Time, rtt: Duration, maybe_delayed: bool) {
        if !(maybe_delayed && self.min.get().is_some_and(|min| rtt > min)) {
            self.min.update(now, rtt);
        }
    }

    /// The smoothed round-trip time.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The mean deviation.
    pub(super) fn deviation(&self) -> Duration {
        duration(self.deviation_x4 >> 2)
    }

    /// The smallest round trip.
    pub(super) fn min(&self) -> Option<Duration> {
        self.min.get()
    }

    /// The retransmission timeout, backoff included.
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }

    /// Doubles the timeout (RFC 6298, section 5.5).
    pub(super) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.ceiling);
    }

    /// Undoes what backoff the handshake left (RFC 6298, section 5.7).
    pub(super) fn reset(&mut self, rto: Duration) {
        self.rto = rto;
    }
}

/// The smallest of the last five minutes: the best sample, and the best ones of its second half
/// and last quarter to succeed it (Nichols' windowed minimum, as Linux's minmax keeps it).
#[derive(Debug, Default)]
struct WindowedMin {
    best: Option<[(Time, Duration); 3]>,
}

impl WindowedMin {
    fn get(&self) -> Option<Duration> {
        self.best.map(|best| best[0].1)
    }

    fn update(&mut self, now: Time, value: Duration) {
        let sample = (now, value);
        let Some(best) = &mut self.best else {
            self.best = Some([sample; 3]);
            return;
        };
        if value <= best[0].1 || now.since(best[2].0) > MIN_RTT_WINDOW {
            *best = [sample; 3];
            return;
        }
        if value <= best[1].1 {
            best[1] = sample;
            best[2] = sample;
        } else if value <= best[2].1 {
            best[2] = sample;
        }
        let age = now.since(best[0].0);
        if age > MIN_RTT_WINDOW {
            *best = [best[1], best[2], sample];
            if now.since(best[0].0) > MIN_RTT_WINDOW {
                *best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && age > MIN_RTT_WINDOW / 4 {
            best[1] = sample;
            best[2] = sample;
        } else if best[2].0 == best[1].0 && age > MIN_RTT_WINDOW / 2 {
            best[2] = sample;
        }
    }
}
