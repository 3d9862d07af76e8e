//! What changed from one set of runs to another? Each arm of each case in B against the same in A:
//! seed by seed where both ran the same seeds, else distribution against distribution.

mod row;

use super::layout::Layout;
use super::paired::Bound;
use super::report::{MetricHead, over_all};
use super::verdict::Verdict;
use super::words::count;
use super::{Study, place};
use crate::folder::RunFolder;
use crate::metric::{Metric, Observed};
use row::Found;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the JSON form says it is.
pub const FORMAT: &str = "walkabout.comparison/1";

/// A run, as far as two sets are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRun {
    /// The case's label: `blackhole`, `blackhole cellular-delay=60 ms`.
    pub case: String,
    /// The arm's label: `quic`, `mpquic-backup`.
    pub arm: String,
    /// The run's seed.
    pub seed: u64,
    /// Whether it ended as planned; one that did not takes no part.
    pub complete: bool,
    /// Its value, if the metric has one for it.
    pub value: Option<Observed>,
}

impl ComparedRun {
    /// A run folder of the arm labelled `arm`.
    pub fn of(run: &RunFolder, arm: String, metric: &Metric) -> ComparedRun {
        ComparedRun {
            case: run.manifest.scenario.name.clone(),
            arm,
            seed: run.manifest.seed.0,
            complete: run.is_complete(),
            value: (metric.of)(run).and_then(|value| value.number()),
        }
    }
}

impl Study {
    /// The study's runs, to be compared with other runs.
    pub fn compared(&self, metric: &Metric) -> Vec<ComparedRun> {
        let layout = Layout::of(self);
        let place = place(metric.name);
        let runs = self.runs.iter().zip(&layout.places);
        runs.map(|(run, (case, arm))| ComparedRun {
            case: layout.cases[*case].label.clone(),
            arm: layout.arms[*arm].clone(),
            seed: run.seed,
            complete: run.is_complete(),
            value: run.number(place),
        })
        .collect()
    }
}

/// Two sets of runs, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetComparison {
    /// [`FORMAT`].
    pub format: &'static str,
    /// What is compared.
    pub metric: MetricHead,
    /// Each arm of each case that both have, in the order of A.
    pub rows: Vec<Row>,
    /// What only A has, as `case, arm`.
    pub only_in_a: Vec<String>,
    /// What only B has.
    pub only_in_b: Vec<String>,
    /// What may and what may not be concluded, a sentence each.
    pub conclusion: Vec<String>,
}

/// One arm in one case, B against A.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The case's label.
    pub case: String,
    /// The arm's label.
    pub arm: String,
    /// A on its own.
    pub a: Side,
    /// B on its own.
    pub b: Side,
    /// Whether runs of the same seed were compared. Without, there is no ratio.
    pub paired: bool,
    /// Seeds that both ran to the end; 0 when they are not paired.
    pub blocks: usize,
    /// Of these, those whose pair has a ratio.
    pub pairs_used: usize,
    /// What the ratio says of the true one.
    pub bound: Bound,
    /// Geometric mean of the ratios B to A.
    pub ratio: Option<f64>,
    /// The lower end of its interval (BCa over seeds).
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Pseudo-median of the ratios.
    pub hodges_lehmann: Option<f64>,
    /// The lower end of its rank interval.
    pub hl_low: Option<f64>,
    /// The upper end.
    pub hl_high: Option<f64>,
    /// Kolmogorov-Smirnov distance of the two distributions.
    pub ks_distance: Option<f64>,
    /// Its p-value.
    pub ks_p: Option<f64>,
    /// The p-value the verdict rests on, two-sided: of the signed-rank test where paired, of
    /// Kolmogorov and Smirnov's where not.
    pub p: Option<f64>,
    /// The same after Holm's correction over all rows.
    pub holm_p: Option<f64>,
    /// What may be concluded of B.
    pub verdict: Verdict,
    /// The same in words.
    pub sentence: String,
}

/// The runs of one arm in one case of one set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Its runs.
    pub runs: usize,
    /// Those that did not end as planned.
    pub failed: usize,
    /// Those whose value is only a lower bound.
    pub censored: usize,
    /// The median, lower bounds taken as they are.
    pub median: Option<f64>,
    /// The lower end of its rank interval.
    pub median_low: Option<f64>,
    /// The upper end; `None` also where censored values leave it open.
    pub median_high: Option<f64>,
    /// Whether the median is only a lower bound.
    pub median_censored: bool,
}

/// Compares two sets of runs by the values that `metric` had for them; ratios are B to A.
pub fn compare(a: &[ComparedRun], b: &[ComparedRun], metric: &Metric) -> SetComparison {
    let (keys_a, keys_b) = (keys(a), keys(b));
    let only = |these: &[Key<'_>], those: &[Key<'_>]| {
        let only = these.iter().filter(|key| !those.contains(key));
        only.map(|(case, arm)| format!("{case}, {arm}")).collect()
    };
    let (groups_a, groups_b) = (groups(a), groups(b));
    let mut found = Vec::new();
    for key in &keys_a {
        if let (Some(a), Some(b)) = (groups_a.get(key), groups_b.get(key)) {
            found.push((*key, Found::of(*key, a, b)));
        }
    }
    let adjusted = over_all(found.iter().map(|(_, found)| found.p()));
    let total = found.len();
    let found = found.into_iter().zip(adjusted);
    let rows: Vec<Row> = found
        .map(|((key, found), holm_p)| found.row(key, metric, holm_p, total))
        .collect();
    let only_in_a: Vec<String> = only(&keys_a, &keys_b);
    let only_in_b: Vec<String> = only(&keys_b, &keys_a);
    SetComparison {
        format: FORMAT,
        metric: MetricHead::of(metric),
        conclusion: conclusion(&rows, only_in_a.len() + only_in_b.len()),
        rows,
        only_in_a,
        only_in_b,
    }
}

/// Case and arm.
type Key<'r> = (&'r str, &'r str);

/// In the order of their first run.
fn keys(runs: &[ComparedRun]) -> Vec<Key<'_>> {
    let mut seen = BTreeSet::new();
    let keys = runs.iter().map(|run| (run.case.as_str(), run.arm.as_str()));
    keys.filter(|key| seen.insert(*key)).collect()
}

fn groups(runs: &[ComparedRun]) -> BTreeMap<Key<'_>, Vec<&ComparedRun>> {
    let mut groups: BTreeMap<Key<'_>, Vec<&ComparedRun>> = BTreeMap::new();
    for run in runs {
        groups.entry((&run.case, &run.arm)).or_default().push(run);
    }
    groups
}

fn conclusion(rows: &[Row], unmatched: usize) -> Vec<String> {
    let mut said = Vec::new();
    let mut verdicts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for row in rows {
        *verdicts.entry(row.verdict).or_insert(0) += 1;
    }
    let found: Vec<String> = verdicts
        .iter()
        .map(|(verdict, number)| format!("{number} {}", verdict.text()))
        .collect();
    match rows.is_empty() {
        true => said.push("A and B have no case and arm in common: nothing to compare.".to_owned()),
        false => said.push(format!(
            "B against A, {}: {}.",
            count(rows.len(), "comparison"),
            found.join(", ")
        )),
    }
    if rows.iter().any(|row| !row.paired) {
        said.push(
            "Where the seeds differ runs can't be paired: only large differences show. Run both \
             sets with the same seeds."
                .to_owned(),
        );
    }
    if verdicts.contains_key(&Verdict::NoDifference) {
        said.push(
            "`No difference shown` does not mean that there is none; only `equivalent` says that \
             it does not matter."
                .to_owned(),
        );
    }
    if unmatched > 0 {
        said.push(format!(
            "{} in one set only and left out.",
            match unmatched {
                1 => "1 case and arm is".to_owned(),
                n => format!("{n} cases and arms are"),
            }
        ));
    }
    said
}
