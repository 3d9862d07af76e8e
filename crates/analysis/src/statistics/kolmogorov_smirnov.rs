//! How far apart are two distributions? The two-sample Kolmogorov-Smirnov distance: the largest
//! difference between the empirical distribution functions, and how likely one as large is.

/// The test's result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KolmogorovSmirnov {
    /// The distance, 0 to 1.
    pub distance: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// Whether `p` is exact (for values without ties, conservative with them), and not of
    /// Kolmogorov's limit with the small-sample correction of M. A. Stephens, "Use of the
    /// Kolmogorov-Smirnov, Cramer-Von Mises and Related Statistics without Extensive Tables",
    /// JRSS B 32 (1970).
    pub exact: bool,
}

/// Steps of the exact computation at most: 1,000 against 1,000 values, a few milliseconds.
const MOST_STEPS: usize = 1_000_000;

/// Compares two samples of finite values; `None` when one is empty.
pub fn compare(a: &[f64], b: &[f64]) -> Option<KolmogorovSmirnov> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (n, m) = (a.len(), b.len());
    let apart = apart(a, b);
    let distance = apart as f64 / (n as f64 * m as f64);
    let exact = n.saturating_mul(m) <= MOST_STEPS;
    Some(KolmogorovSmirnov {
        distance,
        p: match exact {
            true => exact_p(n, m, apart),
            false => limit_p(n as f64, m as f64, distance),
        },
        exact,
    })
}

/// The distance times `n m`: a whole number.
fn apart(a: &[f64], b: &[f64]) -> u64 {
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (a, b) = (sorted(a), sorted(b));
    let (mut i, mut j, mut most) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        i += a[i..].iter().take_while(|value| **value <= x).count();
        j += b[j..].iter().take_while(|value| **value <= x).count();
        let (up, down) = (i as u64 * b.len() as u64, j as u64 * a.len() as u64);
        most = most.max(up.abs_diff(down));
    }
    most
}

/// The probability that samples of one distribution are at least `apart / (n m)` apart: of all
/// orders of their values, the share that leaves the band (Hodges, "The Significance Probability
/// of the Smirnov Two-Sample Test", 1958).
fn exact_p(n: usize, m: usize, apart: u64) -> f64 {
    if apart == 0 {
        return 1.0;
    }
    let outside = |i: usize, j: usize| {
        let (up, down) = (i as u64 * m as u64, j as u64 * n as u64);
        up.abs_diff(down) >= apart
    };
    // left[j]: the share of the ways from (0, 0) to (i, j) that have left the band; small shares
    // keep their digits, which 1 - stayed would lose.
    let mut left = vec![0.0_f64; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            left[j] = match (i, j) {
                (0, 0) => 0.0,
                _ if outside(i, j) => 1.0,
                (0, _) => left[j - 1],
                (_, 0) => left[0],
                // The last step of a random way to (i, j) was along i with probability i / (i + j).
                _ => (left[j] * i as f64 + left[j - 1] * j as f64) / (i + j) as f64,
            };
        }
    }
    left[m].min(1.0)
}

fn limit_p(n: f64, m: f64, distance: f64) -> f64 {
    let effective = (n * m / (n + m)).sqrt();
    let lambda = (effective + 0.12 + 0.11 / effective) * distance;
    // Below this the alternating series has not converged, and the sum is 1 to nine digits.
    if lambda < 0.3 {
        return 1.0;
    }
    let terms = (1..=100).map(|k| {
        let k = f64::from(k);
        let sign = if k % 2.0 == 1.0 { 2.0 } else { -2.0 };
        sign * (-2.0 * k * k * lambda * lambda).exp()
    });
    terms.sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_scale() {
        let same = compare(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((same.distance, same.p), (0.0, 1.0));
        let apart = compare(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!(apart.distance, 1.0);
        // Two of the 20 orders of six values.
        assert!((apart.p - 0.1).abs() < 1e-15);
        assert_eq!(compare(&[], &[1.0]), None);
    }

    #[test]
    fn the_limit_is_near_the_exact_value() {
        for apart in [1_000, 1_400, 1_900, 2_500] {
            let exact = exact_p(100, 100, apart);
            let limit = limit_p(100.0, 100.0, apart as f64 / 10_000.0);
            assert!((exact - limit).abs() < 0.04, "{apart}: {exact} {limit}");
        }
    }
}
