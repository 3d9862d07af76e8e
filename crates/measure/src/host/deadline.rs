//! When is an application's time over, if someone may end it early?

use model::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A moment of the run that can come closer and never goes further away. Cheap to clone: all
/// clones are the same moment.
#[derive(Clone, Debug)]
pub struct Deadline(Arc<AtomicU64>);

impl Deadline {
    /// A deadline at `at`.
    pub fn new(at: Time) -> Deadline {
        Deadline(Arc::new(AtomicU64::new(at.as_nanos())))
    }

    /// When it is.
    pub fn get(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Makes it `at`, unless it is earlier already.
    pub fn bring_forward(&self, at: Time) {
        self.0.fetch_min(at.as_nanos(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_only_comes_closer() {
        let deadline = Deadline::new(Time::from_millis(900));
        let other = deadline.clone();
        other.bring_forward(Time::from_millis(400));
        other.bring_forward(Time::from_millis(700));
        assert_eq!(deadline.get(), Time::from_millis(400));
    }
}
