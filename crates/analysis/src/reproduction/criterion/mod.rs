//! Is a criterion met? One file per kind; each gives what was asked and found, in figures.

mod factor;
mod gain;
mod monotone;
mod order;
mod range;
mod ratio;
mod share;

use super::select::Runs;
use super::{Finding, Judged};
use crate::metric::{Metric, Unit, list};
use crate::study::words;
use model::reproduction::{Criterion, Reproduction, Statistic, Test};

/// What a criterion is asked of.
struct Asked<'a> {
    metric: &'a Metric,
    statistic: Statistic,
    runs: &'a Runs<'a>,
}

/// What came of it.
struct Answer {
    finding: Finding,
    expected: String,
    found: String,
}

/// Holds the runs against one criterion of `paper`.
pub(super) fn judge(criterion: &Criterion, paper: &Reproduction, runs: &Runs<'_>) -> Judged {
    let Criterion {
        says,
        metric,
        statistic,
        world: _, // whoever asks has looked
        test,
    } = criterion;
    let answer = match list::find(metric) {
        None => Answer {
            finding: Finding::Open,
            expected: String::new(),
            found: format!("no metric is called `{metric}`"),
        },
        Some(metric) => {
            let asked = Asked {
                metric,
                statistic: *statistic,
                runs,
            };
            match test {
                Test::Ratio(test) => ratio::judge(test, &asked),
                Test::Monotone(test) => monotone::judge(test, &asked),
                Test::Order(test) => order::judge(test, &asked),
                Test::Factor(test) => factor::judge(test, paper, &asked),
                Test::Range(test) => range::judge(test, &asked),
                Test::Gain(test) => gain::judge(test, &asked),
                Test::Share(test) => share::judge(test, &asked),
            }
        }
    };
    let Answer {
        finding,
        expected,
        found,
    } = answer;
    Judged {
        says: says.clone(),
        finding,
        expected,
        found,
    }
}

/// The worst of several findings: one that is missed decides, then one that is open.
fn all(findings: impl Iterator<Item = Finding>) -> Finding {
    findings.fold(Finding::Met, |sum, one| match (sum, one) {
        (Finding::Missed, _) | (_, Finding::Missed) => Finding::Missed,
        (Finding::Open, _) | (_, Finding::Open) => Finding::Open,
        (Finding::Met, Finding::Met) => Finding::Met,
    })
}

/// `0.40 to 0.65`, `at most 1.6`, `at least 2.0`, `1.0`.
fn bounds([low, high]: [f64; 2], text: impl Fn(f64) -> String) -> String {
    match (low > f64::MIN && low != 0.0, high < f64::MAX) {
        (_, true) if low == high => text(low),
        (true, true) => format!("{} to {}", text(low), text(high)),
        (false, true) => format!("at most {}", text(high)),
        (true, false) => format!("at least {}", text(low)),
        (false, false) => "any".to_owned(),
    }
}

/// A value in a unit.
fn in_unit(unit: Unit) -> impl Fn(f64) -> String {
    move |value| words::value(value, unit)
}
