//! Which connection's timer is due next?

use model::Time;

/// The timers of all connections. One that is put off keeps its place until it is due: most are
/// put off with every segment.
#[derive(Default, Debug)]
pub(super) struct Timers {
    /// The next one last: a vector, because a tree takes and gives back memory as it changes.
    set: Vec<(Time, usize)>,
}

impl Timers {
    /// When the first is due, or was before it was put off.
    #[inline]
    pub(super) fn first(&self) -> Option<Time> {
        self.set.last().map(|next| next.0)
    }

    /// The connection in `slot` has something to do at `at`; `known` is for when its timer is set.
    pub(super) fn set(
        &mut self,
        now: Time,
        slot: usize,
        known: &mut Option<Time>,
        at: Option<Time>,
    ) {
        match (*known, at) {
            (Some(before), Some(at)) if before > now && before <= at => {}
            (Some(before), None) if before > now => {}
            (before, at) if before == at => {}
            (_, at) => {
                self.clear(slot, known);
                if let Some(at) = at {
                    let place = self.place(at, slot);
                    self.set.insert(place, (at, slot));
                }
                *known = at;
            }
        }
    }

    /// The connection in `slot` has nothing to do.
    pub(super) fn clear(&mut self, slot: usize, known: &mut Option<Time>) {
        if let Some(at) = known.take() {
            let place = self.place(at, slot);
            if self.set.get(place) == Some(&(at, slot)) {
                self.set.remove(place);
            }
        }
    }

    /// Takes those that are due.
    pub(super) fn take_due(&mut self, now: Time, due: &mut Vec<usize>) {
        while let Some(&(at, slot)) = self.set.last()
            && at <= now
        {
            self.set.pop();
            due.push(slot);
        }
    }

    fn place(&self, at: Time, slot: usize) -> usize {
        self.set.partition_point(|known| *known > (at, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_put_off_keeps_its_place_and_one_set_earlier_moves() {
        let (mut timers, mut known) = (Timers::default(), None);
        let at = Time::from_millis;
        timers.set(at(0), 3, &mut known, Some(at(200)));
        timers.set(at(10), 3, &mut known, Some(at(210)));
        assert_eq!(timers.first(), Some(at(200)));
        timers.set(at(20), 3, &mut known, Some(at(40)));
        assert_eq!(timers.first(), Some(at(40)));
        let mut due = Vec::new();
        timers.take_due(at(39), &mut due);
        assert!(due.is_empty());
        timers.take_due(at(40), &mut due);
        assert_eq!((due, timers.first()), (vec![3], None));
    }
}
