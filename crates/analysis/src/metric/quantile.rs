//! How quantiles are taken of values of which some are only lower bounds.

use serde::Serialize;

/// A number that was observed, or a lower bound of it where the run ended first (right-censored).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Observed {
    /// The value, or its lower bound.
    pub value: f64,
    /// Whether it is a lower bound.
    pub censored: bool,
}

/// The `p`-quantile (0 to 1) of `values`, `None` of nothing.
///
/// Censored values take part with their lower bounds, so that the result is never above the
/// true quantile. It is marked as censored when it rests on a censored value; a censored value
/// below it (a message sent just before the end) shifts it by less than a rank and does not
/// mark it. Between two ranks it is interpolated linearly (Hyndman and Fan, type 7).
pub fn quantile(values: &[Observed], p: f64) -> Option<Observed> {
    let mut sorted = values.to_vec();
    // At equal values the exact one first.
    sorted.sort_by(|a, b| {
        a.value
            .total_cmp(&b.value)
            .then(a.censored.cmp(&b.censored))
    });
    let rank = p.clamp(0.0, 1.0) * (sorted.len().checked_sub(1)?) as f64;
    let below = sorted[rank.floor() as usize];
    let above = sorted[rank.ceil() as usize];
    Some(Observed {
        value: below.value + (above.value - below.value) * rank.fract(),
        censored: below.censored || above.censored,
    })
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
    fn without_censoring() {
        let values = observed(&[(4.0, false), (1.0, false), (2.0, false), (3.0, false)]);
        let at = |p| quantile(&values, p).unwrap();
        assert_eq!(at(0.5).value, 2.5);
        assert_eq!((at(0.0).value, at(1.0).value), (1.0, 4.0));
        assert!(!at(1.0).censored);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn marked_where_it_rests_on_a_lower_bound() {
        let values = observed(&[(0.01, true), (1.0, false), (2.0, false), (9.0, true)]);
        let at = |p| quantile(&values, p).unwrap();
        assert!(!at(0.5).censored);
        assert!(at(1.0).censored);
        assert_eq!(at(1.0).value, 9.0);
        assert!(at(0.9).censored);
        assert!(at(0.0).censored);
    }

    #[test]
    fn at_equal_values_the_exact_one_is_the_lower() {
        let values = observed(&[(1.0, true), (1.0, false)]);
        assert!(!quantile(&values, 0.0).unwrap().censored);
        assert!(quantile(&values, 1.0).unwrap().censored);
    }
}
