//! Where is the middle of a group, and how sure is that? The median with the interval between two
//! ranks that the binomial distribution gives (Conover, *Practical Nonparametric Statistics*,
//! section 3.2), for values of which some may be lower bounds.

use crate::metric::Observed;
use statrs::function::beta::beta_reg;

/// A median.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Median {
    /// The median, lower bounds taken as they are.
    pub value: f64,
    /// Whether it is only a lower bound: it would be another if the censored values were larger.
    pub censored: bool,
    /// The lower end of the interval; `None` when there are too few values (fewer than 6 at 95 %).
    pub low: Option<f64>,
    /// The upper end; `None` also where it rests on a censored value: nothing bounds it then.
    pub high: Option<f64>,
}

/// The median of `values`; `None` of nothing.
pub fn median(values: &[Observed], level: f64) -> Option<Median> {
    let sorted = |of: fn(&Observed) -> f64| {
        let mut sorted: Vec<f64> = values.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    // The truth lies between the values as they are and each bound replaced by infinity.
    let least = sorted(|value| value.value);
    let most = sorted(|value| match value.censored {
        true => f64::INFINITY,
        false => value.value,
    });
    let middle = |sorted: &[f64]| {
        let last = sorted.len().checked_sub(1)?;
        Some((sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0)
    };
    let value = middle(&least)?;
    let rank = rank(values.len(), level);
    Some(Median {
        value,
        censored: middle(&most)? != value,
        low: rank.map(|rank| least[rank - 1]),
        high: rank
            .map(|rank| most[values.len() - rank])
            .filter(|high| high.is_finite()),
    })
}

/// Which value, from 1 and from either end, is the end of the interval: the innermost with at most
/// half of `1 - level` outside of it.
///
/// `None` when `n` are too few (fewer than 6 at 95 %).
pub fn rank(n: usize, level: f64) -> Option<usize> {
    let tail = (1.0 - level) / 2.0;
    // P(fewer than r of n lie below the median), for r of 1 ..= n / 2.
    let outside = |r: usize| beta_reg((n - r + 1) as f64, r as f64, 0.5);
    let (mut fits, mut too_many) = (0, n / 2 + 1);
    while too_many - fits > 1 {
        let middle = (fits + too_many) / 2;
        match outside(middle) <= tail {
            true => fits = middle,
            false => too_many = middle,
        }
    }
    (fits > 0).then_some(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Published table: W. J. Conover, *Practical Nonparametric Statistics*, table A3, and
    // Campbell and Gardner, "Calculating confidence intervals for some non-parametric analyses",
    // BMJ 296 (1988): ranks of the 95 % interval of a median.
    #[test]
    fn tabulated_ranks() {
        for (n, known) in [
            (6, 1),
            (8, 1),
            (9, 2),
            (10, 2),
            (20, 6),
            (30, 10),
            (50, 18),
            (100, 40),
        ] {
            assert_eq!(rank(n, 0.95), Some(known), "{n}");
        }
        assert_eq!(rank(5, 0.95), None);
        assert_eq!(rank(0, 0.95), None);
    }

    fn observed(values: impl IntoIterator<Item = (f64, bool)>) -> Vec<Observed> {
        let values = values.into_iter();
        values
            .map(|(value, censored)| Observed { value, censored })
            .collect()
    }

    #[test]
    fn without_censoring() {
        let of = median(&observed((1..=10).map(|i| (f64::from(i), false))), 0.95).unwrap();
        assert_eq!((of.value, of.censored), (5.5, false));
        assert_eq!((of.low, of.high), (Some(2.0), Some(9.0)));
        assert_eq!(median(&[], 0.95), None);
    }

    #[test]
    fn a_few_late_stalls_leave_the_median_but_open_the_interval() {
        let values = (1..=10).map(|i| (f64::from(i), i >= 9));
        let of = median(&observed(values), 0.95).unwrap();
        assert_eq!((of.value, of.censored), (5.5, false));
        assert_eq!((of.low, of.high), (Some(2.0), None));
    }

    #[test]
    fn when_all_stall_it_is_a_bound() {
        let of = median(&observed([(20.0, true); 100]), 0.95).unwrap();
        assert_eq!((of.value, of.censored), (20.0, true));
        assert_eq!((of.low, of.high), (Some(20.0), None));
    }

    #[test]
    fn a_bound_below_the_median_marks_it() {
        let values = observed([(1.0, true), (2.0, false), (3.0, false)]);
        assert!(median(&values, 0.95).unwrap().censored);
    }
}
