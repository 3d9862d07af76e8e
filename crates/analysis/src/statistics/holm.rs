//! What are p-values worth when there are many? S. Holm, "A Simple Sequentially Rejective Multiple
//! Test Procedure", Scandinavian Journal of Statistics 6 (1979): the probability of any false
//! alarm among all of them stays below the level.

/// The adjusted p-value of each of `p`, in their order: below the level exactly where Holm's
/// procedure rejects at that level.
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 0.0_f64;
    for (step, place) in order.into_iter().enumerate() {
        least = least.max(p[place] * (p.len() - step) as f64).min(1.0);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_down_and_never_falls() {
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        for (found, known) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - known).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(adjust(&[0.7, 0.9]), [1.0, 1.0]);
        assert!(adjust(&[]).is_empty());
    }
}
