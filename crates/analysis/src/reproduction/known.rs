//! What is known of a number out of many runs: itself, or from where on it lies when some runs
//! stalled to their end?

use super::Finding;
use crate::metric::{Observed, Unit};
use crate::study::words;
use model::reproduction::Statistic;

/// Fewer runs than this decide nothing.
pub const LEAST_RUNS: usize = 5;

/// A number between two ends that are equal when it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// The least it can be.
    pub low: f64,
    /// The most it can be; infinite where runs stalled.
    pub high: f64,
}

impl Known {
    /// A number that is known.
    pub fn exactly(value: f64) -> Known {
        Known {
            low: value,
            high: value,
        }
    }

    /// The statistic of `values`; `None` of nothing.
    pub fn of(statistic: Statistic, values: &[Observed]) -> Option<Known> {
        let sorted = |of: fn(&Observed) -> f64| {
            let mut sorted: Vec<f64> = values.iter().map(of).collect();
            sorted.sort_by(f64::total_cmp);
            take(statistic, &sorted)
        };
        Some(Known {
            low: sorted(|value| value.value)?,
            high: sorted(|value| match value.censored {
                true => f64::INFINITY,
                false => value.value,
            })?,
        })
    }

    /// Whether it is only a lower bound.
    pub fn is_bound(self) -> bool {
        self.low != self.high
    }

    /// `self / other`; `None` when the divisor may be nothing.
    pub fn over(self, other: Known) -> Option<Known> {
        (other.low > 0.0).then(|| Known {
            low: self.low / other.high,
            high: self.high / other.low,
        })
    }

    /// Whether it lies between two ends, both included.
    pub fn within(self, [low, high]: [f64; 2]) -> Finding {
        if low <= self.low && self.high <= high {
            Finding::Met
        } else if self.high < low || high < self.low {
            Finding::Missed
        } else {
            Finding::Open
        }
    }

    /// Whether it is at least `share` of `other`.
    pub fn reaches(self, other: Known, share: f64) -> Finding {
        if self.low >= other.high * share {
            Finding::Met
        } else if self.high < other.low * share {
            Finding::Missed
        } else {
            Finding::Open
        }
    }

    /// In a unit: `341 ms`, `>=19.9 s`.
    pub fn text(self, unit: Unit) -> String {
        format!("{}{}", self.sign(), words::value(self.low, unit))
    }

    /// As a ratio or a multiple: `0.42`, `>=0.42`, `0.21..0.42`.
    pub fn plain(self) -> String {
        match self.is_bound() && self.high.is_finite() {
            true => format!("{}..{}", words::ratio(self.low), words::ratio(self.high)),
            false => format!("{}{}", self.sign(), words::ratio(self.low)),
        }
    }

    fn sign(self) -> &'static str {
        if self.is_bound() { ">=" } else { "" }
    }
}

/// The statistic of ascending numbers; `None` of nothing.
fn take(statistic: Statistic, sorted: &[f64]) -> Option<f64> {
    let (first, last) = (sorted.first()?, sorted.last()?);
    Some(match statistic {
        Statistic::Min => *first,
        Statistic::Max => *last,
        Statistic::Mean => sorted.iter().sum::<f64>() / sorted.len() as f64,
        Statistic::Median => quantile(sorted, 0.5),
        Statistic::P95 => quantile(sorted, 0.95),
    })
}

/// The `p`-quantile (Hyndman and Fan, type 7) of ascending numbers, some of them infinite; there is
/// one at least.
pub(super) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let rank = p * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    match rank.fract() {
        0.0 => below,
        // Between two infinite ones nothing can be taken away.
        _ if above.is_infinite() => above,
        part => below + (above - below) * part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(values: &[(f64, bool)]) -> Vec<Observed> {
        let values = values.iter();
        values
            .map(|&(value, censored)| Observed { value, censored })
            .collect()
    }

    #[test]
    fn each_statistic() {
        let values = observed(&[(4.0, false), (1.0, false), (2.0, false), (9.0, false)]);
        for (statistic, value) in [
            (Statistic::Median, 3.0),
            (Statistic::Mean, 4.0),
            (Statistic::Min, 1.0),
            (Statistic::Max, 9.0),
            (Statistic::P95, 8.25),
        ] {
            let known = Known::of(statistic, &values).expect("four values");
            assert!((known.low - value).abs() < 1e-9, "{statistic:?}: {known:?}");
            assert!(!known.is_bound());
        }
        assert_eq!(Known::of(Statistic::Mean, &[]), None);
    }

    #[test]
    fn a_stall_is_a_bound_only_where_it_matters() {
        let values = observed(&[(1.0, false), (2.0, false), (3.0, true)]);
        let of = |statistic| Known::of(statistic, &values).expect("three values");
        assert_eq!(of(Statistic::Median), Known::exactly(2.0));
        assert_eq!(
            of(Statistic::Max),
            Known {
                low: 3.0,
                high: f64::INFINITY
            }
        );
        assert_eq!(of(Statistic::Max).text(Unit::Seconds), ">=3.00 s");
        // Everything stalled: nothing is interpolated between two infinities.
        let all = Known::of(Statistic::P95, &observed(&[(1.0, true), (2.0, true)]));
        assert_eq!(all.map(|known| known.high), Some(f64::INFINITY));
    }

    #[test]
    fn a_bound_leaves_open_what_it_does_not_decide() {
        let bound = Known {
            low: 2.0,
            high: f64::INFINITY,
        };
        assert_eq!(bound.within([0.0, 1.0]), Finding::Missed);
        assert_eq!(bound.within([0.0, 3.0]), Finding::Open);
        assert_eq!(bound.within([1.0, f64::INFINITY]), Finding::Met);
        let one = Known::exactly(1.0);
        assert_eq!(bound.reaches(one, 1.0), Finding::Met);
        assert_eq!(one.reaches(bound, 1.0), Finding::Missed);
        assert_eq!(Known::exactly(5.0).reaches(bound, 1.0), Finding::Open);
        assert_eq!(one.reaches(Known::exactly(1.05), 0.95), Finding::Met);
        assert_eq!(one.over(bound).map(|k| k.high), Some(0.5));
        assert_eq!(one.over(Known::exactly(0.0)), None);
    }
}
