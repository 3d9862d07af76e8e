//! What time is it in a run: nanoseconds since its start, in every world.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// An instant of a run, in nanoseconds since the run's start.
///
/// The same type serves the virtual world (where it is the event loop's
/// clock) and the real ones (where a driver maps the monotonic clock to it). An
/// `Option<Time>` is as small as a `Time`: state machines are full of timers that may not run.
///
/// ```
/// use std::time::Duration;
/// use walkabout_model::Time;
/// let t = Time::ZERO + Duration::from_millis(20);
/// assert_eq!(t.as_micros(), 20_000);
/// assert_eq!(t - Time::ZERO, Duration::from_millis(20));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Time(
    /// One more than the nanoseconds.
    NonZeroU64,
);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time::from_nanos(0);
    /// Later than any event.
    pub const MAX: Time = Time(NonZeroU64::MAX);

    /// `ns` nanoseconds after the start; [`Time::MAX`] when that is too late to count.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(NonZeroU64::MIN.saturating_add(ns))
    }

    /// `us` microseconds after the start; [`Time::MAX`] when that is too late to count.
    #[inline]
    pub const fn from_micros(us: u64) -> Time {
        Time::from_nanos(us.saturating_mul(1_000))
    }

    /// `ms` milliseconds after the start; [`Time::MAX`] when that is too late to count.
    #[inline]
    pub const fn from_millis(ms: u64) -> Time {
        Time::from_nanos(ms.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Whole microseconds since the start.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.as_nanos() / 1_000
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }

    /// The time since `earlier`, zero when `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// The first of these times, if there is any. Asked after every packet, so without branches.
    #[inline(always)]
    pub fn earliest<const N: usize>(times: [Option<Time>; N]) -> Option<Time> {
        let mut first = u64::MAX;
        for time in times {
            // None becomes the largest.
            let key = time.map_or(0, |time| time.0.get()).wrapping_sub(1);
            first = first.min(key);
        }
        NonZeroU64::new(first.wrapping_add(1)).map(Time)
    }
}

impl Default for Time {
    fn default() -> Time {
        Time::ZERO
    }
}

impl From<u64> for Time {
    fn from(ns: u64) -> Time {
        Time::from_nanos(ns)
    }
}

impl From<Time> for u64 {
    fn from(time: Time) -> u64 {
        time.as_nanos()
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
                .get()
                .checked_sub(other.0.get())
                .expect("time does not go back within a run"),
        )
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_may_not_run_takes_no_more_room_than_one_that_does() {
        assert_eq!(size_of::<Option<Time>>(), size_of::<Time>());
        for ns in [0, 1, u64::MAX - 1] {
            assert_eq!(Time::from_nanos(ns).as_nanos(), ns);
        }
        assert_eq!(Time::from_nanos(u64::MAX), Time::MAX);
        assert_eq!(Time::MAX + Duration::from_nanos(1), Time::MAX);
    }

    #[test]
    fn the_earliest_is_the_first_that_there_is() {
        let at = Time::from_millis;
        assert_eq!(Time::earliest([None, None]), None);
        assert_eq!(
            Time::earliest([None, Some(at(3)), Some(at(2))]),
            Some(at(2))
        );
        assert_eq!(Time::earliest([Some(Time::ZERO), None]), Some(Time::ZERO));
        assert_eq!(Time::earliest([Some(Time::MAX), None]), Some(Time::MAX));
    }
}
