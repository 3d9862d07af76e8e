//! How does a verdict look on a terminal? A row per criterion.

use super::Reproduced;
use crate::table::{Part, Text};

impl Reproduced {
    /// The criteria as text: what is asked, what was found, and whether that meets it.
    pub fn text(&self) -> Text {
        let rows = self.criteria.iter().map(|judged| {
            vec![
                format!("{} {}", self.id, judged.says),
                judged.expected.clone(),
                judged.found.clone(),
                judged.finding.text().to_owned(),
            ]
        });
        Text {
            parts: vec![Part {
                head: ["criterion", "expected", "found", ""]
                    .map(str::to_owned)
                    .to_vec(),
                is_number: vec![false; 4],
                rows: rows.collect(),
            }],
            notes: vec![self.sentence()],
        }
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> String {
        format!(
            "{} {} in the {} world: {}",
            self.id,
            self.verdict.text(),
            self.world,
            self.title
        )
    }
}
