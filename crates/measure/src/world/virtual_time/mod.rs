//! The virtual world: link models, hosts and state machines of transports in one event loop that
//! jumps from event to event. No sockets, no namespaces, no waiting; the same scenario, seed and
//! version give the same bytes.
//!
//! What it leaves out is in docs/virtual.md.

mod crew;
mod event_loop;

pub use crew::{Crew, words_of};

use crate::addresses::MAX_PATHS;
use crate::failure::NoSuchPath;
use crate::host::HostError;
use crate::recording::{Collected, Folder, RecordError, Sink};
use crate::transport::list::SetupError;
use crate::transport::quic::QuicError;
use crate::world::plan::{RunSpec, SpecError};
use event_loop::EventLoop;
use model::manifest::Status;
use model::{Manifest, Time};
use network::topology::TopologyError;

/// Why a run in virtual time could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The specification is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// More paths than there are addresses for.
    #[error("{0} paths are too many: there is room for {MAX_PATHS}")]
    TooManyPaths(usize),
    /// The links could not be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A failure names a path that is not there.
    #[error(transparent)]
    Failure(#[from] NoSuchPath),
    /// An end could not be set up.
    #[error("{0}")]
    Setup(SetupError),
    /// A host failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The run folder cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Events follow each other without end at one moment.
    #[error(
        "time stands still at {at:?}: more than {events} events at one moment; give the links of \
         the scenario a delay or a rate"
    )]
    Standstill {
        /// Where.
        at: Time,
        /// How many events there were.
        events: u64,
    },
}

impl SimulationError {
    /// Whether virtual time cannot do it at all, whatever else the user changes.
    pub fn is_impossible(&self) -> bool {
        match self {
            SimulationError::Setup(error) => {
                let quic = error.downcast_ref::<QuicError>();
                matches!(quic, Some(QuicError::NotRepeatable))
            }
            _ => false,
        }
    }
}

/// Carries out the run and keeps what it records in memory. A failure is in the manifest, as
/// its status and error; what was recorded before is there all the same.
pub fn simulate(spec: &RunSpec) -> (Manifest, Collected) {
    let mut collected = Collected::default();
    let outcome = carry_out(spec, &mut collected);
    (outcome.manifest, collected)
}

/// Carries out the same run into the specification's folder.
pub fn record(spec: &RunSpec) -> Result<Manifest, SimulationError> {
    let names: Vec<_> = spec.scenario.paths.iter().map(|p| p.name.clone()).collect();
    let mut folder = Folder::create(&spec.folder, &spec.manifest(), &names)?;
    let outcome = carry_out(spec, &mut folder);
    folder.finish(&outcome.manifest)?;
    outcome.result.map(|()| outcome.manifest)
}

/// Whether the run can be set up: everything but carrying it out.
///
/// # Errors
/// What [`record`] would fail with before its first packet.
pub fn check(spec: &RunSpec) -> Result<(), SimulationError> {
    EventLoop::new(spec).map(|_| ())
}

/// What became of a run.
#[derive(Debug)]
pub struct Outcome {
    /// With its final status.
    pub manifest: Manifest,
    /// Packets that left a link, and turns of hosts.
    pub events: u64,
    /// Why it ended early, if it did.
    pub result: Result<(), SimulationError>,
}

/// Carries out the run; what it records goes to `sink`.
pub fn carry_out(spec: &RunSpec, sink: &mut dyn Sink) -> Outcome {
    let mut manifest = spec.manifest();
    let mut events = 0;
    let result = EventLoop::new(spec).and_then(|mut run| {
        manifest.stack = run.stack();
        let result = run.run(sink);
        events = run.events();
        result
    });
    manifest.status = match &result {
        Ok(()) => Status::Complete,
        Err(_) => Status::Failed,
    };
    manifest.error = result.as_ref().err().map(ToString::to_string);
    Outcome {
        manifest,
        events,
        result,
    }
}
