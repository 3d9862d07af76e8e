//! By which factor do two arms differ? Paired log-ratios and their geometric mean.

/// What the pairs `(arm, baseline)` of the blocks come to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogRatios {
    /// `ln(arm / baseline)` of every pair that has one.
    pub values: Vec<f64>,
    /// Pairs without one: exactly one side is 0, or a side is negative or not finite.
    pub without: usize,
}

/// Log-ratios closer than this are equal. In a deterministic world ratios are exactly equal over
/// many blocks; rounding must not tear such ties apart.
const GRAIN: f64 = 1e-12;

/// The log-ratio of every pair. Equal sides have the log-ratio 0, also when both are 0.
pub fn paired(pairs: impl IntoIterator<Item = (f64, f64)>) -> LogRatios {
    let mut ratios = LogRatios::default();
    for (arm, baseline) in pairs {
        match log_ratio(arm, baseline) {
            Some(value) => ratios.values.push(value),
            None => ratios.without += 1,
        }
    }
    ratios
}

fn log_ratio(arm: f64, baseline: f64) -> Option<f64> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    if arm == 0.0 && baseline == 0.0 {
        return Some(0.0);
    }
    (positive(arm) && positive(baseline))
        .then(|| ((arm.ln() - baseline.ln()) / GRAIN).round() * GRAIN)
}

/// The geometric mean of the ratios behind `log_ratios`; `None` of nothing.
pub fn geometric_mean(log_ratios: &[f64]) -> Option<f64> {
    if log_ratios.is_empty() {
        return None;
    }
    Some((log_ratios.iter().sum::<f64>() / log_ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_doubling_and_halving_nothing_remains() {
        let ratios = paired([(2.0, 1.0), (1.0, 2.0), (3.0, 3.0), (0.0, 0.0)]);
        assert_eq!((ratios.values.len(), ratios.without), (4, 0));
        assert_eq!(geometric_mean(&ratios.values), Some(1.0));
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn zero_against_something_has_no_ratio() {
        let ratios = paired([(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (f64::NAN, 1.0)]);
        assert_eq!((ratios.values.len(), ratios.without), (0, 4));
    }

    #[test]
    fn equal_ratios_stay_equal() {
        let ratios = paired((1..50).map(|i| (0.3 * f64::from(i), 0.1 * f64::from(i))));
        assert!(ratios.values.iter().all(|value| *value == ratios.values[0]));
    }
}
