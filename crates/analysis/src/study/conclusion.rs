//! What may, and what may not, be concluded from a study as a whole?

use super::Study;
use super::coverage::Coverage;
use super::layout::Layout;
use super::paired::Bound;
use super::report::{Comparison, Fact, heading};
use super::verdict::{EXPLORE_BLOCKS, LEAST_BLOCKS, MARGIN, PUBLISH_BLOCKS, Verdict};
use super::words::count;
use crate::statistics::bootstrap::RESAMPLES;
use std::collections::{BTreeMap, BTreeSet};

/// What facts and conclusion count.
pub(super) struct Counts {
    cases: usize,
    arms: usize,
    seeds: usize,
    blocks: usize,
    failed: usize,
    comparisons: usize,
    verdicts: BTreeMap<Verdict, usize>,
    /// The fewest blocks of a comparison.
    fewest: usize,
    /// Comparisons of which only a bound is known.
    bounds: usize,
}

impl Counts {
    pub fn of(study: &Study, layout: &Layout, comparisons: &[Comparison]) -> Counts {
        let mut verdicts = BTreeMap::new();
        for comparison in comparisons {
            *verdicts.entry(comparison.verdict).or_insert(0) += 1;
        }
        let seeds: BTreeSet<u64> = study.runs.iter().map(|run| run.seed).collect();
        let blocks = study.runs.iter().zip(&layout.places);
        let blocks: BTreeSet<(usize, u64)> = blocks.map(|(run, at)| (at.0, run.seed)).collect();
        Counts {
            cases: layout.cases.len(),
            arms: layout.arms.len(),
            seeds: seeds.len(),
            blocks: blocks.len(),
            failed: study.runs.iter().filter(|run| !run.is_complete()).count(),
            comparisons: comparisons.len(),
            verdicts,
            fewest: comparisons.iter().map(|c| c.blocks).min().unwrap_or(0),
            bounds: comparisons
                .iter()
                .filter(|c| matches!(c.bound, Bound::AtMost | Bound::AtLeast))
                .count(),
        }
    }

    fn of_verdict(&self, verdict: Verdict) -> usize {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }
}

/// What was run, and how it was compared.
pub(super) fn facts(study: &Study, counts: &Counts) -> Vec<Fact> {
    let head = &study.head;
    let fact = |name, value: String| Fact { name, value };
    vec![
        fact("walkabout", head.walkabout_version.clone()),
        fact("world", head.world.clone()),
        fact("cases", counts.cases.to_string()),
        fact("arms", counts.arms.to_string()),
        fact("seeds", counts.seeds.to_string()),
        fact("blocks", counts.blocks.to_string()),
        fact("runs", study.runs.len().to_string()),
        fact("failed", counts.failed.to_string()),
        fact("primary metric", head.primary.clone()),
        fact("baseline", head.baseline.clone()),
        fact("comparisons", counts.comparisons.to_string()),
        fact("level", "95 %".to_owned()),
        fact(
            "ratio",
            format!(
                "geometric mean of paired ratios, BCa bootstrap over blocks, {RESAMPLES} resamples"
            ),
        ),
        fact(
            "test",
            "Wilcoxon signed-rank, Holm over all comparisons".to_owned(),
        ),
        fact("equivalent", format!("within {:.0} %", margin_percent())),
        fact("order seed", head.seed.to_string()),
    ]
}

fn margin_percent() -> f64 {
    100.0 * (MARGIN - 1.0)
}

/// The conclusion, a sentence each.
pub(super) fn conclusion(
    study: &Study,
    counts: &Counts,
    coverage: Option<&Coverage>,
) -> Vec<String> {
    let head = &study.head;
    let mut said = Vec::new();
    if counts.comparisons == 0 {
        said.push(match counts.arms {
            0 | 1 => "There is one arm only: nothing to compare.".to_owned(),
            _ => format!(
                "Nothing can be compared: the baseline {} ran in no case together with another arm.",
                head.baseline
            ),
        });
    } else {
        said.extend(compared(study, counts));
    }
    if let Some(coverage) = coverage {
        said.push(coverage.sentence.clone());
    } else if head.a_a {
        said.push(format!(
            "This A/A study does not tell whether its intervals hold: it has no case and arm with \
             {LEAST_BLOCKS} pairs of copies that differ."
        ));
    }
    if counts.failed > 0 {
        said.push(format!(
            "{} of {} failed; their blocks are left out. If they failed because of what is \
             compared, the comparison is biased: look at why.",
            counts.failed,
            count(study.runs.len(), "run")
        ));
    }
    said.push(format!(
        "All of this holds for {} in the {} world under the seeds drawn; it is no statement about \
         other networks.",
        match counts.cases {
            1 => "this case".to_owned(),
            n => format!("these {n} cases"),
        },
        head.world
    ));
    said
}

fn compared(study: &Study, counts: &Counts) -> Vec<String> {
    let head = &study.head;
    let found: Vec<String> = counts
        .verdicts
        .iter()
        .map(|(verdict, number)| format!("{number} {}", verdict.text()))
        .collect();
    let mut said = vec![format!(
        "{} of {} with {}: {}.",
        count(counts.comparisons, "comparison"),
        heading(&head.primary),
        head.baseline,
        found.join(", ")
    )];
    if counts.of_verdict(Verdict::Lower) + counts.of_verdict(Verdict::Higher) > 0 {
        said.push(format!(
            "`Lower` and `higher` may be concluded: the chance that luck made any of them, over {} \
             together, is below 5 % (Holm). Each interval on its own covers the true ratio in \
             about 95 of 100 studies like this.",
            count(counts.comparisons, "comparison")
        ));
    }
    if counts.of_verdict(Verdict::NoDifference) > 0 {
        said.push(format!(
            "`No difference shown` does not mean that there is none: the interval says how large \
             it may be. Only `equivalent` (the whole interval within {:.0} %) says that it does \
             not matter.",
            margin_percent()
        ));
    }
    if counts.bounds + counts.of_verdict(Verdict::NotEstimable) > 0 {
        said.push(
            "Where a run ended while a message still waited, its value is a lower bound: a ratio \
             that rests on bounds of one side is itself a bound, and with bounds on both sides \
             there is none; the shares of stalled runs and the survival curves say what is known."
                .to_owned(),
        );
    }
    let fewest = counts.fewest;
    said.push(match fewest {
        _ if fewest < LEAST_BLOCKS => format!(
            "With {} nothing can be concluded ({EXPLORE_BLOCKS} are enough to explore, \
             {PUBLISH_BLOCKS} to publish).",
            count(fewest, "block")
        ),
        _ if fewest < EXPLORE_BLOCKS => format!(
            "With {fewest} blocks only large differences show, and intervals are a little too \
             narrow ({EXPLORE_BLOCKS} are enough to explore, {PUBLISH_BLOCKS} to publish)."
        ),
        _ if fewest < PUBLISH_BLOCKS => {
            format!("{fewest} blocks are enough to explore; publish with {PUBLISH_BLOCKS}.")
        }
        _ => format!("{fewest} blocks are enough to publish."),
    });
    said
}
