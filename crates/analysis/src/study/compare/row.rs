//! What does one arm of one case come to, in B against A?

use super::{ComparedRun, Key, Row, Side};
use crate::metric::{Metric, Observed, Unit};
use crate::statistics::kolmogorov_smirnov::{self, KolmogorovSmirnov};
use crate::statistics::{LEVEL, median};
use crate::study::paired::{Bound, Pair, Paired};
use crate::study::report::six;
use crate::study::sentence::{self, Subject};
use crate::study::verdict::{LEAST_BLOCKS, Verdict, is_significant};
use crate::study::words::{self, count};
use model::Seed;
use std::collections::BTreeMap;

/// The numbers of a row.
pub(super) struct Found {
    a: Side,
    b: Side,
    /// Of the runs with a common seed, where there are enough of them.
    paired: Option<Paired>,
    distance: Option<KolmogorovSmirnov>,
}

impl Found {
    pub fn of((case, arm): Key<'_>, a: &[&ComparedRun], b: &[&ComparedRun]) -> Found {
        let distance = kolmogorov_smirnov::compare(&numbers(a), &numbers(b));
        let (seeds_a, seeds_b) = (by_seed(a), by_seed(b));
        let (mut blocks, mut pairs) = (0, Vec::new());
        for (seed, ours) in &seeds_a {
            // Several runs of one seed are paired in their order.
            for (a, b) in ours.iter().zip(seeds_b.get(seed).into_iter().flatten()) {
                blocks += 1;
                if let (Some(baseline), Some(arm)) = (a.value, b.value) {
                    pairs.push(Pair { arm, baseline });
                }
            }
        }
        let complete = |runs: &[&ComparedRun]| runs.iter().filter(|run| run.complete).count();
        let smaller = complete(a).min(complete(b));
        // A few seeds that happen to be the same in both would waste the others.
        let paired = (blocks > 0 && 2 * blocks >= smaller).then(|| {
            let mut random = Seed(0).stream(&format!("bootstrap {case} {arm}"));
            Paired::of(blocks, &pairs, &mut random)
        });
        Found {
            a: Side::of(a),
            b: Side::of(b),
            paired,
            distance,
        }
    }

    /// The p-value the verdict rests on.
    pub fn p(&self) -> Option<f64> {
        match &self.paired {
            Some(paired) => paired.wilcoxon_p,
            None => self.distance.map(|distance| distance.p),
        }
    }

    pub fn row(
        self,
        (case, arm): Key<'_>,
        metric: &Metric,
        holm_p: Option<f64>,
        total: usize,
    ) -> Row {
        let p = self.p();
        let Found {
            a,
            b,
            paired,
            distance,
        } = self;
        let place = format!("{case} with {arm}");
        let (verdict, sentence) = match &paired {
            Some(paired) => {
                // Two recordings of the same: what follows after their end is no part of them.
                let verdict = match Verdict::of(paired, holm_p) {
                    Verdict::NotEstimable if paired.identical => Verdict::Equivalent,
                    verdict => verdict,
                };
                let subject = Subject {
                    case: &place,
                    arm: "B",
                    baseline: "A",
                    heading: metric.heading,
                };
                let sentence = sentence::of(subject, paired, verdict, holm_p, total);
                (verdict, sentence)
            }
            None => {
                let verdict = of_medians(&a, &b, holm_p);
                let sentence = unpaired(&place, metric, (&a, &b), distance, verdict);
                (verdict, sentence)
            }
        };
        let number = |of: fn(&Paired) -> Option<f64>| paired.as_ref().and_then(of).map(six);
        Row {
            case: case.to_owned(),
            arm: arm.to_owned(),
            a,
            b,
            paired: paired.is_some(),
            blocks: paired.map_or(0, |paired| paired.blocks),
            pairs_used: paired.map_or(0, |paired| paired.pairs_used),
            bound: paired.map_or(Bound::Open, |paired| paired.bound),
            ratio: number(|paired| paired.ratio),
            low: number(|paired| Some(paired.interval?.low)),
            high: number(|paired| Some(paired.interval?.high)),
            hodges_lehmann: number(|paired| paired.hodges_lehmann),
            hl_low: number(|paired| Some(paired.hl_interval?.low)),
            hl_high: number(|paired| Some(paired.hl_interval?.high)),
            ks_distance: distance.map(|distance| six(distance.distance)),
            ks_p: distance.map(|distance| six(distance.p)),
            p: p.map(six),
            holm_p: holm_p.map(six),
            verdict,
            sentence,
        }
    }
}

/// The values of the complete runs, lower bounds as they are.
fn numbers(runs: &[&ComparedRun]) -> Vec<f64> {
    let values = observed(runs).into_iter();
    values.map(|value| value.value).collect()
}

fn observed(runs: &[&ComparedRun]) -> Vec<Observed> {
    let complete = runs.iter().filter(|run| run.complete);
    let values = complete.filter_map(|run| run.value);
    values.filter(|value| value.value.is_finite()).collect()
}

fn by_seed<'r>(runs: &[&'r ComparedRun]) -> BTreeMap<u64, Vec<&'r ComparedRun>> {
    let mut seeds: BTreeMap<u64, Vec<&ComparedRun>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.complete) {
        seeds.entry(run.seed).or_default().push(run);
    }
    seeds
}

impl Side {
    fn of(runs: &[&ComparedRun]) -> Side {
        let values = observed(runs);
        let middle = median::median(&values, LEVEL);
        Side {
            runs: runs.len(),
            failed: runs.iter().filter(|run| !run.complete).count(),
            censored: values.iter().filter(|value| value.censored).count(),
            median: middle.map(|m| six(m.value)),
            median_low: middle.and_then(|m| m.low).map(six),
            median_high: middle.and_then(|m| m.high).map(six),
            median_censored: middle.is_some_and(|m| m.censored),
        }
    }

    /// `341 ms (320 ms..360 ms)`, `>=19.9 s (19.9 s..)`.
    pub(in crate::study) fn text(&self, unit: Unit) -> String {
        let Some(middle) = self.median else {
            return "-".to_owned();
        };
        let range = (self.median_low, self.median_high);
        words::median(middle, self.median_censored, range, unit)
    }
}

/// Without pairs: a difference is one where neither interval of the medians reaches the other and
/// the distributions differ. Both together ask for more than 95 %.
fn of_medians(a: &Side, b: &Side, holm_p: Option<f64>) -> Verdict {
    if a.runs.saturating_sub(a.failed) < LEAST_BLOCKS
        || b.runs.saturating_sub(b.failed) < LEAST_BLOCKS
    {
        return Verdict::TooFew;
    }
    // Where lower bounds leave the upper end open, nothing is above it.
    let below = |one: &Side, other: &Side| {
        let ends = one.median_high.zip(other.median_low);
        ends.is_some_and(|(high, low)| high < low)
    };
    match (is_significant(holm_p), a.median.or(b.median)) {
        (_, None) => Verdict::NotEstimable,
        (true, _) if below(b, a) => Verdict::Lower,
        (true, _) if below(a, b) => Verdict::Higher,
        _ => Verdict::NoDifference,
    }
}

fn unpaired(
    place: &str,
    metric: &Metric,
    (a, b): (&Side, &Side),
    distance: Option<KolmogorovSmirnov>,
    verdict: Verdict,
) -> String {
    let heading = metric.heading;
    let apart = distance.map_or(String::new(), |distance| {
        format!(
            ", Kolmogorov-Smirnov distance {} (p {})",
            words::ratio(distance.distance),
            words::p(distance.p)
        )
    });
    let figures = format!(
        "not paired, as the seeds differ; median {} in A, {} in B{apart}",
        a.text(metric.unit),
        b.text(metric.unit)
    );
    match verdict {
        Verdict::Lower | Verdict::Higher => format!(
            "On {place}, B's {heading} is {} than A's ({figures}).",
            verdict.text()
        ),
        Verdict::TooFew => format!(
            "On {place}, {} of A and {} of B are too few to compare their {heading} \
             ({LEAST_BLOCKS} at least; {figures}).",
            count(a.runs - a.failed, "run"),
            b.runs - b.failed
        ),
        Verdict::NotEstimable => {
            format!("On {place}, no run of A or none of B has a value for {heading}.")
        }
        Verdict::NoDifference | Verdict::Equivalent => {
            format!("On {place}, no difference between A's and B's {heading} is shown ({figures}).")
        }
    }
}
