//! What is wrong with a scenario, and where: the one error that reading and checking give.

use serde::Serialize;
use std::fmt;

/// Why a text is no valid scenario: the first thing found wrong.
///
/// Displays as `walk.toml:14:9: unknown key ...`; serializes as a JSON object with the same
/// content for `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioError {
    /// The file as it was named to [`super::Document::parse`]; empty for a scenario that was
    /// checked without its text.
    pub file: String,
    /// The line, from 1; absent without the text.
    pub line: Option<usize>,
    /// The character within the line, from 1; absent without the text.
    pub column: Option<usize>,
    /// The key that is wrong, such as `path[1].up.delay` (lists count from 0); empty where the
    /// text is not TOML at all.
    pub key: String,
    /// What is wrong and what was expected: a sentence that stands without the other fields.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScenarioError {
            file,
            line,
            column,
            key: _,
            message,
        } = self;
        if !file.is_empty() {
            write!(f, "{file}:")?;
        }
        for number in [line, column].into_iter().flatten() {
            write!(f, "{number}:")?;
        }
        if !file.is_empty() || line.is_some() {
            f.write_str(" ")?;
        }
        f.write_str(message)
    }
}

impl std::error::Error for ScenarioError {}
