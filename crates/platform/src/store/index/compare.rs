//! How do the arms compare over the runs that pass a filter? Exactly: from the runs themselves.

use super::super::StoreError;
use super::distribution::{Values, middle};
use super::selection::Passing;
use super::{Entry, Follower, Index, NONE, Selection, flag};
use crate::api::{Arm, CauseCount, ComparedArm, Comparison, PairedRatio};

/// A delay below this has no ratio worth the name: a microsecond, what is recorded.
const LEAST_S: f64 = 1e-6;

/// Arms that are compared: there are as many pairs of them as a table can show, many times over.
const MOST_ARMS: usize = 128;

/// The arm of a kind that does not pass.
const NO_ARM: u16 = u16::MAX;

const NOTES: [&str; 5] = [
    "Runs that are invalid, incomplete or failed never count.",
    "A stalled run's longest delay is a lower bound: it stays in the denominator of its arm's CDFs, \
     which therefore may end below 1. The denominator is the runs that have the metric at all. A CDF \
     of more than 256 values is given at 256 points of equal steps; every point is exact.",
    "A ratio is that of the longest delays of two arms of the same test with the same pattern; of \
     several runs of an arm in it, the geometric mean. Where one of them stalled there is no ratio; \
     such tests are counted.",
    "The interval of a ratio's median lies between two ranks by the binomial distribution, at 95 %; \
     fewer than 6 tests have none.",
    "Of more than 128 arms the first 128 by name are compared.",
];

/// What is gathered of an arm.
#[derive(Debug, Default)]
struct Gathered {
    runs: u64,
    stalled: u64,
    up: Values,
    down: Values,
    handover: Values,
    /// By the cause's word; there are few.
    causes: Vec<(u32, u64)>,
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
    /// By kind; [`NO_ARM`] of those that don't pass.
    arm_of: Vec<u16>,
    gathered: Vec<Gathered>,
    /// A row per numerator, a column per denominator.
    pairs: Vec<Pair>,
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
        arms.truncate(MOST_ARMS);
        let place = |kind| {
            let place = arms.binary_search(&index.kinds.arm(kind));
            place.map_or(NO_ARM, |place| place as u16)
        };
        Gathering {
            arm_of: kinds.iter().map(place).collect(),
            gathered: arms.iter().map(|_| Gathered::default()).collect(),
            pairs: (0..arms.len().pow(2)).map(|_| Pair::default()).collect(),
            index,
            passing,
            arms,
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
        if arm == NO_ARM {
            return;
        }
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
            let mut causes = gathered.causes.iter_mut();
            match causes.find(|(cause, _)| *cause == kind.cause) {
                Some((_, runs)) => *runs += 1,
                None => gathered.causes.push((kind.cause, 1)),
            }
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
                    let row = usize::from(first.arm) * self.arms.len();
                    let pair = &mut self.pairs[row + usize::from(second.arm)];
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
        let names = self
            .arms
            .iter()
            .flat_map(|a| self.arms.iter().map(move |b| (a, b)));
        let pairs = names.zip(self.pairs).filter_map(|((a, b), mut pair)| {
            let tests = pair.log_ratios.len() as u64;
            let [median, low, high] = middle(&mut pair.log_ratios);
            (tests + pair.stalled > 0).then(|| PairedRatio {
                a: a.clone(),
                b: b.clone(),
                tests,
                stalled: pair.stalled,
                median,
                low,
                high,
            })
        });
        Comparison {
            pairs: pairs.collect(),
            arms,
            notes: NOTES.map(str::to_owned).into(),
        }
    }
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
