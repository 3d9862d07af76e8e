//! What one direction of a path does to packets, and how that changes over time.

use crate::path::Direction;
use crate::units::{BitRate, ByteSize, Probability, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One direction of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Constant rate; unlimited when neither `rate` nor `trace` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// A Mahimahi packet-delivery trace instead of a constant rate (relative to the scenario's file).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// One-way propagation delay.
    pub delay: Span,
    /// Standard deviation of a normal delay added to `delay`; packets keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// Independent random loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Burst loss (Gilbert-Elliott).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Reordering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Probability that a packet is delivered twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Probability>,
    /// The queue in front of the rate; the default is a drop-tail queue of 256 KiB.
    #[serde(default)]
    pub queue: Queue,
}

/// Gilbert-Elliott burst loss: a good and a bad state, with a transition before each packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Probability, per packet, to go from good to bad.
    pub enter: Probability,
    /// Probability, per packet, to go from bad to good.
    pub leave: Probability,
    /// Loss in the bad state.
    pub loss: Probability,
}

/// Some packets are held back, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// For how long.
    pub hold: Span,
}

/// A queue and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The discipline.
    pub kind: QueueKind,
    /// Beyond this many bytes a packet is dropped.
    pub limit: ByteSize,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            kind: QueueKind::DropTail,
            limit: ByteSize::from_bytes(256 * 1024),
        }
    }
}

/// Queue disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// First in, first out, drop what does not fit.
    DropTail,
    /// CoDel (RFC 8289).
    Codel,
}

/// New values of a path's links from a moment on; what is absent stays as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// From when.
    pub at: Span,
    /// Which direction; both when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// New rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// New one-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// New random loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Whether the link carries anything at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
}
