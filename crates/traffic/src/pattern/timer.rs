//! For how long does a direction of a channel carry new data, and for how long are answers waited for?

use model::Time;
use std::time::Duration;

/// How long answers are waited for when the time is over.
const GRACE: Duration = Duration::from_millis(500);

/// How far a direction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Its channel is not open so far.
    Expected,
    /// Blocks are sent.
    Running,
    /// Only answers are waited for.
    Over,
    /// Nor are these.
    Done,
}

/// The time of a direction.
pub(super) struct Timer {
    duration: Duration,
    start: Time,
    phase: Phase,
}

impl Timer {
    /// A time that starts when the channel is first seen open.
    pub fn new(duration: Duration) -> Timer {
        Timer {
            duration,
            start: Time::ZERO,
            phase: Phase::Expected,
        }
    }

    /// Sees what time it is, and whether the channel is `open`.
    pub fn poll(&mut self, now: Time, open: bool) {
        if self.phase == Phase::Expected {
            if !open {
                return;
            }
            self.start = now;
            self.phase = Phase::Running;
        }
        if self.phase == Phase::Running && now >= self.start + self.duration {
            self.phase = Phase::Over;
        }
        if self.phase == Phase::Over && now >= self.start + self.duration + GRACE {
            self.phase = Phase::Done;
        }
    }

    /// How far it is, by the last poll.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// When that changes.
    pub fn poll_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Expected | Phase::Done => None,
            Phase::Running => Some(self.start + self.duration),
            Phase::Over => Some(self.start + self.duration + GRACE),
        }
    }
}
