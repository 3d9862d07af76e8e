//! How to draw from the standard normal distribution.

use rand::RngExt;

/// One draw from the normal distribution of mean 0 and standard deviation 1.
///
/// Box and Muller, "A note on the generation of random normal deviates" (1958); the second
/// deviate of the pair is thrown away, so that every call draws the same number of words.
pub(crate) fn draw(random: &mut impl RngExt) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    let radius = 1.0 - random.random::<f64>();
    let angle = random.random::<f64>() * std::f64::consts::TAU;
    (-2.0 * radius.ln()).sqrt() * angle.cos()
}

#[cfg(test)]
mod tests {
    use model::Seed;

    #[test]
    fn mean_and_deviation() {
        let mut random = Seed(1).stream("normal");
        let draws: Vec<f64> = (0..100_000).map(|_| super::draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
    }
}
