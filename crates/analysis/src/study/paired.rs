//! What do the pairs of the blocks come to? The ratio with its interval, the pseudo-median and the
//! test; and of which of them only a bound is known, because runs ended while a message waited.

use crate::metric::Observed;
use crate::statistics::bootstrap::{self, Bootstrap, RESAMPLES};
use crate::statistics::{Interval, LEVEL, hodges_lehmann, ratio, wilcoxon};
use rand::Rng;
use serde::Serialize;

/// The values of an arm and of the baseline in one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Of the arm.
    pub arm: Observed,
    /// Of the baseline.
    pub baseline: Observed,
}

/// What the ratio arm to baseline says of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// It estimates it: no value is censored.
    Exact,
    /// The true one is lower or equal: some values of the baseline are lower bounds.
    AtMost,
    /// The true one is higher or equal: some values of the arm are lower bounds.
    AtLeast,
    /// Nothing: there are lower bounds on both sides, or too few pairs have a ratio.
    Open,
}

/// One pair in this many may be without a ratio (zero against something) and left out.
const WITHOUT_ONE_IN: usize = 20;

/// The numbers of a comparison, before what other comparisons have to do with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Blocks in which both ran to their end.
    pub blocks: usize,
    /// Blocks whose pair has a ratio.
    pub pairs_used: usize,
    /// What the ratio says of the true one.
    pub bound: Bound,
    /// The geometric mean of the ratios; `None` when nothing bounds the true one.
    pub ratio: Option<f64>,
    /// Its BCa interval over blocks.
    pub interval: Option<Interval>,
    /// The pseudo-median of the ratios.
    pub hodges_lehmann: Option<f64>,
    /// Its rank interval.
    pub hl_interval: Option<Interval>,
    /// The two-sided p-value of the signed-rank test; `None` where it would not be valid.
    pub wilcoxon_p: Option<f64>,
    /// Pairs whose arm's value is a lower bound.
    pub censored_arm: usize,
    /// Pairs whose baseline's value is a lower bound.
    pub censored_baseline: usize,
    /// Pairs whose arm's value is lower for certain, whatever is censored.
    pub lower: usize,
    /// Pairs whose arm's value is higher for certain.
    pub higher: usize,
    /// Whether both sides of every pair are the same as far as they were observed.
    pub identical: bool,
}

impl Paired {
    /// The numbers of `pairs`, of the `blocks` in which both ran (those without a value have no
    /// pair).
    pub fn of(blocks: usize, pairs: &[Pair], random: &mut impl Rng) -> Paired {
        let count = |of: fn(&Pair) -> bool| pairs.iter().filter(|pair| of(pair)).count();
        let censored_arm = count(|pair| pair.arm.censored);
        let censored_baseline = count(|pair| pair.baseline.censored);
        let ratios = ratio::paired(pairs.iter().map(|p| (p.arm.value, p.baseline.value)));
        let values = &ratios.values;
        let left_out = blocks.saturating_sub(values.len());
        let mut paired = Paired {
            blocks,
            pairs_used: values.len(),
            bound: match (censored_arm, censored_baseline) {
                _ if values.is_empty() || left_out * WITHOUT_ONE_IN > blocks => Bound::Open,
                (0, 0) => Bound::Exact,
                (0, _) => Bound::AtMost,
                (_, 0) => Bound::AtLeast,
                _ => Bound::Open,
            },
            ratio: None,
            interval: None,
            hodges_lehmann: None,
            hl_interval: None,
            wilcoxon_p: None,
            censored_arm,
            censored_baseline,
            lower: count(|pair| below(pair.arm, pair.baseline)),
            higher: count(|pair| below(pair.baseline, pair.arm)),
            identical: blocks == pairs.len() && pairs.iter().all(|pair| pair.arm == pair.baseline),
        };
        if paired.bound == Bound::Open {
            return paired;
        }
        let exp = |interval: Interval| interval.map(f64::exp);
        let ratio = ratio::geometric_mean(values);
        paired.ratio = ratio;
        paired.interval = bootstrap::mean(values, LEVEL, RESAMPLES, random)
            .interval()
            .map(exp);
        if let Some(found) = hodges_lehmann::pseudo_median(values, LEVEL) {
            paired.hodges_lehmann = Some(found.estimate.exp());
            paired.hl_interval = found.interval.map(exp);
        }
        // Of a bound the test holds in one direction only: were the censored values known, they
        // would move every pair further that way.
        let holds = match paired.bound {
            Bound::Exact => true,
            Bound::AtMost => ratio.is_some_and(|ratio| ratio < 1.0),
            Bound::AtLeast => ratio.is_some_and(|ratio| ratio > 1.0),
            Bound::Open => false,
        };
        paired.wilcoxon_p = holds.then(|| wilcoxon::signed_rank(values).p);
        paired
    }
}

/// Whether `one` is lower than `other` for certain: it is no bound, and below what is known of the
/// other.
fn below(one: Observed, other: Observed) -> bool {
    !one.censored && one.value < other.value
}

/// The interval of the ratio of copies of one arm, `None` when it says nothing: of too few pairs,
/// or of pairs that are all equal.
///
/// Lower bounds take part as they are. Copies are censored alike, so that the ratio of what was
/// observed is 1 whatever was censored.
pub(super) fn of_copies(pairs: &[Pair], random: &mut impl Rng) -> Option<Interval> {
    let ratios = ratio::paired(pairs.iter().map(|p| (p.arm.value, p.baseline.value)));
    match bootstrap::mean(&ratios.values, LEVEL, RESAMPLES, random) {
        Bootstrap::Interval(interval) => Some(interval.map(f64::exp)),
        Bootstrap::TooFew | Bootstrap::Constant(_) => None,
    }
}
