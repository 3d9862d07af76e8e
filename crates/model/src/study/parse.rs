//! From TOML text to a checked study, with errors that name file, line and key.

use super::{ParameterValue, Study, check};
use crate::scenario::ScenarioError;
use crate::scenario::check::Fault;
use crate::scenario::key::{KeyPath, line_and_column};
use crate::scenario::parse::{deserialize, one_of, place, tree};
use crate::scenario::{Origin, Setting};

/// A study together with the text it was read from, so that whoever finds something wrong later
/// (an unknown transport, a value that a scenario refuses) can still name the line.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    source: String,
    study: Study,
}

impl Document {
    /// Reads `text` and checks what needs no scenario; `source` is the file's name in messages.
    ///
    /// # Errors
    /// The first thing wrong: syntax, then unknown or missing keys, then values that make no
    /// sense.
    ///
    /// ```
    /// use walkabout_model::study::Document;
    /// let text = r#"
    /// name = "delays"
    /// summary = "How the delay of cellular shows in a handover"
    /// scenarios = ["blackhole"]
    /// seeds = 30
    ///
    /// [[parameter]]
    /// name = "cellular-delay"
    /// key = "path.cellular.delay"
    /// values = ["30 ms", "60 ms"]
    /// "#;
    /// let document = Document::parse(text, "delays.toml").unwrap();
    /// assert_eq!(document.study().parameters[0].values[1].as_str(), "60 ms");
    ///
    /// let error = Document::parse(&text.replace("seeds", "seed"), "delays.toml").unwrap_err();
    /// assert_eq!((error.line, error.key.as_str()), (Some(5), "seed"));
    /// assert!(error.to_string().ends_with("(did you mean `seeds`?)"));
    /// ```
    pub fn parse(text: &str, source: &str) -> Result<Document, ScenarioError> {
        let tree = tree(text, source)?;
        let study = deserialize(&tree, text, source)?;
        check::study(&study).map_err(|fault| place(&tree, text, source, fault))?;
        Ok(Document {
            text: text.to_owned(),
            source: source.to_owned(),
            study,
        })
    }

    /// What the text says.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The file's name in messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The study, to be changed by options of the command line; [`Document::check`] says whether
    /// it makes sense still.
    pub fn study_mut(&mut self) -> &mut Study {
        &mut self.study
    }

    /// Checks the study again, after it was changed.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn check(&self) -> Result<(), ScenarioError> {
        check::study(&self.study).map_err(|fault| self.place(fault))
    }

    /// Checks the names of transports, policies and metrics, which this crate does not know.
    ///
    /// # Errors
    /// The first name that is in no list, with its line.
    pub fn check_names(
        &self,
        transports: &[&str],
        policies: &[&str],
        metrics: &[&str],
    ) -> Result<(), ScenarioError> {
        check::names(&self.study, transports, policies, metrics).map_err(|fault| self.place(fault))
    }

    /// An error at the value of the top key `key`, or of its `index`th element.
    pub(super) fn error(
        &self,
        key: &str,
        index: Option<usize>,
        message: impl Into<String>,
    ) -> ScenarioError {
        let key = KeyPath::top(key);
        self.place(Fault {
            key: index.map_or(key.clone(), |index| key.index(index)),
            message: message.into(),
        })
    }

    /// An error about a scenario's name that nobody could read: `why` says what was tried.
    pub fn no_scenario(&self, index: usize, known: &[&str], why: &str) -> ScenarioError {
        let name = self.study.scenarios.get(index).map_or("", String::as_str);
        let message = format!(
            "`{name}` is neither a built-in scenario nor a file beside the study that can be \
             read ({why}); built in: {}",
            one_of(name, known).trim_start_matches("expected one of ")
        );
        self.error("scenarios", Some(index), message)
    }

    /// An error about a file with a paper's numbers that nobody could read: `why` says what was
    /// tried.
    pub fn no_paper(&self, why: &str) -> ScenarioError {
        let name = self.study.paper.as_deref().unwrap_or_default();
        let message = format!("`{name}` is no file beside the study that can be read ({why})");
        self.error("paper", None, message)
    }

    /// An error at `key` of the arm at `index`.
    pub(super) fn arm_error(&self, index: usize, key: &str, message: &str) -> ScenarioError {
        self.place(Fault {
            key: KeyPath::top("arm").index(index).key(key),
            message: message.to_owned(),
        })
    }

    /// A setting that one of the parameters makes, or an arm.
    pub(super) fn setting(&self, key: &str, value: &ParameterValue) -> Setting {
        Setting {
            key: key.to_owned(),
            value: value.written.clone(),
            origin: Origin {
                file: self.source.clone(),
                at: Some(line_and_column(&self.text, value.span.start)),
            },
        }
    }

    fn place(&self, fault: Fault) -> ScenarioError {
        match tree(&self.text, &self.source) {
            Ok(tree) => place(&tree, &self.text, &self.source, fault),
            Err(error) => error, // the text was parsed before, so this is not reached
        }
    }
}
