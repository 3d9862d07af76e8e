//! What may be concluded from a comparison? The rules, in their order.

use super::paired::{Bound, Paired};
use crate::statistics::LEVEL;
use serde::Serialize;

/// Blocks below which nothing is concluded: the intervals of so few do not hold what they promise.
pub const LEAST_BLOCKS: usize = 10;
/// Blocks that are enough to explore.
pub const EXPLORE_BLOCKS: usize = 30;
/// Blocks that are enough to publish.
pub const PUBLISH_BLOCKS: usize = 100;
/// Ratios between 1 / `MARGIN` and `MARGIN` are differences too small to matter.
pub const MARGIN: f64 = 1.1;

/// What may be said of an arm against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The arm's values are lower.
    Lower,
    /// The arm's values are higher.
    Higher,
    /// They are the same but for a difference too small to matter.
    Equivalent,
    /// No difference is shown. There may be one.
    NoDifference,
    /// There are too few blocks to say anything.
    TooFew,
    /// The ratio is not known, or only a bound of it that does not decide.
    NotEstimable,
}

impl Verdict {
    /// The verdict on `paired`, whose p-value over all comparisons is `holm_p`.
    pub fn of(paired: &Paired, holm_p: Option<f64>) -> Verdict {
        if paired.blocks < LEAST_BLOCKS {
            return Verdict::TooFew;
        }
        let Some(interval) = paired.interval.filter(|_| paired.bound != Bound::Open) else {
            return Verdict::NotEstimable;
        };
        let exact = paired.bound == Bound::Exact;
        if exact && interval.low >= 1.0 / MARGIN && interval.high <= MARGIN {
            return Verdict::Equivalent;
        }
        let shown = is_significant(holm_p);
        if shown && interval.high < 1.0 && (exact || paired.bound == Bound::AtMost) {
            return Verdict::Lower;
        }
        if shown && interval.low > 1.0 && (exact || paired.bound == Bound::AtLeast) {
            return Verdict::Higher;
        }
        match exact {
            true => Verdict::NoDifference,
            false => Verdict::NotEstimable,
        }
    }

    /// As a table has it.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Lower => "lower",
            Verdict::Higher => "higher",
            Verdict::Equivalent => "equivalent",
            Verdict::NoDifference => "no difference shown",
            Verdict::TooFew => "too few blocks",
            Verdict::NotEstimable => "not estimable",
        }
    }
}

/// Whether a p-value is below the level of the intervals.
pub(super) fn is_significant(p: Option<f64>) -> bool {
    p.is_some_and(|p| p <= 1.0 - LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Interval;

    fn paired(bound: Bound, low: f64, high: f64) -> Paired {
        Paired {
            blocks: 100,
            pairs_used: 100,
            bound,
            ratio: Some((low * high).sqrt()),
            interval: Some(Interval { low, high }),
            hodges_lehmann: None,
            hl_interval: None,
            wilcoxon_p: None,
            censored_arm: 0,
            censored_baseline: 0,
            lower: 0,
            higher: 0,
            identical: false,
        }
    }

    fn exact(low: f64, high: f64, p: f64) -> Verdict {
        Verdict::of(&paired(Bound::Exact, low, high), Some(p))
    }

    #[test]
    fn needs_the_interval_and_the_test() {
        assert_eq!(exact(0.4, 0.6, 0.001), Verdict::Lower);
        assert_eq!(exact(1.4, 1.6, 0.001), Verdict::Higher);
        assert_eq!(exact(0.4, 0.98, 0.06), Verdict::NoDifference);
        assert_eq!(exact(0.4, 1.01, 0.01), Verdict::NoDifference);
    }

    #[test]
    fn within_the_margin_a_difference_does_not_matter() {
        assert_eq!(exact(0.92, 1.08, 0.5), Verdict::Equivalent);
        assert_eq!(exact(0.95, 0.97, 0.001), Verdict::Equivalent);
        assert_eq!(exact(1.0, 1.0, 1.0), Verdict::Equivalent);
        assert_eq!(exact(0.89, 0.97, 0.001), Verdict::Lower);
    }

    #[test]
    fn a_bound_decides_in_its_own_direction_only() {
        let of = |bound, low, high| Verdict::of(&paired(bound, low, high), Some(0.001));
        assert_eq!(of(Bound::AtMost, 0.4, 0.6), Verdict::Lower);
        assert_eq!(of(Bound::AtMost, 1.4, 1.6), Verdict::NotEstimable);
        assert_eq!(of(Bound::AtMost, 0.95, 1.05), Verdict::NotEstimable);
        assert_eq!(of(Bound::AtLeast, 1.4, 1.6), Verdict::Higher);
        assert_eq!(of(Bound::AtLeast, 0.4, 0.6), Verdict::NotEstimable);
        assert_eq!(of(Bound::Open, 0.4, 0.6), Verdict::NotEstimable);
    }

    #[test]
    fn few_blocks_decide_nothing() {
        let few = Paired {
            blocks: LEAST_BLOCKS - 1,
            ..paired(Bound::Exact, 0.1, 0.2)
        };
        assert_eq!(Verdict::of(&few, Some(0.001)), Verdict::TooFew);
    }
}
