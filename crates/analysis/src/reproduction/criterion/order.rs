//! Do values of several selections come in an order, everywhere along a parameter?

use super::{Answer, Asked, Finding, all};
use model::reproduction::Order;

pub(super) fn judge(test: &Order, asked: &Asked<'_>) -> Answer {
    let Order {
        least_first,
        along,
        only,
        slack,
    } = test;
    let names: Vec<String> = least_first.iter().map(ToString::to_string).collect();
    let mut expected = names.join(" <= ");
    if *slack > 0.0 {
        expected.push_str(&format!(", but for {:.0} %", 100.0 * slack));
    }
    let places: Vec<Option<String>> = match along {
        None => vec![None],
        Some(name) => {
            let values = asked
                .runs
                .ascending(name)
                .into_iter()
                .map(|(value, _)| value);
            let asked_for = values.filter(|value| only.is_empty() || only.contains(value));
            asked_for.map(Some).collect()
        }
    };
    let mut findings = Vec::new();
    let mut found = Vec::new();
    for place in &places {
        let mut values = Vec::new();
        for selection in least_first {
            let selection = match (along, place) {
                (Some(name), Some(value)) => selection.with(name, value),
                _ => selection.clone(),
            };
            let name = asked.metric.name;
            match asked.runs.known(name, asked.statistic, &selection) {
                Ok(known) => values.push(known),
                Err(found) => {
                    return Answer {
                        finding: Finding::Open,
                        expected,
                        found,
                    };
                }
            }
        }
        let steps = values
            .windows(2)
            .map(|pair| pair[1].reaches(pair[0], 1.0 - slack));
        findings.push(all(steps));
        let words: Vec<String> = values
            .iter()
            .map(|known| known.text(asked.metric.unit))
            .collect();
        let at = place.as_ref().map_or(String::new(), |at| format!("{at}: "));
        found.push(format!("{at}{}", words.join(", ")));
    }
    Answer {
        finding: match findings.is_empty() {
            true => Finding::Open,
            false => all(findings.into_iter()),
        },
        expected,
        found: found.join("; "),
    }
}
