//! The live world: real interfaces, a real test server, real time. One process runs one or several
//! transports at once ([`Test::carry_out`]), each into a run folder of its own.

mod facts;
mod interfaces;
mod reach;

pub use facts::LiveRecord;
pub use interfaces::{Interface, InterfaceChange, InterfaceKind, Monitor, Wifi, interfaces};
pub use reach::{ReachTarget, reach};

use crate::transport::LocalPath;
use model::live::{Ended, LiveFacts};
use model::scenario::Traffic;
use model::{Name, Seed};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// One run of a test.
#[derive(Clone, Debug)]
pub struct LiveRun {
    /// The transport's name.
    pub transport: String,
    /// The path manager's name; `single` for transports without one.
    pub policy: String,
    /// What the application does.
    pub traffic: Traffic,
    /// How long at most.
    pub duration: Duration,
    /// The right to use the server.
    pub token: String,
    /// The test's seed: for the manifest, and for what is random in a transport.
    pub seed: Seed,
    /// The run folder.
    pub folder: PathBuf,
    /// What the manifest says of it beside what the run itself finds out (`invalid`, `ended`,
    /// `server_clock`).
    pub facts: LiveFacts,
}

/// Runs that take place at once.
#[derive(Clone, Debug)]
pub struct Test {
    /// The runs.
    pub runs: Vec<LiveRun>,
    /// The server's address and port.
    pub server: SocketAddr,
    /// SHA-256 of its certificate.
    pub certificate_sha256: [u8; 32],
    /// The host's paths, the one to start on first.
    pub paths: Vec<LocalPath>,
    /// What ends the runs early.
    pub until: Until,
}

/// What ends runs before their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nothing but an error.
    Time,
    /// Any change of the available interfaces: the runs are invalid then (stable mode).
    InterfacesChange,
    /// This path's interface is lost, or its Wi-Fi's name changes (mobile mode).
    WifiLost(Name),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Its folder.
    pub folder: PathBuf,
    /// Why it ended.
    pub ended: Ended,
    /// Why it does not count, when it does not.
    pub invalid: Option<String>,
    /// What went wrong, when something did; the folder holds what was recorded.
    pub error: Option<String>,
}

/// Why a test could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Netlink.
    #[error("the interfaces cannot be watched: {0}")]
    Interfaces(std::io::Error),
    /// No such path, an empty test ...
    #[error("{0}")]
    Impossible(String),
}

impl Test {
    /// Runs all runs at once until each is over, `stop` is raised, or what [`Test::until`] names
    /// happens; fetches what the server recorded into each folder (its messages and samples, times
    /// brought to the run's clock); writes the manifests. What is seen goes to `watch` as it happens.
    pub fn carry_out(
        &self,
        stop: &AtomicBool,
        watch: &Sender<LiveRecord>,
    ) -> Result<Vec<RunEnd>, LiveError> {
        let _ = (stop, watch);
        todo!()
    }
}
