//! How do rows at any times become short columns? By bins of equal width, and by differences.

use serde::Serialize;

/// How finely the runs of a report are drawn: the more runs, the coarser.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    bins: u64,
}

impl Detail {
    /// Of a report of this many runs.
    pub(super) fn of(runs: usize) -> Detail {
        // Ten runs of two minutes keep 100 ms; below 240 bins a panel looks coarse.
        Detail {
            bins: (12_000 / runs.max(1) as u64).clamp(240, 1_200),
        }
    }

    /// The width of a bin of a run that lasts `duration_ms`: a multiple of `least_ms`.
    pub(super) fn step_ms(self, duration_ms: u64, least_ms: u64) -> u64 {
        duration_ms.div_ceil(self.bins * least_ms).max(1) * least_ms
    }
}

/// A value per bin of equal width, the first bin beginning at 0; `None` where nothing was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Grid {
    /// Width of a bin; 0 when there is no value at all.
    pub step_ms: u64,
    /// The bins, up to the last that has a value.
    pub values: Vec<Option<u64>>,
}

impl Grid {
    /// Puts `(time in microseconds, value)` into bins of `step_ms`; `keep` chooses between the
    /// value of a bin so far and a later one.
    ///
    /// # Panics
    /// When `step_ms` is 0.
    pub fn of(
        step_ms: u64,
        rows: impl IntoIterator<Item = (u64, Option<u64>)>,
        keep: fn(u64, u64) -> u64,
    ) -> Grid {
        assert!(step_ms > 0, "a bin has a width");
        let mut values: Vec<Option<u64>> = Vec::new();
        for (time_us, value) in rows {
            let Some(value) = value else { continue };
            let bin = (time_us / 1_000 / step_ms) as usize;
            if bin >= MOST_BINS {
                continue;
            }
            if values.len() <= bin {
                values.resize(bin + 1, None);
            }
            values[bin] = Some(values[bin].map_or(value, |old| keep(old, value)));
        }
        if values.is_empty() {
            return Grid::default();
        }
        Grid { step_ms, values }
    }
}

/// A later row beyond this many bins is left out: a time of a damaged table must not take all
/// memory. At 100 ms it is more than a day.
pub(super) const MOST_BINS: usize = 1_000_000;

/// Differences between ascending values; the first is the value itself.
pub(super) fn deltas(values: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut before = 0;
    values
        .into_iter()
        .map(|value| {
            let delta = value.saturating_sub(before);
            before = before.max(value);
            delta
        })
        .collect()
}

/// `value / unit`, rounded to the nearest.
pub(super) fn quantise(value: u64, unit: u64) -> u64 {
    value.saturating_add(unit / 2) / unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_keeps_what_it_is_told_to() {
        let rows = [
            (0, Some(5)),
            (90_000, Some(3)),
            (250_000, Some(1)),
            (260_000, None),
        ];
        let most = Grid::of(100, rows, u64::max);
        assert_eq!(most.values, [Some(5), None, Some(1)]);
        let last = Grid::of(100, rows, |_, new| new);
        assert_eq!(last.values, [Some(3), None, Some(1)]);
        assert_eq!(Grid::of(100, [(7, None)], u64::max), Grid::default());
    }

    #[test]
    fn more_runs_and_longer_runs_are_drawn_coarser() {
        assert_eq!(Detail::of(10).step_ms(110_000, 100), 100);
        assert_eq!(Detail::of(10).step_ms(3_600_000, 100), 3_000);
        assert_eq!(Detail::of(50).step_ms(110_000, 100), 500);
        assert_eq!(Detail::of(0).step_ms(0, 200), 200);
    }

    #[test]
    fn a_damaged_time_does_not_take_all_memory() {
        assert_eq!(
            Grid::of(1, [(u64::MAX, Some(1))], u64::max),
            Grid::default()
        );
    }

    #[test]
    fn differences_add_up_to_the_values() {
        assert_eq!(deltas([3, 3, 10]), [3, 0, 7]);
        assert_eq!(quantise(149, 100), 1);
        assert_eq!(quantise(150, 100), 2);
    }
}
