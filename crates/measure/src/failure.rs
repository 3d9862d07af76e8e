//! When does which failure of a scenario begin and end, and how is it written down? Both worlds
//! go by these steps; how a host comes to see a failure is each world's own.

use crate::recording::Sink;
use model::record::{Event, EventKind};
use model::scenario::{Failure, FailureKind};
use model::{Direction, PathIndex, Scenario, Seed, Side, Time};

/// A path of the client's host came or went, as the host itself sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Which path.
    pub path: PathIndex,
    /// Whether it is usable now.
    pub up: bool,
}

/// The beginning or the end of a failure.
#[derive(Clone, Debug)]
pub struct Step {
    /// When.
    pub at: Time,
    /// Whether the failure begins; else it ends.
    pub begins: bool,
    /// The failure.
    pub failure: Failure,
    /// Its path.
    pub path: PathIndex,
}

/// A failure names a path that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scenario's failure number {index} names the path `{path}`, which does not exist")]
pub struct NoSuchPath {
    /// The failure's place in the scenario, from 0.
    pub index: usize,
    /// The path it names.
    pub path: String,
}

/// The steps of the scenario's failures under `seed`, in the order of their times.
pub fn steps(scenario: &Scenario, seed: Seed) -> Result<Vec<Step>, NoSuchPath> {
    let mut steps = Vec::new();
    for (index, failure) in scenario.failures.iter().enumerate() {
        let path = scenario.path_index(failure.path.as_str());
        let path = path.ok_or_else(|| NoSuchPath {
            index,
            path: failure.path.to_string(),
        })?;
        let ends = failure.repair(seed, index).map(|at| (at, false));
        for (at, begins) in [(failure.onset(seed, index), true)].into_iter().chain(ends) {
            steps.push(Step {
                at,
                begins,
                failure: failure.clone(),
                path,
            });
        }
    }
    steps.sort_by_key(|step| step.at);
    Ok(steps)
}

impl Step {
    /// Writes down that the step was carried out at `now`; what the host learns of it.
    pub fn note(&self, now: Time, sink: &mut dyn Sink) -> Option<PathChange> {
        sink.event(self.event(now, EventKind::Failure, self.describe()));
        if !self.failure.kind.is_visible() {
            return None;
        }
        let up = !self.begins;
        let (kind, detail) = match up {
            true => (EventKind::PathUp, "the interface is usable again"),
            false => (EventKind::PathDown, "the interface is not usable"),
        };
        sink.event(self.event(now, kind, detail.to_owned()));
        Some(PathChange {
            path: self.path,
            up,
        })
    }

    /// The failure's name, as in a scenario.
    pub fn name(&self) -> &'static str {
        match self.failure.kind {
            FailureKind::SilentLoss => "silent-loss",
            FailureKind::CarrierLoss => "carrier-loss",
            FailureKind::InterfaceDown => "interface-down",
            FailureKind::AddressWithdrawn => "address-withdrawn",
        }
    }

    fn event(&self, now: Time, kind: EventKind, detail: String) -> Event {
        let side = self.failure.kind.is_visible().then_some(Side::Client);
        Event {
            side,
            path: Some(self.failure.path.clone()),
            ..Event::new(now, kind, detail)
        }
    }

    fn describe(&self) -> String {
        let direction = match (self.failure.kind.is_visible(), self.failure.direction) {
            (true, _) => "",
            (false, None) => " in both directions",
            (false, Some(Direction::Up)) => " in the up direction",
            (false, Some(Direction::Down)) => " in the down direction",
        };
        let share = match self.failure.loss {
            Some(loss) if self.failure.is_partial() => format!(" of {} %", 100.0 * loss.get()),
            _ => String::new(),
        };
        let verb = if self.begins { "begins" } else { "ends" };
        format!("{}{share}{direction} {verb}", self.name())
    }
}
