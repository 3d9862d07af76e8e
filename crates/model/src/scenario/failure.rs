//! What fails, how the host learns of it, and in which phase of the traffic.

use crate::path::{Direction, Name};
use crate::random::Seed;
use crate::time::Time;
use crate::units::Span;
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A path's failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Which path.
    pub path: Name,
    /// How, and what the host sees of it.
    pub kind: FailureKind,
    /// Which direction of a `silent-loss`; both when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// When.
    pub at: Phase,
    /// For how long; to the end of the run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
}

/// How a path fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Every packet is lost; the host sees nothing.
    SilentLoss,
    /// The interface loses its carrier; addresses stay.
    CarrierLoss,
    /// The interface goes down; its address stays configured.
    InterfaceDown,
    /// The interface goes down and its address is withdrawn, as a phone's operating system does.
    AddressWithdrawn,
}

impl FailureKind {
    /// Whether the host's own network state shows the failure.
    pub fn is_visible(self) -> bool {
        self != FailureKind::SilentLoss
    }
}

/// A moment: fixed, or drawn from the run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Phase {
    /// At this time of the run.
    Fixed(Span),
    /// Uniformly drawn from this window.
    Drawn {
        /// The earliest moment.
        from: Span,
        /// The latest moment.
        to: Span,
    },
}

impl Failure {
    /// When the failure sets in under `seed`; `index` is its place in the scenario.
    pub fn onset(&self, seed: Seed, index: usize) -> Time {
        let nanos = |s: Span| s.get().as_nanos() as u64;
        match self.at {
            Phase::Fixed(at) => Time::from_nanos(nanos(at)),
            Phase::Drawn { from, to } => {
                let mut stream = seed.stream(&format!("failure.{index}.phase"));
                Time::from_nanos(stream.random_range(nanos(from)..=nanos(to)))
            }
        }
    }

    /// When it is over under `seed`, if within the run.
    pub fn repair(&self, seed: Seed, index: usize) -> Option<Time> {
        Some(self.onset(seed, index) + self.duration?.get())
    }
}
