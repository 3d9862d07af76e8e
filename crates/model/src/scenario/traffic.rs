//! What the application does: the parameters of each traffic pattern.

use crate::path::Direction;
use crate::units::{BitRate, ByteSize, Span};
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
    /// Short series of requests in several writes each, with pauses between the series.
    Bursts(Bursts),
    /// A request every period, each answered.
    Request(Request),
    /// The server pushes at a fixed bit rate.
    Radio(Radio),
    /// A pattern with light traffic beside it: what the application does, in a host and on the wire. A
    /// scenario writes the two apart, as `[traffic.NAME]` and `[background]`.
    #[schemars(skip)]
    WithBackground(Box<WithBackground>),
}

impl Traffic {
    /// The pattern's name, as in `walkabout list patterns`; with a background, that of the main traffic.
    pub fn name(&self) -> &'static str {
        match self {
            Traffic::Interactive(_) => "interactive",
            Traffic::Ping(_) => "ping",
            Traffic::Bulk(_) => "bulk",
            Traffic::Iperf(_) => "iperf",
            Traffic::Bursts(_) => "bursts",
            Traffic::Request(_) => "request",
            Traffic::Radio(_) => "radio",
            Traffic::WithBackground(both) => both.main.name(),
        }
    }

    /// How many channels (TCP connections, QUIC streams) the pattern uses; a background has one more,
    /// behind those of the main traffic.
    pub fn channels(&self) -> usize {
        match self {
            Traffic::Interactive(_) => 2,
            Traffic::Ping(_) | Traffic::Bulk(_) => 1,
            Traffic::Iperf(t) => t.direction.directions().len(),
            Traffic::Bursts(_) | Traffic::Request(_) | Traffic::Radio(_) => 1,
            Traffic::WithBackground(both) => both.main.channels() + 1,
        }
    }

    /// The main traffic and, where there is one, what goes on beside it.
    pub fn parts(&self) -> (&Traffic, Option<&Background>) {
        match self {
            Traffic::WithBackground(both) => (&both.main, Some(&both.background)),
            alone => (alone, None),
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

/// Series of requests, as a voice-activated application sends them (MultiMob, section IV a: a simplified
/// model of Siri): a request is a burst handed over in several small writes, the server answers each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bursts {
    /// Bytes of a burst; at least 9.
    pub burst_size: ByteSize,
    /// The smallest write of a burst. Each is handed to the transport on its own; their sizes are drawn
    /// from the run's seed.
    pub write_min: ByteSize,
    /// The largest write of a burst.
    pub write_max: ByteSize,
    /// From one burst of a series to the next.
    pub interval: Span,
    /// How many bursts a series has.
    pub count: u32,
    /// From the last burst of a series to the first of the next.
    pub pause: Span,
    /// Bytes of the server's response to a burst; at least 9.
    pub response_size: ByteSize,
}

impl Default for Bursts {
    fn default() -> Self {
        // MultiMob, section IV a.
        Bursts {
            burst_size: ByteSize::from_bytes(2_500),
            write_min: ByteSize::from_bytes(50),
            write_max: ByteSize::from_bytes(500),
            interval: Span::from(std::time::Duration::from_micros(333_333)),
            count: 9,
            pause: Span::from_millis(5_000),
            response_size: ByteSize::from_bytes(750),
        }
    }
}

/// A request every period, whether or not the one before was answered, and a response to each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Bytes of a request; at least 9.
    pub request_size: ByteSize,
    /// Bytes of a response; at least 9.
    pub response_size: ByteSize,
    /// From one request to the next.
    pub period: Span,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            request_size: ByteSize::from_bytes(750),
            response_size: ByteSize::from_bytes(750),
            period: Span::from_millis(400),
        }
    }
}

/// The server pushes blocks at a fixed bit rate once it was asked, as a web radio does (MultiMob, section
/// V-A, uses Icecast). What the client hears is worked out from when the blocks arrived: it plays from
/// `start_threshold` on, stalls when nothing is left, and goes on at that threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Radio {
    /// The stream's bit rate.
    pub bitrate: BitRate,
    /// Bytes of a block; at least 9.
    pub block_size: ByteSize,
    /// What the server sends at once when it is asked, from what it has played already; `0 B` for a
    /// stream that starts with what is on air.
    pub burst_size: ByteSize,
    /// How much the client buffers before it plays, at the start and after a stall.
    pub start_threshold: Span,
}

impl Default for Radio {
    fn default() -> Self {
        Radio {
            bitrate: BitRate::from_bits_per_second(128_000),
            block_size: ByteSize::from_bytes(1_400),
            // Icecast's `burst-size`, unless its configuration says otherwise.
            burst_size: ByteSize::from_bytes(65_536),
            start_threshold: Span::from_millis(1_000),
        }
    }
}

/// Light traffic beside the main one, on a channel of its own: a request every period, each answered
/// (MultiMob, section IV c: 12 KB/s of requests and responses). Its delays are in no metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Background {
    /// Bytes of a request; at least 9.
    pub request_size: ByteSize,
    /// Bytes of a response; at least 9.
    pub response_size: ByteSize,
    /// From one request to the next.
    pub period: Span,
}

impl Default for Background {
    fn default() -> Self {
        // The paper gives the rate alone, read here as that of both directions together.
        Background {
            request_size: ByteSize::from_bytes(600),
            response_size: ByteSize::from_bytes(600),
            period: Span::from_millis(100),
        }
    }
}

/// A pattern, and what goes on beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithBackground {
    /// What the experiment is about: any pattern without a background of its own.
    pub main: Traffic,
    /// What goes on beside it.
    pub background: Background,
}
