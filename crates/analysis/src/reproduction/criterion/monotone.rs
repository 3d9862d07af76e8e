//! Does a value go one way along a parameter?

use super::super::known::Known;
use super::{Answer, Asked, Finding, all};
use model::reproduction::{Monotone, Trend};

pub(super) fn judge(test: &Monotone, asked: &Asked<'_>) -> Answer {
    let Monotone {
        of,
        along,
        direction,
        slack,
    } = test;
    let verb = match direction {
        Trend::Rises => "rises",
        Trend::Falls => "falls",
    };
    let expected = match slack {
        0.0 => format!("{verb} with {along}"),
        slack => format!("{verb} with {along}, but for {:.0} %", 100.0 * slack),
    };
    let mut points = Vec::new();
    for (value, _) in asked.runs.ascending(along) {
        let selection = of.with(along, &value);
        let known = asked
            .runs
            .known(asked.metric.name, asked.statistic, &selection);
        match known {
            Ok(known) => points.push((value, known)),
            Err(found) => {
                return Answer {
                    finding: Finding::Open,
                    expected,
                    found,
                };
            }
        }
    }
    // Of two neighbours the one that should be greater reaches the other, but for the slack.
    let step = |from: &Known, to: &Known, share: f64| match direction {
        Trend::Rises => to.reaches(*from, share),
        Trend::Falls => from.reaches(*to, share),
    };
    let steps = points
        .windows(2)
        .map(|pair| step(&pair[0].1, &pair[1].1, 1.0 - slack));
    let ends = match &points[..] {
        [first, .., last] => {
            let whole = step(&first.1, &last.1, 1.0);
            // Flat is neither a rise nor a fall.
            match whole == Finding::Met && first.1 == last.1 {
                true => Finding::Missed,
                false => whole,
            }
        }
        _ => Finding::Open,
    };
    let unit = asked.metric.unit;
    let found = points
        .iter()
        .map(|(value, known)| format!("{value}: {}", known.text(unit)));
    Answer {
        finding: all(steps.chain([ends])),
        expected,
        found: found.collect::<Vec<_>>().join(", "),
    }
}
