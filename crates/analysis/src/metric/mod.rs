//! What a metric is: a name, a unit, a line that says what it means, and a function of a run.
//!
//! A new metric is one file (or one function in its family's file) and one line in
//! [`list::METRICS`]; the table, the report and the JSON follow from the entry.

pub(crate) mod activity;
mod cause;
mod cellular;
mod completion;
mod delay;
mod energy;
mod gap;
mod handover;
pub mod list;
pub mod quantile;
mod stalls;
mod timing;
mod unanswered;

pub use cause::{Cause, Definition, first_use};
pub use delay::delays;
pub use handover::first_cellular_data_ns;
pub use quantile::Observed;

use crate::folder::RunFolder;
use serde::{Serialize, Serializer};

/// A metric's entry in the list.
pub struct Metric {
    /// The name in the list, in JSON and in docs.
    pub name: &'static str,
    /// A short name for a column's head or an axis, without the unit.
    pub heading: &'static str,
    /// What its values are.
    pub unit: Unit,
    /// One line that says what it means.
    pub summary: &'static str,
    /// Its value for one run; `None` where it has no meaning for that run.
    pub of: fn(&RunFolder) -> Option<Value>,
}

/// What a metric's values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Joules.
    Joules,
    /// Milliwatts.
    Milliwatts,
    /// A number of things.
    Count,
    /// A part of a whole, 0 to 1.
    Share,
    /// 0 for no, 1 for yes.
    Truth,
    /// One of a few words.
    Word,
}

impl Unit {
    /// As written in JSON: the SI symbol, or `1` for what has none.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Joules => "J",
            Unit::Milliwatts => "mW",
            Unit::Count | Unit::Share | Unit::Truth => "1",
            Unit::Word => "word",
        }
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.symbol())
    }
}

/// A metric's value for one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, perhaps only a lower bound.
    Number(Observed),
    /// A word.
    Word(String),
}

impl Value {
    /// An exact number.
    pub fn exact(value: f64) -> Value {
        Value::Number(Observed {
            value,
            censored: false,
        })
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<Observed> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Word(_) => None,
        }
    }
}

/// The value of every metric for one run, in the order of the list.
pub fn all(run: &RunFolder) -> Vec<(&'static Metric, Option<Value>)> {
    let metrics = list::METRICS.iter();
    metrics.map(|metric| (metric, (metric.of)(run))).collect()
}
