//! Do the intervals hold what they promise? Each arm against its own copy has the ratio 1; in 95 of
//! 100 cases the interval must cover it.

use super::layout::Layout;
use super::paired::{self, Pair};
use super::verdict::LEAST_BLOCKS;
use super::words::share;
use super::{Study, place};
use crate::metric::Observed;
use crate::statistics::{LEVEL, proportion};
use model::Seed;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many intervals of an arm against its copy cover the ratio 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// How many there are.
    pub intervals: usize,
    /// How many cover it.
    pub covering: usize,
    /// Their share.
    pub share: f64,
    /// The lower end of the share's own interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// What that means.
    pub sentence: String,
}

impl Coverage {
    /// Of an A/A study; `None` of another, and of one that has no such interval.
    ///
    /// Copies have different seeds, so that any of one may be paired with any of the other: they
    /// are, in the order of their seeds. Where all pairs are equal the interval is a point that
    /// says nothing, and is not counted.
    pub(super) fn of(study: &Study, layout: &Layout) -> Option<Coverage> {
        if !study.head.a_a {
            return None;
        }
        let primary = place(&study.head.primary);
        let mut copies: BTreeMap<(usize, usize), [BTreeMap<u64, Observed>; 2]> = BTreeMap::new();
        for (run, at) in study.runs.iter().zip(&layout.places) {
            let (Some(value), Ok(replica @ 0..=1)) =
                (run.number(primary), usize::try_from(run.replica))
            else {
                continue;
            };
            copies.entry(*at).or_default()[replica].insert(run.seed, value);
        }
        let (mut intervals, mut covering) = (0, 0);
        for ((case, arm), [first, second]) in &copies {
            let pairs: Vec<Pair> = first
                .values()
                .zip(second.values())
                .map(|(baseline, arm)| Pair {
                    arm: *arm,
                    baseline: *baseline,
                })
                .collect();
            if pairs.len() < LEAST_BLOCKS {
                continue;
            }
            let (case, arm) = (&layout.cases[*case].label, &layout.arms[*arm]);
            let mut random = Seed(study.head.seed).stream(&format!("bootstrap a/a {case} {arm}"));
            if let Some(interval) = paired::of_copies(&pairs, &mut random) {
                intervals += 1;
                covering += usize::from(interval.covers(1.0));
            }
        }
        if intervals == 0 {
            return None;
        }
        let range = proportion::wilson(covering, intervals, LEVEL);
        let meaning = match (range.high < LEVEL, range.low > LEVEL) {
            (true, _) => {
                "fewer than the 95 % they promise: the intervals of this study are too narrow, and its differences are not to be trusted"
            }
            (_, true) => "more than the 95 % they promise: the intervals are wider than need be",
            _ => "as the 95 % they promise",
        };
        Some(Coverage {
            intervals,
            covering,
            share: covering as f64 / intervals as f64,
            low: range.low,
            high: range.high,
            sentence: format!(
                "Of the intervals of an arm against its own copy, {} cover the ratio 1: {meaning}.",
                share(covering, intervals, range)
            ),
        })
    }
}
