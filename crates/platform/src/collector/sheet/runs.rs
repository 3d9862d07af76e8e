//! Which columns has an export of runs? What the explorer shows, and two for each metric: its value with
//! the unit as the last word, and whether it is only a lower bound.

use super::{Column, Sheet};
use crate::api::{MetricValue, RunSummary};
use analysis::metric::{Metric, Unit, list::METRICS};
use model::columns::Values;
use model::manifest::Status;

/// The rows of `runs`.
pub fn runs(runs: &[RunSummary]) -> Sheet {
    let text = |name: &str, of: fn(&RunSummary) -> Option<String>| Column {
        name: name.to_owned(),
        values: Values::Text(runs.iter().map(of).collect()),
        optional: true,
    };
    let number = |name: &str, of: fn(&RunSummary) -> u64| Column {
        name: name.to_owned(),
        values: Values::U64(runs.iter().map(|run| Some(of(run))).collect()),
        optional: true,
    };
    let mut columns = vec![
        text("id", |r| Some(r.id.clone())),
        text("test", |r| Some(r.test.clone())),
        text("started_at", |r| Some(r.started_at.clone())),
        text("stored_at", |r| Some(r.stored_at.clone())),
        text("experiment", |r| Some(r.experiment.clone())),
        text("mode", |r| Some(r.mode.clone())),
        text("server", |r| Some(r.server.clone())),
        text("transport", |r| Some(r.transport.clone())),
        text("policy", |r| Some(r.policy.clone())),
        text("pattern", |r| Some(r.pattern.clone())),
        text("family", |r| Some(r.family.clone())),
        number("port", |r| r.port.into()),
        text("status", |r| Some(status(r.status).to_owned())),
        text("invalid", |r| r.invalid.clone()),
        text("ended", |r| r.ended.clone()),
        text("networks", |r| Some(r.networks.clone())),
        number("duration_us", |r| r.duration_us),
        text("walkabout_version", |r| Some(r.walkabout_version.clone())),
    ];
    METRICS
        .iter()
        .for_each(|metric| metric_columns(metric, runs, &mut columns));
    Sheet(columns)
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Incomplete => "incomplete",
        Status::Failed => "failed",
    }
}

fn metric_columns(metric: &Metric, runs: &[RunSummary], columns: &mut Vec<Column>) {
    let name = metric.name.replace('-', "_");
    let values = || runs.iter().map(|run| run.metrics.get(metric.name));
    if metric.unit == Unit::Word {
        let words = values().map(|value| match value {
            Some(MetricValue::Word(word)) => Some(word.clone()),
            _ => None,
        });
        columns.push(Column {
            name,
            values: Values::Text(words.collect()),
            optional: true,
        });
        return;
    }
    let number = |value: Option<&MetricValue>| match value {
        Some(MetricValue::Number { value, censored }) => Some((*value, *censored)),
        _ => None,
    };
    columns.push(Column {
        name: match metric.unit {
            Unit::Seconds => format!("{name}_s"),
            _ => name.clone(),
        },
        values: Values::F64(values().map(|v| number(v).map(|n| n.0)).collect()),
        optional: true,
    });
    if metric.unit == Unit::Seconds {
        columns.push(Column {
            name: format!("{name}_is_lower_bound"),
            values: Values::Bool(values().map(|v| number(v).map(|n| n.1)).collect()),
            optional: true,
        });
    }
}
