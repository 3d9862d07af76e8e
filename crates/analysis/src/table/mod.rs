//! What does a set of runs come to? One row per scenario, transport and policy, one column per
//! metric, over all repetitions.

mod cell;

pub use cell::{Cell, Part, Text};

use crate::folder::{RunFolder, settings};
use crate::metric::list::METRICS;
use crate::metric::{Unit, Value};
use model::manifest::Status;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the JSON form says it is.
pub const SCHEMA: &str = "walkabout.table/1";

/// The parts of the printed table, each narrow enough for a terminal: their columns by the names
/// of the metrics, in order. The JSON form has every metric.
pub const PARTS: &[&[&str]] = &[
    &[
        "delay-max-up",
        "delay-max-down",
        "delay-p95-up",
        "delay-p95-down",
        "delay-median-up",
        "delay-median-down",
        "unanswered-up",
        "unanswered-down",
        "completion-time",
    ],
    &[
        "handover-sent",
        "handover-received",
        "cellular-cause",
        "cellular-bytes",
        "cellular-share",
    ],
    &[
        "cellular-power",
        "cellular-energy",
        "cellular-energy-above-idle",
        "cellular-energy-before-failure",
        "cellular-promotions",
        "wifi-power",
        "wifi-energy",
        "measured-energy",
    ],
    &["playout-start", "stalls", "stall-longest", "stall-total"],
];

/// The columns of all parts.
pub fn columns() -> impl Iterator<Item = &'static str> {
    PARTS.iter().flat_map(|part| part.iter().copied())
}

/// The result table as data.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Table {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Every metric, sorted by name.
    pub columns: Vec<Column>,
    /// In the order of the runs' scenarios, and of transports and policies within each.
    pub rows: Vec<Row>,
}

/// A metric's column.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Column {
    /// The metric's name.
    pub name: &'static str,
    /// A short name, without the unit.
    pub heading: &'static str,
    /// The unit of its numbers.
    pub unit: Unit,
    /// What it means.
    pub summary: &'static str,
}

/// The runs of one transport under one policy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The scenario's name, and what tells its settings apart where there are several.
    pub scenario: String,
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// How many runs.
    pub runs: usize,
    /// What is wrong with some of them, in words; empty when nothing is.
    pub notes: Vec<String>,
    /// The value of each metric that has one, by its name.
    pub cells: BTreeMap<&'static str, Cell>,
}

impl Table {
    /// The table of `runs`.
    pub fn of(runs: &[RunFolder]) -> Table {
        let mut groups: Vec<(Key, Vec<&RunFolder>)> = Vec::new();
        let settings = settings(runs);
        let mut scenarios: Vec<&str> = Vec::new();
        for (run, scenario) in runs.iter().zip(&settings) {
            if !scenarios.contains(&scenario.as_str()) {
                scenarios.push(scenario);
            }
            let key = Key::of(run, scenario, &scenarios);
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, group)) => group.push(run),
                None => groups.push((key, vec![run])),
            }
        }
        groups.sort_by(|(a, _), (b, _)| a.cmp(b));
        let columns = METRICS.iter().map(|metric| Column {
            name: metric.name,
            heading: metric.heading,
            unit: metric.unit,
            summary: metric.summary,
        });
        Table {
            schema: SCHEMA,
            columns: columns.collect(),
            rows: groups
                .iter()
                .map(|(key, runs)| Row::of(scenarios[key.scenario], runs))
                .collect(),
        }
    }
}

/// What a row is about, and where it stands: a transport at its place in the scenario's list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    scenario: usize,
    transport: (usize, String),
    policy: (usize, String),
}

impl Key {
    fn of(run: &RunFolder, scenario: &str, scenarios: &[&str]) -> Key {
        let manifest = &run.manifest;
        let place = |list: &[String], name: &str| {
            let place = list.iter().position(|other| other == name);
            (place.unwrap_or(list.len()), name.to_owned())
        };
        let scenario = scenarios.iter().position(|s| *s == scenario);
        Key {
            scenario: scenario.unwrap_or(scenarios.len()),
            transport: place(&manifest.scenario.transports, &manifest.transport),
            policy: place(&manifest.scenario.policies, &manifest.policy),
        }
    }
}

impl Row {
    /// Of runs that share scenario, transport and policy; at least one.
    fn of(scenario: &str, runs: &[&RunFolder]) -> Row {
        let manifest = &runs[0].manifest;
        let cells = METRICS.iter().filter_map(|metric| {
            let values: Vec<Value> = runs.iter().filter_map(|run| (metric.of)(run)).collect();
            Some((metric.name, Cell::of(&values)?))
        });
        Row {
            scenario: scenario.to_owned(),
            transport: manifest.transport.clone(),
            policy: manifest.policy.clone(),
            runs: runs.len(),
            notes: runs
                .iter()
                .filter_map(|run| note(run, runs.len()))
                .collect(),
            cells: cells.collect(),
        }
    }
}

/// What is wrong with a run that shares its row with `of` in all.
fn note(run: &RunFolder, of: usize) -> Option<String> {
    let manifest = &run.manifest;
    let mut wrong = Vec::new();
    match manifest.status {
        Status::Complete => {}
        Status::Incomplete => wrong.push("incomplete: killed or still running".to_owned()),
        Status::Failed => {
            let reason = manifest.error.as_deref().unwrap_or("no reason recorded");
            wrong.push(format!("failed: {reason}"));
        }
    }
    if let Some(timing) = manifest.timing.filter(|t| !t.kept) {
        wrong.push(format!(
            "the emulator missed its timing: P99 lateness {} above the bound of {}",
            milliseconds(timing.lateness_p99_ns),
            milliseconds(timing.bound_p99_ns)
        ));
    }
    if wrong.is_empty() {
        return None;
    }
    let text = wrong.join("; ");
    Some(match of {
        1 => text,
        _ => format!("repetition {}: {text}", manifest.repetition),
    })
}

fn milliseconds(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}
