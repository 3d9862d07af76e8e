//! How does the window of one subflow move, whatever the algorithm of congestion avoidance is?
//!
//! Slow start, the falls after loss and timeout, their undoing, the restart after idleness and the
//! penalty are the same for Reno, CUBIC, LIA, OLIA and BALIA: RFC 5681 as Linux carries it out.

use super::INITIAL_WINDOW_SEGMENTS;
use std::time::Duration;

/// The smallest window but for the one after a timeout, and the smallest threshold, in segments
/// (RFC 5681, section 3.1, equation 4).
pub const MIN_SEGMENTS: u64 = 2;

/// A window does not grow beyond this, bytes: far above what TCP's window field can say (1 GiB,
/// RFC 7323, section 2.3), and far below what arithmetic on it could overflow.
pub const MAX_WINDOW: u64 = 1 << 40;

/// Larger segments than this do not exist: an IPv6 jumbogram of 1 MiB would be one.
const MAX_MSS: u64 = 1 << 20;

/// Window and threshold of one subflow, in bytes.
#[derive(Clone, Debug)]
pub struct Window {
    mss: u64,
    window: u64,
    threshold: u64,
    /// Acknowledged bytes that have not made the window grow yet.
    counted: u64,
    /// Fractions of growth that are not a whole segment yet, bytes; may be negative (OLIA).
    credit: f64,
    /// Window and threshold before the last fall.
    before: Option<(u64, u64)>,
}

impl Window {
    /// The initial one (RFC 6928).
    pub fn new(mss: u64) -> Window {
        let mss = mss.clamp(1, MAX_MSS);
        Window {
            mss,
            window: INITIAL_WINDOW_SEGMENTS * mss,
            threshold: u64::MAX,
            counted: 0,
            credit: 0.0,
            before: None,
        }
    }

    /// The payload of a full segment.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// The congestion window.
    pub fn bytes(&self) -> u64 {
        self.window
    }

    /// The congestion window in segments.
    pub fn segments(&self) -> f64 {
        self.window as f64 / self.mss as f64
    }

    /// The slow start threshold.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Whether it is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Slow start: as many bytes more as were acknowledged, up to the threshold. Returns those
    /// left for congestion avoidance. Like Linux it counts all of a stretched acknowledgement
    /// (RFC 3465 with an unlimited L), after a timeout too.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        if !self.in_slow_start() {
            return acked;
        }
        let room = self.threshold.min(MAX_WINDOW).saturating_sub(self.window);
        let grown = acked.min(room);
        self.window += grown;
        acked - grown
    }

    /// The window where slow start found it is enough: no more doubling (HyStart).
    pub fn leave_slow_start(&mut self) {
        self.threshold = self.window;
    }

    /// One segment more for every `per_segment` bytes acknowledged.
    pub fn grow_by_count(&mut self, acked: u64, per_segment: u64) {
        let per_segment = per_segment.max(1);
        // What was counted towards a much slower growth is worth one segment now (Linux:
        // tcp_cong_avoid_ai), or it would become a burst.
        if self.counted >= per_segment {
            self.counted = 0;
            self.add(self.mss);
        }
        self.counted = self.counted.saturating_add(acked);
        let segments = self.counted / per_segment;
        self.counted -= segments * per_segment;
        self.add(segments.saturating_mul(self.mss));
    }

    /// `bytes` more, or less when negative: whole segments at once, fractions once they add up.
    /// Returns whether the window changed.
    pub fn grow_by_credit(&mut self, bytes: f64) -> bool {
        if !bytes.is_finite() {
            return false;
        }
        let mss = self.mss as f64;
        self.credit += bytes;
        let segments = (self.credit / mss).trunc();
        if segments == 0.0 {
            return false;
        }
        self.credit -= segments * mss;
        // A cast from a float saturates.
        let change = (segments.abs() * mss) as u64;
        if segments > 0.0 {
            self.add(change);
        } else {
            self.shrink_to(self.window.saturating_sub(change));
        }
        true
    }

    /// Falls to `target` after a loss or a mark.
    pub fn fall(&mut self, target: u64) {
        self.remember();
        self.threshold = target.clamp(self.floor(), MAX_WINDOW);
        self.window = self.threshold;
    }

    /// Falls to one segment after a timeout, to rise in slow start to `target`.
    pub fn collapse(&mut self, target: u64) {
        self.remember();
        self.threshold = target.clamp(self.floor(), MAX_WINDOW);
        self.window = self.mss;
    }

    /// Begins with one segment, because the handshake had to be sent again.
    pub fn begin_with_one(&mut self) {
        self.window = self.mss;
    }

    /// Back to what it was before the last fall, unless it is larger by now (RFC 4015, section
    /// 3.2; Linux: tcp_undo_cwnd_reduction). Returns whether there was something to undo.
    pub fn undo(&mut self) -> bool {
        let Some((window, threshold)) = self.before.take() else {
            return false;
        };
        self.window = self.window.max(window);
        self.threshold = self.threshold.max(threshold);
        true
    }

    /// Halves the window for every `rto` of an `idle` time but the first, down to the initial
    /// window; the threshold remembers three quarters of it (Linux: tcp_cwnd_restart; RFC 2861,
    /// section 3.1).
    pub fn restart_after_idle(&mut self, idle: Duration, rto: Duration) {
        let floor = self.window.min(INITIAL_WINDOW_SEGMENTS * self.mss);
        self.threshold = self.threshold.max(self.window / 4 * 3);
        let mut left = idle.saturating_sub(rto);
        while !left.is_zero() && self.window > floor {
            self.window /= 2;
            left = left.saturating_sub(rto);
        }
        self.window = self.window.max(floor);
        self.forget_fractions();
    }

    /// Halves the window, and beyond slow start the threshold (Raiciu et al., NSDI 2012, section
    /// 4.2). In slow start the threshold stays, as in the authors' kernel
    /// (mptcp_rcv_buf_optimization): a window that waits for the receiver's at a connection's
    /// beginning would grow linearly ever after.
    pub fn penalise(&mut self) {
        if self.window >= self.threshold {
            self.threshold = (self.threshold / 2).max(self.floor());
        }
        self.shrink_to(self.window / 2);
        self.forget_fractions();
    }

    fn floor(&self) -> u64 {
        MIN_SEGMENTS * self.mss
    }

    fn add(&mut self, bytes: u64) {
        self.window = self.window.saturating_add(bytes).min(MAX_WINDOW);
    }

    /// Down to `target` or the floor; never up.
    fn shrink_to(&mut self, target: u64) {
        self.window = self.window.min(target.max(self.floor()));
    }

    fn remember(&mut self) {
        self.before = Some((self.window, self.threshold));
        self.forget_fractions();
    }

    fn forget_fractions(&mut self) {
        self.counted = 0;
        self.credit = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    #[test]
    fn slow_start_stops_at_the_threshold_and_leaves_the_rest() {
        let mut window = Window::new(MSS);
        assert_eq!(window.slow_start(10_000), 0);
        assert_eq!(window.bytes(), 20_000);
        window.fall(8_000);
        window.collapse(6_500);
        assert_eq!(window.slow_start(4_000), 0);
        assert_eq!(window.slow_start(4_000), 2_500);
        assert_eq!(window.bytes(), 6_500);
    }

    #[test]
    fn a_fall_is_undone_once_and_never_downwards() {
        let mut window = Window::new(MSS);
        window.fall(5_000);
        assert_eq!((window.bytes(), window.threshold()), (5_000, 5_000));
        assert!(window.undo());
        assert_eq!((window.bytes(), window.threshold()), (10_000, u64::MAX));
        assert!(!window.undo());

        window.collapse(5_000);
        assert_eq!(window.bytes(), MSS);
        window.slow_start(40_000);
        window.grow_by_count(200_000, 10_000);
        assert_eq!(window.bytes(), 25_000);
        assert!(window.undo());
        assert_eq!(window.bytes(), 25_000);
    }

    #[test]
    fn idleness_halves_the_window_down_to_the_initial_one() {
        let ms = Duration::from_millis;
        for (idle, expected) in [(201, 40_000), (400, 40_000), (401, 20_000), (9_000, 10_000)] {
            let mut window = Window::new(MSS);
            window.slow_start(70_000);
            window.restart_after_idle(ms(idle), ms(200));
            assert_eq!(window.bytes(), expected, "{idle} ms");
            assert_eq!(window.threshold(), u64::MAX);
        }
        // Below the initial window already: it stays; and an RTO of zero ends as well.
        let mut window = Window::new(MSS);
        window.fall(5_000);
        window.restart_after_idle(ms(9_000), Duration::ZERO);
        assert_eq!((window.bytes(), window.threshold()), (5_000, 5_000));
    }

    #[test]
    fn a_penalty_halves_and_neither_ends_slow_start_nor_brings_it_back() {
        let mut window = Window::new(MSS);
        window.penalise();
        assert_eq!((window.bytes(), window.threshold()), (5_000, u64::MAX));
        window.fall(5_000);
        window.penalise();
        assert_eq!((window.bytes(), window.threshold()), (2_500, 2_500));
        for _ in 0..9 {
            window.penalise();
        }
        assert_eq!(window.bytes(), 2 * MSS);
        // One segment after a timeout is not made two by a penalty.
        window.collapse(8_000);
        window.penalise();
        assert_eq!((window.bytes(), window.threshold()), (MSS, 8_000));
    }

    #[test]
    fn credit_moves_whole_segments_both_ways() {
        let mut window = Window::new(MSS);
        assert!(!window.grow_by_credit(900.0));
        assert!(window.grow_by_credit(200.0));
        assert_eq!(window.bytes(), 11_000);
        assert!(!window.grow_by_credit(-1_099.0));
        assert!(window.grow_by_credit(-1.0));
        assert_eq!(window.bytes(), 10_000);
        assert!(!window.grow_by_credit(f64::NAN));
        assert!(window.grow_by_credit(-1e30));
        assert_eq!(window.bytes(), 2 * MSS);
        assert!(window.grow_by_credit(1e30));
        assert_eq!(window.bytes(), MAX_WINDOW);
    }
}
