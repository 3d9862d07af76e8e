//! From TOML text to a paper's numbers and criteria, with errors that name file, line and key.

use super::{Reproduction, Subjects, check};
use crate::scenario::ScenarioError;
use crate::scenario::parse::{deserialize, place, tree};

/// A paper's result together with the text it was read from, so that whoever finds something wrong
/// later (an arm that the study does not have) can still name the line.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    source: String,
    reproduction: Reproduction,
}

impl Document {
    /// Reads `text` and checks what needs no study; `source` is the file's name in messages.
    ///
    /// # Errors
    /// The first thing wrong.
    ///
    /// ```
    /// use walkabout_model::reproduction::{Document, Test};
    /// let text = r#"
    /// id = "X1"
    /// title = "A is half of B"
    /// source = "Somebody, section 3"
    /// claim = "A takes half as long as B."
    ///
    /// [[criterion]]
    /// says = "about half"
    /// metric = "delay-max"
    /// [criterion.test.ratio]
    /// of = { arm = "a" }
    /// to = { arm = "b" }
    /// within = [0.4, 0.6]
    /// "#;
    /// let document = Document::parse(text, "x1.paper.toml").unwrap();
    /// assert!(matches!(document.reproduction().criteria[0].test, Test::Ratio(_)));
    ///
    /// let error = Document::parse(&text.replace("0.6", "0.3"), "x1.paper.toml").unwrap_err();
    /// assert_eq!(error.line, Some(13));
    /// ```
    pub fn parse(text: &str, source: &str) -> Result<Document, ScenarioError> {
        let tree = tree(text, source)?;
        let reproduction = deserialize(&tree, text, source)?;
        check::alone(&reproduction).map_err(|fault| place(&tree, text, source, fault))?;
        Ok(Document {
            text: text.to_owned(),
            source: source.to_owned(),
            reproduction,
        })
    }

    /// What the text says.
    pub fn reproduction(&self) -> &Reproduction {
        &self.reproduction
    }

    /// The text itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that what is named is in the study.
    ///
    /// # Errors
    /// The first name that is not, with its line.
    pub fn check_against(&self, subjects: &Subjects<'_>) -> Result<(), ScenarioError> {
        check::against(&self.reproduction, subjects).map_err(|fault| {
            match tree(&self.text, &self.source) {
                Ok(tree) => place(&tree, &self.text, &self.source, fault),
                Err(error) => error, // the text was parsed before, so this is not reached
            }
        })
    }
}
