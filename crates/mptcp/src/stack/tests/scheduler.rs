//! A scheduler for these tests: the subflow with the smallest round-trip time that has room.

use policy::scheduler::{
    Assignment, Occasion, Piece, Reinjection, Scheduler, Subflow, View, list::Entry,
};
use policy::{SubflowId, SubflowSet};

pub(super) static LOWEST: Entry = Entry {
    name: "test-lowest",
    summary: "",
    make: || Box::new(Lowest { everywhere: false }),
};

pub(super) static EVERYWHERE: Entry = Entry {
    name: "test-everywhere",
    summary: "",
    make: || Box::new(Lowest { everywhere: true }),
};

struct Lowest {
    everywhere: bool,
}

impl Lowest {
    fn best(view: &View<'_>, without: SubflowSet) -> Option<SubflowId> {
        let candidate = |s: &&Subflow| !without.contains(s.id) && s.has_room(1);
        let order = |s: &&Subflow| (!s.works(), s.backup, s.smoothed_rtt);
        let usable = view.subflows.iter().filter(candidate);
        let best = usable.min_by_key(order)?;
        let regular_works = view.subflows.iter().any(|s| s.works() && !s.backup);
        (!best.backup || !regular_works).then_some(best.id)
    }
}

impl Scheduler for Lowest {
    fn next(&mut self, view: &View<'_>) -> Option<Assignment> {
        assert!(view.unsent > 0 && view.send_window > 0);
        let best = Lowest::best(view, SubflowSet::EMPTY)?;
        let all = view.subflows.iter().filter(|s| s.has_room(1)).map(|s| s.id);
        Some(Assignment {
            subflows: match self.everywhere {
                true => all.collect(),
                false => SubflowSet::only(best),
            },
            bytes: 1,
        })
    }

    fn reinject(&mut self, view: &View<'_>, _: Occasion, piece: &Piece) -> Option<Reinjection> {
        let other = Lowest::best(view, piece.carriers)?;
        Some(Reinjection::onto(other))
    }

    fn reinjects_on(&self, occasion: Occasion) -> bool {
        match occasion {
            Occasion::Idle | Occasion::WindowBlocked => self.everywhere,
            Occasion::Timeout | Occasion::SubflowFailed | Occasion::SubflowClosed => true,
        }
    }
}
