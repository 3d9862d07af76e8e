//! When may the next segment go, when the sender paces?

use model::Time;
use std::time::Duration;

/// Segments that are not paced at the beginning: 10 in Linux (tcp_update_skb_after_send).
const INITIAL_QUANTUM: u64 = 10;

/// Spaces segments by the pacing rate.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    next: Time,
    sent: u64,
    /// Until when a segment that is ready has to wait, as found at the last attempt.
    pub(super) waiting: Option<Time>,
}

impl Pacer {
    /// Whether a segment may go now; if not, it is remembered until when to wait.
    pub(super) fn admits(&mut self, now: Time) -> bool {
        self.waiting = (self.next > now).then_some(self.next);
        self.waiting.is_none()
    }

    /// A segment of `bytes` went, at `rate` bytes a second.
    pub(super) fn sent(&mut self, now: Time, bytes: u64, rate: u64) {
        self.sent += 1;
        if self.sent <= INITIAL_QUANTUM || rate == 0 {
            return;
        }
        let mut spacing = bytes.saturating_mul(1_000_000_000) / rate;
        // A sender that was late catches up by at most half a segment's time, as Linux's.
        let late = now.since(self.next).as_nanos() as u64;
        spacing -= late.min(spacing / 2);
        self.next = now.max(self.next) + Duration::from_nanos(spacing);
    }
}

/// The rate at which a sender with this window would pace (Linux's tcp_update_pacing_rate):
/// twice window over SRTT in slow start, 1.2 times after; bytes a second.
pub(super) fn derived_rate(
    window: u64,
    threshold: u64,
    in_flight: u64,
    smoothed: Option<Duration>,
) -> u64 {
    let micros = smoothed.map_or(0, |rtt| rtt.as_micros() as u64).max(1);
    let percent = if window < threshold / 2 { 200 } else { 120 };
    window.max(in_flight).saturating_mul(10_000 * percent) / micros
}
