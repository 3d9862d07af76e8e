//! What does one arm in one case come to on its own? The median and the distribution of the primary
//! metric.

use super::report::{Curve, CurveKind, Group, six};
use crate::metric::Observed;
use crate::statistics::{self, LEVEL, empirical, median, survival};

/// Points of a curve at most; all jumps are kept up to that.
const MOST_POINTS: usize = 200;

impl Group {
    /// Of `runs` runs, of which `failed` failed; `values` are those of the others. A survival curve
    /// is drawn when `kind` says so.
    pub(super) fn of(
        (case, arm): (usize, usize),
        (runs, failed): (usize, usize),
        values: &[Observed],
        kind: CurveKind,
    ) -> Group {
        let middle = median::median(values, LEVEL);
        let curve = match kind {
            CurveKind::Survival => survival::survival(values, LEVEL).curve,
            CurveKind::Cdf => {
                let values: Vec<f64> = values.iter().map(|value| value.value).collect();
                empirical::cdf(&values, LEVEL)
            }
        };
        Group {
            case,
            arm,
            runs,
            failed,
            censored: values.iter().filter(|value| value.censored).count(),
            median: middle.map(|m| six(m.value)),
            median_low: middle.and_then(|m| m.low).map(six),
            median_high: middle.and_then(|m| m.high).map(six),
            median_censored: middle.is_some_and(|m| m.censored),
            curve: Curve::of(kind, &curve),
        }
    }
}

impl Curve {
    fn of(kind: CurveKind, curve: &statistics::Curve) -> Curve {
        let statistics::Curve { x, y, low, high } = curve;
        let count = x.len().min(MOST_POINTS);
        // Evenly among the steps, the first and the last included.
        let place = |i: usize| match count {
            0 | 1 => 0,
            _ => i * (x.len() - 1) / (count - 1),
        };
        let thinned = |of: &[f64]| (0..count).map(|i| six(of[place(i)])).collect();
        Curve {
            kind,
            x: thinned(x),
            y: thinned(y),
            low: thinned(low),
            high: thinned(high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_are_thinned_and_keep_their_ends() {
        let exact = |value| Observed {
            value,
            censored: false,
        };
        let values: Vec<Observed> = (0..1_000).map(|i| exact(f64::from(i))).collect();
        let group = Group::of((0, 0), (1_000, 0), &values, CurveKind::Cdf);
        let Curve { x, y, .. } = group.curve;
        assert_eq!(x.len(), MOST_POINTS);
        assert_eq!((x[0], x[199], y[0], y[199]), (0.0, 999.0, 0.001, 1.0));
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]));
        let all = Group::of((0, 0), (200, 0), &values[..200], CurveKind::Survival);
        assert_eq!(all.curve.x.len(), 200);
        assert!(
            Group::of((0, 0), (0, 0), &[], CurveKind::Cdf)
                .curve
                .x
                .is_empty()
        );
    }
}
