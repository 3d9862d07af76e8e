//! What does a study leave behind? One row per run, in `runs.parquet`, and what it was, in
//! `study.json`.

use crate::metric::list::METRICS;
use crate::metric::{Unit, Value};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `study.json` says it is.
pub const SCHEMA: &str = "walkabout.study/1";

/// One run of a study: a row of `runs.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRun {
    /// The scenario's name.
    pub scenario: String,
    /// Each parameter's name and its value as written in the study, in the study's order.
    pub parameters: Vec<(String, String)>,
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
    /// Why it failed.
    pub error: Option<String>,
    /// The run folder, relative to the study's, where it was kept.
    pub folder: Option<String>,
    /// The command that repeats this run.
    pub reproduce: String,
    /// In the order of the list of metrics.
    pub values: Vec<Option<Value>>,
}

/// A scenario of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioHead {
    /// Its name.
    pub name: String,
    /// Its summary.
    pub summary: String,
}

/// A parameter of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterHead {
    /// Its name.
    pub name: String,
    /// Its key in the scenario.
    pub key: String,
    /// Its values as written.
    pub values: Vec<String>,
}

/// What the study was: written as `study.json` beside the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyHead {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program's version.
    pub walkabout_version: String,
    /// The study's name.
    pub name: String,
    /// One line that says what it shows.
    pub summary: String,
    /// The world's name.
    pub world: String,
    /// The seed of the order of the runs.
    pub seed: u64,
    /// Whether each arm ran twice in each block.
    pub a_a: bool,
    /// The metric the comparison rests on.
    pub primary: String,
    /// The label of the arm that the others are compared with.
    pub baseline: String,
    /// In the study's order.
    pub scenarios: Vec<ScenarioHead>,
    /// In the study's order.
    pub parameters: Vec<ParameterHead>,
    /// The labels of the arms, in the study's order.
    pub arms: Vec<String>,
}

/// A study with all its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What it was.
    pub head: StudyHead,
    /// Its runs, by case, seed and arm.
    pub runs: Vec<StudyRun>,
}

/// Why a study cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A file cannot be written.
    #[error("{} cannot be written: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Study {
    /// Writes `study.json` and `runs.parquet` into `folder`; the same content gives the same
    /// bytes.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), StudyError> {
        let json = folder.join("study.json");
        let text = serde_json::to_string_pretty(&self.head).map_err(io::Error::other);
        text.and_then(|text| fs::write(&json, text + "\n"))
            .map_err(|source| StudyError::Write { file: json, source })?;
        let table = folder.join("runs.parquet");
        self.write_table(&table)
            .map_err(|source| StudyError::Write {
                file: table,
                source,
            })
    }

    fn write_table(&self, file: &Path) -> io::Result<()> {
        let text = |of: &dyn Fn(&StudyRun) -> Option<String>| -> ArrayRef {
            Arc::new(self.runs.iter().map(of).collect::<StringArray>())
        };
        let number = |of: &dyn Fn(&StudyRun) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(self.runs.iter().map(of)))
        };
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        let mut add = |name: &str, column| columns.push((name.to_owned(), column));
        add("scenario", text(&|r| Some(r.scenario.clone())));
        for (i, parameter) in self.head.parameters.iter().enumerate() {
            let values = text(&|r| r.parameters.get(i).map(|(_, value)| value.clone()));
            add(&format!("parameter:{}", parameter.name), values);
        }
        add("transport", text(&|r| Some(r.transport.clone())));
        add("policy", text(&|r| Some(r.policy.clone())));
        add("replica", number(&|r| r.replica));
        add("seed", number(&|r| r.seed));
        add("status", text(&|r| Some(r.status.clone())));
        add("error", text(&|r| r.error.clone()));
        add("folder", text(&|r| r.folder.clone()));
        add("reproduce", text(&|r| Some(r.reproduce.clone())));
        for (i, metric) in METRICS.iter().enumerate() {
            let value = |r: &StudyRun| r.values.get(i).cloned().flatten();
            if metric.unit == Unit::Word {
                let word = |r: &StudyRun| match value(r) {
                    Some(Value::Word(word)) => Some(word),
                    _ => None,
                };
                add(metric.name, text(&word));
                continue;
            }
            let observed = || self.runs.iter().map(|r| value(r).and_then(|v| v.number()));
            let numbers: Float64Array = observed().map(|o| o.map(|o| o.value)).collect();
            let censored: BooleanArray = observed().map(|o| o.map(|o| o.censored)).collect();
            add(metric.name, Arc::new(numbers));
            add(&format!("{}:censored", metric.name), Arc::new(censored));
        }
        let columns = columns
            .into_iter()
            .map(|(name, column)| (name, column, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(io::Error::other)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let mut writer =
            ArrowWriter::try_new(File::create(file)?, batch.schema(), Some(properties))
                .map_err(io::Error::other)?;
        writer.write(&batch).map_err(io::Error::other)?;
        writer.close().map_err(io::Error::other)?;
        Ok(())
    }
}
