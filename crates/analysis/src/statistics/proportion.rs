//! How well is a share known? The interval of E. B. Wilson, "Probable Inference, the Law of
//! Succession, and Statistical Inference", JASA 22 (1927): good for few trials and for shares near
//! 0 and 1 (Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion", 2001).

use super::{Interval, normal};

/// The interval of the share behind `successes` of `trials`; everything when there were none.
pub fn wilson(successes: usize, trials: usize, level: f64) -> Interval {
    if trials == 0 {
        return Interval {
            low: 0.0,
            high: 1.0,
        };
    }
    let n = trials as f64;
    let share = successes as f64 / n;
    let z = normal::reach(level);
    let scale = 1.0 + z * z / n;
    let centre = (share + z * z / (2.0 * n)) / scale;
    let reach = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt() / scale;
    // At the ends the formula is exact but for rounding.
    Interval {
        low: match successes {
            0 => 0.0,
            _ => centre - reach,
        },
        high: match successes == trials {
            true => 1.0,
            false => centre + reach,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Published: R. G. Newcombe, "Two-sided confidence intervals for the single proportion",
    // Statistics in Medicine 17 (1998), table I, method 3.
    #[test]
    fn tabulated_values() {
        for (successes, trials, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = wilson(successes, trials, 0.95);
            assert!((found.low - low).abs() < 5e-5, "{found:?}");
            assert!((found.high - high).abs() < 5e-5, "{found:?}");
        }
        assert_eq!(wilson(20, 20, 0.95).high, 1.0);
        assert!(wilson(0, 0, 0.95).covers(0.5));
    }
}
