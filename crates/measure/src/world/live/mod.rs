//! The live world: real interfaces, a real test server, real time. One process runs one or several
//! transports at once ([`Test::carry_out`]), each into a run folder of its own.

mod energy;
mod facts;
mod interfaces;
mod names;
mod plan;
mod reach;
mod records;
mod run;
mod tee;
mod traps;
mod watch;

pub use facts::LiveRecord;
pub use interfaces::{
    Interface, InterfaceChange, InterfaceKind, Monitor, PathError, Wifi, interfaces, local_path,
};
pub use reach::{ReachTarget, reach};
pub use traps::{PathFamilies, traps};
pub use watch::AFTER_WIFI;

use crate::Clock;
use crate::transport::LocalPath;
use crate::transport::kernel::KeptSettings;
use model::Name;
use model::live::{Ended, LiveFacts, TokenRefused};
use model::scenario::Traffic;
use run::Run;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::Duration;
use watch::Watcher;

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
    /// This path's interface is lost, or its Wi-Fi's name changes (mobile mode): the runs end
    /// [`AFTER_WIFI`] later.
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
    /// Why the server took no token, where its clock spoke against it.
    pub refused: Option<TokenRefused>,
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
        let entries = plan::entries(self)?;
        let (_monitor, changes, known) = Monitor::start_from().map_err(LiveError::Interfaces)?;
        plan::check_paths(self, &known)?;
        let _settings = KeptSettings::keep(plan::manages_endpoints(&entries));
        let clock = Clock::start();
        let verdict = OnceLock::new();
        let opened = self.runs.iter().zip(entries);
        let opened = opened.map(|(run, entries)| Run::open(self, run, entries, clock, watch));
        let mut watched = Vec::new();
        let opened: Vec<Result<Run<'_>, RunEnd>> = opened
            .map(|opened| {
                opened.map(|(run, of_run)| {
                    watched.push(of_run);
                    run
                })
            })
            .collect();
        let watcher = Watcher::new(self, clock, known, watched, &verdict, watch.clone());
        Ok(std::thread::scope(|scope| {
            let started = opened
                .into_iter()
                .map(|opened| opened.map(|run| scope.spawn(|| run.carry_out(&verdict))));
            let started: Vec<_> = started.collect();
            let is_over = |run: &Result<std::thread::ScopedJoinHandle<'_, _>, _>| {
                run.as_ref().map_or(true, |thread| thread.is_finished())
            };
            watcher.run(&changes, stop, || started.iter().all(is_over));
            let ended = started.into_iter().map(|run| match run {
                Ok(thread) => match thread.join() {
                    Ok(end) => end,
                    // A panic is a bug and goes on as one.
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                Err(end) => end,
            });
            ended.collect()
        }))
    }
}
