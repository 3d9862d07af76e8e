//! Which links does a path of a scenario have: a link in each direction, with its changes,
//! its failures and its walk.

use crate::link::queue::{Codel, DropTail, Queue};
use crate::link::{
    Blackhole, BurstLoss, Delay, Duplicate, Link, LinkDown, RandomLoss, Rate, Reorder, Stage,
    Timeline,
};
use crate::trace::{Opportunities, Trace};
use crate::walk::{Channel, Radio};
use model::scenario::{self, Change, Failure, FailureKind, QueueKind, Scenario};
use model::units::{BitRate, Probability, Span};
use model::{Direction, Name, PathIndex, Seed, Time};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The traces of a scenario by the file's name as the scenario writes it.
pub type Traces = BTreeMap<PathBuf, Trace>;

/// Both links of a path.
#[derive(Clone, Debug)]
pub struct PathLinks<P> {
    /// Client to server.
    pub up: Link<P>,
    /// Server to client.
    pub down: Link<P>,
}

/// Why a path's links can't be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// The index is beyond the scenario's paths.
    #[error(
        "the scenario `{scenario}` has no path number {index}: it has {count}, numbered from 0"
    )]
    NoSuchPath {
        /// The scenario.
        scenario: String,
        /// How many paths it has.
        count: usize,
        /// The index, from 0.
        index: usize,
    },
    /// A trace was not loaded.
    #[error(
        "path `{path}`, {direction}: the trace `{}` is not loaded; give the file's content under \
         the name that the scenario uses", trace.display()
    )]
    MissingTrace {
        /// The path.
        path: Name,
        /// The link.
        direction: &'static str,
        /// The file's name.
        trace: PathBuf,
    },
    /// Two keys set the same thing.
    #[error("path `{path}`, {direction}: {first} and {second} both set the rate; keep one of them")]
    TwoRates {
        /// The path.
        path: Name,
        /// The link.
        direction: &'static str,
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A walk has no waypoints.
    #[error("path `{path}`: the walk has no waypoints; it needs at least one")]
    NoWaypoints {
        /// The path.
        path: Name,
    },
}

/// The links of one path under `seed`.
///
/// # Errors
/// When the path does not exist, a trace is missing, or two keys set the same rate.
pub fn build<P: Clone>(
    scenario: &Scenario,
    path: PathIndex,
    seed: Seed,
    traces: &Traces,
) -> Result<PathLinks<P>, TopologyError> {
    let mut up = Plan::new(scenario, path, Direction::Up, seed)?;
    up.channel = up.walk()?;
    let mut down = Plan::new(scenario, path, Direction::Down, seed)?;
    down.channel.clone_from(&up.channel);
    Ok(PathLinks {
        up: up.link(traces)?,
        down: down.link(traces)?,
    })
}

/// What one link is built from.
struct Plan<'s> {
    scenario: &'s Scenario,
    path: &'s scenario::Path,
    link: &'s scenario::Link,
    direction: Direction,
    seed: Seed,
    /// The signal along the walk, the same in both directions.
    channel: Option<Channel>,
}

impl<'s> Plan<'s> {
    fn new(
        scenario: &'s Scenario,
        index: PathIndex,
        direction: Direction,
        seed: Seed,
    ) -> Result<Plan<'s>, TopologyError> {
        let path = scenario
            .paths
            .get(index.0)
            .ok_or_else(|| TopologyError::NoSuchPath {
                scenario: scenario.name.clone(),
                count: scenario.paths.len(),
                index: index.0,
            })?;
        Ok(Plan {
            scenario,
            path,
            link: match direction {
                Direction::Up => &path.up,
                Direction::Down => &path.down,
            },
            direction,
            seed,
            channel: None,
        })
    }

    /// The path's channel, if it is walked away from.
    fn walk(&self) -> Result<Option<Channel>, TopologyError> {
        let Some(walk) = &self.path.walk else {
            return Ok(None);
        };
        let name = &self.path.name;
        let stream = |component| self.seed.stream(&format!("{name}.walk.{component}"));
        let channel = Channel::new(walk, stream("shadowing"), stream("fading"));
        let none = || TopologyError::NoWaypoints { path: name.clone() };
        channel.map(Some).ok_or_else(none)
    }

    /// The stages in the order in which a packet meets them.
    fn link<P: Clone>(&self, traces: &Traces) -> Result<Link<P>, TopologyError> {
        // Destructured, so that a new key can't be forgotten; `rate`, `trace` and `queue` are
        // read by `rate`.
        let scenario::Link {
            rate: _,
            trace: _,
            queue: _,
            delay,
            jitter,
            loss,
            burst,
            reorder,
            duplicate,
        } = self.link;
        let mut stages = Vec::new();

        let up = self.up();
        let goes_down = up.ever(|up| !up);
        if goes_down {
            stages.push(Stage::LinkDown(LinkDown::new(up.clone())));
        }
        if let Some(rate) = self.rate(traces)? {
            let up = if goes_down {
                up
            } else {
                Timeline::constant(true)
            };
            stages.push(Stage::Rate(rate.emptied_when_down(up)));
        }
        let silent = self.failing(|f| f.kind == FailureKind::SilentLoss && !f.is_partial());
        if silent.ever(|active| active) {
            stages.push(Stage::Blackhole(Blackhole::new(silent)));
        }
        let partial = self.partial_failure();
        if partial.ever(|p| p.get() > 0.0) {
            let random = self.stream("failure.random-loss");
            stages.push(Stage::RandomLoss(RandomLoss::new(partial, random)));
        }
        if let &Some(burst) = burst {
            let random = self.stream(BurstLoss::NAME);
            stages.push(Stage::BurstLoss(BurstLoss::new(burst, random)));
        }
        let loss = self.timeline(loss.unwrap_or(Probability::ZERO), |change| change.loss);
        if loss.ever(|p| p.get() > 0.0) {
            let random = self.stream(RandomLoss::NAME);
            stages.push(Stage::RandomLoss(RandomLoss::new(loss, random)));
        }
        if let &Some(probability) = duplicate {
            let random = self.stream(Duplicate::NAME);
            stages.push(Stage::Duplicate(Duplicate::new(probability, random)));
        }
        if let Some(scenario::Reorder { probability, hold }) = *reorder {
            let random = self.stream(Reorder::<P>::NAME);
            stages.push(Stage::Reorder(Reorder::new(
                probability,
                hold.get(),
                random,
            )));
        }
        let delays = self.timeline(delay.get(), |change| change.delay.map(Span::get));
        if jitter.is_some() || delays.ever(|delay| delay > Duration::ZERO) {
            let mut delay = Delay::new(delays);
            if let Some(jitter) = jitter {
                delay = delay.with_jitter(jitter.get(), self.stream("jitter"));
            }
            stages.push(Stage::Delay(delay));
        }
        Ok(Link::new(stages))
    }

    /// The queue and what serves it; `None` when the rate is never limited.
    fn rate<P>(&self, traces: &Traces) -> Result<Option<Rate<P>>, TopologyError> {
        let limit = usize::try_from(self.link.queue.limit.bytes()).unwrap_or(usize::MAX);
        let queue: Queue<P> = match self.link.queue.kind {
            QueueKind::DropTail => DropTail::new(limit).into(),
            QueueKind::Codel => Codel::new(limit).into(),
        };
        let rate = self.timeline(self.link.rate, |change| change.rate.map(Some));
        if let Some(file) = &self.link.trace {
            for (set, second) in [
                (self.path.walk.is_some(), "`walk`"),
                (self.link.rate.is_some(), "`rate`"),
                (
                    rate.ever(|r: Option<BitRate>| r.is_some()),
                    "a `change` of `rate`",
                ),
            ] {
                if set {
                    return Err(TopologyError::TwoRates {
                        path: self.path.name.clone(),
                        direction: self.word(),
                        first: "`trace`",
                        second,
                    });
                }
            }
            let trace = traces
                .get(file)
                .ok_or_else(|| TopologyError::MissingTrace {
                    path: self.path.name.clone(),
                    direction: self.word(),
                    trace: file.clone(),
                })?;
            let opportunities = Opportunities::new(trace.clone());
            return Ok(Some(Rate::trace(queue, opportunities)));
        }
        if let Some(channel) = &self.channel {
            let radio = Radio::new(channel.clone(), &rate, self.stream(Radio::NAME));
            return Ok(Some(Rate::radio(queue, radio)));
        }
        let limited = rate.ever(|rate| rate.is_some());
        Ok(limited.then(|| Rate::constant(queue, rate)))
    }

    /// A parameter over time: its value at the start, and the path's changes of it.
    fn timeline<T: Copy>(&self, start: T, changed: impl Fn(&Change) -> Option<T>) -> Timeline<T> {
        let applies = |change: &&Change| change.direction.is_none_or(|d| d == self.direction);
        Timeline::new(
            start,
            self.path
                .changes
                .iter()
                .filter(applies)
                .filter_map(|change| Some((Time::ZERO + change.at.get(), changed(change)?))),
        )
    }

    /// Whether the link is up: neither a change nor a failure that both ends can see has it
    /// down. Nothing passes a dead link in either direction.
    fn up(&self) -> Timeline<bool> {
        let switched = self.timeline(true, |change| change.up);
        let failed = self.failing(|failure| failure.kind.is_visible());
        let times: Vec<Time> = switched.changes().chain(failed.changes()).collect();
        let up = |now| switched.at(now) && !failed.at(now);
        Timeline::new(true, times.into_iter().map(|at| (at, up(at))))
    }

    /// The failures that concern this link, with their places in the scenario.
    fn failures(&self) -> impl Iterator<Item = (usize, &'s Failure)> {
        let failures = self.scenario.failures.iter().enumerate();
        failures.filter(|(_, failure)| {
            let either = failure.kind.is_visible() || failure.direction.is_none();
            failure.path == self.path.name && (either || failure.direction == Some(self.direction))
        })
    }

    /// The share of packets that silent failures of a part of them take: where several hold, what
    /// is lost to any.
    fn partial_failure(&self) -> Timeline<Probability> {
        let windows: Vec<(Time, Option<Time>, f64)> = self
            .failures()
            .filter(|(_, failure)| failure.is_partial())
            .map(|(index, failure)| {
                let loss = failure.loss.map_or(0.0, Probability::get);
                let (onset, repair) = self.window(index, failure);
                (onset, repair, loss)
            })
            .collect();
        let loss = |now: Time| {
            let now = windows.iter().filter(|&&(onset, repair, _)| {
                onset <= now && repair.is_none_or(|repair| now < repair)
            });
            let kept: f64 = now.map(|&(_, _, loss)| 1.0 - loss).product();
            Probability::new(1.0 - kept).unwrap_or(Probability::ZERO)
        };
        let times = windows
            .iter()
            .flat_map(|&(onset, repair, _)| [Some(onset), repair]);
        Timeline::new(Probability::ZERO, times.flatten().map(|at| (at, loss(at))))
    }

    /// When a failure begins and ends under the run's seed.
    fn window(&self, index: usize, failure: &Failure) -> (Time, Option<Time>) {
        (
            failure.onset(self.seed, index),
            failure.repair(self.seed, index),
        )
    }

    /// When such a failure holds on this link.
    fn failing(&self, is_such: impl Fn(&Failure) -> bool) -> Timeline<bool> {
        let windows: Vec<(Time, Option<Time>)> = self
            .failures()
            .filter(|(_, failure)| is_such(failure))
            .map(|(index, failure)| self.window(index, failure))
            .collect();
        let holds = |now: Time| {
            windows
                .iter()
                .any(|&(onset, repair)| onset <= now && repair.is_none_or(|repair| now < repair))
        };
        let times = windows
            .iter()
            .flat_map(|&(onset, repair)| [Some(onset), repair]);
        Timeline::new(false, times.flatten().map(|at| (at, holds(at))))
    }

    fn word(&self) -> &'static str {
        match self.direction {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }

    fn stream(&self, component: &str) -> Pcg64 {
        let name = format!("{}.{}.{component}", self.path.name, self.word());
        self.seed.stream(&name)
    }
}
