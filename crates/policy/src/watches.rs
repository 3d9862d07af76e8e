//! Which subflows of all connections are silent?

use crate::per_subflow::{Key, PerSubflow};
use crate::silence::{Limits, Watch};
use crate::view::{PathState, SubflowView, View};
use model::Time;
use std::collections::BTreeMap;

/// The subflows that are silent, by connection and path, and why they are thought to be.
pub type Silent = BTreeMap<Key, String>;

/// A watch for each established subflow.
#[derive(Debug, Default)]
pub struct Watches {
    watches: PerSubflow<Watch>,
}

fn established(subflow: &SubflowView) -> bool {
    subflow.state == PathState::Established
}

impl Watches {
    /// Takes notice of every established subflow, and forgets the others; `overdue` as for
    /// [`Watch::note_signs`].
    pub fn look(&mut self, now: Time, view: &View, overdue: Option<f64>) {
        for (_, subflow, watch) in self.watches.align(view, established) {
            watch.note_signs(now, subflow, overdue);
        }
    }

    /// The verdict on each that is silent, of those that were looked at in this view.
    pub fn silent(&self, now: Time, view: &View, limits: &Limits) -> Silent {
        let verdicts = self.watches.aligned(view, established);
        verdicts
            .filter_map(|(key, subflow, watch)| Some((key, watch.judge(now, subflow, limits)?)))
            .collect()
    }
}
