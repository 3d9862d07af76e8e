//! What can be reproduced: the built-in studies that name a paper's numbers.

use crate::command::run::input;
use crate::failure::Failure;
use comfy_table::{Table, presets};
use model::reproduction::{Document as Paper, Reproduction};
use model::study::{Document, builtin};
use serde_json::{Value, json};

/// A study that comes with a paper's numbers.
pub struct Entry {
    /// The study's name.
    pub study: &'static str,
    /// What it is held against.
    pub reproduction: Reproduction,
}

/// Every entry, by its ID.
pub fn entries() -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for (study, text) in builtin::STUDIES {
        let document = Document::parse(text, study).map_err(Failure::failed)?;
        let Some(file) = &document.study().paper else {
            continue;
        };
        let text = builtin::paper(file)
            .ok_or_else(|| Failure::failed(format!("the study {study} lacks its {file}")))?;
        let paper = Paper::parse(text, file).map_err(Failure::failed)?;
        entries.push(Entry {
            study,
            reproduction: paper.reproduction().clone(),
        });
    }
    entries.sort_by_key(|entry| number(&entry.reproduction.id));
    Ok(entries)
}

/// `M9` stands before `M10`.
fn number(id: &str) -> (String, u64) {
    let digits = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
    let (letters, digits) = id.split_at(digits);
    (letters.to_owned(), digits.parse().unwrap_or(0))
}

/// Those called `ids`, each once and in the order of the catalogue; all when there are none.
pub fn chosen(ids: &[String]) -> Result<Vec<Entry>, Failure> {
    let mut entries = entries()?;
    let known: Vec<&str> = entries
        .iter()
        .map(|entry| entry.reproduction.id.as_str())
        .collect();
    input::known("reproduction", ids, &known)?;
    entries.retain(|entry| ids.is_empty() || ids.contains(&entry.reproduction.id));
    Ok(entries)
}

/// Prints what there is, or returns it for `--json`.
pub fn show(entries: &[Entry], json: bool) -> Option<Value> {
    if json {
        let entries = entries.iter().map(|entry| {
            let Entry {
                study,
                reproduction,
            } = entry;
            let criteria = reproduction.criteria.iter().map(|c| &c.says);
            json!({
                "id": reproduction.id,
                "study": study,
                "title": reproduction.title,
                "source": reproduction.source,
                "claim": reproduction.claim,
                "criteria": criteria.collect::<Vec<_>>(),
            })
        });
        return Some(entries.collect());
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for entry in entries {
        let reproduction = &entry.reproduction;
        table.add_row([
            reproduction.id.as_str(),
            entry.study,
            reproduction.title.as_str(),
        ]);
    }
    println!("{table}");
    None
}
