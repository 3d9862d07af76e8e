//! What the application does: the parameters of each traffic pattern.

use crate::path::Direction;
use crate::units::{ByteSize, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A traffic pattern and its parameters, written `[traffic.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Chunks in both directions, each acknowledged by the peer's application.
    Interactive(Interactive),
    /// A few small requests.
    Ping(Ping),
    /// One large download.
    Bulk(Bulk),
    /// As much as the network takes, for a time.
    Iperf(Iperf),
}

impl Traffic {
    /// The pattern's name, as in `walkabout list patterns`.
    pub fn name(&self) -> &'static str {
        match self {
            Traffic::Interactive(_) => "interactive",
            Traffic::Ping(_) => "ping",
            Traffic::Bulk(_) => "bulk",
            Traffic::Iperf(_) => "iperf",
        }
    }

    /// How many channels (TCP connections, QUIC streams) the pattern uses.
    pub fn channels(&self) -> usize {
        match self {
            Traffic::Interactive(_) => 2,
            Traffic::Ping(_) | Traffic::Bulk(_) => 1,
            Traffic::Iperf(t) => t.direction.directions().len(),
        }
    }
}

/// Client and server each send a chunk periodically; the peer answers each with a short
/// application acknowledgement (MultipathTester, section II-A).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Interactive {
    /// Bytes of a chunk.
    pub chunk_size: ByteSize,
    /// Time between two chunks of one direction.
    pub period: Span,
    /// Bytes of an acknowledgement: 9 by default, 750 in the paper's figure; at least 9.
    pub ack_size: ByteSize,
}

impl Default for Interactive {
    fn default() -> Self {
        Interactive {
            chunk_size: ByteSize::from_bytes(2_000),
            period: Span::from_millis(100),
            ack_size: ByteSize::from_bytes(9),
        }
    }
}

/// Requests for a small object, one after the other (MultipathTester: 5 requests for 10 bytes).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ping {
    /// How many requests.
    pub count: u32,
    /// Bytes of the object.
    pub size: ByteSize,
}

impl Default for Ping {
    fn default() -> Self {
        Ping {
            count: 5,
            size: ByteSize::from_bytes(10),
        }
    }
}

/// One request for a large object (MultipathTester: 10 MB).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bulk {
    /// Bytes of the object.
    pub size: ByteSize,
}

impl Default for Bulk {
    fn default() -> Self {
        Bulk {
            size: ByteSize::from_bytes(10_000_000),
        }
    }
}

/// As much as the network takes, for a fixed time (MultipathTester, section II-A: 7 s): blocks, each
/// acknowledged by the peer's application, so that the throughput of each second can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Iperf {
    /// How long new blocks are sent.
    pub duration: Span,
    /// Who sends.
    pub direction: Flow,
    /// Bytes of a block; at least 9.
    pub block_size: ByteSize,
}

impl Default for Iperf {
    fn default() -> Self {
        Iperf {
            duration: Span::from_millis(7_000),
            direction: Flow::Up,
            block_size: ByteSize::from_bytes(16_000),
        }
    }
}

/// In which directions data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// The client sends.
    Up,
    /// The server sends.
    Down,
    /// Both send, at once.
    Both,
}

impl Flow {
    /// The directions, in the order of their channels.
    pub fn directions(self) -> &'static [Direction] {
        match self {
            Flow::Up => &[Direction::Up],
            Flow::Down => &[Direction::Down],
            Flow::Both => &[Direction::Up, Direction::Down],
        }
    }
}
