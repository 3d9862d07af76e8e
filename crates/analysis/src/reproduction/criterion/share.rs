//! Do enough of the runs stay below a bound, and not too many?

use super::super::known::Known;
use super::{Answer, Asked, Finding, bounds, in_unit};
use crate::metric::Unit;
use model::reproduction::Share;

pub(super) fn judge(test: &Share, asked: &Asked<'_>) -> Answer {
    let Share {
        of,
        at_most,
        within,
    } = test;
    let unit = asked.metric.unit;
    let expected = format!(
        "at most {} in {} of the runs",
        in_unit(unit)(*at_most),
        bounds(*within, in_unit(Unit::Share))
    );
    let values = match asked.runs.enough(asked.metric.name, of) {
        Ok(values) => values,
        Err(found) => {
            return Answer {
                finding: Finding::Open,
                expected,
                found,
            };
        }
    };
    // A lower bound beyond it is beyond it; one below may be on either side.
    let below = |value: f64| value <= *at_most;
    let sure = values
        .iter()
        .filter(|v| !v.censored && below(v.value))
        .count();
    let perhaps = values.iter().filter(|v| below(v.value)).count();
    let all = values.len();
    let share = Known {
        low: sure as f64 / all as f64,
        high: perhaps as f64 / all as f64,
    };
    Answer {
        finding: share.within(*within),
        expected,
        found: match sure == perhaps {
            true => format!("{sure} of {all} runs"),
            false => format!("{sure} to {perhaps} of {all} runs"),
        },
    }
}
