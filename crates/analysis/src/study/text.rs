//! How does a study look on a terminal? A row per case and arm.

use super::paired::Bound;
use super::report::{Comparison, Group, StudyReport};
use super::verdict::Verdict;
use super::words::{self, p, ratio};
use crate::metric::{Unit, list};
use crate::table::{Part, Text};

impl StudyReport {
    /// The comparisons as text: label, median, ratio, pseudo-median, p-value and verdict. The notes
    /// are the conclusion.
    pub fn text(&self) -> Text {
        let metric = list::find(&self.primary);
        let unit = metric.map_or(Unit::Count, |metric| metric.unit);
        let heading = metric.map_or(self.primary.as_str(), |metric| metric.heading);
        let rows = self.groups.iter().map(|group| {
            let comparison = self
                .comparisons
                .iter()
                .find(|c| (c.case, c.arm) == (group.case, group.arm));
            let arm = &self.arms[group.arm];
            let mut row = vec![
                format!("{} {arm}", self.cases[group.case].label),
                median(group, unit),
            ];
            row.extend(match comparison {
                Some(comparison) => compared(comparison),
                None if *arm == self.baseline => words(["", "", "", "baseline"]),
                None => words(["-", "-", "-", "no baseline"]),
            });
            row
        });
        let heads = [
            "arm",
            &format!("median {heading}\n(95 %)"),
            &format!("ratio to {}\n(95 %)", self.baseline),
            "Hodges-\nLehmann",
            "Holm p",
            "verdict",
        ];
        Text {
            parts: vec![Part {
                head: words(heads),
                is_number: vec![false, true, true, true, true, false],
                rows: rows.collect(),
            }],
            notes: self.conclusion.clone(),
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// `341 ms (320 ms..360 ms)`, `>=19.9 s (19.9 s..)`.
fn median(group: &Group, unit: Unit) -> String {
    let Some(middle) = group.median else {
        return "-".to_owned();
    };
    let value = |value| words::value(value, unit);
    let bound = match group.median_censored {
        true => ">=",
        false => "",
    };
    let range = match (group.median_low, group.median_high) {
        (None, _) => String::new(),
        (Some(low), high) => format!(" ({}..{})", value(low), high.map_or(String::new(), value)),
    };
    format!("{bound}{}{range}", value(middle))
}

fn compared(comparison: &Comparison) -> Vec<String> {
    let bound = match comparison.bound {
        Bound::Exact | Bound::Open => "",
        Bound::AtMost => "<=",
        Bound::AtLeast => ">=",
    };
    let middle = match (comparison.ratio, comparison.low, comparison.high) {
        (Some(middle), Some(low), Some(high)) => {
            let (low, high) = (ratio(low), ratio(high));
            format!("{bound}{} ({low}..{high})", ratio(middle))
        }
        (Some(middle), ..) => format!("{bound}{}", ratio(middle)),
        (None, ..) => "-".to_owned(),
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let pseudo = comparison.hodges_lehmann;
    vec![
        middle,
        or_dash(pseudo.map(|value| format!("{bound}{}", ratio(value)))),
        or_dash(comparison.holm_p.map(p)),
        verdict(comparison),
    ]
}

/// The verdict, with the blocks where there are too few.
fn verdict(comparison: &Comparison) -> String {
    match comparison.verdict {
        Verdict::TooFew => format!("{} ({})", Verdict::TooFew.text(), comparison.blocks),
        other => other.text().to_owned(),
    }
}
