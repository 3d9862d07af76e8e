//! Luck or effect? One file per method, pure functions over slices; what is random takes its
//! generator from the caller. `docs/statistics.md` says which method a report uses, and why.

pub mod bootstrap;
pub mod empirical;
pub mod hodges_lehmann;
pub mod holm;
pub mod kolmogorov_smirnov;
pub mod median;
mod normal;
pub mod proportion;
pub mod ratio;
pub mod survival;
pub mod wilcoxon;

use serde::Serialize;

/// The confidence level of every interval and band of a report.
pub const LEVEL: f64 = 0.95;

/// From where to where a quantity may lie.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it, ends included.
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Both ends through `of`, which must not fall: `f64::exp` makes ratios of log-ratios.
    pub fn map(&self, of: fn(f64) -> f64) -> Interval {
        Interval {
            low: of(self.low),
            high: of(self.high),
        }
    }
}

/// A step function with a confidence band: `y[i]` holds from `x[i]` to just before `x[i + 1]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// Where it steps, ascending.
    pub x: Vec<f64>,
    /// Its value from there on.
    pub y: Vec<f64>,
    /// The lower end of the band.
    pub low: Vec<f64>,
    /// The upper end of the band.
    pub high: Vec<f64>,
}
