//! From TOML text to a checked scenario, with errors that name file, line and key.

use super::Scenario;
use super::check::{self, Fault, Names};
use super::error::ScenarioError;
use super::key::{Found, KeyPath, identify, line_and_column, locate};
use super::set::{self, Setting};
use crate::spelling::nearest;
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeTable;

/// A scenario together with the text it was read from, so that whoever finds something wrong
/// later (an unknown transport, say) can still name the line.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    source: String,
    settings: Vec<Setting>,
    scenario: Scenario,
}

impl Document {
    /// Reads `text` and checks it as [`Scenario::check`] does; `source` is the file's name in
    /// messages.
    ///
    /// # Errors
    /// The first thing wrong: syntax, then unknown or missing keys and wrong units, then values
    /// that contradict each other.
    pub fn parse(text: &str, source: &str) -> Result<Document, ScenarioError> {
        Document::parse_with(text, source, &[])
    }

    /// As [`Document::parse`], with other values for some keys: what is wrong with the text itself
    /// is told first, and then what is wrong because of a setting, at the setting's origin.
    ///
    /// # Errors
    /// The first thing wrong.
    pub fn parse_with(
        text: &str,
        source: &str,
        settings: &[Setting],
    ) -> Result<Document, ScenarioError> {
        let tree = tree(text, source)?;
        let mut scenario: Scenario = deserialize(&tree, text, source)?;
        check::scenario(&scenario).map_err(|fault| place(&tree, text, source, fault))?;
        if !settings.is_empty() {
            scenario = set::apply(&tree, text, source, settings)?;
        }
        Ok(Document {
            text: text.to_owned(),
            source: source.to_owned(),
            settings: settings.to_vec(),
            scenario,
        })
    }

    /// What the text says.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What the text says, without the text.
    pub fn into_scenario(self) -> Scenario {
        self.scenario
    }

    /// As [`Scenario::check_names`], naming the line, or the setting that is to blame.
    ///
    /// # Errors
    /// The first name that is in no list.
    pub fn check_names(&self, known: &Names<'_>) -> Result<(), ScenarioError> {
        check::names(&self.scenario, known).map_err(|fault| self.place(fault))
    }

    /// Finds the line of a fault, or the setting.
    fn place(&self, fault: Fault) -> ScenarioError {
        let key = fault.key.to_string();
        if let Some(setting) = self.settings.iter().rfind(|setting| setting.key == key) {
            return setting.error(&self.source, &key, &fault.message);
        }
        match tree(&self.text, &self.source) {
            Ok(tree) => place(&tree, &self.text, &self.source, fault),
            Err(error) => error, // the text was parsed before, so this is not reached
        }
    }
}

/// The TOML of `text`; `source` is the file's name in messages.
pub(crate) fn tree<'t>(text: &'t str, source: &str) -> Result<Spanned<DeTable<'t>>, ScenarioError> {
    DeTable::parse(text).map_err(|e| {
        let message = format!("not valid TOML: {}", e.message());
        error(text, source, e.span(), String::new(), message)
    })
}

/// What the TOML says, if it has the form of a `T`.
pub(crate) fn deserialize<T: DeserializeOwned>(
    tree: &Spanned<DeTable<'_>>,
    text: &str,
    source: &str,
) -> Result<T, ScenarioError> {
    T::deserialize(toml::Deserializer::from(tree.clone())).map_err(|e| {
        let (key, message) = explain(tree, &e);
        error(text, source, e.span(), key.to_string(), message)
    })
}

/// A fault with its line.
pub(crate) fn place(
    tree: &Spanned<DeTable<'_>>,
    text: &str,
    source: &str,
    fault: Fault,
) -> ScenarioError {
    let span = locate(tree, &fault.key);
    error(
        text,
        source,
        Some(span),
        fault.key.to_string(),
        fault.message,
    )
}

fn error(
    text: &str,
    source: &str,
    span: Option<Range<usize>>,
    key: String,
    message: String,
) -> ScenarioError {
    let (line, column) = line_and_column(text, span.map_or(0, |s| s.start));
    ScenarioError {
        file: source.to_owned(),
        line: Some(line),
        column: Some(column),
        key,
        message,
    }
}

impl Scenario {
    /// Reads a scenario from TOML and checks it; `source` is the file's name in messages.
    ///
    /// # Errors
    /// The first thing wrong, with its line and what was expected.
    ///
    /// ```
    /// use walkabout_model::Scenario;
    /// let text = r#"
    /// name = "two-wires"
    /// summary = "Two paths that never change"
    /// duration = "10 s"
    /// transports = ["tcp", "mptcp"]
    /// policies = ["fullmesh"]
    ///
    /// [traffic.interactive]
    /// ack_size = "750 B"
    ///
    /// [[path]]
    /// name = "wifi"
    /// kind = "wifi"
    /// up = { rate = "30 Mbit/s", delay = "10 ms" }
    /// down = { rate = "30 Mbit/s", delay = "10 ms", loss = "0.1 %" }
    /// "#;
    /// let scenario = Scenario::parse(text, "two-wires.toml").unwrap();
    /// assert_eq!(scenario.paths[0].up.rate.unwrap().bits_per_second(), 30_000_000);
    ///
    /// let error = Scenario::parse(&text.replace("delay", "dealy"), "two-wires.toml").unwrap_err();
    /// assert_eq!((error.line, error.key.as_str()), (Some(15), "path[0].down.dealy"));
    /// assert!(error.to_string().ends_with("(did you mean `delay`?)"));
    /// ```
    pub fn parse(text: &str, source: &str) -> Result<Scenario, ScenarioError> {
        Document::parse(text, source).map(Document::into_scenario)
    }
}

/// A variant of the traffic that hosts use among themselves: no scenario should be told of it.
const ON_THE_WIRE: &str = "with-background";

/// Says an error of serde's in this format's terms: which key, what is wrong, what was expected.
fn explain(tree: &Spanned<DeTable<'_>>, error: &toml::de::Error) -> (KeyPath, String) {
    let found = error.span().and_then(|span| identify(tree, &span));
    let (key, table) = match found {
        Some(Found::Name(key)) => (key.clone(), Some(key.parent())),
        Some(Found::Value(key)) => (key, None),
        None => (KeyPath::default(), None),
    };
    let text = error.message();
    let mut quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    quoted.retain(|name| *name != ON_THE_WIRE);

    if let (Some(table), [unknown, expected @ ..]) = (table, &quoted[..])
        && text.starts_with("unknown ")
    {
        let message = format!(
            "unknown key `{unknown}` in {}; {}",
            table.header(),
            one_of(unknown, expected)
        );
        return (key, message);
    }
    if let (true, [missing]) = (text.starts_with("missing field"), &quoted[..]) {
        let message = format!("missing key `{missing}` in {}", key.header());
        return (key.key(missing), message);
    }
    if let (true, [unknown, expected @ ..]) = (text.starts_with("unknown variant"), &quoted[..]) {
        let message = format!(
            "{}: unknown value `{unknown}`; {}",
            key.in_words(),
            one_of(unknown, expected)
        );
        return (key, message);
    }
    let message = if key == KeyPath::top("traffic") {
        "one pattern, written as a table such as [traffic.interactive], [traffic.bursts], [traffic.iperf] \
         or [traffic.bulk], was expected"
            .to_owned()
    } else if text == "invalid type: map, expected a sequence" {
        let header = key.index(0).header();
        format!("found one table, expected a list of them: write {header}, with two brackets")
    } else {
        in_toml_terms(text)
    };
    let message = format!("{}: {message}", key.in_words());
    (key, message)
}

/// serde names kinds of values as Rust does; TOML has other words.
fn in_toml_terms(text: &str) -> String {
    let Some((found, expected)) = text
        .strip_prefix("invalid type: ")
        .or_else(|| text.strip_prefix("invalid value: "))
        .and_then(|text| text.split_once(", expected "))
    else {
        return text.to_owned();
    };
    let found = match found {
        "map" => "a table",
        "sequence" => "a list",
        _ => found,
    };
    let expected = match expected {
        "a sequence" => "a list in [...]",
        "f64" => "a number",
        "u32" | "u64" => "a whole number of zero or more",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    };
    format!("found {found}, expected {expected}")
}

/// `expected one of a, b, c (did you mean `b`?)`
pub(crate) fn one_of(found: &str, expected: &[&str]) -> String {
    let hint = match nearest(found, expected.iter().copied()) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => String::new(),
    };
    match expected {
        [] => "nothing is expected there".to_owned(),
        [only] => format!("expected {only}{hint}"),
        _ => format!("expected one of {}{hint}", expected.join(", ")),
    }
}
