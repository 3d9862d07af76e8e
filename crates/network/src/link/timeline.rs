//! Which value does a parameter have when: a step function of time, known in advance.

use model::Time;

/// A parameter over time: its value at the start, and its later changes.
///
/// Stages evaluate it at their events' own times, so that a late wake-up sees the value that
/// held when the event was due.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline<T> {
    start: T,
    changes: Vec<(Time, T)>,
}

impl<T: Copy> Timeline<T> {
    /// The same value for ever.
    pub fn constant(value: T) -> Timeline<T> {
        Timeline {
            start: value,
            changes: Vec::new(),
        }
    }

    /// `start`, then each value from its time on. Of two changes at the same time the later
    /// one in the list holds.
    pub fn new(start: T, changes: impl IntoIterator<Item = (Time, T)>) -> Timeline<T> {
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by_key(|&(at, _)| at);
        Timeline { start, changes }
    }

    /// The value, where it is the same for ever.
    #[inline]
    pub fn unchanging(&self) -> Option<T> {
        self.changes.is_empty().then_some(self.start)
    }

    fn passed(&self, now: Time) -> usize {
        self.changes.partition_point(|&(at, _)| at <= now)
    }

    /// The value at `now`; a change holds from its own instant on.
    #[inline]
    pub fn at(&self, now: Time) -> T {
        match self.changes.is_empty() {
            true => self.start,
            false => self.span(now).0,
        }
    }

    /// The first change after `now`, and the value from then on.
    pub fn next(&self, now: Time) -> Option<(Time, T)> {
        let (at, _) = *self.changes.get(self.passed(now))?;
        Some((at, self.at(at)))
    }

    /// The value at `now`, and when it changes next.
    pub fn span(&self, now: Time) -> (T, Option<Time>) {
        let passed = self.passed(now);
        let value = match passed {
            0 => self.start,
            n => self.changes[n - 1].1,
        };
        (value, self.changes.get(passed).map(|&(at, _)| at))
    }

    /// When the value changes, in order.
    pub fn changes(&self) -> impl Iterator<Item = Time> + '_ {
        self.changes.iter().map(|&(at, _)| at)
    }

    /// Whether the parameter ever has a value for which `holds` is true.
    pub fn ever(&self, mut holds: impl FnMut(T) -> bool) -> bool {
        holds(self.start) || self.changes.iter().any(|&(_, value)| holds(value))
    }

    /// The same steps with every value replaced.
    pub fn map<U: Copy>(&self, mut f: impl FnMut(T) -> U) -> Timeline<U> {
        Timeline {
            start: f(self.start),
            changes: self.changes.iter().map(|&(at, v)| (at, f(v))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps() {
        let s = Time::from_millis;
        let line = Timeline::new(1, [(s(20), 3), (s(10), 2), (s(20), 4)]);
        assert_eq!(line.at(Time::ZERO), 1);
        assert_eq!(line.at(s(10)), 2);
        assert_eq!(line.at(s(20)), 4);
        assert_eq!(line.next(s(9)), Some((s(10), 2)));
        assert_eq!(line.next(s(10)), Some((s(20), 4)));
        assert_eq!(line.next(s(20)), None);
        assert_eq!(line.span(s(10)), (2, Some(s(20))));
        assert_eq!(line.span(s(20)), (4, None));
    }
}
