//! How does a report hold ten thousand runs and all their values? In columns, with six digits.

use super::layout::Layout;
use super::report::{ParameterAxis, six};
use super::{ParameterHead, Study, StudyRun};
use crate::metric::{Unit, list::METRICS};
use model::units::{BitRate, ByteSize, Probability, Span};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Every run of a study, a value per run in each column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Runs {
    /// The case, by its place.
    pub case: Vec<usize>,
    /// The arm, by its place.
    pub arm: Vec<usize>,
    /// 0; 1 for the second copy in an A/A study.
    pub replica: Vec<u64>,
    /// The seed.
    pub seed: Vec<u64>,
    /// 1 for a run that did not end as planned.
    pub failed: Vec<u8>,
    /// The run folder, relative to the study's, where it was kept.
    pub folder: Vec<Option<String>>,
    /// The commands that repeat the runs.
    pub reproduce: Reproduce,
    /// The values of each metric that is a number.
    pub values: BTreeMap<&'static str, Vec<Option<Figure>>>,
    /// The runs whose value is only a lower bound, by metric; metrics without are left out.
    pub censored: BTreeMap<&'static str, Vec<usize>>,
}

/// The commands that repeat runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reproduce {
    /// By case and arm: the command, to which the seed is appended.
    pub template: Vec<Vec<Option<String>>>,
}

/// A number to six significant digits; in JSON a whole one has no point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure(pub f64);

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            true => serializer.serialize_i64(self.0 as i64),
            false => serializer.serialize_f64(self.0),
        }
    }
}

impl Runs {
    pub(super) fn of(study: &Study, layout: &Layout) -> Runs {
        let runs = &study.runs;
        let mut template = vec![vec![None; layout.arms.len()]; layout.cases.len()];
        for (run, (case, arm)) in runs.iter().zip(&layout.places) {
            template[*case][*arm].get_or_insert_with(|| without_seed(run));
        }
        let mut values = BTreeMap::new();
        let mut censored = BTreeMap::new();
        for (place, metric) in METRICS.iter().enumerate() {
            if metric.unit == Unit::Word {
                continue;
            }
            let number = |run: &StudyRun| {
                let number = run.values.get(place)?.as_ref()?.number()?;
                number.value.is_finite().then_some(number)
            };
            let numbers = runs.iter().map(|run| Some(Figure(six(number(run)?.value))));
            values.insert(metric.name, numbers.collect());
            let bounds = runs.iter().enumerate().filter_map(|(i, run)| {
                let is_bound = number(run).is_some_and(|number| number.censored);
                is_bound.then_some(i)
            });
            let bounds: Vec<usize> = bounds.collect();
            if !bounds.is_empty() {
                censored.insert(metric.name, bounds);
            }
        }
        Runs {
            case: layout.places.iter().map(|(case, _)| *case).collect(),
            arm: layout.places.iter().map(|(_, arm)| *arm).collect(),
            replica: runs.iter().map(|run| run.replica).collect(),
            seed: runs.iter().map(|run| run.seed).collect(),
            failed: runs
                .iter()
                .map(|run| u8::from(!run.is_complete()))
                .collect(),
            folder: runs.iter().map(|run| run.folder.clone()).collect(),
            reproduce: Reproduce { template },
            values,
            censored,
        }
    }
}

/// `walkabout run blackhole --seed 7 --world virtual` as
/// `walkabout run blackhole --world virtual --seed `.
fn without_seed(run: &StudyRun) -> String {
    let seed = run.seed.to_string();
    let words: Vec<&str> = run.reproduce.split(' ').collect();
    let place = words
        .windows(2)
        .position(|pair| pair[0] == "--seed" && pair[1] == seed);
    let mut rest = words.clone();
    if let Some(place) = place {
        rest.drain(place..place + 2);
    }
    format!("{} --seed ", rest.join(" "))
}

impl ParameterAxis {
    pub(crate) fn of(parameter: &ParameterHead) -> ParameterAxis {
        let ParameterHead { name, key, values } = parameter;
        let (numbers, unit) = match quantities(values) {
            Some((numbers, unit)) => (Some(numbers), Some(unit)),
            None => (None, None),
        };
        ParameterAxis {
            name: name.clone(),
            key: key.clone(),
            values: values.clone(),
            numbers,
            unit,
        }
    }
}

/// The values as numbers with their unit, when all are quantities of one kind.
fn quantities(values: &[String]) -> Option<(Vec<f64>, &'static str)> {
    let all = |read: fn(&str) -> Option<f64>| -> Option<Vec<f64>> {
        values.iter().map(|value| read(value)).collect()
    };
    let span = |text: &str| Some(text.parse::<Span>().ok()?.get().as_secs_f64());
    let rate = |text: &str| Some(text.parse::<BitRate>().ok()?.bits_per_second() as f64);
    let size = |text: &str| Some(text.parse::<ByteSize>().ok()?.bytes() as f64);
    let share = |text: &str| Some(text.parse::<Probability>().ok()?.get());
    let number = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite());
    if values.is_empty() {
        return None;
    }
    all(span)
        .map(|numbers| (numbers, "s"))
        .or_else(|| Some((all(rate)?, "bit/s")))
        .or_else(|| Some((all(size)?, "B")))
        .or_else(|| Some((all(number)?, "1")))
        .or_else(|| Some((all(share)?, "1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_are_quantities_have_numbers() {
        let of = |values: &[&str]| {
            quantities(&values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["30 ms", "1.5 s"]), Some((vec![0.03, 1.5], "s")));
        assert_eq!(of(&["2 Mbit/s"]), Some((vec![2e6], "bit/s")));
        assert_eq!(of(&["64 KiB"]), Some((vec![65_536.0], "B")));
        assert_eq!(of(&["1 %", "0.02"]), Some((vec![0.01, 0.02], "1")));
        assert_eq!(of(&["3", "5"]), Some((vec![3.0, 5.0], "1")));
        assert_eq!(of(&["30 ms", "codel"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn whole_numbers_have_no_point() {
        let json = serde_json::to_string(&[Figure(20.0), Figure(0.25), Figure(-3.0)]).unwrap();
        assert_eq!(json, "[20,0.25,-3]");
    }
}
