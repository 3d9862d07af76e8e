//! CUBIC: how does the window move where round trips are long? By a cubic function of the time since
//! the last fall.
//!
//! RFC 9438, in the form Linux gives it: slow start ends by Linux's HyStart ([`super::hystart`], not
//! RFC 9406), a timeout forgets all of the past, the window after the last fall is not searched
//! faster than half of it a round trip, and the Reno-friendly estimate grows by the same factor
//! throughout. The fall is taken from the window, not from what is in flight: the window does not
//! grow unless it is used (section 4.6).

use super::hystart::HyStart;
use super::separate::Uncoupled;
use super::window::Window;
use super::{Ack, Signal};
use crate::SubflowId;
use model::Time;
use std::time::Duration;

/// C, segments per cubic second (RFC 9438, section 5.1).
const C: f64 = 0.4;
/// Beta, by which the window is multiplied after a loss (RFC 9438, section 4.6), as a fraction.
const BETA: (u64, u64) = (7, 10);
/// What fast convergence leaves of W_max: (1 + beta) / 2 (RFC 9438, section 4.7).
const FAST_CONVERGENCE: f64 = 0.85;
/// Alpha, segments a round trip of the Reno-friendly estimate: 3 (1 - beta) / (1 + beta) (RFC 9438,
/// section 4.3).
const ALPHA: f64 = 0.9 / 1.7;
/// Acknowledged segments for one segment more, at least: half of the window a round trip (RFC 9438,
/// section 4.2, where the target is at most 1.5 times the window).
const FASTEST: f64 = 2.0;
/// The same at most, when no window is known that was too large (Linux: bictcp_update).
const SLOWEST_WITHOUT_MAXIMUM: f64 = 20.0;
/// The same above the target, in windows (Linux: bictcp_update).
const SLOWEST: f64 = 100.0;
/// Round-trip times so soon after a fall do not count as the smallest (Linux: cubictcp_acked).
const AFTER_FALL: Duration = Duration::from_secs(1);

/// What began with the first growth in congestion avoidance after a fall.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// When the origin is reached, seconds since the start.
    k: f64,
    /// The plateau of the cubic function, segments.
    origin: f64,
    /// What Reno would have by now, segments.
    reno: f64,
}

impl Epoch {
    /// At a window of `window` segments, after one of `w_max` was too large.
    fn new(start: Time, window: f64, w_max: f64) -> Epoch {
        // RFC 9438, section 4.2, equation 2.
        let k = cube_root((w_max - window) / C);
        Epoch {
            start,
            k,
            origin: w_max.max(window),
            reno: window,
        }
    }

    /// The cubic function after `t` seconds (RFC 9438, section 4.2, equation 1).
    fn target(&self, t: f64) -> f64 {
        let from_origin = t - self.k;
        self.origin + C * from_origin * from_origin * from_origin
    }
}

/// CUBIC for one subflow.
pub struct Cubic {
    window: Window,
    hystart: HyStart,
    /// The window before the last fall, segments; 0 when there was none.
    w_max: f64,
    epoch: Option<Epoch>,
    min_rtt: Option<Duration>,
    /// W_max and epoch before the last fall.
    before: (f64, Option<Epoch>),
}

impl Cubic {
    fn look_at_delay(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if let Some(epoch) = self.epoch
            && ack.now.since(epoch.start) < AFTER_FALL
        {
            return;
        }
        let min_rtt = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(min_rtt);
        if self.window.in_slow_start() {
            let segments = self.window.bytes() / self.window.mss();
            if self.hystart.ends(ack, rtt, min_rtt, segments) {
                self.window.leave_slow_start();
            }
        }
    }

    /// Congestion avoidance: how many bytes have to be acknowledged for one segment more.
    fn per_segment(&mut self, now: Time, acked: u64) -> u64 {
        let window = self.window.segments();
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, window, self.w_max));
        epoch.reno += ALPHA * acked as f64 / self.window.bytes() as f64;

        // The window to have when what is sent now is acknowledged (RFC 9438, section 4.2).
        let ahead = self.min_rtt.unwrap_or_default().as_secs_f64();
        let target = epoch.target(now.since(epoch.start).as_secs_f64() + ahead);
        let missing = target.max(epoch.reno) - window;
        let mut segments = SLOWEST * window;
        if missing > 0.0 {
            segments = segments.min(window / missing);
        }
        if self.w_max == 0.0 {
            segments = segments.min(SLOWEST_WITHOUT_MAXIMUM);
        }
        (segments.max(FASTEST) * self.window.mss() as f64) as u64
    }
}

impl Uncoupled for Cubic {
    fn open(_subflow: SubflowId, now: Time, mss: u64) -> Cubic {
        Cubic {
            window: Window::new(mss),
            hystart: HyStart::new(now),
            w_max: 0.0,
            epoch: None,
            min_rtt: None,
            before: (0.0, None),
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.look_at_delay(ack);
        if ack.in_recovery || !ack.window_limited {
            return;
        }
        let left = self.window.slow_start(ack.acked);
        if left > 0 {
            let per_segment = self.per_segment(ack.now, left);
            self.window.grow_by_count(left, per_segment);
        }
    }

    fn on_congestion(&mut self, now: Time, signal: Signal, in_flight: u64) {
        if signal == Signal::Timeout && in_flight == 0 {
            self.window.begin_with_one();
            return;
        }
        self.before = (self.w_max, self.epoch);
        let window = self.window.segments();
        self.w_max = if window < self.w_max {
            FAST_CONVERGENCE * window
        } else {
            window
        };
        self.epoch = None;
        let target = self.window.bytes() * BETA.0 / BETA.1;
        match signal {
            Signal::Loss | Signal::Ecn => self.window.fall(target),
            Signal::Timeout => {
                self.window.collapse(target);
                // The path may be another one (Linux: bictcp_reset in TCP_CA_Loss).
                self.w_max = 0.0;
                self.min_rtt = None;
                self.hystart = HyStart::new(now);
            }
        }
    }

    fn on_spurious(&mut self, _now: Time) {
        if self.window.undo() {
            // RFC 9438, section 4.9.
            (self.w_max, self.epoch) = self.before;
        }
    }

    fn on_idle_restart(&mut self, now: Time, idle: Duration, rto: Duration) {
        self.window.restart_after_idle(idle, rto);
        // The cubic function does not rise while nothing is sent (RFC 9438, section 5.8; Linux:
        // cubictcp_cwnd_event).
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    fn on_penalty(&mut self, _now: Time) {
        self.window.penalise();
        self.epoch = None;
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold()
    }
}

/// The cube root by Newton's method, which is the same on every machine; 0 for what is not positive.
fn cube_root(a: f64) -> f64 {
    if !(a > 0.0 && a.is_finite()) {
        return 0.0;
    }
    // From above the root each step comes closer, until rounding stops it.
    let mut root = a.max(1.0);
    loop {
        let next = (2.0 * root + a / (root * root)) / 3.0;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    /// Runs congestion avoidance with a fixed round-trip time after a window of 100 segments was
    /// too large; returns (seconds, window in segments) at every round.
    fn after_loss_at_100(rtt: Duration, rounds: u32) -> Vec<(f64, f64)> {
        let mut cubic = Cubic::open(SubflowId::new(0), Time::ZERO, MSS);
        cubic.window.slow_start(90 * MSS);
        cubic.on_congestion(Time::ZERO, Signal::Loss, 100 * MSS);
        let mut delivered = 0;
        let mut curve = Vec::new();
        for round in 0..rounds {
            let start = Time::ZERO + rtt * round;
            curve.push((start.as_secs_f64(), cubic.window.segments()));
            let acks = cubic.window() / MSS;
            for i in 0..acks {
                delivered += MSS;
                cubic.on_ack(&Ack {
                    now: start + rtt * i as u32 / acks as u32,
                    acked: MSS,
                    rtt: Some(rtt),
                    smoothed_rtt: rtt,
                    min_rtt: rtt,
                    in_flight: cubic.window(),
                    window_limited: true,
                    lost: 0,
                    in_recovery: false,
                    delivered,
                    rate: None,
                });
            }
        }
        curve
    }

    #[test]
    fn the_window_follows_the_equations_of_rfc_9438() {
        // W_max = 100, W(0) = 70: K = cbrt(30 / 0.4) = 4.217 s. With 100 ms a round trip the cubic
        // function is above Reno's.
        let k = 4.217_163;
        assert!((cube_root(75.0) - k).abs() < 1e-6);
        let curve = after_loss_at_100(Duration::from_millis(100), 90);
        assert_eq!(curve[0].1, 70.0);
        for (t, window) in curve {
            let expected = 0.4 * (t - k) * (t - k) * (t - k) + 100.0;
            // A round trip behind at most, and whole segments.
            let slope = 1.2 * (t - k) * (t - k) * 0.1;
            assert!(
                (window - expected).abs() <= 1.0 + slope,
                "W({t}) = {window}, expected {expected}"
            );
        }
    }

    #[test]
    fn on_short_round_trips_it_is_as_fast_as_reno() {
        // At 10 ms the cubic function gains nothing within a second; W_est = 70 + 0.529 t / RTT.
        let curve = after_loss_at_100(Duration::from_millis(10), 56);
        let (t, window) = curve[55];
        let expected = 70.0 + ALPHA * t / 0.010;
        assert!((window - expected).abs() <= 1.5, "{window}, {expected}");
    }

    #[test]
    fn a_second_loss_below_the_maximum_gives_way() {
        let mut cubic = Cubic::open(SubflowId::new(0), Time::ZERO, MSS);
        cubic.window.slow_start(90 * MSS);
        cubic.on_congestion(Time::ZERO, Signal::Loss, 0);
        assert_eq!((cubic.w_max, cubic.window()), (100.0, 70 * MSS));
        cubic.on_congestion(Time::ZERO, Signal::Ecn, 0);
        assert_eq!((cubic.w_max, cubic.window()), (0.85 * 70.0, 49 * MSS));
        cubic.on_spurious(Time::ZERO);
        assert_eq!((cubic.w_max, cubic.window()), (100.0, 70 * MSS));
        cubic.on_congestion(Time::ZERO, Signal::Timeout, 70 * MSS);
        assert_eq!((cubic.w_max, cubic.window()), (0.0, MSS));
        assert_eq!(cubic.slow_start_threshold(), 49 * MSS);
    }

    #[test]
    fn cube_roots() {
        for root in [1e-3, 0.5, 1.0, 3.0, 1e5] {
            let found = cube_root(root * root * root);
            assert!((found - root).abs() <= 1e-12 * root.max(1.0), "{found}");
        }
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(cube_root(nothing), 0.0);
        }
    }
}
