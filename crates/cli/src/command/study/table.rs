//! What a study came to, for a terminal: the primary metric of every arm in every case.

use super::experiment::Experiment;
use super::outcome::Outcome;
use analysis::metric::Observed;
use analysis::metric::list::METRICS;
use analysis::metric::quantile::quantile;
use analysis::study::StudyReport;
use comfy_table::{CellAlignment, TableComponent, presets};
use serde::Serialize;

/// The primary metric over the runs of one arm in one case.
#[derive(Serialize)]
pub struct Row {
    /// The case's label.
    pub case: String,
    /// The arm's label.
    pub arm: String,
    /// Runs, and how many of them failed.
    pub runs: usize,
    /// Of the runs.
    pub failed: usize,
    /// Values that are only lower bounds.
    pub censored: usize,
    /// The median, and the range.
    pub median: Option<Observed>,
    /// The least.
    pub min: Option<Observed>,
    /// The greatest.
    pub max: Option<Observed>,
}

/// A row for every case and arm, in the study's order.
pub fn rows(experiment: &Experiment, outcomes: &[Outcome]) -> Vec<Row> {
    let plan = &experiment.plan;
    let primary = &experiment.study().primary;
    let metric = METRICS.iter().position(|m| m.name == primary).unwrap_or(0);
    let mut rows = Vec::new();
    for (case, named) in plan.cases.iter().enumerate() {
        for (arm, labelled) in plan.arms.iter().enumerate() {
            let all = plan.runs.iter().zip(outcomes);
            let own: Vec<&Outcome> = all
                .filter(|(run, _)| (run.case, run.arm) == (case, arm))
                .map(|(_, outcome)| outcome)
                .collect();
            if own.is_empty() {
                continue;
            }
            let values: Vec<Observed> = own
                .iter()
                .filter_map(|outcome| outcome.values[metric].as_ref()?.number())
                .collect();
            rows.push(Row {
                case: named.label(),
                arm: labelled.label.clone(),
                runs: own.len(),
                failed: own.iter().filter(|outcome| outcome.error.is_some()).count(),
                censored: values.iter().filter(|value| value.censored).count(),
                median: quantile(&values, 0.5),
                min: quantile(&values, 0.0),
                max: quantile(&values, 1.0),
            });
        }
    }
    rows
}

/// Prints the comparisons as a table, and what may be concluded.
pub fn print(report: &StudyReport) {
    let text = report.text();
    for part in &text.parts {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .remove_style(TableComponent::HorizontalLines)
            .remove_style(TableComponent::MiddleIntersections)
            .set_header(&part.head)
            .add_rows(&part.rows);
        for (column, is_number) in part.is_number.iter().enumerate() {
            if let Some(column) = table.column_mut(column).filter(|_| *is_number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        println!("{table}");
    }
    for note in &text.notes {
        println!("{note}");
    }
}
