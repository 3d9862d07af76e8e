//! What one metric of several runs comes to, and how it is written on a terminal.

use super::{PARTS, Table};
use crate::metric::quantile::quantile;
use crate::metric::{Observed, Unit, Value, list};
use serde::Serialize;
use std::collections::BTreeMap;

/// The values of one metric over a row's runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Of numbers: the median and the range.
    Numbers {
        /// Over `runs`.
        median: Observed,
        /// The least.
        min: Observed,
        /// The greatest.
        max: Observed,
        /// How many runs had a value.
        runs: usize,
    },
    /// Of words: in how many runs each.
    Words {
        /// Runs by word.
        counts: BTreeMap<String, usize>,
    },
}

impl Cell {
    /// `None` of nothing.
    pub(crate) fn of(values: &[Value]) -> Option<Cell> {
        let mut numbers = Vec::new();
        let mut counts = BTreeMap::new();
        for value in values {
            match value {
                Value::Number(number) => numbers.push(*number),
                Value::Word(word) => *counts.entry(word.clone()).or_insert(0) += 1,
            }
        }
        if !counts.is_empty() {
            return Some(Cell::Words { counts });
        }
        Some(Cell::Numbers {
            median: quantile(&numbers, 0.5)?,
            min: quantile(&numbers, 0.0)?,
            max: quantile(&numbers, 1.0)?,
            runs: numbers.len(),
        })
    }

    /// `0.341`, `>=12.3`, `0.341 (0.300..0.512)`, `under-rto 3, other 1`; with `(of 2)` when
    /// fewer than all `runs` had a value.
    fn text(&self, unit: Unit, runs: usize) -> String {
        let (text, counted) = match self {
            Cell::Words { counts } => {
                let counted: usize = counts.values().sum();
                let words = counts.iter().map(|(word, count)| match counts.len() {
                    1 => word.clone(),
                    _ => format!("{word} {count}"),
                });
                (words.collect::<Vec<_>>().join(", "), counted)
            }
            Cell::Numbers {
                median,
                min,
                max,
                runs: counted,
            } => {
                let middle = bounded(*median, unit);
                let (least, most) = (bounded(*min, unit), bounded(*max, unit));
                let text = match least == most {
                    true => middle,
                    false => format!("{middle} ({least}..{most})"),
                };
                (text, *counted)
            }
        };
        match counted == runs {
            true => text,
            false => format!("{text} (of {counted})"),
        }
    }
}

impl Cell {
    /// As [`Cell::text`], in the unit of the metric itself.
    pub(crate) fn plain(&self, runs: usize) -> String {
        self.text(Unit::Seconds, runs)
    }
}

/// A number in the unit of [`head`], marked when it is a lower bound.
fn bounded(number: Observed, unit: Unit) -> String {
    let Observed { value, censored } = number;
    let text = match unit {
        Unit::Seconds => significant(value),
        Unit::Bytes => format!("{:.1}", value / 1e3),
        Unit::Joules => significant(value),
        Unit::Milliwatts => format!("{value:.0}"),
        Unit::Share => format!("{:.1}", value * 100.0),
        // A median may lie between two counts.
        Unit::Count if value.fract() != 0.0 => format!("{value:.1}"),
        Unit::Count | Unit::Word => format!("{value:.0}"),
        Unit::Truth if value == 0.0 => "no".to_owned(),
        Unit::Truth if value == 1.0 => "yes".to_owned(),
        Unit::Truth => "some".to_owned(),
    };
    match censored {
        true => format!(">={text}"),
        false => text,
    }
}

/// To three digits, and to a thousandth at most.
fn significant(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// A column's head, one word a line and the unit last, as the numbers below are short.
fn head(heading: &str, unit: Unit) -> String {
    let words = heading.replace(' ', "\n");
    match unit {
        Unit::Seconds => format!("{words}\n[s]"),
        Unit::Bytes => format!("{words}\n[kB]"),
        Unit::Joules => format!("{words}\n[J]"),
        Unit::Milliwatts => format!("{words}\n[mW]"),
        Unit::Share => format!("{words}\n[%]"),
        Unit::Count | Unit::Truth | Unit::Word => words,
    }
}

/// The printed table: cells as text, for whatever draws it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// Its parts, with a row per row of the table each; at least one.
    pub parts: Vec<Part>,
    /// What the marks `[1]`, `[2]` ... at some rows mean, in their order.
    pub notes: Vec<String>,
}

/// Some columns of the printed table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The head of each column, with its unit, over several lines.
    pub head: Vec<String>,
    /// Whether a column holds numbers, to be aligned to the right.
    pub is_number: Vec<bool>,
    /// The cells; `-` where a metric has no value.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table as text, in the parts and with the columns of [`PARTS`] that have a value in any
    /// row; a row whose runs are not all sound has a mark.
    pub fn text(&self) -> Text {
        let several = self
            .rows
            .iter()
            .any(|row| row.scenario != self.rows[0].scenario);
        let mut notes = Vec::new();
        let labels: Vec<String> = self
            .rows
            .iter()
            .map(|row| {
                let mut label = format!("{} {}", row.transport, row.policy);
                if several {
                    label = format!("{} {label}", row.scenario);
                }
                for note in &row.notes {
                    notes.push(note.clone());
                    label.push_str(&format!(" [{}]", notes.len()));
                }
                label
            })
            .collect();
        let parts = PARTS.iter().map(|columns| self.part(columns, &labels));
        let mut parts: Vec<Part> = parts.collect();
        // A part without any value says nothing, unless all are like that.
        let first = parts[0].clone();
        parts.retain(|part| part.head.len() > 1);
        if parts.is_empty() {
            parts.push(first);
        }
        Text { parts, notes }
    }

    fn part(&self, columns: &[&str], labels: &[String]) -> Part {
        let metrics = columns.iter().filter_map(|name| list::find(name));
        let shown: Vec<_> = metrics
            .filter(|m| self.rows.iter().any(|row| row.cells.contains_key(m.name)))
            .collect();
        let heads = shown.iter().map(|m| head(m.heading, m.unit));
        let numbers = shown.iter().map(|m| m.unit != Unit::Word);
        let rows = self.rows.iter().zip(labels).map(|(row, label)| {
            let cells = shown.iter().map(|metric| match row.cells.get(metric.name) {
                Some(cell) => cell.text(metric.unit, row.runs),
                None => "-".to_owned(),
            });
            std::iter::once(label.clone()).chain(cells).collect()
        });
        Part {
            head: std::iter::once("run".to_owned()).chain(heads).collect(),
            is_number: std::iter::once(false).chain(numbers).collect(),
            rows: rows.collect(),
        }
    }
}
