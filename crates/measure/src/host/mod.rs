//! Hosts: the loop that drives one end's transport, application half and policy in one thread.

mod client;
mod server;
mod wait;

pub use client::ClientHost;
pub use server::ServerHost;

use crate::recording::Log;
use model::record::{Event, EventKind};
use model::{Side, Time};
use std::io;
use std::time::Duration;
use traffic::Half;

/// How often the state of each connection and path is sampled.
pub const SAMPLE_PERIOD: Duration = Duration::from_millis(100);

/// How long a connection may take to be established before the run is given up.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Reports once what a half says went wrong on a channel: the run goes on, as its messages are
/// data all the same.
fn report_fault(log: &Log, now: Time, side: Side, half: &dyn Half, told: &mut bool) {
    if *told {
        return;
    }
    if let Some(reason) = half.error() {
        *told = true;
        let mut event = Event::new(now, EventKind::Note, reason);
        event.side = Some(side);
        log.event(event);
    }
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
