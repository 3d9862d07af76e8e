//! By how many multiples of a parameter is one smaller than the other?

use super::super::known::{Known, LEAST_RUNS};
use super::{Answer, Asked, Finding, all, bounds};
use model::reproduction::Gain;

pub(super) fn judge(test: &Gain, asked: &Asked<'_>) -> Answer {
    let Gain {
        of,
        against,
        per,
        within,
    } = test;
    let expected = format!(
        "{} of {per}",
        bounds(*within, |multiple| format!("{multiple:.2}"))
    );
    let open = |found: String| Answer {
        finding: Finding::Open,
        expected: expected.clone(),
        found,
    };
    let (mut findings, mut found) = (Vec::new(), Vec::new());
    for (value, size) in asked.runs.ascending(per) {
        let Some(size) = size.filter(|size| *size > 0.0) else {
            return open(format!("`{value}` of {per} is no quantity to measure in"));
        };
        let name = asked.metric.name;
        let (of, against) = (of.with(per, &value), against.with(per, &value));
        // Failed runs are told as everywhere.
        for side in [&of, &against] {
            if let Err(why) = asked.runs.enough(name, side) {
                return open(why);
            }
        }
        let gains = asked.runs.differences(name, &against, &of);
        if gains.len() < LEAST_RUNS {
            return open(format!(
                "{of}: {} pairs without a stall, {LEAST_RUNS} are needed",
                gains.len()
            ));
        }
        let Some(known) = Known::of(asked.statistic, &gains) else {
            return open(format!("{of}: no run"));
        };
        let multiple = Known::exactly(known.low / size);
        findings.push(multiple.within(*within));
        found.push(format!("{value}: {:.2}", multiple.low));
    }
    if findings.is_empty() {
        return open(format!("the study does not vary {per}"));
    }
    Answer {
        finding: all(findings.into_iter()),
        expected,
        found: found.join(", "),
    }
}
