//! What should the store answer? Lists, comparisons and counts straight from their definitions.

use std::collections::{BTreeMap, BTreeSet};
use walkabout_platform::api::{
    Arm, CdfPoint, Comparison, Count, Filter, MetricValue, RunSummary, Usage,
};
use walkabout_platform::store::NewRun;

/// What is stored, in the order it was; the summaries with their times.
#[derive(Default)]
pub struct Model {
    pub runs: Vec<NewRun>,
}

pub fn counts(run: &RunSummary) -> bool {
    run.invalid.is_none() && run.status == model::manifest::Status::Complete
}

fn number(run: &RunSummary, metric: &str) -> Option<(f64, bool)> {
    match run.metrics.get(metric)? {
        MetricValue::Number { value, censored } => Some((*value, *censored)),
        MetricValue::Word(_) => None,
    }
}

/// Whether `run` passes `filter`.
pub fn passes(run: &RunSummary, filter: &Filter) -> bool {
    let is = |asked: &Option<String>, has: &str| asked.as_deref().is_none_or(|a| a == has);
    let time = |text: &str| text.parse::<jiff::Timestamp>().expect("a time");
    let stored = time(&run.stored_at);
    let delay = number(run, "delay-max");
    is(&filter.test, &run.test)
        && is(&filter.experiment, &run.experiment)
        && is(&filter.mode, &run.mode)
        && is(&filter.server, &run.server)
        && is(&filter.transport, &run.transport)
        && is(&filter.policy, &run.policy)
        && is(&filter.pattern, &run.pattern)
        && is(&filter.family, &run.family)
        && filter.from.as_deref().is_none_or(|t| stored >= time(t))
        && filter.to.as_deref().is_none_or(|t| stored < time(t))
        && (filter.invalid == Some(true) || counts(run))
        && filter.publish.is_none_or(|publish| publish == run.publish)
        && filter
            .delay_max_s
            .is_none_or(|least| delay.is_some_and(|(value, _)| value >= least))
}

impl Model {
    /// The runs that pass, the newest first.
    pub fn list(&self, filter: &Filter) -> Vec<&RunSummary> {
        let runs = self.runs.iter().rev().map(|run| &run.summary);
        runs.filter(|run| passes(run, filter)).collect()
    }

    /// Panics where `found` is not what `filter` should compare.
    pub fn check(&self, filter: &Filter, found: &Comparison) {
        let filter = Filter {
            invalid: None,
            ..filter.clone()
        };
        let runs = self.list(&filter);
        let mut arms: BTreeMap<Arm, Vec<&RunSummary>> = BTreeMap::new();
        for run in &runs {
            arms.entry(arm(run)).or_default().push(run);
        }
        let names: Vec<&Arm> = found.arms.iter().map(|arm| &arm.arm).collect();
        assert_eq!(names, arms.keys().collect::<Vec<_>>());
        for (of, runs) in found.arms.iter().zip(arms.values()) {
            let stalled = |run: &&&RunSummary| number(run, "delay-max").is_some_and(|(_, c)| c);
            assert_eq!(of.runs, runs.len() as u64);
            assert_eq!(of.stalled, runs.iter().filter(stalled).count() as u64);
            check_cdf(&of.delay_max_up, runs, "delay-max-up");
            check_cdf(&of.delay_max_down, runs, "delay-max-down");
            check_cdf(&of.handover_duration, runs, "handover-sent");
            let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
            for run in runs {
                if let Some(MetricValue::Word(cause)) = run.metrics.get("cellular-cause") {
                    *causes.entry(cause).or_default() += 1;
                }
            }
            let found = of.causes.iter().map(|c| (&c.cause[..], c.runs));
            assert_eq!(found.collect::<BTreeMap<_, _>>(), causes);
        }
        check_pairs(&runs, found);
    }

    pub fn usage(&self) -> Usage {
        let runs = || self.runs.iter().map(|run| &run.summary);
        let by = |of: &dyn Fn(&NewRun) -> String| {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for run in &self.runs {
                *counts.entry(of(run)).or_default() += 1;
            }
            let mut counts: Vec<Count> = counts
                .into_iter()
                .map(|(of, runs)| Count { of, runs })
                .collect();
            counts.sort_by(|a, b| b.runs.cmp(&a.runs).then_with(|| a.of.cmp(&b.of)));
            counts
        };
        Usage {
            runs: self.runs.len() as u64,
            tests: runs().map(|run| &run.test).collect::<BTreeSet<_>>().len() as u64,
            invalid: runs().filter(|run| !counts(run)).count() as u64,
            per_day: Vec::new(),
            platforms: by(&|run| run.platform.clone()),
            networks: by(&|run| run.summary.networks.clone()),
            servers: by(&|run| run.summary.server.clone()),
            transports: by(&|run| run.summary.transport.clone()),
        }
    }
}

fn arm(run: &RunSummary) -> Arm {
    Arm {
        transport: run.transport.clone(),
        policy: run.policy.clone(),
    }
}

/// A step at every value that is known, its share of all.
fn check_cdf(found: &[CdfPoint], runs: &[&RunSummary], metric: &str) {
    let values: Vec<(f64, bool)> = runs.iter().filter_map(|run| number(run, metric)).collect();
    let mut known: Vec<f64> = values.iter().filter(|v| !v.1).map(|v| v.0).collect();
    known.sort_by(f64::total_cmp);
    let share = |seconds: f64| {
        let up_to = known.iter().filter(|value| **value <= seconds).count();
        up_to as f64 / values.len() as f64
    };
    if known.len() <= 256 {
        let mut expected: Vec<CdfPoint> = Vec::new();
        for &seconds in &known {
            let share = share(seconds);
            expected.push(CdfPoint { seconds, share });
        }
        expected.dedup();
        assert_eq!(found, expected, "{metric}");
    } else {
        assert!(found.len() > 200 && found.len() <= 256, "{metric}");
        assert!(
            found
                .iter()
                .all(|point| point.share == share(point.seconds))
        );
        assert_eq!(
            found.last().map(|point| point.seconds),
            known.last().copied()
        );
    }
}

fn check_pairs(runs: &[&RunSummary], found: &Comparison) {
    // The logarithms of an arm in a test with a pattern; `None`: stalled.
    type Logs = Vec<Option<f64>>;
    let mut blocks: BTreeMap<(&str, &str), BTreeMap<Arm, Logs>> = BTreeMap::new();
    for run in runs {
        let Some((delay, stalled)) = number(run, "delay-max") else {
            continue;
        };
        let block = blocks.entry((&run.test, &run.pattern)).or_default();
        let logs = block.entry(arm(run)).or_default();
        logs.push((!stalled).then(|| delay.ln()));
    }
    let mut pairs: BTreeMap<(Arm, Arm), (Vec<f64>, u64)> = BTreeMap::new();
    for block in blocks.values() {
        for (a, a_logs) in block {
            for (b, b_logs) in block.range(..a.clone()) {
                let pair = pairs.entry((a.clone(), b.clone())).or_default();
                let mean = |logs: &Logs| -> Option<f64> {
                    let sum = logs.iter().copied().sum::<Option<f64>>()?;
                    Some(sum / logs.len() as f64)
                };
                match (mean(a_logs), mean(b_logs)) {
                    (Some(a), Some(b)) => pair.0.push((a - b).exp()),
                    _ => pair.1 += 1,
                }
            }
        }
    }
    assert_eq!(found.pairs.len(), pairs.len());
    for (found, ((a, b), (mut ratios, stalled))) in found.pairs.iter().zip(pairs) {
        assert_eq!((&found.a, &found.b), (&a, &b));
        assert_eq!((found.tests, found.stalled), (ratios.len() as u64, stalled));
        ratios.sort_by(f64::total_cmp);
        let close = |found: Option<f64>, expected: Option<f64>| match (found, expected) {
            (Some(found), Some(expected)) => {
                assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
            }
            (found, expected) => assert_eq!(found, expected),
        };
        let n = ratios.len();
        let middle = n.checked_sub(1).map(|last| {
            // On the scale of ratios the middle of two is the root of their product.
            (ratios[last / 2] * ratios[last.div_ceil(2)]).sqrt()
        });
        close(found.median, middle);
        let rank = rank(n);
        close(found.low, rank.map(|rank| ratios[rank - 1]));
        close(found.high, rank.map(|rank| ratios[n - rank]));
    }
}

/// The rank of the ends of a median's interval at 95 %, by summing the binomial distribution.
fn rank(n: usize) -> Option<usize> {
    let (mut probability, mut below) = (0.5_f64.powi(n as i32), 0.0);
    let mut rank = 0;
    for k in 0..n {
        below += probability;
        if below > 0.025 {
            break;
        }
        rank = k + 1;
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    (rank > 0).then_some(rank)
}
