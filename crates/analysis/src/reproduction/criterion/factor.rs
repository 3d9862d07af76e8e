//! Is each of the paper's numbers on a curve met, but for a factor?

use super::{Answer, Asked, Finding, all};
use crate::study::words;
use model::reproduction::{Curve, Factor, Figure, Reproduction, Selection};

pub(super) fn judge(test: &Factor, paper: &Reproduction, asked: &Asked<'_>) -> Answer {
    let Factor { curve, most } = test;
    let expected = format!("{curve}: within a factor {}", words::ratio(*most));
    let open = |found: String| Answer {
        finding: Finding::Open,
        expected: expected.clone(),
        found,
    };
    let curves = paper.figures.iter();
    let mut curves = curves.flat_map(|figure| figure.curves.iter().map(move |c| (figure, c)));
    let Some((figure, curve)) = curves.find(|(_, c)| c.name == *curve) else {
        return open(format!("no curve is called `{curve}`"));
    };
    let (mut findings, mut found) = (Vec::new(), Vec::new());
    for (at, selection, number) in numbers(figure, curve, asked) {
        let known = asked
            .runs
            .known(asked.metric.name, asked.statistic, &selection);
        match known {
            Ok(known) => {
                findings.push(known.within([number / most, number * most]));
                let unit = asked.metric.unit;
                found.push(format!(
                    "{at}{} against {}",
                    known.text(unit),
                    words::value(number, unit)
                ));
            }
            Err(why) => return open(why),
        }
    }
    if findings.is_empty() {
        return open("the curve has no number of the paper".to_owned());
    }
    Answer {
        finding: all(findings.into_iter()),
        expected,
        found: found.join(", "),
    }
}

/// The paper's numbers on the curve: where (for the text), the runs, and the number.
fn numbers(figure: &Figure, curve: &Curve, asked: &Asked<'_>) -> Vec<(String, Selection, f64)> {
    let Some(along) = &figure.along else {
        let value = curve.value.into_iter();
        return value
            .map(|number| (String::new(), curve.of.clone(), number))
            .collect();
    };
    let values = asked.runs.ascending(along).into_iter();
    values
        .filter_map(|(value, _)| {
            let number = *curve.values.get(&value)?;
            let selection = curve.of.with(along, &value);
            Some((format!("{value}: "), selection, number))
        })
        .collect()
}
