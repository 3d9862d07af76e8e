//! Reno: how does the window of RFC 5681 move? One segment more a round trip, half after a loss.
//!
//! RFC 5681 and RFC 6582, with growth counted in bytes acknowledged (RFC 3465) without a limit on
//! what one acknowledgement may count, and the fall taken from the window instead of what is in
//! flight, both as Linux does.

use super::separate::Uncoupled;
use super::window::Window;
use super::{Ack, Signal};
use crate::SubflowId;
use model::Time;
use std::time::Duration;

/// Reno for one subflow.
pub struct Reno {
    window: Window,
}

impl Uncoupled for Reno {
    fn open(_subflow: SubflowId, _now: Time, mss: u64) -> Reno {
        Reno {
            window: Window::new(mss),
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.in_recovery || !ack.window_limited {
            return;
        }
        let left = self.window.slow_start(ack.acked);
        if left > 0 {
            // One segment for each window acknowledged (RFC 5681, section 3.1).
            self.window.grow_by_count(left, self.window.bytes());
        }
    }

    fn on_congestion(&mut self, _now: Time, signal: Signal, in_flight: u64) {
        // Half (RFC 5681, section 3.1, equation 4; Linux: tcp_reno_ssthresh).
        let half = self.window.bytes() / 2;
        match signal {
            Signal::Loss | Signal::Ecn => self.window.fall(half),
            Signal::Timeout if in_flight == 0 => self.window.begin_with_one(),
            Signal::Timeout => self.window.collapse(half),
        }
    }

    fn on_spurious(&mut self, _now: Time) {
        self.window.undo();
    }

    fn on_idle_restart(&mut self, _now: Time, idle: Duration, rto: Duration) {
        self.window.restart_after_idle(idle, rto);
    }

    fn on_penalty(&mut self, _now: Time) {
        self.window.penalise();
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold()
    }
}
