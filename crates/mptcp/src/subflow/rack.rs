//! Which segments are lost, judged by time (RACK, RFC 8985, section 6)?

use super::Subflow;
use super::recovery::Phase;
use super::scoreboard::Sent;
use model::Time;
use std::time::Duration;

/// For how many recoveries a widened reordering window lasts (RFC 8985, section 6.2, step 4).
const PERSISTENCE: u32 = 16;
/// The most steps of a quarter of the smallest round trip it is widened by.
const MAX_STEPS: u32 = 255;
/// Segments out of order that are taken as a loss while no reordering was seen.
pub(super) const DUPLICATE_THRESHOLD: u64 = 3;
/// What is added to the reordering timer (TCP_TIMEOUT_MIN_US).
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(2);

/// RACK's state.
#[derive(Debug)]
pub(super) struct Rack {
    /// The number of the latest transmission known to have arrived. It tells what was sent
    /// before exactly, where RFC 8985 has only time and sequence number to go by.
    order: u64,
    /// The last round trip.
    rtt: Duration,
    /// Whether something arrived since losses were last looked for.
    pub(super) advanced: bool,
    /// The reordering window in quarters of the smallest round trip, and for how many more
    /// recoveries.
    steps: u32,
    pub(super) persistence: u32,
    /// A duplicate was reported that reordering may have caused.
    pub(super) duplicate_seen: bool,
    /// Bytes delivered when the window was last widened.
    widened_at: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            order: 0,
            rtt: Duration::ZERO,
            advanced: false,
            steps: 1,
            persistence: 0,
            duplicate_seen: false,
            widened_at: 0,
        }
    }
}

impl Rack {
    /// A segment arrived.
    pub(super) fn arrived(&mut self, now: Time, sent: &Sent, min_rtt: Option<Duration>) {
        let rtt = now.since(sent.sent_at);
        // Sooner than any round trip: the original arrived, not what was sent again.
        if sent.ever_resent && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.order = self.order.max(sent.order);
    }

    /// Adapts the reordering window to duplicates, once a round trip.
    pub(super) fn adapt(&mut self, prior_delivered: Option<u64>, delivered: u64) {
        let Some(prior) = prior_delivered else {
            return;
        };
        if prior < self.widened_at {
            self.duplicate_seen = false;
        }
        if std::mem::take(&mut self.duplicate_seen) {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.widened_at = delivered;
            self.persistence = PERSISTENCE;
        } else if self.persistence == 0 {
            self.steps = 1;
        }
    }

    /// A recovery turned out to be a mistake: keep the window wide for longer.
    pub(super) fn persist(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
    }

    /// How long until a segment sent at `sent_at` is overdue; `None` when it is.
    pub(super) fn remaining(&self, now: Time, sent_at: Time, window: Duration) -> Option<Duration> {
        let wait = (self.rtt + window).saturating_sub(now.since(sent_at));
        (!wait.is_zero()).then_some(wait)
    }
}

impl Subflow {
    /// How much later than expected a segment may arrive (tcp_rack_reo_wnd).
    fn reordering_window(&self) -> Duration {
        if !self.recovery.reordering_seen
            && (self.recovery.phase >= Phase::Recovery
                || self.board.sacked.segments >= self.recovery.reordering)
        {
            return Duration::ZERO;
        }
        let quarter = self.rtt.min().unwrap_or(Duration::ZERO) / 4;
        let smoothed = self.rtt.smoothed().unwrap_or(Duration::ZERO);
        (quarter * self.rack.steps).min(smoothed)
    }

    /// Marks what is overdue as lost; how long until the last of what is nearly is.
    fn detect_losses(&mut self, now: Time) -> Option<Duration> {
        let window = self.reordering_window();
        let mut wait = None;
        let mut next = self.board.oldest();
        while let Some(index) = next {
            let sent = self.board.get(index);
            if sent.order >= self.rack.order {
                break;
            }
            next = self.board.later(index);
            match self.rack.remaining(now, sent.sent_at, window) {
                None => {
                    self.mark_lost(index);
                }
                Some(remaining) => wait = wait.max(Some(remaining)),
            }
        }
        wait
    }

    /// Looks for losses after an acknowledgement; whether the reordering timer runs now.
    pub(super) fn rack_acknowledged(&mut self, now: Time) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let Some(wait) = self.detect_losses(now) else {
            return false;
        };
        self.timers.set_reordering(now + wait + TIMER_SLACK);
        true
    }

    /// The reordering timer fired. Whether something was lost.
    pub(super) fn rack_timeout(&mut self, now: Time) -> bool {
        let before = (self.board.lost, self.board.resent);
        self.detect_losses(now);
        before != (self.board.lost, self.board.resent)
    }

    /// Marks a segment as lost, and counts it.
    pub(super) fn mark_lost(&mut self, index: usize) {
        if self.board.mark_lost(index) {
            self.counters.lost_segments += 1;
        }
    }
}
