//! Is one value the right share or multiple of another?

use super::{Answer, Asked, Finding, bounds};
use crate::study::words;
use model::reproduction::Ratio;

pub(super) fn judge(test: &Ratio, asked: &Asked<'_>) -> Answer {
    let Ratio { of, to, within } = test;
    let expected = bounds(*within, words::ratio);
    let value = |selection| {
        let name = asked.metric.name;
        asked.runs.known(name, asked.statistic, selection)
    };
    let (above, below) = match (value(of), value(to)) {
        (Ok(above), Ok(below)) => (above, below),
        (Err(why), _) | (_, Err(why)) => {
            return Answer {
                finding: Finding::Open,
                expected,
                found: why,
            };
        }
    };
    let unit = asked.metric.unit;
    let parts = format!("{} / {}", above.text(unit), below.text(unit));
    match above.over(below) {
        Some(ratio) => Answer {
            finding: ratio.within(*within),
            expected,
            found: format!("{} = {parts}", ratio.plain()),
        },
        // Nothing over nothing is no ratio; something over nothing exceeds every bound.
        None => Answer {
            finding: match above.low > 0.0 && within[1].is_finite() {
                true => Finding::Missed,
                false => Finding::Open,
            },
            expected,
            found: parts,
        },
    }
}
