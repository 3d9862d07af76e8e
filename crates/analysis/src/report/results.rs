//! How does the result table come onto the page? With columns that say how to write their cells.

use crate::metric::Unit;
use crate::metric::list;
use crate::table::{self, Cell};
use serde::Serialize;

/// The result table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// The metrics that any row has, those of the terminal's table first and in its order.
    pub columns: Vec<ResultColumn>,
    /// One per transport and policy.
    pub rows: Vec<ResultRow>,
}

/// How a metric is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultColumn {
    /// The metric's name.
    pub name: &'static str,
    /// A short heading, without the unit.
    pub heading: &'static str,
    /// The unit of the numbers as shown.
    pub unit: &'static str,
    /// What a number is multiplied with to be shown in that unit.
    pub scale: f64,
    /// Digits after the point; absent when the cells hold words, or 0 for no and 1 for yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digits: Option<u8>,
    /// What it means.
    pub summary: &'static str,
    /// Whether the terminal's table shows it too; the others are shown on demand.
    pub primary: bool,
}

/// The runs of one transport under one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// How many runs.
    pub runs: usize,
    /// Why they are to be read with care, in words.
    pub flags: Vec<String>,
    /// A cell per column.
    pub cells: Vec<Option<Cell>>,
}

impl Results {
    /// The table of `rows`, which belong to one scenario.
    pub(super) fn of(rows: &[&table::Row]) -> Results {
        let has_value = |name: &str| rows.iter().any(|row| row.cells.contains_key(name));
        let primary = table::columns().filter_map(list::find);
        let others = list::METRICS
            .iter()
            .filter(|metric| !table::columns().any(|name| name == metric.name));
        let shown = primary.chain(others).filter(|m| has_value(m.name));
        let columns: Vec<ResultColumn> = shown
            .map(|metric| {
                let (unit, scale, digits) = match metric.unit {
                    Unit::Seconds => ("s", 1.0, Some(3)),
                    Unit::Bytes => ("kB", 1e-3, Some(1)),
                    Unit::Joules => ("J", 1.0, Some(3)),
                    Unit::Milliwatts => ("mW", 1.0, Some(0)),
                    Unit::Share => ("%", 100.0, Some(1)),
                    Unit::Count => ("", 1.0, Some(0)),
                    Unit::Truth | Unit::Word => ("", 1.0, None),
                };
                ResultColumn {
                    name: metric.name,
                    heading: metric.heading,
                    unit,
                    scale,
                    digits,
                    summary: metric.summary,
                    primary: table::columns().any(|name| name == metric.name),
                }
            })
            .collect();
        let rows = rows.iter().map(|row| ResultRow {
            transport: row.transport.clone(),
            policy: row.policy.clone(),
            runs: row.runs,
            flags: row.notes.clone(),
            cells: columns
                .iter()
                .map(|column| row.cells.get(column.name).cloned())
                .collect(),
        });
        Results {
            rows: rows.collect(),
            columns,
        }
    }
}
