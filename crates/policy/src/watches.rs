//! Which subflows of all connections are silent?

use crate::silence::{Limits, Watch};
use crate::view::{PathState, SubflowView, View};
use model::{PathIndex, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The subflows that are silent, by connection and path, and why they are thought to be.
pub type Silent = BTreeMap<(usize, PathIndex), String>;

/// A watch for each established subflow.
#[derive(Debug, Default)]
pub struct Watches {
    watches: BTreeMap<(usize, PathIndex), Watch>,
}

fn established(view: &View) -> impl Iterator<Item = ((usize, PathIndex), &SubflowView)> {
    let of = |c: &crate::ConnectionView| c.id;
    view.connections.iter().flat_map(move |c| {
        let established = c
            .subflows
            .iter()
            .filter(|s| s.state == PathState::Established);
        established.map(move |s| ((of(c), s.path), s))
    })
}

impl Watches {
    /// Takes notice of every established subflow, and forgets the others; `overdue` as for
    /// [`Watch::note_signs`].
    pub fn look(&mut self, now: Time, view: &View, overdue: Option<f64>) {
        let mut count = 0;
        for (key, subflow) in established(view) {
            let watch = self.watches.entry(key).or_default();
            watch.note_signs(now, subflow, overdue);
            count += 1;
        }
        if self.watches.len() > count {
            let live: BTreeSet<_> = established(view).map(|(key, _)| key).collect();
            self.watches.retain(|key, _| live.contains(key));
        }
    }

    /// The verdict on each that is silent, of those that were looked at in this view.
    pub fn silent(&self, now: Time, view: &View, limits: &Limits) -> Silent {
        let verdict = |(key, subflow)| {
            let watch = self.watches.get(&key)?;
            Some((key, watch.judge(now, subflow, limits)?))
        };
        established(view).filter_map(verdict).collect()
    }
}
