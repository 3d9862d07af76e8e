//! How are values distributed? The empirical distribution function with the simultaneous band of
//! Dvoretzky, Kiefer and Wolfowitz, with the tight constant of P. Massart, "The Tight Constant in
//! the Dvoretzky-Kiefer-Wolfowitz Inequality", Annals of Probability 18 (1990): with the given
//! probability the whole true function lies inside of it.

use super::Curve;

/// P(value <= x) at every distinct one of finite `values`.
pub fn cdf(values: &[f64], level: f64) -> Curve {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let reach = half_width(sorted.len(), level);
    let mut curve = Curve::default();
    let mut count = 0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        count += equal.len();
        let y = count as f64 / n;
        curve.x.push(equal[0]);
        curve.y.push(y);
        curve.low.push((y - reach).max(0.0));
        curve.high.push((y + reach).min(1.0));
    }
    curve
}

/// How far the band of `n` values reaches, up and down.
pub fn half_width(n: usize, level: f64) -> f64 {
    ((2.0 / (1.0 - level)).ln() / (2.0 * n as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_at_distinct_values() {
        let curve = cdf(&[3.0, 1.0, 3.0, 2.0], 0.95);
        assert_eq!(curve.x, [1.0, 2.0, 3.0]);
        assert_eq!(curve.y, [0.25, 0.5, 1.0]);
        assert_eq!((curve.low[0], curve.high[2]), (0.0, 1.0));
        assert!(cdf(&[], 0.95).x.is_empty());
    }

    #[test]
    fn a_hundred_values_know_it_to_a_seventh() {
        // sqrt(ln(40) / 200).
        assert!((half_width(100, 0.95) - 0.135_810_15).abs() < 1e-8);
    }
}
