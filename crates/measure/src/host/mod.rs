//! Hosts: one end's application, policy and transport, taking turns. What a host does in a turn
//! is the same in every world; [`Live`] gives the turns in real time, the virtual world in its own.

mod client;
mod deadline;
mod live;
mod observer;
mod server;

pub use client::Client;
pub use deadline::Deadline;
pub use live::Live;
pub use server::Server;

use model::Time;
use std::io;
use std::time::Duration;

/// How often the state of each connection and path is sampled.
pub const SAMPLE_PERIOD: Duration = Duration::from_millis(100);

/// How long a connection may take to be established before the run is given up.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the hosts wait, once the application's time is over and nothing new is sent, for the
/// answers that are on their way: several round trips of any path that works. What is unanswered
/// then is censored.
pub const GRACE: Duration = Duration::from_millis(500);

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The next turn is due then, or when something arrives.
    Until(Time),
    /// The application is done.
    Done,
}

/// Why a host could not go on.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The transport failed.
    #[error("{side}: the transport failed: {source}")]
    Transport {
        /// `client` or `server`.
        side: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// Nothing was established in time.
    #[error(
        "client: no connection within {0:?}: the first path must work at the start of a scenario"
    )]
    ConnectTimeout(Duration),
}
