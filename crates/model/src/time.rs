//! What time is it in a run: nanoseconds since its start, in every world.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// An instant of a run, in nanoseconds since the run's start.
///
/// The same type serves the virtual world (where it is the event loop's
/// clock) and the real ones (where a driver maps the monotonic clock to it).
///
/// ```
/// use std::time::Duration;
/// use walkabout_model::Time;
/// let t = Time::ZERO + Duration::from_millis(20);
/// assert_eq!(t.as_micros(), 20_000);
/// assert_eq!(t - Time::ZERO, Duration::from_millis(20));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const MAX: Time = Time(u64::MAX);

    /// `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// `us` microseconds after the start; [`Time::MAX`] when that is too late to count.
    #[inline]
    pub const fn from_micros(us: u64) -> Time {
        Time(us.saturating_mul(1_000))
    }

    /// `ms` milliseconds after the start; [`Time::MAX`] when that is too late to count.
    #[inline]
    pub const fn from_millis(ms: u64) -> Time {
        Time(ms.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the start.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time since `earlier`, zero when `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    /// Saturates at [`Time::MAX`].
    #[inline]
    fn add(self, d: Duration) -> Time {
        let nanos = u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// # Panics
    /// When `other` is later: a clock that went back is a bug.
    #[inline]
    fn sub(self, other: Time) -> Duration {
        Duration::from_nanos(
            self.0
                .checked_sub(other.0)
                .expect("time does not go back within a run"),
        )
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}
