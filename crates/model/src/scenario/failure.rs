//! What fails, how the host learns of it, and in which phase of the traffic.

use crate::path::{Direction, Name};
use crate::random::Seed;
use crate::time::Time;
use crate::units::{Probability, Span};
use rand::RngExt;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

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
    /// Which share of the packets a `silent-loss` takes, each drawn on its own; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
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
    /// Packets are lost, all unless `loss` says otherwise; the host sees nothing.
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

/// A moment: fixed, or drawn from the run's seed. Written `"10 s"` or
/// `{ from = "10 s", to = "10.1 s" }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
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

impl Phase {
    /// The earliest moment it can be.
    pub fn earliest(self) -> Span {
        match self {
            Phase::Fixed(at) => at,
            Phase::Drawn { from, to: _ } => from,
        }
    }

    /// The latest moment it can be.
    pub fn latest(self) -> Span {
        match self {
            Phase::Fixed(at) => at,
            Phase::Drawn { from: _, to } => to,
        }
    }
}

/// By hand, because serde's own message for an untagged enum says neither what is wrong nor
/// what was expected.
impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Phase, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Window {
            from: Span,
            to: Span,
        }
        struct TimeOrWindow;
        impl<'de> de::Visitor<'de> for TimeOrWindow {
            type Value = Phase;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a time such as `\"10 s\"` or a window such as \
                     `{ from = \"10 s\", to = \"10.1 s\" }`",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Phase, E> {
                text.parse().map(Phase::Fixed).map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Phase, A::Error> {
                let Window { from, to } = Window::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Phase::Drawn { from, to })
            }
        }
        d.deserialize_any(TimeOrWindow)
    }
}

impl Failure {
    /// Whether it is a silent loss of some packets and not of all.
    pub fn is_partial(&self) -> bool {
        self.loss.is_some_and(|loss| loss.get() < 1.0)
    }

    /// When the failure sets in under `seed`; `index` is its place in the scenario.
    ///
    /// # Panics
    /// When the window ends before it begins, which [`crate::Scenario::check`] refuses.
    pub fn onset(&self, seed: Seed, index: usize) -> Time {
        match self.at {
            Phase::Fixed(at) => Time::ZERO + at.get(),
            Phase::Drawn { from, to } => {
                let mut stream = seed.stream(&format!("failure.{index}.phase"));
                Time::from_nanos(stream.random_range(from.as_nanos()..=to.as_nanos()))
            }
        }
    }

    /// When it is over under `seed`, if within the run.
    pub fn repair(&self, seed: Seed, index: usize) -> Option<Time> {
        Some(self.onset(seed, index) + self.duration?.get())
    }
}
