//! Where is the middle of the paired differences, outliers or not? The pseudo-median: the median
//! of all means of two values (of each with itself, too), with the interval that belongs to the
//! signed-rank test. J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on Rank Tests",
//! Annals of Mathematical Statistics 34 (1963); Hollander and Wolfe, *Nonparametric Statistical
//! Methods*, sections 3.2 and 3.3.

use super::{Interval, normal, wilcoxon};

/// The estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PseudoMedian {
    /// The median of the means of two.
    pub estimate: f64,
    /// Its interval; `None` when there are too few values to have one at this level (fewer than 6
    /// at 95 %). Exact up to [`wilcoxon::EXACT`] values (conservative where values are tied), of
    /// the normal approximation above.
    pub interval: Option<Interval>,
}

/// The pseudo-median of finite `values`; `None` of nothing.
pub fn pseudo_median(values: &[f64], level: f64) -> Option<PseudoMedian> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let pairs = n * (n + 1) / 2;
    let middle = kth_mean(&sorted, pairs.checked_sub(1)? / 2 + 1);
    let estimate = match pairs % 2 {
        1 => middle,
        _ => (middle + kth_mean(&sorted, pairs / 2 + 1)) / 2.0,
    };
    let interval = rank(n, level).map(|rank| Interval {
        low: kth_mean(&sorted, rank),
        high: kth_mean(&sorted, pairs + 1 - rank),
    });
    Some(PseudoMedian { estimate, interval })
}

/// Which mean of two, from 1 and from either end, is the end of the interval.
fn rank(n: usize, level: f64) -> Option<usize> {
    let tail = (1.0 - level) / 2.0;
    if n > wilcoxon::EXACT {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return Some((n * (n + 1.0) / 4.0 - normal::reach(level) * deviation).floor() as usize);
    }
    // As many sums as fit into the tail: the next is inside.
    let mut reached = 0.0;
    let tails = wilcoxon::distribution(n).into_iter().map(|p| {
        reached += p;
        reached
    });
    let outside = tails.take_while(|reached| *reached <= tail).count();
    (outside > 0).then_some(outside)
}

/// The `k`th smallest (from 1) of the means of two of `sorted`, without making them all: a
/// bisection over the values, counting in one pass how many means are not above.
fn kth_mean(sorted: &[f64], k: usize) -> f64 {
    let (mut low, mut high) = (order(sorted[0]), order(sorted[sorted.len() - 1]));
    while low < high {
        let middle = low + (high - low) / 2;
        match means_up_to(sorted, value(middle)) >= k {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    value(low)
}

/// How many means of two (of each with itself, too) are at most `bound`.
fn means_up_to(sorted: &[f64], bound: f64) -> usize {
    let mut count = 0;
    // The partners of the next larger value are fewer.
    let mut end = sorted.len();
    for (i, a) in sorted.iter().enumerate() {
        while end > i && (a + sorted[end - 1]) / 2.0 > bound {
            end -= 1;
        }
        if end <= i {
            break;
        }
        count += end - i;
    }
    count
}

/// A number that orders as the value does (IEEE 754, totalOrder).
fn order(value: f64) -> u64 {
    let bits = value.to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// The value of an [`order`].
fn value(order: u64) -> f64 {
    f64::from_bits(match order >> 63 {
        1 => order & !(1 << 63),
        _ => !order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    #[test]
    fn as_by_making_every_mean() {
        let mut random = Pcg64::seed_from_u64(3);
        for n in [1, 2, 3, 7, 20, 61] {
            let mut sorted: Vec<f64> = (0..n)
                .map(|_| (random.random::<f64>() * 40.0).round() / 4.0 - 5.0)
                .collect();
            sorted.sort_by(f64::total_cmp);
            let mut means = Vec::new();
            for i in 0..n {
                means.extend((i..n).map(|j| (sorted[i] + sorted[j]) / 2.0));
            }
            means.sort_by(f64::total_cmp);
            for (k, mean) in means.iter().enumerate() {
                assert_eq!(kth_mean(&sorted, k + 1), *mean);
            }
        }
    }

    #[test]
    fn five_values_have_no_interval() {
        let of = |values: &[f64]| pseudo_median(values, 0.95).unwrap();
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval, None);
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).estimate, 3.0);
        let six = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).interval.unwrap();
        assert_eq!((six.low, six.high), (1.0, 6.0));
        assert_eq!(pseudo_median(&[], 0.95), None);
    }

    #[test]
    fn equal_values() {
        let of = pseudo_median(&[0.25; 100], 0.95).unwrap();
        let interval = of.interval.unwrap();
        assert_eq!(
            (of.estimate, interval.low, interval.high),
            (0.25, 0.25, 0.25)
        );
    }
}
