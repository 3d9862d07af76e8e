//! How is a study kept? `study.json` says what it was, `runs.parquet` has a row per run.

use super::{SCHEMA, Study, StudyHead, StudyRun};
use crate::metric::{Observed, Unit, Value, list::METRICS};
use arrow_array::RecordBatch;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use arrow_schema::{Field, Schema};
use model::reproduction::Document;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that says what the study was.
pub const HEAD: &str = "study.json";
/// The table of its runs.
pub const TABLE: &str = "runs.parquet";

/// Why a study can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is none.
    #[error("{} is no study: it has no {HEAD}", .0.display())]
    NotAStudy(PathBuf),
    /// A file can't be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Of another version.
    #[error(
        "{} is of the schema `{found}`, this walkabout reads `{SCHEMA}`: use the version that wrote it, or a newer one",
        file.display()
    )]
    OtherSchema {
        /// The file.
        file: PathBuf,
        /// What it says.
        found: String,
    },
    /// A file does not hold what it should.
    #[error("{} is damaged: {what}; run the study again", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What was found.
        what: String,
    },
    /// A file can't be written.
    #[error("cannot write {}: {reason}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl StudyError {
    fn damaged(file: &Path, what: impl ToString) -> StudyError {
        StudyError::Damaged {
            file: file.to_owned(),
            what: what.to_string(),
        }
    }

    fn write(file: &Path, reason: impl ToString) -> StudyError {
        StudyError::Write {
            file: file.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl Study {
    /// Writes `study.json` and `runs.parquet` into `folder`, which exists. Equal studies make
    /// equal bytes. Each file appears whole or not at all, the head last.
    ///
    /// # Errors
    /// When a file can't be written, or a run's parameters are not those of the head.
    pub fn write(&self, folder: &Path) -> Result<(), StudyError> {
        let file = folder.join(TABLE);
        let partial = folder.join(format!("{TABLE}.partial"));
        let failed = |reason: &dyn ToString| StudyError::write(&file, reason.to_string());
        let batch = self.batch().map_err(|e| failed(&e))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let out = File::create(&partial).map_err(|e| failed(&e))?;
        let mut writer =
            ArrowWriter::try_new(out, batch.schema(), Some(properties)).map_err(|e| failed(&e))?;
        writer.write(&batch).map_err(|e| failed(&e))?;
        writer.close().map_err(|e| failed(&e))?;
        fs::rename(&partial, &file).map_err(|e| failed(&e))?;

        let file = folder.join(HEAD);
        let partial = folder.join(format!("{HEAD}.partial"));
        let text = serde_json::to_string_pretty(&self.head);
        let text = text.map_err(|e| StudyError::write(&file, e))? + "\n";
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, &file))
            .map_err(|e| StudyError::write(&file, e))
    }

    /// Reads the study in `folder`. A metric that its table does not have has no value; a column
    /// that this version does not know is left out.
    ///
    /// # Errors
    /// When there is none, when it is of another version, or when a file is damaged.
    pub fn open(folder: &Path) -> Result<Study, StudyError> {
        let file = folder.join(HEAD);
        let text = fs::read_to_string(&file).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StudyError::NotAStudy(folder.to_owned()),
            _ => StudyError::Read {
                file: file.clone(),
                source,
            },
        })?;
        let head: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| StudyError::damaged(&file, e))?;
        match head["schema"].as_str() {
            Some(SCHEMA) => {}
            Some(found) => {
                let found = found.to_owned();
                return Err(StudyError::OtherSchema { file, found });
            }
            None => return Err(StudyError::damaged(&file, "it has no `schema`")),
        }
        let head: StudyHead =
            serde_json::from_value(head).map_err(|e| StudyError::damaged(&file, e))?;
        if let Some(text) = &head.paper {
            Document::parse(text, "paper").map_err(|e| StudyError::damaged(&file, e))?;
        }

        let file = folder.join(TABLE);
        let table = File::open(&file).map_err(|source| StudyError::Read {
            file: file.clone(),
            source,
        })?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(table)
            .and_then(|builder| builder.build())
            .map_err(|e| StudyError::damaged(&file, e))?;
        let mut runs = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|e| StudyError::damaged(&file, e))?;
            read(&head, &batch, &mut runs).map_err(|what| StudyError::damaged(&file, what))?;
        }
        Ok(Study { head, runs })
    }

    fn batch(&self) -> Result<RecordBatch, String> {
        let runs = || self.runs.iter();
        let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
        let mut add = |name: &str, array: ArrayRef, optional| {
            columns.push((name.to_owned(), array, optional));
        };
        let texts = |of: fn(&StudyRun) -> &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(runs().map(of)))
        };
        let some_texts = |of: fn(&StudyRun) -> Option<&str>| -> ArrayRef {
            Arc::new(runs().map(of).collect::<StringArray>())
        };
        let numbers = |of: fn(&StudyRun) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(runs().map(of)))
        };
        let names = self.head.parameters.iter().map(|p| &p.name);
        if let Some(run) = runs().find(|run| !run.parameters.iter().map(|p| &p.0).eq(names.clone()))
        {
            return Err(format!(
                "the run `{}` has other parameters than the study",
                run.reproduce
            ));
        }
        add("scenario", texts(|run| &run.scenario), false);
        for (place, parameter) in self.head.parameters.iter().enumerate() {
            let values = runs().map(|run| run.parameters[place].1.as_str());
            let array = Arc::new(StringArray::from_iter_values(values));
            add(&format!("parameter:{}", parameter.name), array, false);
        }
        add("arm", texts(|run| &run.arm), false);
        add("transport", texts(|run| &run.transport), false);
        add("policy", texts(|run| &run.policy), false);
        add("replica", numbers(|run| run.replica), false);
        add("seed", numbers(|run| run.seed), false);
        add("status", texts(|run| &run.status), false);
        add("error", some_texts(|run| run.error.as_deref()), true);
        add("folder", some_texts(|run| run.folder.as_deref()), true);
        add("reproduce", texts(|run| &run.reproduce), false);
        for (place, metric) in METRICS.iter().enumerate() {
            let values = || runs().map(|run| run.values.get(place)?.as_ref());
            if metric.unit == Unit::Word {
                let words = values().map(|value| match value? {
                    Value::Word(word) => Some(word.as_str()),
                    Value::Number(_) => None,
                });
                add(metric.name, Arc::new(words.collect::<StringArray>()), true);
                continue;
            }
            let numbers = || values().map(|value| value?.number());
            let array = numbers().map(|n| Some(n?.value)).collect::<Float64Array>();
            add(metric.name, Arc::new(array), true);
            if metric.unit != Unit::Truth {
                let censored = numbers().map(|n| Some(n?.censored));
                let array = Arc::new(censored.collect::<BooleanArray>());
                add(&format!("{}:censored", metric.name), array, true);
            }
        }
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, array, optional)| Field::new(name, array.data_type().clone(), *optional))
            .collect();
        // One entry only: the order of several would differ from one process to the next.
        let metadata = [("walkabout.study".to_owned(), SCHEMA.to_owned())];
        let schema = Arc::new(Schema::new(fields).with_metadata(metadata.into()));
        let arrays = columns.into_iter().map(|(_, array, _)| array).collect();
        RecordBatch::try_new(schema, arrays).map_err(|e| e.to_string())
    }
}

/// A column that must be there.
fn column<'b, A: Array + 'static>(batch: &'b RecordBatch, name: &str) -> Result<&'b A, String> {
    optional(batch, name)?.ok_or_else(|| format!("it has no column `{name}`"))
}

/// A column that may be missing, but not be of another kind.
fn optional<'b, A: Array + 'static>(
    batch: &'b RecordBatch,
    name: &str,
) -> Result<Option<&'b A>, String> {
    let Some(array) = batch.column_by_name(name) else {
        return Ok(None);
    };
    let values = array.as_any().downcast_ref();
    let wrong = || format!("column `{name}` holds {}", array.data_type());
    values.ok_or_else(wrong).map(Some)
}

/// Appends the rows of `batch` to `runs`.
fn read(head: &StudyHead, batch: &RecordBatch, runs: &mut Vec<StudyRun>) -> Result<(), String> {
    let scenario: &StringArray = column(batch, "scenario")?;
    let arm: Option<&StringArray> = optional(batch, "arm")?;
    let transport: &StringArray = column(batch, "transport")?;
    let policy: &StringArray = column(batch, "policy")?;
    let replica: &UInt64Array = column(batch, "replica")?;
    let seed: &UInt64Array = column(batch, "seed")?;
    let status: &StringArray = column(batch, "status")?;
    let error: &StringArray = column(batch, "error")?;
    let folder: &StringArray = column(batch, "folder")?;
    let reproduce: &StringArray = column(batch, "reproduce")?;
    let parameters: Vec<(&str, &StringArray)> = head
        .parameters
        .iter()
        .map(|p| {
            Ok((
                p.name.as_str(),
                column(batch, &format!("parameter:{}", p.name))?,
            ))
        })
        .collect::<Result<_, String>>()?;
    let metrics: Vec<Column> = METRICS
        .iter()
        .map(|metric| Column::of(batch, metric.name, metric.unit))
        .collect::<Result<_, String>>()?;
    let some = |array: &StringArray, row| array.is_valid(row).then(|| array.value(row).to_owned());
    runs.extend((0..batch.num_rows()).map(|row| {
        StudyRun {
            scenario: scenario.value(row).to_owned(),
            parameters: parameters
                .iter()
                .map(|(name, array)| ((*name).to_owned(), array.value(row).to_owned()))
                .collect(),
            arm: match arm {
                Some(arm) => arm.value(row).to_owned(),
                None => label(head, transport.value(row), policy.value(row)),
            },
            transport: transport.value(row).to_owned(),
            policy: policy.value(row).to_owned(),
            replica: replica.value(row),
            seed: seed.value(row),
            status: status.value(row).to_owned(),
            error: some(error, row),
            folder: some(folder, row),
            reproduce: reproduce.value(row).to_owned(),
            values: metrics.iter().map(|column| column.value(row)).collect(),
        }
    }));
    Ok(())
}

/// The label of an arm in a table of an earlier version, which has no column for it: `mpquic-backup`,
/// or `quic` for what has one path.
fn label(head: &StudyHead, transport: &str, policy: &str) -> String {
    let full = format!("{transport}-{policy}");
    let known = |label: &str| head.arms.iter().any(|arm| arm == label);
    match known(transport) && !known(&full) {
        true => transport.to_owned(),
        false => full,
    }
}

/// The values of one metric.
enum Column<'b> {
    Missing,
    Words(&'b StringArray),
    Numbers(&'b Float64Array, Option<&'b BooleanArray>),
}

impl<'b> Column<'b> {
    fn of(batch: &'b RecordBatch, name: &str, unit: Unit) -> Result<Column<'b>, String> {
        if unit == Unit::Word {
            return Ok(optional(batch, name)?.map_or(Column::Missing, Column::Words));
        }
        let censored = optional(batch, &format!("{name}:censored"))?;
        let numbers: Option<&Float64Array> = optional(batch, name)?;
        Ok(numbers.map_or(Column::Missing, |n| Column::Numbers(n, censored)))
    }

    fn value(&self, row: usize) -> Option<Value> {
        match self {
            Column::Missing => None,
            Column::Words(words) => words
                .is_valid(row)
                .then(|| Value::Word(words.value(row).to_owned())),
            Column::Numbers(numbers, censored) => numbers.is_valid(row).then(|| {
                Value::Number(Observed {
                    value: numbers.value(row),
                    censored: censored.is_some_and(|c| c.is_valid(row) && c.value(row)),
                })
            }),
        }
    }
}
