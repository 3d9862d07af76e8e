//! What is seen of a test while it runs?

use model::Direction;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/live`: what the client saw since its last batch; it sends one about every half second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveBatch {
    /// The test: 32 hexadecimal digits.
    pub test: String,
    /// The experiment's name.
    pub experiment: String,
    /// The test server's id.
    pub server: String,
    /// A token of the test, spent or not: it says that the test is allowed.
    pub token: String,
    /// What was seen, in the order of time; at most 2,000.
    pub items: Vec<LiveItem>,
    /// Whether the test is over with this batch.
    #[serde(default)]
    pub over: bool,
}

/// One thing seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveItem {
    /// Of which run: `mptcp-backup`, `quic`.
    pub run: String,
    /// When, since the run's start.
    pub time_us: u64,
    /// What.
    pub event: LiveEvent,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LiveEvent {
    /// The run began.
    Started {
        /// The transport's name.
        transport: String,
        /// The path manager's name.
        policy: String,
        /// The pattern's name.
        pattern: String,
        /// The paths' names, the first one first.
        paths: Vec<String>,
    },
    /// A message was answered.
    Message {
        /// Whose.
        #[schema(value_type = String, example = "up")]
        direction: Direction,
        /// First byte sent to last byte of the answer received.
        delay_us: u64,
    },
    /// The oldest unanswered message, while one waits for more than 200 ms.
    Waiting {
        /// How long it has waited.
        waited_us: u64,
    },
    /// Where the data goes now.
    PathInUse {
        /// The path's name.
        path: String,
    },
    /// A policy decided.
    Decision {
        /// What.
        action: String,
        /// On which path.
        path: String,
        /// Why, with figures.
        cause: String,
    },
    /// A path came or went.
    Path {
        /// The path's name.
        path: String,
        /// Whether it is usable now.
        up: bool,
    },
    /// The received signal of the Wi-Fi.
    Signal {
        /// The path's name.
        path: String,
        /// In dBm.
        signal_dbm: f64,
    },
    /// The run ended.
    Ended {
        /// Why, one of `model::live::Ended`'s words.
        why: String,
    },
}

/// A test that runs now: `GET /api/v1/live`. Its items follow as server-sent events from
/// `GET /api/v1/live/{test}/events`; each event's id is its sequence number, `Last-Event-ID` resumes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunningTest {
    /// The test.
    pub test: String,
    /// The experiment's name.
    pub experiment: String,
    /// The test server's id.
    pub server: String,
    /// When its first batch came, RFC 3339 in UTC.
    pub since: String,
    /// When its last batch came.
    pub heard_at: String,
    /// The names of its runs so far.
    pub runs: Vec<String>,
}
