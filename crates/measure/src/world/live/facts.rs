//! What is seen of a run while it goes on, for who watches?

use model::Name;
use model::record::{Event, Message, Sample};

/// One thing seen; `run` is the run's label (`mptcp-backup`, `quic`).
#[derive(Clone, Debug, PartialEq)]
pub enum LiveRecord {
    /// A message was answered, or given up at the end. Only the client's own: the server's come when the
    /// run is over.
    Message {
        /// Which run.
        run: String,
        /// As in `messages`.
        message: Message,
    },
    /// The state of a connection or path.
    Sample {
        /// Which run.
        run: String,
        /// As in `samples`.
        sample: Sample,
    },
    /// What happened: decisions with their cause, paths, the start and the end.
    Event {
        /// Which run.
        run: String,
        /// As in `events.jsonl`.
        event: Event,
    },
    /// The oldest unanswered message of a run has waited this long; said every 100 ms from 200 ms on.
    Waiting {
        /// Which run.
        run: String,
        /// Since the run's start.
        time_us: u64,
        /// How long.
        waited_us: u64,
    },
    /// The received signal of a Wi-Fi.
    Signal {
        /// The path.
        path: Name,
        /// Since the test's start.
        time_us: u64,
        /// In dBm.
        signal_dbm: f64,
    },
}
