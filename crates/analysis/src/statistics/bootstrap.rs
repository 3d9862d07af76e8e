//! How far may the mean over blocks be off? The bias-corrected and accelerated (BCa) bootstrap:
//! B. Efron, "Better Bootstrap Confidence Intervals", JASA 82 (1987); the acceleration by the
//! jackknife as in Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), section 14.3.

use super::{Interval, normal};
use rand::Rng;

/// Resamples of a report's intervals.
pub const RESAMPLES: usize = 10_000;

/// Blocks below which no interval is given: two values say nothing of a distribution's shape.
pub const LEAST_BLOCKS: usize = 3;

/// What resampling came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bootstrap {
    /// Fewer than [`LEAST_BLOCKS`] blocks: no interval.
    TooFew,
    /// Every block has this value: every resample has it too, and the interval is a point. It
    /// says that the blocks do not differ, not that the value is known without error.
    Constant(f64),
    /// The interval.
    Interval(Interval),
}

impl Bootstrap {
    /// The interval, a point for a constant.
    pub fn interval(&self) -> Option<Interval> {
        match *self {
            Bootstrap::TooFew => None,
            Bootstrap::Constant(value) => Some(Interval {
                low: value,
                high: value,
            }),
            Bootstrap::Interval(interval) => Some(interval),
        }
    }
}

/// The BCa interval of the mean of `blocks`, one finite value per block, from `resamples`
/// resamples of whole blocks. The same values and the same generator give the same interval.
///
/// # Panics
/// When `resamples` is 0 or there are 2^32 blocks.
pub fn mean(blocks: &[f64], level: f64, resamples: usize, random: &mut impl Rng) -> Bootstrap {
    assert!(resamples > 0, "an interval needs resamples");
    let count = u32::try_from(blocks.len()).expect("fewer than 2^32 blocks");
    if blocks.len() < LEAST_BLOCKS {
        return Bootstrap::TooFew;
    }
    if blocks.iter().all(|value| *value == blocks[0]) {
        return Bootstrap::Constant(blocks[0]);
    }
    let n = f64::from(count);
    let centre = blocks.iter().sum::<f64>() / n;
    // Of the distances from the mean: what is near 0 keeps its digits.
    let distances: Vec<f64> = blocks.iter().map(|value| value - centre).collect();
    let mut means = resampled(&distances, count, resamples, random);

    // Equal means that were summed in another order differ by rounding only.
    let equal = 1e-12 * distances.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    let below = means.iter().filter(|mean| **mean < -equal).count();
    let at = means.iter().filter(|mean| mean.abs() <= equal).count();
    let total = resamples as f64;
    // Half of the resamples at the mean count as below it; never none and never all.
    let share = (below as f64 + at as f64 / 2.0) / total;
    let bias = normal::quantile(share.clamp(0.5 / total, 1.0 - 0.5 / total));
    // The jackknife's values of a mean lie as far from their mean as the values do, over n - 1:
    // the factor cancels.
    let squares: f64 = distances.iter().map(|d| d * d).sum();
    let cubes: f64 = distances.iter().map(|d| d * d * d).sum();
    let acceleration = cubes / (6.0 * squares.powf(1.5));

    let least = blocks.iter().copied().fold(f64::INFINITY, f64::min);
    let most = blocks.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut end = |z: f64| {
        let shifted = bias + z;
        let stretch = 1.0 - acceleration * shifted;
        // At and beyond the pole the end is the outermost resample.
        let p = match stretch > 0.0 {
            true => normal::cdf(bias + shifted / stretch),
            false => f64::from(u8::from(shifted > 0.0)),
        };
        // A mean lies among its values; rounding may not push it out.
        (centre + percentile(&mut means, p)).clamp(least, most)
    };
    let reach = normal::reach(level);
    Bootstrap::Interval(Interval {
        low: end(-reach),
        high: end(reach),
    })
}

/// The means of `resamples` draws of as many values as there are, with replacement.
fn resampled(values: &[f64], count: u32, resamples: usize, random: &mut impl Rng) -> Vec<f64> {
    // Lemire, "Fast Random Integer Generation in an Interval" (2019), without its rejection:
    // the bias is below count / 2^32. A word of the generator makes two draws.
    let draw = |word: u32| values[((u64::from(word) * u64::from(count)) >> 32) as usize];
    let mut means = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        let mut sum = 0.0;
        for _ in 0..count / 2 {
            let word = random.next_u64();
            sum += draw(word as u32) + draw((word >> 32) as u32);
        }
        if count % 2 == 1 {
            sum += draw((random.next_u64() >> 32) as u32);
        }
        means.push(sum / f64::from(count));
    }
    means
}

/// The `p`-quantile, interpolated between two ranks (Hyndman and Fan, type 7). Reorders `values`.
fn percentile(values: &mut [f64], p: f64) -> f64 {
    let rank = p.clamp(0.0, 1.0) * (values.len() - 1) as f64;
    let (_, below, above) = values.select_nth_unstable_by(rank.floor() as usize, f64::total_cmp);
    let below = *below;
    match above.iter().copied().min_by(f64::total_cmp) {
        Some(next) => below + (next - below) * rank.fract(),
        None => below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64;

    fn of(blocks: &[f64]) -> Bootstrap {
        mean(blocks, 0.95, 2_000, &mut Pcg64::seed_from_u64(1))
    }

    #[test]
    fn what_cannot_be_resampled_is_said() {
        assert_eq!(of(&[]), Bootstrap::TooFew);
        assert_eq!(of(&[1.0, 2.0]).interval(), None);
        assert_eq!(of(&[0.5; 30]), Bootstrap::Constant(0.5));
        assert_eq!(of(&[0.5; 30]).interval().unwrap().low, 0.5);
    }

    #[test]
    fn one_block_that_differs_still_has_an_interval_in_its_range() {
        let mut blocks = vec![0.0; 99];
        blocks.push(1.0);
        let interval = of(&blocks).interval().unwrap();
        assert!(interval.low >= 0.0 && interval.high <= 0.2, "{interval:?}");
        assert!(interval.covers(0.01), "{interval:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let blocks: Vec<f64> = (0..31).map(|i| f64::from(i * i % 17)).collect();
        assert_eq!(of(&blocks), of(&blocks));
    }
}
