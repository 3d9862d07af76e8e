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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{ConnectionView, PathState};

    fn view(of: &[(usize, &[(usize, PathState)])]) -> View {
        let subflow = |&(path, state): &(usize, PathState)| SubflowView {
            path: PathIndex(path),
            peer: None,
            state,
            backup: false,
            suspected: false,
            srtt: None,
            rto: None,
            timeouts: 0,
            retransmissions: 0,
            sent: 0,
            lost: 0,
            in_flight: 0,
            oldest_unacked: None,
            starved: false,
            received: 0,
        };
        let connection = |(id, subflows): &(usize, &[(usize, PathState)])| ConnectionView {
            id: *id,
            has_unsent: false,
            subflows: subflows.iter().map(subflow).collect(),
        };
        View {
            paths: Vec::new(),
            connections: of.iter().map(connection).collect(),
        }
    }

    #[test]
    fn what_is_known_follows_its_subflow_and_the_rest_is_forgotten() {
        use PathState::{Closing, Established as Good};
        let wanted: fn(&SubflowView) -> bool = |s| s.state == PathState::Established;
        let mut looks = PerSubflow::<u32>::default();
        let mut look = |view: &View| -> Vec<(usize, usize, u32)> {
            let aligned = looks.align(view, wanted);
            aligned.for_each(|(_, _, count)| *count += 1);
            let counts = looks.aligned(view, wanted);
            counts.map(|((id, path), _, n)| (id, path.0, *n)).collect()
        };
        // Not in the order of their paths: a view need not be.
        let first = view(&[(1, &[(1, Good), (0, Good)]), (4, &[(0, Good)])]);
        assert_eq!(look(&first), [(1, 1, 1), (1, 0, 1), (4, 0, 1)]);
        assert_eq!(look(&first), [(1, 1, 2), (1, 0, 2), (4, 0, 2)]);
        let changed = view(&[
            (1, &[(0, Good), (1, Closing)]),
            (3, &[(0, Good)]),
            (4, &[(0, Good)]),
        ]);
        assert_eq!(look(&changed), [(1, 0, 3), (3, 0, 1), (4, 0, 3)]);
        assert_eq!(look(&first), [(1, 1, 1), (1, 0, 4), (4, 0, 4)]);
        // Of a view that it was not aligned to, only what is at its place.
        let others = looks.aligned(&changed, wanted).map(|(key, ..)| key);
        assert_eq!(others.collect::<Vec<_>>(), [(4, PathIndex(0))]);
    }
}
