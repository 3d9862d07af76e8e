//! Which case and which arm does each run of a study belong to, and in which order do they stand?

use super::{Study, StudyRun};
use serde::Serialize;
use std::collections::BTreeMap;

/// A scenario under one setting of the parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// `blackhole`, or `blackhole cellular-delay=60 ms`.
    pub label: String,
    /// The scenario's name.
    pub scenario: String,
    /// Each parameter's name and value, in the study's order.
    pub parameters: Vec<(String, String)>,
}

/// The cases and arms of a study, and each run's place.
pub(super) struct Layout {
    pub cases: Vec<Case>,
    pub arms: Vec<String>,
    /// Case and arm of each run.
    pub places: Vec<(usize, usize)>,
}

impl Layout {
    /// Cases in the order of the head's scenarios and values, arms in the head's order; what the
    /// head does not know comes last, in the order of its first run.
    pub fn of(study: &Study) -> Layout {
        let head = &study.head;
        let mut arms = head.arms.clone();
        // The place of a case in its order, and its first run.
        let mut cases: BTreeMap<Vec<usize>, &StudyRun> = BTreeMap::new();
        let mut unknown: Vec<(&str, &[(String, String)])> = Vec::new();
        let mut keys = Vec::with_capacity(study.runs.len());
        let mut run_arms = Vec::with_capacity(study.runs.len());
        for run in &study.runs {
            let arm = arm(&mut arms, &run.arm);
            run_arms.push(arm);
            let key = key(study, run).unwrap_or_else(|| {
                let this = (run.scenario.as_str(), run.parameters.as_slice());
                let place = unknown.iter().position(|other| *other == this);
                let place = place.unwrap_or_else(|| {
                    unknown.push(this);
                    unknown.len() - 1
                });
                vec![usize::MAX, place]
            });
            cases.entry(key.clone()).or_insert(run);
            keys.push(key);
        }
        let numbers: BTreeMap<&Vec<usize>, usize> = cases.keys().zip(0..).collect();
        let places = keys.iter().zip(&run_arms);
        Layout {
            places: places.map(|(key, arm)| (numbers[key], *arm)).collect(),
            cases: cases.values().map(|run| Case::of(run)).collect(),
            arms,
        }
    }
}

/// The case's place by scenario and values; `None` when the head does not know one of them.
fn key(study: &Study, run: &StudyRun) -> Option<Vec<usize>> {
    let head = &study.head;
    let scenario = head.scenarios.iter().position(|s| s.name == run.scenario)?;
    let values = run.parameters.iter().map(|(name, value)| {
        let parameter = head.parameters.iter().find(|p| p.name == *name)?;
        parameter.values.iter().position(|v| v == value)
    });
    std::iter::once(Some(scenario)).chain(values).collect()
}

/// The arm's place.
fn arm(arms: &mut Vec<String>, label: &str) -> usize {
    let known = arms.iter().position(|arm| arm == label);
    known.unwrap_or_else(|| {
        arms.push(label.to_owned());
        arms.len() - 1
    })
}

impl Case {
    fn of(run: &StudyRun) -> Case {
        Case {
            label: label(&run.scenario, &run.parameters),
            scenario: run.scenario.clone(),
            parameters: run.parameters.clone(),
        }
    }
}

/// `blackhole cellular-delay=60 ms, loss=1 %`.
pub(super) fn label(scenario: &str, parameters: &[(String, String)]) -> String {
    let settings: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    match settings.is_empty() {
        true => scenario.to_owned(),
        false => format!("{scenario} {}", settings.join(", ")),
    }
}
