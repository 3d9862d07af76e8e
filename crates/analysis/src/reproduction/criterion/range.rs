//! Is a value within bounds?

use super::{Answer, Asked, Finding, bounds, in_unit};
use model::reproduction::Range;

pub(super) fn judge(test: &Range, asked: &Asked<'_>) -> Answer {
    let Range { of, within } = test;
    let unit = asked.metric.unit;
    let known = asked.runs.known(asked.metric.name, asked.statistic, of);
    Answer {
        expected: bounds(*within, in_unit(unit)),
        finding: match &known {
            Ok(known) => known.within(*within),
            Err(_) => Finding::Open,
        },
        found: match known {
            Ok(known) => known.text(unit),
            Err(why) => why,
        },
    }
}
