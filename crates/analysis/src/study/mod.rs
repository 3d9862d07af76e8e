//! What is a study, and what does it come to? A matrix of scenarios, parameter settings, arms and
//! seeds: written as one table of runs, read back, compared and reported.
//!
//! An **arm** is a transport under a policy, perhaps with settings of its own. A **case** is a scenario under one setting of the
//! parameters. A **block** is a case and a seed; every arm runs once in each block, and what is
//! compared are the arms within a block. `docs/statistics.md` has the rules.

pub mod compare;
mod conclusion;
mod coverage;
mod group;
mod layout;
mod paired;
pub mod report;
mod runs;
mod sentence;
mod table;
mod text;
mod verdict;
pub(crate) mod words;

pub use compare::{ComparedRun, SetComparison, compare};
pub use paired::{Bound, Pair, Paired};
pub use report::StudyReport;
pub use table::{HEAD, StudyError, TABLE};
pub use verdict::{EXPLORE_BLOCKS, LEAST_BLOCKS, MARGIN, PUBLISH_BLOCKS, Verdict};

use crate::metric::{Observed, Value, list};
use serde::{Deserialize, Serialize};

/// What `study.json` says it is.
pub const SCHEMA: &str = "walkabout.study/1";

/// One run of a study: a row of `runs.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRun {
    /// The scenario's name.
    pub scenario: String,
    /// Each parameter's name and its value as written in the study, in the study's order.
    pub parameters: Vec<(String, String)>,
    /// The label of its arm.
    pub arm: String,
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// 0; 1 for the second copy of an arm in an A/A study.
    pub replica: u64,
    /// The run's seed.
    pub seed: u64,
    /// `complete` or `failed`.
    pub status: String,
    /// Why it failed, when it did.
    pub error: Option<String>,
    /// The run folder, relative to the study's, where it was kept.
    pub folder: Option<String>,
    /// The command that repeats this run.
    pub reproduce: String,
    /// The value of each metric, in the order of [`list::METRICS`].
    pub values: Vec<Option<Value>>,
}

impl StudyRun {
    /// Whether it ended as planned; what others measured takes no part in a comparison.
    pub fn is_complete(&self) -> bool {
        self.status == "complete"
    }

    /// The number that the metric at `place` in the list has, if the run is complete.
    pub(crate) fn number(&self, place: Option<usize>) -> Option<Observed> {
        let value = self.values.get(place?)?.as_ref()?;
        let number = value.number().filter(|number| number.value.is_finite())?;
        self.is_complete().then_some(number)
    }
}

/// What the study was: written as `study.json` beside the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyHead {
    /// [`SCHEMA`] of the writer.
    pub schema: String,
    /// The version of the program that ran it.
    pub walkabout_version: String,
    /// The study's name.
    pub name: String,
    /// The study's one line.
    pub summary: String,
    /// The world's name.
    pub world: String,
    /// The seed of the order of the runs; the bootstrap's randomness comes of it, too.
    pub seed: u64,
    /// Whether each arm was run against a copy of itself, under seeds of its own.
    pub a_a: bool,
    /// The metric that the comparisons are about.
    pub primary: String,
    /// The label of the arm that the others are compared with.
    pub baseline: String,
    /// The scenarios, in the study's order.
    pub scenarios: Vec<ScenarioHead>,
    /// The parameters, in the study's order.
    pub parameters: Vec<ParameterHead>,
    /// The labels of the arms, in the study's order.
    pub arms: Vec<String>,
    /// The TOML text of the paper's numbers and criteria, where the study has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
}

/// A scenario of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioHead {
    /// Its name.
    pub name: String,
    /// Its one line.
    pub summary: String,
}

/// What a study varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterHead {
    /// Its name in tables.
    pub name: String,
    /// The key of the scenario that it sets.
    pub key: String,
    /// Its values as written.
    pub values: Vec<String>,
}

/// A study: what it was, and its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What it was.
    pub head: StudyHead,
    /// Its runs, in the order of the table.
    pub runs: Vec<StudyRun>,
}

/// Where the metric called `name` stands in the list.
pub(crate) fn place(name: &str) -> Option<usize> {
    list::METRICS.iter().position(|metric| metric.name == name)
}
