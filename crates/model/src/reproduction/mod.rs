//! What does a paper say, and when is it reproduced? A claim, the paper's numbers and criteria over
//! the runs of one study: the TOML format of the files `studies/*.paper.toml`. `parse` reads it,
//! `check` refuses what names nothing in the study; `analysis` evaluates it.

mod check;
mod parse;

pub use check::Subjects;
pub use parse::Document;

use crate::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A result of a paper, and what a study is held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reproduction {
    /// What it is called: `M1`.
    pub id: String,
    /// One line that says what is shown.
    pub title: String,
    /// The paper and the place in it.
    pub source: String,
    /// What the paper says, a sentence or two.
    pub claim: String,
    /// What is to be known of the set-up and of what was seen, a paragraph each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The paper's numbers, to be drawn together with the study's.
    #[serde(rename = "figure", default)]
    pub figures: Vec<Figure>,
    /// All must be met.
    #[serde(rename = "criterion")]
    pub criteria: Vec<Criterion>,
}

/// A figure or a table of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The metric, by name; the paper's numbers are in its unit.
    pub metric: String,
    /// What is taken of the runs.
    #[serde(default)]
    pub statistic: Statistic,
    /// The parameter on the x axis; without one a curve is a single point.
    #[serde(default)]
    pub along: Option<String>,
    /// The curves.
    #[serde(rename = "curve")]
    pub curves: Vec<Curve>,
}

/// A curve: runs of the study, and the paper's numbers where it has some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its name in the legend and in criteria.
    pub name: String,
    /// The runs.
    pub of: Selection,
    /// Other runs, to be taken away from the first, seed by seed.
    #[serde(default)]
    pub minus: Option<Selection>,
    /// The paper's number, where nothing is on the x axis.
    #[serde(default)]
    pub value: Option<f64>,
    /// The paper's numbers by the parameter's values.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// Where they are from, when not from the source of the whole.
    #[serde(default)]
    pub source: Option<String>,
}

/// Runs of a study: those of an arm, in the cases that have these values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The arm, by its label.
    pub arm: String,
    /// The scenario, by name; all when absent.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Values of parameters, as the study writes them; what is not named takes all its values.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
}

impl Selection {
    /// The same with one parameter more held.
    pub fn with(&self, parameter: &str, value: &str) -> Selection {
        let mut own = self.clone();
        own.at.insert(parameter.to_owned(), value.to_owned());
        own
    }
}

/// `follow at loss=100 %`.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Selection { arm, scenario, at } = self;
        write!(f, "{arm}")?;
        if let Some(scenario) = scenario {
            write!(f, " in {scenario}")?;
        }
        for (i, (name, value)) in at.iter().enumerate() {
            let sign = if i == 0 { " at" } else { "," };
            write!(f, "{sign} {name}={value}")?;
        }
        Ok(())
    }
}

/// One number out of those of many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The median.
    #[default]
    Median,
    /// The mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The 95th percentile.
    P95,
}

impl Statistic {
    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Median => "median",
            Statistic::Mean => "mean",
            Statistic::Min => "smallest",
            Statistic::Max => "largest",
            Statistic::P95 => "95th percentile of the",
        }
    }
}

/// What must be so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// One sentence that says it.
    pub says: String,
    /// The metric, by name.
    pub metric: String,
    /// What is taken of the runs.
    #[serde(default)]
    pub statistic: Statistic,
    /// The only world in which it is asked for; every world when absent.
    #[serde(default)]
    pub world: Option<World>,
    /// What is asked for.
    pub test: Test,
}

/// A kind of criterion with its parameters, written `[criterion.test.KIND]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// A value against another.
    Ratio(Ratio),
    /// A value that rises or falls along a parameter.
    Monotone(Monotone),
    /// Values in an order.
    Order(Order),
    /// A curve close to the paper's.
    Factor(Factor),
    /// A value within bounds.
    Range(Range),
    /// What one saves against the other, in multiples of a parameter.
    Gain(Gain),
    /// How many of the runs have something.
    Share(Share),
}

/// `of / to` lies within bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Above the line.
    pub of: Selection,
    /// Below it.
    pub to: Selection,
    /// From where to where, ends included; `inf` for no end.
    pub within: [f64; 2],
}

/// The value never turns back along a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monotone {
    /// Which runs.
    pub of: Selection,
    /// The parameter, from its least value to its greatest.
    pub along: String,
    /// Which way.
    pub direction: Trend,
    /// Which share of the value before a step in the other direction may have.
    #[serde(default)]
    pub slack: f64,
}

/// Which way something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// It does not fall, and ends higher than it began.
    Rises,
    /// It does not rise, and ends lower than it began.
    Falls,
}

/// The values of several selections come in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The selections, that of the least value first.
    pub least_first: Vec<Selection>,
    /// At each value of this parameter; once when absent.
    #[serde(default)]
    pub along: Option<String>,
    /// Only at these of its values; at all when absent.
    #[serde(default)]
    pub only: Vec<String>,
    /// Which share of the value before one may fall behind it.
    #[serde(default)]
    pub slack: f64,
}

/// Each of the paper's numbers on a curve is met but for a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The curve, by its name.
    pub curve: String,
    /// The largest factor, in either direction; above 1.
    pub most: f64,
}

/// The value lies within bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Which runs.
    pub of: Selection,
    /// From where to where, ends included, in the metric's unit; `inf` for no end.
    pub within: [f64; 2],
}

/// `(minus - of) / per` lies within bounds, at each value of `per`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// What is smaller by the gain.
    pub of: Selection,
    /// What it is compared with, seed by seed.
    pub against: Selection,
    /// The parameter that the gain is measured in: its values are quantities of the metric's unit.
    pub per: String,
    /// From where to where, ends included.
    pub within: [f64; 2],
}

/// A share of the runs has a value of at most so much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Which runs.
    pub of: Selection,
    /// The most that a run may have, in the metric's unit.
    pub at_most: f64,
    /// From where to where the share lies, ends included, 0 to 1.
    pub within: [f64; 2],
}
