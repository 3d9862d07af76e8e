//! Where in a TOML document is a key? Paths of keys, and their way to a line and column.

use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The way from the top of a document to a key: `path[1].walk.waypoints[2].distance_m`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct KeyPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// The way to `key` of the top table.
    pub(crate) fn top(key: &str) -> KeyPath {
        KeyPath::default().key(key)
    }

    /// One key further.
    pub(crate) fn key(&self, key: &str) -> KeyPath {
        self.with(Step::Key(key.to_owned()))
    }

    /// One list element further, counted from 0.
    pub(crate) fn index(&self, index: usize) -> KeyPath {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> KeyPath {
        let mut steps = self.0.clone();
        steps.push(step);
        KeyPath(steps)
    }

    /// As a sentence names it: `` `delay` in [path.up] ``.
    pub(crate) fn in_words(&self) -> String {
        let keys = self.0.iter().rposition(|s| matches!(s, Step::Key(_)));
        let (table, own) = self.0.split_at(keys.unwrap_or(0));
        let own = KeyPath(own.to_vec());
        match table {
            [] => format!("`{own}`"),
            _ => format!("`{own}` in {}", KeyPath(table.to_vec()).header()),
        }
    }

    /// The table or list that this is in.
    pub(crate) fn parent(&self) -> KeyPath {
        let (_, parent) = self.0.split_last().unwrap_or((&Step::Index(0), &[]));
        KeyPath(parent.to_vec())
    }

    /// The table's header as one would write it: `[path.up]`, `[[path]]`; in words for the top.
    pub(crate) fn header(&self) -> String {
        let keys: Vec<&str> = self
            .0
            .iter()
            .filter_map(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                Step::Index(_) => None,
            })
            .collect();
        match self.0.last() {
            None => "the root table".to_owned(),
            Some(Step::Index(_)) => format!("[[{}]]", keys.join(".")),
            Some(Step::Key(_)) => format!("[{}]", keys.join(".")),
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The bytes of `key`'s value in the document, or of its nearest ancestor that is there; for a
/// table, of its header.
pub(crate) fn locate(document: &Spanned<DeTable<'_>>, key: &KeyPath) -> Range<usize> {
    let mut span = document.span();
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for step in &key.0 {
        let next = match (step, value.map(|v| v.get_ref())) {
            (Step::Key(key), None) => document.get_ref().get(key.as_str()),
            (Step::Key(key), Some(value)) => value.get(key.as_str()),
            (Step::Index(index), Some(value)) => value.get(*index),
            (Step::Index(_), None) => None,
        };
        let Some(next) = next else { break };
        span = next.span();
        value = Some(next);
    }
    span
}

/// What a span of the document belongs to.
pub(crate) enum Found {
    /// A key's own name.
    Name(KeyPath),
    /// A key's value.
    Value(KeyPath),
}

/// The key whose name or value has exactly this span; the deepest, where several share it (a
/// list of tables begins where its first table does).
pub(crate) fn identify(document: &Spanned<DeTable<'_>>, span: &Range<usize>) -> Option<Found> {
    in_table(document.get_ref(), &KeyPath::default(), span)
}

fn in_table(table: &DeTable<'_>, at: &KeyPath, span: &Range<usize>) -> Option<Found> {
    table.iter().find_map(|(name, value)| {
        let at = at.key(name.get_ref());
        if name.span() == *span {
            // A table that only its children's headers name has the span of its name.
            let implicit = value.span() == *span;
            return Some(if implicit {
                Found::Value(at)
            } else {
                Found::Name(at)
            });
        }
        in_value(value, at, span)
    })
}

fn in_value(value: &Spanned<DeValue<'_>>, at: KeyPath, span: &Range<usize>) -> Option<Found> {
    let inside = match value.get_ref() {
        DeValue::Table(table) => in_table(table, &at, span),
        DeValue::Array(array) => array
            .iter()
            .enumerate()
            .find_map(|(i, element)| in_value(element, at.index(i), span)),
        _ => None,
    };
    inside.or_else(|| (value.span() == *span).then_some(Found::Value(at)))
}

/// The line and the character within it, both from 1, of byte `offset`.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}
