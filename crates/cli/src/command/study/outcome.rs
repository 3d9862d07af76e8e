//! What came of one run, and the line of the journal that says so.

use analysis::folder::RunFolder;
use analysis::metric::list::METRICS;
use analysis::metric::{self, Observed, Value};
use model::manifest::Status;
use serde::{Deserialize, Serialize};

/// What came of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Its folder, relative to the study's, where it was kept.
    pub folder: Option<String>,
    /// Its metrics, in the order of their list; none of a run that failed.
    pub values: Vec<Option<Value>>,
}

impl Outcome {
    /// The outcome of a run that ended.
    pub fn of(run: &RunFolder) -> Outcome {
        if run.manifest.status != Status::Complete {
            let why = run.manifest.error.as_deref();
            return Outcome::failed(why.unwrap_or("it ended without saying why"));
        }
        let values = metric::all(run).into_iter().map(|(_, value)| value);
        Outcome {
            error: None,
            folder: None,
            values: values.map(|value| value.filter(is_finite)).collect(),
        }
    }

    /// The outcome of a run that could not be carried out.
    pub fn failed(error: impl ToString) -> Outcome {
        Outcome {
            error: Some(error.to_string()),
            folder: None,
            values: vec![None; METRICS.len()],
        }
    }

    /// The journal's line for the run at `place` of the plan, with its end.
    pub fn line(&self, place: usize) -> Result<String, serde_json::Error> {
        let Outcome {
            error,
            folder,
            values,
        } = self;
        let cells = values.iter().map(|value| {
            value.as_ref().map(|value| match value {
                Value::Number(Observed { value, censored }) => Cell::Number(*value, *censored),
                Value::Word(word) => Cell::Word(word.clone()),
            })
        });
        let line = Line {
            place,
            error: error.clone(),
            folder: folder.clone(),
            values: cells.collect(),
        };
        serde_json::to_string(&line).map(|line| line + "\n")
    }

    /// Reads a line of the journal: a place in the plan, and what came of the run there.
    pub fn read(line: &[u8]) -> Result<(usize, Outcome), String> {
        let line: Line = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let Line {
            place,
            error,
            folder,
            values,
        } = line;
        if values.len() != METRICS.len() {
            return Err(format!(
                "{} values where {} were expected",
                values.len(),
                METRICS.len()
            ));
        }
        let values = values.into_iter().map(|cell| {
            cell.map(|cell| match cell {
                Cell::Number(value, censored) => Value::Number(Observed { value, censored }),
                Cell::Word(word) => Value::Word(word),
            })
        });
        let values = values.collect();
        Ok((
            place,
            Outcome {
                error,
                folder,
                values,
            },
        ))
    }
}

/// JSON has no other numbers.
fn is_finite(value: &Value) -> bool {
    value.number().is_none_or(|number| number.value.is_finite())
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    place: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    values: Vec<Option<Cell>>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Cell {
    /// The value, and whether it is a lower bound.
    Number(f64, bool),
    Word(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_what_was_written_to_the_last_bit() {
        let mut outcome = Outcome::failed("x");
        outcome.error = None;
        outcome.folder = Some("runs/blackhole/quic-1".to_owned());
        outcome.values[0] = Some(Value::exact(0.1 + 0.2));
        outcome.values[1] = Some(Value::Word("under-rto".to_owned()));
        outcome.values[2] = Some(Value::Number(Observed {
            value: f64::MIN_POSITIVE / 3.0,
            censored: true,
        }));
        let line = outcome.line(17).expect("JSON");
        assert!(line.ends_with('\n'));
        assert_eq!(Outcome::read(line.trim_end().as_bytes()), Ok((17, outcome)));
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for line in [
            "",
            "{}",
            r#"{"place":1,"values":[]}"#,
            r#"{"place":-1,"values":[]}"#,
        ] {
            assert!(Outcome::read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
