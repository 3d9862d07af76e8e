//! How long does a stall last when the run often ends first? The product-limit estimate: Kaplan and
//! Meier, "Nonparametric Estimation from Incomplete Observations", JASA 53 (1958), with Greenwood's
//! variance and the pointwise log-log band (Kalbfleisch and Prentice, section 1.4).

use super::{Curve, normal};
use crate::metric::Observed;

/// A survival function.
#[derive(Clone, PartialEq, Debug)]
pub struct Survival {
    /// P(value > x) at every distinct exact value, and at the last censored one when it is the
    /// largest of all. 1 before the first.
    pub curve: Curve,
    /// The first value at which no more than half survive; `None` when it never comes to that.
    pub median: Option<f64>,
    /// The first value at which the band's lower end is at most one half.
    pub median_low: Option<f64>,
    /// The first value at which the band's upper end is at most one half.
    pub median_high: Option<f64>,
}

/// The survival function of `values`. A value that is a lower bound leaves those at risk just
/// after it: at equal values the exact ones come first.
pub fn survival(values: &[Observed], level: f64) -> Survival {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| {
        a.value
            .total_cmp(&b.value)
            .then(a.censored.cmp(&b.censored))
    });
    let n = sorted.len();
    let reach = normal::reach(level);
    // Before anything happened the log-log band is undefined: what n survivors of n leave open
    // is (1 - level) / 2 = low^n (Clopper and Pearson).
    let mut band = (((1.0 - level) / 2.0).powf(1.0 / n as f64), 1.0);
    let (mut alive, mut sum) = (1.0_f64, 0.0);
    let mut at_risk = n;
    let mut curve = Curve::default();
    for equal in sorted.chunk_by(|a, b| a.value == b.value) {
        let happened = equal.iter().filter(|value| !value.censored).count();
        if happened > 0 {
            let (d, r) = (happened as f64, at_risk as f64);
            alive *= 1.0 - d / r;
            sum += d / (r * (r - d));
            band = match happened == at_risk {
                // Nothing survives: the variance is undefined, and the upper end can't rise.
                true => (0.0, band.1),
                false => log_log(alive, sum, reach),
            };
        }
        at_risk -= equal.len();
        if happened > 0 || at_risk == 0 {
            curve.x.push(equal[0].value);
            curve.y.push(alive);
            curve.low.push(band.0);
            curve.high.push(band.1);
        }
    }
    let half = |of: &[f64]| {
        // Half of an even number may miss one half by rounding.
        let place = of.iter().position(|y| *y <= 0.5 + 1e-12)?;
        Some(curve.x[place])
    };
    Survival {
        median: half(&curve.y),
        median_low: half(&curve.low),
        median_high: half(&curve.high),
        curve,
    }
}

/// The band of `alive` with Greenwood's `sum`, symmetric in ln(-ln(S)).
fn log_log(alive: f64, sum: f64, reach: f64) -> (f64, f64) {
    let width = reach * sum.sqrt() / alive.ln().abs();
    (alive.powf(width.exp()), alive.powf((-width).exp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_all_stall_nothing_is_known_beyond() {
        let of = survival(
            &[Observed {
                value: 20.0,
                censored: true,
            }; 100],
            0.95,
        );
        assert_eq!((of.curve.x, of.curve.y), (vec![20.0], vec![1.0]));
        assert!(of.curve.low[0] > 0.96 && of.curve.low[0] < 0.97);
        assert_eq!(
            (of.median, of.median_low, of.median_high),
            (None, None, None)
        );
    }

    #[test]
    fn of_nothing() {
        assert!(survival(&[], 0.95).curve.x.is_empty());
    }
}
