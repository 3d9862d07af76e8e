//! What does the report of a study show? The comparisons first, then the groups behind them, then
//! every run; as data, from which the page and the terminal's table are drawn.
//!
//! `web/src/study/types.ts` mirrors the types here; change both together, and [`FORMAT`] when an
//! older page could no longer read the data.

use super::conclusion::{self, Counts};
use super::coverage::Coverage;
use super::layout::{Case, Layout};
use super::paired::{Bound, Pair, Paired};
use super::sentence::{self, Subject};
use super::verdict::Verdict;
use super::{Study, place};
use crate::metric::{Metric, Observed, Unit, list};
use crate::reproduction::Reproduced;
use crate::statistics::holm;
use model::Seed;
use serde::Serialize;
use std::collections::BTreeMap;

pub use super::runs::{Figure, Reproduce, Runs};

/// The version of the report's data.
pub const FORMAT: &str = "walkabout.study-report/1";

/// Everything the report of a study shows. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyReport {
    /// [`FORMAT`].
    pub format: &'static str,
    /// The study's name.
    pub name: String,
    /// The study's one line.
    pub summary: String,
    /// The world's name.
    pub world: String,
    /// Whether each arm was run against its own copy.
    pub a_a: bool,
    /// What was run, and how it was compared.
    pub facts: Vec<Fact>,
    /// The metrics that are numbers.
    pub metrics: Vec<MetricHead>,
    /// The metric of the comparisons and groups.
    pub primary: String,
    /// The label of the arm that the others are compared with.
    pub baseline: String,
    /// The cases that have runs.
    pub cases: Vec<Case>,
    /// What was varied.
    pub parameters: Vec<ParameterAxis>,
    /// The labels of the arms.
    pub arms: Vec<String>,
    /// Each arm against the baseline, by case.
    pub comparisons: Vec<Comparison>,
    /// What may and what may not be concluded, a sentence each.
    pub conclusion: Vec<String>,
    /// Each arm on its own, by case.
    pub groups: Vec<Group>,
    /// Of an A/A study: whether the intervals hold what they promise.
    pub a_a_coverage: Option<Coverage>,
    /// What the study is held against, where it has a paper's numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduction: Option<Reproduced>,
    /// Every run.
    pub runs: Runs,
}

/// A name and its value, in words with units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What.
    pub name: &'static str,
    /// How much.
    pub value: String,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MetricHead {
    /// Its name.
    pub name: &'static str,
    /// A short name, without the unit.
    pub heading: &'static str,
    /// The unit of its numbers.
    pub unit: Unit,
    /// What it means.
    pub summary: &'static str,
}

/// A parameter of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterAxis {
    /// Its name.
    pub name: String,
    /// The key of the scenario that it sets.
    pub key: String,
    /// Its values as written.
    pub values: Vec<String>,
    /// The values as numbers in `unit`, when all of them are quantities of one kind.
    pub numbers: Option<Vec<f64>>,
    /// `s`, `bit/s`, `B` or `1`.
    pub unit: Option<&'static str>,
}

/// An arm against the baseline in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The case, by its place.
    pub case: usize,
    /// The arm, by its place.
    pub arm: usize,
    /// Blocks in which both ran to their end.
    pub blocks: usize,
    /// Blocks whose pair has a ratio.
    pub pairs_used: usize,
    /// What `ratio` and its interval say of the true ratio.
    pub bound: Bound,
    /// Geometric mean of the ratios arm to baseline.
    pub ratio: Option<f64>,
    /// The lower end of its interval (BCa over blocks).
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Pseudo-median of the ratios.
    pub hodges_lehmann: Option<f64>,
    /// The lower end of its rank interval.
    pub hl_low: Option<f64>,
    /// The upper end.
    pub hl_high: Option<f64>,
    /// The p-value of the signed-rank test, two-sided.
    pub wilcoxon_p: Option<f64>,
    /// The same after Holm's correction over all comparisons of the study.
    pub holm_p: Option<f64>,
    /// Blocks in which the arm's value is only a lower bound.
    pub censored_arm: usize,
    /// Blocks in which the baseline's value is only a lower bound.
    pub censored_baseline: usize,
    /// What may be concluded.
    pub verdict: Verdict,
    /// The same in words.
    pub sentence: String,
}

/// An arm on its own in one case: its runs and the primary metric over them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The case, by its place.
    pub case: usize,
    /// The arm, by its place.
    pub arm: usize,
    /// Its runs.
    pub runs: usize,
    /// Those that failed.
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
    /// The distribution.
    pub curve: Curve,
}

/// What a curve's `y` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CurveKind {
    /// P(value <= x); the band is simultaneous (Dvoretzky, Kiefer and Wolfowitz).
    Cdf,
    /// P(value > x); the band is pointwise (Greenwood, log-log).
    Survival,
}

/// A step function with its band: `y[i]` holds from `x[i]` to just before `x[i + 1]`; before the
/// first it is 0 (CDF) or 1 (survival). All curves of a case are of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What `y` is.
    pub kind: CurveKind,
    /// Where it steps.
    pub x: Vec<f64>,
    /// Its value.
    pub y: Vec<f64>,
    /// The lower end of the band.
    pub low: Vec<f64>,
    /// The upper end of the band.
    pub high: Vec<f64>,
}

/// The values of one arm in one case.
#[derive(Default)]
struct Cell {
    runs: usize,
    failed: usize,
    /// Of the complete runs, by replica and seed.
    values: BTreeMap<(u64, u64), Option<Observed>>,
}

impl StudyReport {
    /// The report of `study`. The same study gives the same report.
    pub fn of(study: &Study) -> StudyReport {
        let head = &study.head;
        let layout = Layout::of(study);
        let primary = place(&head.primary);
        let mut cells: BTreeMap<(usize, usize), Cell> = BTreeMap::new();
        for (run, at) in study.runs.iter().zip(&layout.places) {
            let cell = cells.entry(*at).or_default();
            cell.runs += 1;
            if run.is_complete() {
                let value = run.number(primary);
                cell.values.insert((run.replica, run.seed), value);
            } else {
                cell.failed += 1;
            }
        }
        let comparisons = comparisons(study, &layout, &cells);
        let groups = groups(&layout, &cells);
        let a_a_coverage = Coverage::of(study, &layout);
        let counts = Counts::of(study, &layout, &comparisons);
        StudyReport {
            format: FORMAT,
            name: head.name.clone(),
            summary: head.summary.clone(),
            world: head.world.clone(),
            a_a: head.a_a,
            facts: conclusion::facts(study, &counts),
            metrics: metrics(),
            primary: head.primary.clone(),
            baseline: head.baseline.clone(),
            parameters: head.parameters.iter().map(ParameterAxis::of).collect(),
            conclusion: conclusion::conclusion(study, &counts, a_a_coverage.as_ref()),
            runs: Runs::of(study, &layout),
            cases: layout.cases,
            arms: layout.arms,
            comparisons,
            groups,
            a_a_coverage,
            reproduction: crate::reproduction::of(study),
        }
    }
}

/// What a metric is called in sentences: its heading, or its name when the list does not have it.
pub(super) fn heading(name: &str) -> &str {
    list::find(name).map_or(name, |metric| metric.heading)
}

fn metrics() -> Vec<MetricHead> {
    let metrics = list::METRICS.iter();
    let numbers = metrics.filter(|metric| metric.unit != Unit::Word);
    numbers.map(MetricHead::of).collect()
}

impl MetricHead {
    pub(crate) fn of(metric: &Metric) -> MetricHead {
        MetricHead {
            name: metric.name,
            heading: metric.heading,
            unit: metric.unit,
            summary: metric.summary,
        }
    }
}

fn comparisons(
    study: &Study,
    layout: &Layout,
    cells: &BTreeMap<(usize, usize), Cell>,
) -> Vec<Comparison> {
    let head = &study.head;
    let baseline = layout.arms.iter().position(|arm| *arm == head.baseline);
    let Some(baseline) = baseline else {
        return Vec::new();
    };
    let mut compared = Vec::new();
    for (at, cell) in cells {
        let (case, arm) = *at;
        let Some(reference) = cells.get(&(case, baseline)).filter(|_| arm != baseline) else {
            continue;
        };
        let (mut blocks, mut pairs) = (0, Vec::new());
        for (block, value) in &cell.values {
            let Some(other) = reference.values.get(block) else {
                continue;
            };
            blocks += 1;
            if let (Some(arm), Some(baseline)) = (*value, *other) {
                pairs.push(Pair { arm, baseline });
            }
        }
        let stream = format!(
            "bootstrap {} {}",
            layout.cases[case].label, layout.arms[arm]
        );
        let mut random = Seed(head.seed).stream(&stream);
        compared.push((case, arm, Paired::of(blocks, &pairs, &mut random)));
    }
    let adjusted = over_all(compared.iter().map(|(_, _, paired)| paired.wilcoxon_p));
    let total = compared.len();
    let compared = compared.into_iter().zip(adjusted);
    compared
        .map(|((case, arm, paired), holm_p)| {
            let verdict = Verdict::of(&paired, holm_p);
            let subject = Subject {
                case: &layout.cases[case].label,
                arm: &layout.arms[arm],
                baseline: &head.baseline,
                heading: heading(&head.primary),
            };
            Comparison {
                case,
                arm,
                blocks: paired.blocks,
                pairs_used: paired.pairs_used,
                bound: paired.bound,
                ratio: paired.ratio.map(six),
                low: paired.interval.map(|i| six(i.low)),
                high: paired.interval.map(|i| six(i.high)),
                hodges_lehmann: paired.hodges_lehmann.map(six),
                hl_low: paired.hl_interval.map(|i| six(i.low)),
                hl_high: paired.hl_interval.map(|i| six(i.high)),
                wilcoxon_p: paired.wilcoxon_p.map(six),
                holm_p: holm_p.map(six),
                censored_arm: paired.censored_arm,
                censored_baseline: paired.censored_baseline,
                verdict,
                sentence: sentence::of(subject, &paired, verdict, holm_p, total),
            }
        })
        .collect()
}

/// Holm's correction over all comparisons. One without a p-value counts as one that shows nothing,
/// so that which are left out can't make the others look better.
pub(super) fn over_all(p: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    let p: Vec<Option<f64>> = p.collect();
    let known: Vec<f64> = p.iter().map(|p| p.unwrap_or(1.0)).collect();
    let adjusted = holm::adjust(&known).into_iter().zip(&p);
    adjusted.map(|(adjusted, p)| p.map(|_| adjusted)).collect()
}

fn groups(layout: &Layout, cells: &BTreeMap<(usize, usize), Cell>) -> Vec<Group> {
    // Curves that stand in one plot are of one kind.
    let mut kinds = vec![CurveKind::Cdf; layout.cases.len()];
    let known =
        |cell: &Cell| -> Vec<Observed> { cell.values.values().flatten().copied().collect() };
    for ((case, _), cell) in cells {
        if known(cell).iter().any(|value| value.censored) {
            kinds[*case] = CurveKind::Survival;
        }
    }
    let groups = cells
        .iter()
        .map(|(at, cell)| Group::of(*at, (cell.runs, cell.failed), &known(cell), kinds[at.0]));
    groups.collect()
}

/// To six significant digits, as every number of the report: more would tell one machine's
/// mathematics from another's, and nothing else.
pub(crate) fn six(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
