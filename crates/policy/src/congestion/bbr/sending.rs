//! How fast may BBR send, and how much may be in flight, given what it knows of the path?

use super::{Ack, Bbr, HIGH_GAIN, INITIAL_WINDOW_SEGMENTS, MAX_WINDOW, Repair, State};
use std::time::Duration;

/// The rate is 1 % below the estimate, so that queues drain (Linux: bbr_pacing_margin_percent).
const PACING_MARGIN: f64 = 0.99;
/// The smallest window but for repairs, segments (Linux: bbr_cwnd_min_target).
const MIN_SEGMENTS: u64 = 4;
/// Round-trip time to assume for the first rate (the draft, section 4.2.1).
pub(super) const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this rate one segment is sent at a time, else two or more (Linux: bbr_min_tso_rate, 1.2
/// Mbit/s), bytes a second.
const SLOW: u64 = 150_000;
/// Bytes sent at a time are those of about a millisecond: this part of a second (Linux:
/// sk_pacing_shift),
const QUANTUM_PART: u64 = 1_024;
/// but at most this many (Linux: GSO_MAX_SIZE).
const MAX_QUANTUM: u64 = 65_535;

impl Bbr {
    pub(super) fn smallest_window(&self) -> u64 {
        MIN_SEGMENTS * self.mss
    }

    /// What `rate` delivers in the smallest round-trip time, times `gain`.
    pub(super) fn delivered_in_flight(&self, rate: u64, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) => (rate as f64 * rtt.as_secs_f64() * gain).ceil() as u64,
            None => INITIAL_WINDOW_SEGMENTS * self.mss,
        }
    }

    /// With room for what waits in the ends (Linux: bbr_quantization_budget).
    pub(super) fn with_budget(&self, bytes: u64) -> u64 {
        let segments = if self.pacing_rate < SLOW { 1 } else { 2 };
        let quantum = (self.pacing_rate / QUANTUM_PART).min(MAX_QUANTUM);
        let quantum = quantum.max(segments * self.mss) / self.mss * self.mss;
        let even = 2 * self.mss;
        let mut bytes = bytes
            .min(MAX_WINDOW)
            .saturating_add(3 * quantum)
            .div_ceil(even)
            * even;
        if let State::ProbeBw { phase: 0, .. } = self.state {
            bytes += 2 * self.mss;
        }
        bytes
    }

    pub(super) fn target_in_flight(&self, gain: f64) -> u64 {
        self.with_budget(self.delivered_in_flight(self.max_rate.get(), gain))
    }

    pub(super) fn pace(&mut self, gain: f64) {
        let rate = (self.rate() as f64 * gain * PACING_MARGIN) as u64;
        if self.pipe_filled || rate > self.pacing_rate {
            self.pacing_rate = rate.max(1);
        }
    }

    /// The rate of the initial window (the draft, section 4.2.1).
    pub(super) fn pace_at_first(&mut self, rtt: Duration) {
        let rate = self.window as f64 / rtt.as_secs_f64() * HIGH_GAIN * PACING_MARGIN;
        self.pacing_rate = (rate as u64).max(1);
    }

    /// The draft, section 4.2.3.
    pub(super) fn set_window(&mut self, ack: &Ack) {
        if ack.acked > 0 {
            let conserved = ack.in_flight.saturating_add(ack.acked);
            if ack.lost > 0 {
                self.window = self.window.saturating_sub(ack.lost).max(self.mss);
            }
            match self.repair {
                Repair::Beginning => {
                    self.repair = Repair::Conserving;
                    self.round_end = ack.delivered;
                    self.window = conserved;
                }
                Repair::Conserving => self.window = self.window.max(conserved),
                Repair::Nothing | Repair::Loss | Repair::Timeout => self.approach_target(ack),
            }
        }
        self.window = self.window.clamp(self.mss, MAX_WINDOW);
        if let State::ProbeRtt { .. } = self.state {
            self.window = self.window.min(self.smallest_window());
        }
    }

    pub(super) fn approach_target(&mut self, ack: &Ack) {
        let rate = self.rate();
        let mut target = self.delivered_in_flight(rate, self.window_gain());
        if self.pipe_filled {
            target = target.saturating_add(self.aggregation.allowance(rate));
        }
        let target = self.with_budget(target);
        let more = self.window.saturating_add(ack.acked);
        if self.pipe_filled {
            self.window = more.min(target);
        } else if self.window < target || ack.delivered < INITIAL_WINDOW_SEGMENTS * self.mss {
            self.window = more;
        }
        self.window = self.window.max(self.smallest_window());
    }

    pub(super) fn save_window(&mut self) {
        let is_cut = self.repair != Repair::Nothing || matches!(self.state, State::ProbeRtt { .. });
        self.prior_window = if is_cut {
            self.prior_window.max(self.window)
        } else {
            self.window
        };
    }

    pub(super) fn restore_window(&mut self) {
        if self.repair != Repair::Nothing {
            self.repair = Repair::Nothing;
            self.window = self.window.max(self.prior_window);
        }
    }
}
