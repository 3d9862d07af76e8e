//! How the drivers map the monotonic clock to a run's time.

use model::Time;
use std::time::{Duration, Instant};

/// The clock of one run, shared by all its threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Clock {
        Clock {
            start: Instant::now(),
        }
    }

    /// The run's time.
    pub fn now(&self) -> Time {
        self.time(Instant::now())
    }

    /// The run's time at `instant` (zero before the start).
    pub fn time(&self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.start)
    }

    /// The instant of a run's time.
    pub fn instant(&self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.as_nanos())
    }
}
