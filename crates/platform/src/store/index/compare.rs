//! How do the arms compare over the runs that pass a filter? Exactly: from the runs themselves.

use super::super::StoreError;
use super::selection::Passing;
use super::{Entry, Follower, Index, NONE, Selection, flag};
use crate::api::{Arm, CauseCount, CdfPoint, ComparedArm, Comparison, PairedRatio};
use analysis::statistics::{LEVEL, median};
use std::collections::{BTreeMap, HashMap};

/// Points of a CDF: the picture of a phone or a screen shows no more.
const POINTS: usize = 256;

/// A delay below this has no ratio worth the name: a microsecond, what is recorded.
const LEAST_S: f64 = 1e-6;

const NOTES: [&str; 4] = [
    "Runs that are invalid, incomplete or failed never count.",
    "A stalled run's longest delay is a lower bound: it stays in the denominator of its arm's CDFs, \
     which therefore may end below 1. The denominator is the runs that have the metric at all. A CDF \
     of more than 256 values is given at 256 points of equal steps; every point is exact.",
    "A ratio is that of the longest delays of two arms of the same test with the same pattern; of \
     several runs of an arm in it, the geometric mean. Where one of them stalled there is no ratio; \
     such tests are counted.",
    "The interval of a ratio's median lies between two ranks by the binomial distribution, at 95 %; \
     fewer than 6 tests have none.",
];

/// The values of a metric in an arm.
#[derive(Debug, Default)]
struct Values {
    known: Vec<f64>,
    censored: u64,
}

impl Values {
    fn add(&mut self, value: Option<f64>, censored: bool) {
        match value {
            Some(_) if censored => self.censored += 1,
            Some(value) => self.known.push(value),
            None => {}
        }
    }

    /// The shares of all values that are known to be at most some.
    fn cdf(mut self) -> Vec<CdfPoint> {
        self.known.sort_unstable_by(f64::total_cmp);
        let (known, count) = (self.known.len(), self.known.len() as u64 + self.censored);
        let steps = known.min(POINTS);
        let mut points: Vec<CdfPoint> = Vec::with_capacity(steps);
        for step in 1..=steps {
            let seconds = self.known[(known * step).div_ceil(steps) - 1];
            // Equal values step once, at the last of them.
            let up_to = self.known.partition_point(|value| *value <= seconds);
            let share = up_to as f64 / count as f64;
            if points.last().is_none_or(|point| point.seconds < seconds) {
                points.push(CdfPoint { seconds, share });
            }
        }
        points
    }
}

/// What is gathered of an arm.
#[derive(Debug, Default)]
struct Gathered {
    runs: u64,
    stalled: u64,
    up: Values,
    down: Values,
    handover: Values,
    /// By the cause's word.
    causes: HashMap<u32, u64>,
}

/// What is gathered of a pair of arms.
#[derive(Debug, Default)]
struct Pair {
    log_ratios: Vec<f64>,
    stalled: u64,
}

/// A run's part in a ratio: the logarithm of its longest delay, or that it stalled.
#[derive(Clone, Copy, Debug)]
struct Part {
    pattern: u32,
    arm: u16,
    /// `None`: it stalled.
    log: Option<f64>,
}

struct Gathering<'i> {
    index: &'i Index,
    passing: Passing,
    arms: Vec<Arm>,
    /// By kind.
    arm_of: Vec<u16>,
    gathered: Vec<Gathered>,
    pairs: BTreeMap<(u16, u16), Pair>,
    /// The runs of the test at hand, and their means.
    parts: Vec<Part>,
    means: Vec<Part>,
}

impl Index {
    fn compare(&self, selection: &Selection) -> Comparison {
        let Some(passing) = selection.passing(self) else {
            return Comparison {
                arms: Vec::new(),
                pairs: Vec::new(),
                notes: NOTES.map(str::to_owned).into(),
            };
        };
        let mut gathering = Gathering::new(self, passing);
        match gathering.passing.only_test() {
            Some(test) => gathering.test(self.tests[test as usize].last),
            None => self.tests.iter().for_each(|test| gathering.test(test.last)),
        }
        gathering.finish()
    }
}

impl<'i> Gathering<'i> {
    fn new(index: &'i Index, passing: Passing) -> Gathering<'i> {
        let kinds = index.kinds.all();
        let passing_kinds = kinds
            .iter()
            .enumerate()
            .filter(|(i, _)| passing.lets_kind(*i));
        let mut arms: Vec<Arm> = passing_kinds
            .map(|(_, kind)| index.kinds.arm(kind))
            .collect();
        arms.sort();
        arms.dedup();
        // More arms than that nobody can tell apart.
        arms.truncate(usize::from(u16::MAX));
        let place = |kind| arms.binary_search(&index.kinds.arm(kind)).unwrap_or(0) as u16;
        Gathering {
            arm_of: kinds.iter().map(place).collect(),
            gathered: arms.iter().map(|_| Gathered::default()).collect(),
            index,
            passing,
            arms,
            pairs: BTreeMap::new(),
            parts: Vec::new(),
            means: Vec::new(),
        }
    }

    /// Takes in the runs of the test whose last one is at `place`.
    fn test(&mut self, mut place: u32) {
        self.parts.clear();
        while place != NONE {
            let entry = &self.index.entries[place as usize];
            if self.passing.lets(entry) {
                self.run(entry);
            }
            place = entry.before;
        }
        if self.parts.len() > 1 {
            self.pair();
        }
    }

    fn run(&mut self, entry: &Entry) {
        let kind = &self.index.kinds.all()[entry.kind as usize];
        let arm = self.arm_of[entry.kind as usize];
        let gathered = &mut self.gathered[usize::from(arm)];
        let stalled = entry.is(flag::DELAY_MAX_CENSORED);
        gathered.runs += 1;
        gathered.stalled += u64::from(stalled);
        gathered.up.add(
            entry.delay_max_up.get(),
            entry.is(flag::DELAY_MAX_UP_CENSORED),
        );
        gathered.down.add(
            entry.delay_max_down.get(),
            entry.is(flag::DELAY_MAX_DOWN_CENSORED),
        );
        gathered
            .handover
            .add(entry.handover.get(), entry.is(flag::HANDOVER_CENSORED));
        if !self.index.kinds.text(kind.cause).is_empty() {
            *gathered.causes.entry(kind.cause).or_default() += 1;
        }
        if let Some(delay) = entry.delay_max.get() {
            self.parts.push(Part {
                pattern: kind.pattern,
                arm,
                log: (!stalled).then(|| delay.max(LEAST_S).ln()),
            });
        }
    }

    /// Pairs the arms of the test at hand.
    fn pair(&mut self) {
        self.parts
            .sort_unstable_by_key(|part| (part.pattern, part.arm));
        let mean = |runs: &[Part]| {
            let logs = runs.iter().map(|run| run.log);
            let sum = logs.sum::<Option<f64>>();
            Part {
                log: sum.map(|sum| sum / runs.len() as f64),
                ..runs[0]
            }
        };
        let arms = self
            .parts
            .chunk_by(|a, b| (a.pattern, a.arm) == (b.pattern, b.arm));
        self.means.clear();
        self.means.extend(arms.map(mean));
        for same in self.means.chunk_by(|a, b| a.pattern == b.pattern) {
            for (i, second) in same.iter().enumerate() {
                for first in &same[i + 1..] {
                    let pair = self.pairs.entry((first.arm, second.arm)).or_default();
                    match (first.log, second.log) {
                        (Some(a), Some(b)) => pair.log_ratios.push(a - b),
                        _ => pair.stalled += 1,
                    }
                }
            }
        }
    }

    fn finish(self) -> Comparison {
        let kinds = &self.index.kinds;
        let arms = self.arms.iter().zip(self.gathered);
        let arms = arms.filter(|(_, gathered)| gathered.runs > 0);
        let arms = arms.map(|(arm, gathered)| {
            let causes = gathered.causes.into_iter();
            let mut causes: Vec<CauseCount> = causes
                .map(|(cause, runs)| CauseCount {
                    cause: kinds.text(cause).to_owned(),
                    runs,
                })
                .collect();
            causes.sort_by(|a, b| b.runs.cmp(&a.runs).then_with(|| a.cause.cmp(&b.cause)));
            ComparedArm {
                arm: arm.clone(),
                runs: gathered.runs,
                stalled: gathered.stalled,
                delay_max_up: gathered.up.cdf(),
                delay_max_down: gathered.down.cdf(),
                handover_duration: gathered.handover.cdf(),
                causes,
            }
        });
        let arms = arms.collect();
        let pairs = self.pairs.into_iter().map(|((a, b), mut pair)| {
            let [median, low, high] = middle(&mut pair.log_ratios);
            PairedRatio {
                a: self.arms[usize::from(a)].clone(),
                b: self.arms[usize::from(b)].clone(),
                tests: pair.log_ratios.len() as u64,
                stalled: pair.stalled,
                median,
                low,
                high,
            }
        });
        Comparison {
            pairs: pairs.collect(),
            arms,
            notes: NOTES.map(str::to_owned).into(),
        }
    }
}

/// The median of the ratios with these logarithms, and the ends of its interval.
fn middle(logs: &mut [f64]) -> [Option<f64>; 3] {
    let count = logs.len();
    if count == 0 {
        return [None; 3];
    }
    // The median first: what is below it lies before it from then on.
    let half = count / 2;
    let (below, upper, above) = logs.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *upper;
    let lower = match count % 2 {
        1 => upper,
        _ => below.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    let mut ends = [None; 2];
    // The median's rank lies inside the interval: one end below it, one above.
    if let Some(rank) = median::rank(count, LEVEL) {
        let at = |part: &mut [f64], place: usize| {
            part.select_nth_unstable_by(place, f64::total_cmp).1.exp()
        };
        ends[0] = Some(at(below, rank - 1));
        let place = count - rank;
        ends[1] = Some(match place == half {
            true => upper.exp(),
            false => at(above, place - half - 1),
        });
    }
    [Some(((lower + upper) / 2.0).exp()), ends[0], ends[1]]
}

impl Follower {
    /// The arms' distributions and ratios.
    pub(in crate::store) async fn compare(
        &self,
        selection: Selection,
    ) -> Result<Comparison, StoreError> {
        let selection = selection.that_count();
        self.ask(move |index| index.compare(&selection)).await
    }
}
