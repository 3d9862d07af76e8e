//! Do the pairs differ in one direction more than luck would have it? The signed-rank test:
//! F. Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1 (1945).

use super::normal;

/// Up to this many differences the exact distribution is used, if none are tied.
pub const EXACT: usize = 50;

/// The test's result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SignedRank {
    /// Differences that took part: all but the zeros, as Wilcoxon had it.
    pub n: usize,
    /// Differences of exactly 0, which take no part.
    pub zeros: usize,
    /// The sum of the ranks of the positive differences.
    pub w_plus: f64,
    /// The two-sided p-value; 1 when every difference is 0.
    pub p: f64,
    /// Whether `p` is of the exact distribution, and not of the normal approximation with
    /// correction for ties and continuity.
    pub exact: bool,
}

/// Tests whether `differences` (finite) lie symmetrically around 0.
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = sorted.len();
    let (mut w_plus, mut ties) = (0.0, 0.0);
    let mut rank = 0;
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let size = tied.len();
        // Each of a tie has the mean of its ranks.
        let mean = rank as f64 + (size as f64 + 1.0) / 2.0;
        w_plus += mean * tied.iter().filter(|d| **d > 0.0).count() as f64;
        ties += (size as f64).powi(3) - size as f64;
        rank += size;
    }
    let exact = n <= EXACT && ties == 0.0;
    let p = match (n, exact) {
        (0, _) => 1.0,
        (_, true) => exact_p(n, w_plus as usize),
        (_, false) => normal_p(n as f64, w_plus, ties),
    };
    SignedRank {
        n,
        zeros: differences.len() - n,
        w_plus,
        p,
        exact,
    }
}

/// The probability of every sum of positive ranks, 0 to n (n + 1) / 2, when each rank is positive
/// with probability one half. Exact up to `n` of [`EXACT`]: the numerators have 50 bits.
pub(super) fn distribution(n: usize) -> Vec<f64> {
    let mut probability = vec![0.0; n * (n + 1) / 2 + 1];
    probability[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |rest| probability[rest]);
            probability[sum] = (probability[sum] + with) / 2.0;
        }
    }
    probability
}

fn exact_p(n: usize, w_plus: usize) -> f64 {
    let probability = distribution(n);
    // The distribution is symmetric: the smaller tail is that of the smaller sum.
    let smaller = w_plus.min(probability.len() - 1 - w_plus);
    let tail: f64 = probability[..=smaller].iter().sum();
    (2.0 * tail).min(1.0)
}

fn normal_p(n: f64, w_plus: f64, ties: f64) -> f64 {
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let distance = ((w_plus - mean).abs() - 0.5).max(0.0);
    normal::two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Published table: R. L. McCornack, "Extended Tables of the Wilcoxon Matched Pair Signed
    // Rank Statistic", JASA 60 (1965): the largest sum that is significant at 5 %, two-sided.
    #[test]
    fn critical_values() {
        for (n, critical) in [
            (6, 0),
            (8, 3),
            (10, 8),
            (15, 25),
            (20, 52),
            (25, 89),
            (30, 137),
        ] {
            assert!(exact_p(n, critical) <= 0.05, "{n}");
            assert!(exact_p(n, critical + 1) > 0.05, "{n}");
        }
        assert!(exact_p(5, 0) > 0.05, "five pairs can't be significant");
    }

    #[test]
    fn the_distribution_is_one() {
        for n in [1, 2, 7, 50] {
            assert_eq!(distribution(n).iter().sum::<f64>(), 1.0);
        }
    }

    #[test]
    fn nothing_differs() {
        let test = signed_rank(&[0.0; 12]);
        assert_eq!((test.n, test.zeros, test.p), (0, 12, 1.0));
        assert_eq!(signed_rank(&[]).p, 1.0);
    }

    #[test]
    fn the_sign_does_not_matter() {
        let up = [0.3, -0.1, 0.7, 0.2, 0.5, 0.9, 0.4];
        let down = up.map(|d| -d);
        assert_eq!(signed_rank(&up).p, signed_rank(&down).p);
    }
}
