//! The standard normal distribution: its probabilities and its quantiles.

use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// The probability of a value up to `z`.
pub(super) fn cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The probability of a value as far from 0 as `z`, on either side.
pub(super) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The value that is not exceeded with probability `p`.
pub(super) fn quantile(p: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * p.clamp(0.0, 1.0))
}

/// How many standard deviations a two-sided interval of this level reaches: 1.96 for 0.95.
pub(super) fn reach(level: f64) -> f64 {
    quantile(0.5 + level / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Published table: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.1 and 26.5.
    // The error function is good to ten digits.
    #[test]
    fn tabulated_values() {
        assert!((cdf(1.0) - 0.841_344_746_068_543).abs() < 1e-10);
        assert!((cdf(-3.0) - 0.001_349_898_031_630).abs() < 1e-10);
        assert!((reach(0.95) - 1.959_963_984_540_054).abs() < 1e-10);
        assert!((quantile(0.005) + 2.575_829_303_548_901).abs() < 1e-10);
        assert!((two_sided(1.959_963_984_540_054) - 0.05).abs() < 1e-10);
    }
}
