//! Do the virtual and the emulated world tell the same story? The runs of a scenario in both, arm
//! by arm: how long messages took, and every metric, with the distance between the worlds.

mod text;

use crate::folder::RunFolder;
use crate::metric::list::METRICS;
use crate::metric::{Observed, Unit, Value, delays};
use crate::statistics::kolmogorov_smirnov;
use crate::table::Cell;
use model::Direction;
use serde::Serialize;

/// What the JSON form says it is.
pub const SCHEMA: &str = "walkabout.agreement/1";

/// The Kolmogorov-Smirnov distance between the delays of messages up to which worlds agree.
pub const BOUND: f64 = 0.15;

/// Delays that differ by less count as equal, in seconds: the bound on the emulator's lateness that
/// every emulated run declares. Without it two constants a tenth of a millisecond apart would be
/// at a distance of 1.
pub const RESOLUTION: f64 = 0.0005;

/// Where a message that was never answered stands in a distribution of delays: behind all others.
const NEVER: f64 = 1e9;

/// The quantiles at which delays are shown.
const QUANTILES: [f64; 6] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/// What of a run takes part, so that its rows need not stay in memory.
#[derive(Clone, Debug)]
pub struct Observation {
    scenario: String,
    transport: String,
    policy: String,
    /// `walkabout's, cubic`.
    stack: String,
    /// Whether the emulator kept its time; always in virtual time.
    timely: bool,
    /// Of every message in seconds, its lower bound where it was never answered.
    delays: Vec<Observed>,
    /// In the order of [`METRICS`].
    values: Vec<Option<Value>>,
}

impl Observation {
    /// What takes part of `run`.
    pub fn of(run: &RunFolder) -> Observation {
        let mut all = delays(run, Direction::Up);
        all.extend(delays(run, Direction::Down));
        Observation {
            scenario: run.manifest.scenario.name.clone(),
            transport: run.manifest.transport.clone(),
            policy: run.manifest.policy.clone(),
            stack: format!(
                "{}'s, {}",
                run.manifest.stack.name, run.manifest.stack.congestion
            ),
            timely: run.manifest.timing.is_none_or(|timing| timing.kept),
            delays: all,
            values: METRICS.iter().map(|metric| (metric.of)(run)).collect(),
        }
    }

    fn is_of(&self, other: &Observation) -> bool {
        let key = |o: &Observation| (o.scenario.clone(), o.transport.clone(), o.policy.clone());
        key(self) == key(other)
    }
}

/// Both worlds, arm by arm.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Agreement {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The distance up to which an arm agrees.
    pub bound: f64,
    /// [`RESOLUTION`].
    pub resolution_s: f64,
    /// In the order of the virtual runs.
    pub arms: Vec<Arm>,
}

/// One scenario under one transport and policy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Arm {
    /// The scenario's name.
    pub scenario: String,
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// Whose stack it was in the virtual world, and its congestion controller; empty without runs.
    pub virtual_stack: String,
    /// The same of the emulated world.
    pub emulated_stack: String,
    /// Runs in the virtual world.
    pub virtual_runs: usize,
    /// Runs in the emulated world that take part.
    pub emulated_runs: usize,
    /// Emulated runs that missed the bound on the emulator's lateness, declared before the
    /// run, and do not take part.
    pub left_out: usize,
    /// Whether the delays of messages are within the bound of each other.
    pub verdict: Verdict,
    /// The delays of all messages of all runs; `None` without any.
    pub delay: Option<Delays>,
    /// Every metric that both worlds have a value of.
    pub metrics: Vec<MetricAgreement>,
}

/// What an arm comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The distance is within the bound.
    Agrees,
    /// It is not.
    Differs,
    /// One world has no run that takes part.
    Unknown,
}

/// Two distributions of delays, in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Delays {
    /// Messages in the virtual world.
    pub virtual_messages: usize,
    /// Messages in the emulated world.
    pub emulated_messages: usize,
    /// Of these, never answered.
    pub virtual_unanswered: usize,
    /// Of these, never answered.
    pub emulated_unanswered: usize,
    /// Quantiles of both.
    pub quantiles: Vec<Quantile>,
    /// The largest difference between the distribution functions where delays closer than the
    /// resolution count as equal; what was never answered counts as longer than anything.
    pub distance: f64,
    /// The Kolmogorov-Smirnov distance as it is, at any resolution.
    pub plain_distance: f64,
}

/// One quantile in both worlds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quantile {
    /// Which, 0 to 1.
    pub p: f64,
    /// In the virtual world.
    pub virtual_s: f64,
    /// In the emulated world.
    pub emulated_s: f64,
}

/// One metric over the runs of both worlds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MetricAgreement {
    /// Its name.
    pub name: &'static str,
    /// The unit of its numbers.
    pub unit: Unit,
    /// In the virtual world.
    #[serde(rename = "virtual")]
    pub in_virtual: Cell,
    /// In the emulated world.
    #[serde(rename = "emulated")]
    pub in_emulated: Cell,
    /// The median of the virtual world less that of the emulated one; `None` for words.
    pub difference: Option<f64>,
    /// The Kolmogorov-Smirnov distance between the runs' values; `None` for words.
    pub distance: Option<f64>,
}

impl Agreement {
    /// Holds the runs of both worlds against each other.
    pub fn of(
        virtual_runs: &[Observation],
        emulated_runs: &[Observation],
        bound: f64,
    ) -> Agreement {
        let mut arms: Vec<&Observation> = Vec::new();
        for run in virtual_runs.iter().chain(emulated_runs) {
            if !arms.iter().any(|arm| arm.is_of(run)) {
                arms.push(run);
            }
        }
        let arms = arms.into_iter().map(|arm| {
            let of = |runs: &'_ [Observation]| -> Vec<Observation> {
                runs.iter().filter(|r| r.is_of(arm)).cloned().collect()
            };
            Arm::of(arm, &of(virtual_runs), &of(emulated_runs), bound)
        });
        Agreement {
            schema: SCHEMA,
            bound,
            resolution_s: RESOLUTION,
            arms: arms.collect(),
        }
    }

    /// Arms with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let arms = self.arms.iter();
        arms.filter(|arm| arm.verdict == verdict).count()
    }
}

impl Arm {
    fn of(arm: &Observation, in_virtual: &[Observation], all: &[Observation], bound: f64) -> Arm {
        let (timely, late): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|r| r.timely);
        let delay = Delays::of(in_virtual, &timely);
        let stack =
            |runs: &[Observation]| runs.first().map_or_else(String::new, |r| r.stack.clone());
        Arm {
            scenario: arm.scenario.clone(),
            transport: arm.transport.clone(),
            policy: arm.policy.clone(),
            virtual_stack: stack(in_virtual),
            emulated_stack: stack(all),
            virtual_runs: in_virtual.len(),
            emulated_runs: timely.len(),
            left_out: late.len(),
            verdict: match &delay {
                None => Verdict::Unknown,
                Some(delay) if delay.distance <= bound => Verdict::Agrees,
                Some(_) => Verdict::Differs,
            },
            delay,
            metrics: (0..METRICS.len())
                .filter_map(|index| MetricAgreement::of(index, in_virtual, &timely))
                .collect(),
        }
    }
}

impl Delays {
    fn of(in_virtual: &[Observation], emulated: &[Observation]) -> Option<Delays> {
        let all = |runs: &[Observation]| -> Vec<Observed> {
            runs.iter().flat_map(|run| run.delays.clone()).collect()
        };
        let (a, b) = (all(in_virtual), all(emulated));
        let unanswered = |of: &[Observed]| of.iter().filter(|delay| delay.censored).count();
        let (mut x, mut y) = (placed(&a), placed(&b));
        let plain_distance = kolmogorov_smirnov::compare(&x, &y)?.distance;
        x.sort_by(f64::total_cmp);
        y.sort_by(f64::total_cmp);
        let distance = ahead(&x, &y, RESOLUTION).max(ahead(&y, &x, RESOLUTION));
        let (mut x, mut y) = (numbers(&a), numbers(&b));
        x.sort_by(f64::total_cmp);
        y.sort_by(f64::total_cmp);
        let at = |sorted: &[f64], p: f64| sorted[((sorted.len() - 1) as f64 * p).round() as usize];
        Some(Delays {
            virtual_messages: a.len(),
            emulated_messages: b.len(),
            virtual_unanswered: unanswered(&a),
            emulated_unanswered: unanswered(&b),
            quantiles: QUANTILES
                .iter()
                .map(|&p| Quantile {
                    p,
                    virtual_s: at(&x, p),
                    emulated_s: at(&y, p),
                })
                .collect(),
            distance,
            plain_distance,
        })
    }
}

/// How much more of `a` than of `b` is there at most up to some value, when `b` may be longer by
/// `resolution`; both sorted.
fn ahead(a: &[f64], b: &[f64], resolution: f64) -> f64 {
    let share = |sorted: &[f64], value: f64| {
        sorted.partition_point(|v| *v <= value) as f64 / sorted.len() as f64
    };
    let ahead = a.iter().map(|v| share(a, *v) - share(b, *v + resolution));
    ahead.fold(0.0, f64::max)
}

/// Delays in their order, with what was never answered at the end.
fn placed(observed: &[Observed]) -> Vec<f64> {
    let place = |o: &Observed| if o.censored { NEVER } else { o.value };
    observed.iter().map(place).collect()
}

fn numbers(observed: &[Observed]) -> Vec<f64> {
    observed.iter().map(|o| o.value).collect()
}

impl MetricAgreement {
    fn of(
        index: usize,
        in_virtual: &[Observation],
        emulated: &[Observation],
    ) -> Option<MetricAgreement> {
        let metric = &METRICS[index];
        let values = |runs: &[Observation]| -> Vec<Value> {
            runs.iter()
                .filter_map(|run| run.values[index].clone())
                .collect()
        };
        let (a, b) = (values(in_virtual), values(emulated));
        let of_numbers = |values: &[Value]| -> Vec<f64> {
            values
                .iter()
                .filter_map(|v| Some(v.number()?.value))
                .collect()
        };
        let (x, y) = (of_numbers(&a), of_numbers(&b));
        let (in_virtual, in_emulated) = (Cell::of(&a)?, Cell::of(&b)?);
        Some(MetricAgreement {
            name: metric.name,
            unit: metric.unit,
            difference: match (&in_virtual, &in_emulated) {
                (Cell::Numbers { median: a, .. }, Cell::Numbers { median: b, .. }) => {
                    Some(a.value - b.value)
                }
                _ => None,
            },
            distance: kolmogorov_smirnov::compare(&x, &y).map(|ks| ks.distance),
            in_virtual,
            in_emulated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_below_the_resolution_do_not_count() {
        let a: Vec<f64> = vec![0.0200; 10];
        let near: Vec<f64> = vec![0.0204; 10];
        let far: Vec<f64> = vec![0.0206; 10];
        assert_eq!(ahead(&a, &near, RESOLUTION), 0.0);
        assert_eq!(ahead(&a, &far, RESOLUTION), 1.0);
        // The longer one is never ahead.
        assert_eq!(ahead(&far, &a, RESOLUTION), 0.0);
        assert_eq!(
            ahead(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 9.0, 9.0], RESOLUTION),
            0.5
        );
    }

    #[test]
    fn what_was_never_answered_stands_behind_all_others() {
        let observed = |value, censored| Observed { value, censored };
        let delays = [observed(5.0, true), observed(7.0, false)];
        assert_eq!(placed(&delays), [NEVER, 7.0]);
    }
}
