//! What one metric of several runs comes to, and how it is written on a terminal.

use super::{COLUMNS, Row, Table};
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
    pub(super) fn of(values: &[Value]) -> Option<Cell> {
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

    /// `0.341`, `>= 12.345`, `0.341 (0.300..0.512)`, `under-rto 3, other 1`; with `(of 2)` when
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

/// A number in the unit of [`head`], marked when it is a lower bound.
fn bounded(number: Observed, unit: Unit) -> String {
    let Observed { value, censored } = number;
    let text = match unit {
        Unit::Seconds => format!("{value:.3}"),
        Unit::Bytes => format!("{:.1}", value / 1e3),
        Unit::Share => format!("{:.1}", value * 100.0),
        // A median may lie between two counts.
        Unit::Count if value.fract() != 0.0 => format!("{value:.1}"),
        Unit::Count | Unit::Word => format!("{value:.0}"),
        Unit::Truth if value == 0.0 => "no".to_owned(),
        Unit::Truth if value == 1.0 => "yes".to_owned(),
        Unit::Truth => "some".to_owned(),
    };
    match censored {
        true => format!(">= {text}"),
        false => text,
    }
}

/// A column's head, with the unit of its printed numbers.
fn head(heading: &str, unit: Unit) -> String {
    match unit {
        Unit::Seconds => format!("{heading} [s]"),
        Unit::Bytes => format!("{heading} [kB]"),
        Unit::Share => format!("{heading} [%]"),
        Unit::Count | Unit::Truth | Unit::Word => heading.to_owned(),
    }
}

/// The printed table: cells as text, for whatever draws it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// The head of each column, with its unit.
    pub head: Vec<String>,
    /// Whether a column holds numbers, to be aligned to the right.
    pub is_number: Vec<bool>,
    /// The cells; `-` where a metric has no value.
    pub rows: Vec<Vec<String>>,
    /// What the marks `[1]`, `[2]` ... at some rows mean, in their order.
    pub notes: Vec<String>,
}

impl Table {
    /// The table as text, with the columns of [`COLUMNS`] that have a value in any row; a row
    /// whose runs are not all sound has a mark at its policy.
    pub fn text(&self) -> Text {
        let metrics = COLUMNS.iter().filter_map(|name| list::find(name));
        let shown: Vec<_> = metrics
            .filter(|m| self.rows.iter().any(|row| row.cells.contains_key(m.name)))
            .collect();
        let several = self
            .rows
            .iter()
            .any(|row| row.scenario != self.rows[0].scenario);

        let mut text = Text {
            head: Vec::new(),
            is_number: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        };
        let keys = ["scenario", "transport", "policy"];
        for key in &keys[usize::from(!several)..] {
            text.head.push((*key).to_owned());
            text.is_number.push(false);
        }
        for metric in &shown {
            text.head.push(head(metric.heading, metric.unit));
            text.is_number.push(metric.unit != Unit::Word);
        }
        for row in &self.rows {
            let Row {
                scenario,
                transport,
                policy,
                runs,
                notes,
                cells,
            } = row;
            let mut policy = policy.clone();
            for note in notes {
                text.notes.push(note.clone());
                policy.push_str(&format!(" [{}]", text.notes.len()));
            }
            let mut line = vec![scenario.clone(), transport.clone(), policy];
            if !several {
                line.remove(0);
            }
            line.extend(shown.iter().map(|metric| match cells.get(metric.name) {
                Some(cell) => cell.text(metric.unit, *runs),
                None => "-".to_owned(),
            }));
            text.rows.push(line);
        }
        text
    }
}
