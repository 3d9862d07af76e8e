//! How does a study look on a terminal? A row per case and arm.

use super::compare::SetComparison;
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

impl SetComparison {
    /// The comparison as text, a row per case and arm. The notes are the sentences and the
    /// conclusion.
    pub fn text(&self) -> Text {
        let unit = self.metric.unit;
        let rows = self.rows.iter().map(|row| {
            let blocks = match row.paired {
                true => row.blocks,
                false => row.a.runs.min(row.b.runs),
            };
            let middle = with_range(bound(row.bound), row.ratio, (row.low, row.high));
            vec![
                format!("{} {}", row.case, row.arm),
                row.a.text(unit),
                row.b.text(unit),
                match row.paired {
                    true => middle,
                    false => "not paired".to_owned(),
                },
                or_dash(row.ks_distance.map(ratio)),
                or_dash(row.holm_p.map(p)),
                verdict(row.verdict, blocks),
            ]
        });
        let heading = self.metric.heading;
        let heads = [
            "arm",
            &format!("A median\n{heading}"),
            &format!("B median\n{heading}"),
            "ratio B/A\n(95 %)",
            "KS\ndistance",
            "Holm p",
            "verdict",
        ];
        let sentences = self.rows.iter().map(|row| row.sentence.clone());
        Text {
            parts: vec![Part {
                head: words(heads),
                is_number: vec![false, true, true, true, true, true, false],
                rows: rows.collect(),
            }],
            notes: sentences.chain(self.conclusion.iter().cloned()).collect(),
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn median(group: &Group, unit: Unit) -> String {
    let Some(middle) = group.median else {
        return "-".to_owned();
    };
    let range = (group.median_low, group.median_high);
    words::median(middle, group.median_censored, range, unit)
}

fn compared(comparison: &Comparison) -> Vec<String> {
    let pseudo = comparison.hodges_lehmann;
    let bound = bound(comparison.bound);
    let range = (comparison.low, comparison.high);
    vec![
        with_range(bound, comparison.ratio, range),
        or_dash(pseudo.map(|value| format!("{bound}{}", ratio(value)))),
        or_dash(comparison.holm_p.map(p)),
        verdict(comparison.verdict, comparison.blocks),
    ]
}

fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Exact | Bound::Open => "",
        Bound::AtMost => "<=",
        Bound::AtLeast => ">=",
    }
}

/// `<=0.42 (0.38..0.47)`.
fn with_range(bound: &str, middle: Option<f64>, range: (Option<f64>, Option<f64>)) -> String {
    match (middle, range) {
        (Some(middle), (Some(low), Some(high))) => {
            let (low, high) = (ratio(low), ratio(high));
            format!("{bound}{} ({low}..{high})", ratio(middle))
        }
        (Some(middle), _) => format!("{bound}{}", ratio(middle)),
        (None, _) => "-".to_owned(),
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// The verdict, with the blocks where there are too few.
fn verdict(verdict: Verdict, blocks: usize) -> String {
    match verdict {
        Verdict::TooFew => format!("{} ({blocks})", Verdict::TooFew.text()),
        other => other.text().to_owned(),
    }
}
