//! What does a path manager remember of each subflow that it sees, from one view to the next?

use crate::view::{SubflowView, View};
use model::PathIndex;
use std::collections::BTreeMap;

/// A subflow, by its connection and path.
pub type Key = (usize, PathIndex);

/// Something for each subflow, in the order of the view. Most views have the subflows of the one before:
/// nothing is looked up then.
#[derive(Debug)]
pub struct PerSubflow<T> {
    rows: Vec<(Key, T)>,
}

impl<T> Default for PerSubflow<T> {
    fn default() -> PerSubflow<T> {
        PerSubflow { rows: Vec::new() }
    }
}

impl<T: Default> PerSubflow<T> {
    /// The subflows of `view` that are `wanted`, each with what is remembered of it; the others are forgotten.
    pub fn align<'a, 'v>(
        &'a mut self,
        view: &'v View,
        wanted: fn(&SubflowView) -> bool,
    ) -> impl Iterator<Item = (Key, &'v SubflowView, &'a mut T)> {
        let now = || keys(view, wanted);
        if !now().map(|(key, _)| key).eq(self.rows.iter().map(|r| r.0)) {
            let mut before: BTreeMap<Key, T> = self.rows.drain(..).collect();
            let kept = now().map(|(key, _)| (key, before.remove(&key).unwrap_or_default()));
            self.rows.extend(kept);
        }
        let rows = self.rows.iter_mut().zip(now());
        rows.map(|((key, of), (_, subflow))| (*key, subflow, of))
    }

    /// The same of the view that was aligned to last, to read.
    pub fn aligned<'a, 'v>(
        &'a self,
        view: &'v View,
        wanted: fn(&SubflowView) -> bool,
    ) -> impl Iterator<Item = (Key, &'v SubflowView, &'a T)> {
        let rows = self.rows.iter().zip(keys(view, wanted));
        rows.filter_map(|((key, of), (now, subflow))| (*key == now).then_some((now, subflow, of)))
    }
}

fn keys(
    view: &View,
    wanted: fn(&SubflowView) -> bool,
) -> impl Iterator<Item = (Key, &SubflowView)> {
    view.connections.iter().flat_map(move |c| {
        let subflows = c.subflows.iter().filter(move |s| wanted(s));
        subflows.map(|s| ((c.id, s.path), s))
    })
}
