//! How late the emulator was: a histogram of the time between an event's due time and its doing.

use model::manifest::Timing;
use std::time::Duration;

/// Steps per power of two: a reading is at most 1/64 too high.
const STEPS: u32 = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// A histogram whose steps grow with the value.
#[derive(Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    greatest: u64,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram {
            counts: vec![0; step_of(u64::MAX) + 1],
            total: 0,
            greatest: 0,
        }
    }

    /// Counts one value.
    pub fn add(&mut self, value: Duration) {
        let nanos = value.as_nanos().min(u128::from(u64::MAX)) as u64;
        self.counts[step_of(nanos)] += 1;
        self.total += 1;
        self.greatest = self.greatest.max(nanos);
    }

    /// The value, in nanoseconds, that a share `q` of the values does not exceed (nearest rank,
    /// rounded up to the end of its step); zero when there are none.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((self.total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        step.map_or(0, |step| end_of(step).min(self.greatest))
    }

    /// The manifest's summary, held against a `bound` on the 99th percentile.
    pub fn timing(&self, bound: Duration) -> Timing {
        let p99 = self.quantile(0.99);
        let bound = bound.as_nanos() as u64;
        Timing {
            packets: self.total,
            lateness_p50_ns: self.quantile(0.5),
            lateness_p99_ns: p99,
            lateness_max_ns: self.greatest,
            bound_p99_ns: bound,
            kept: p99 <= bound,
        }
    }
}

fn step_of(value: u64) -> usize {
    if value < u64::from(STEPS) {
        return value as usize;
    }
    let shift = value.ilog2() - STEP_BITS;
    (shift * STEPS) as usize + (value >> shift) as usize
}

/// The greatest value of a step.
fn end_of(step: usize) -> u64 {
    let step = step as u64;
    let steps = u64::from(STEPS);
    if step < 2 * steps {
        return step;
    }
    let shift = step / steps - 1;
    // The last step ends at the greatest number, one short of what the shift would give.
    let next = u128::from(step % steps + steps + 1) << shift;
    (next - 1).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_contiguous_and_narrow() {
        let mut values: Vec<u64> = (0..1000).collect();
        values.extend((0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        values.push(u64::MAX);
        for value in values {
            let end = end_of(step_of(value));
            assert!(end >= value, "{value} ends at {end}");
            assert!(end - value <= value / 64, "{value} ends at {end}");
            assert!(end == u64::MAX || step_of(end + 1) == step_of(value) + 1);
        }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.99), 0);
        for micros in 1..=100 {
            histogram.add(Duration::from_micros(micros));
        }
        let timing = histogram.timing(Duration::from_micros(500));
        assert_eq!(timing.packets, 100);
        assert!((50_000..=50_800).contains(&timing.lateness_p50_ns));
        assert!((99_000..=100_000).contains(&timing.lateness_p99_ns));
        assert_eq!(timing.lateness_max_ns, 100_000);
        assert!(timing.kept);
        assert!(!histogram.timing(Duration::from_micros(90)).kept);
    }
}
