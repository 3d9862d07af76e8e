//! One run, from its specification on standard input to its folder.

use super::termination::{raise_on_termination, was_terminated};
use crate::Clock;
use crate::addresses::PORT;
use crate::emulator::failure::FailureError;
use crate::emulator::{
    DeviceKind, Emulator, EmulatorError, FailureDriver, Ground, GroundError, NamespaceError, NetNs,
    PathChangeReceiver, Settings, StopFlag, enter_user_namespace, path_changes, sysctl,
};
use crate::host::{Client, HostError, Live, Server};
use crate::memory;
use crate::recording::{Log, RecordError, Recorder};
use crate::transport::list::{ClientSetup, ServerSetup};
use crate::transport::{self, Binding, LocalPath, quic};
use crate::world::machine;
use crate::world::plan::{RunSpec, SpecError};
use model::manifest::{Stack, Status, Timing};
use model::{Manifest, Name, Side, Time, World};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use policy::list::Parameters;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

/// How long the emulator goes on after the hosts stopped, so that the last words arrive.
const LINGER: Duration = Duration::from_millis(200);

/// What a worker says on its standard output, one JSON object per line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "report")]
pub enum Report {
    /// The application's clock, once a second.
    At {
        /// Seconds since the run's start.
        seconds: f64,
    },
    /// The run ended; its folder is complete.
    Done {
        /// Whether the emulator kept its time.
        timing: Timing,
    },
    /// The run could not be carried out or ended early.
    Failed {
        /// Why, and what to do.
        error: String,
        /// Whether this machine cannot do it at all (exit code 127).
        impossible: bool,
    },
}

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// No namespaces.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// No network in them.
    #[error(transparent)]
    Ground(#[from] GroundError),
    /// The run folder cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A host failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The scenario's failures cannot be carried out.
    #[error(transparent)]
    Failure(#[from] FailureError),
    /// A transport cannot be set up.
    #[error("{0}")]
    Setup(transport::list::SetupError),
    /// No event descriptor.
    #[error("an event descriptor cannot be made: {0}; is the limit on open files too low?")]
    Descriptor(std::io::Error),
    /// The specification is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// No such way into the emulator.
    #[error("no device is called `{0}`")]
    NoDevice(String),
    /// The run was told to stop.
    #[error("interrupted after {0:.1} s")]
    Interrupted(f64),
}

impl WorkError {
    /// Whether this machine cannot do it at all, whatever the user changes in the scenario.
    pub fn is_impossible(&self) -> bool {
        match self {
            WorkError::Namespace(_) | WorkError::Ground(_) => true,
            WorkError::Record(_)
            | WorkError::Host(_)
            | WorkError::Emulator(_)
            | WorkError::Failure(_)
            | WorkError::Setup(_)
            | WorkError::Descriptor(_)
            | WorkError::Spec(_)
            | WorkError::NoDevice(_)
            | WorkError::Interrupted(_) => false,
        }
    }
}

/// Carries out the run. Must be called while the process has a single thread.
///
/// Reports go to `reports`; the last one is `Done` or `Failed`.
pub fn work(spec: RunSpec, mut reports: impl Write) -> Result<Timing, WorkError> {
    die_with_parent();
    let result = run(&spec, &mut reports);
    let report = match &result {
        Ok(timing) => Report::Done { timing: *timing },
        Err(error) => Report::Failed {
            error: error.to_string(),
            impossible: error.is_impossible(),
        },
    };
    say(&mut reports, &report);
    result
}

fn say(reports: &mut impl Write, report: &Report) {
    // The parent may be gone; the run folder is what counts.
    let _ = serde_json::to_writer(&mut *reports, report);
    let _ = reports.write_all(b"\n");
    let _ = reports.flush();
}

fn run(spec: &RunSpec, reports: &mut impl Write) -> Result<Timing, WorkError> {
    let scenario = &spec.scenario;
    let (transport, policy) = (spec.transport()?, spec.policy()?);
    let device = device(spec)?;
    let traces = spec.traces()?;

    enter_user_namespace()?;
    // Once more: a change of credentials may have cleared it.
    die_with_parent();
    let stop = StopFlag::new().map_err(WorkError::Descriptor)?;
    raise_on_termination(&stop);
    let names: Vec<Name> = scenario.paths.iter().map(|p| p.name.clone()).collect();
    let kinds: Vec<_> = scenario
        .paths
        .iter()
        .map(|p| (p.name.clone(), p.kind))
        .collect();
    let mut ground = Ground::make(&kinds, scenario.family, device)?;
    let failures = FailureDriver::new(scenario, spec.seed, &ground)?;
    let mut manifest = manifest(spec, &ground)?;
    let recorder = Recorder::create(&spec.folder, &manifest, &names)?;
    let log = recorder.log();

    let clock = Clock::start();
    let settings = Settings {
        bound: Duration::from_nanos(spec.lateness_bound_ns),
        ..Settings::default()
    };
    let devices = ground.take_devices();
    let Ground {
        client,
        server,
        local_paths,
        server_address,
        ..
    } = ground;
    let emulator = Emulator::new(
        scenario,
        spec.seed,
        &traces,
        devices,
        clock,
        Some(log.clone()),
        settings,
    )?;
    let cast = Cast {
        spec,
        transport,
        policy,
        clock,
        log,
        stop,
        client,
        server,
        local_paths,
        address: SocketAddr::new(server_address, PORT),
        identity: quic::Identity::generate().map_err(|e| WorkError::Setup(e.into()))?,
        end: Time::ZERO + scenario.duration.get(),
        server_settled: AtomicBool::new(false),
    };
    let outcome = play(&cast, emulator, failures, reports);

    manifest.peak_memory_bytes = memory::peak();
    let outcome = outcome.map(|(timing, stack)| {
        manifest.status = Status::Complete;
        manifest.timing = Some(timing);
        manifest.stack = stack;
        timing
    });
    if let Err(error) = &outcome {
        manifest.error = Some(error.to_string());
        if !matches!(error, WorkError::Interrupted(_)) {
            manifest.status = Status::Failed;
        }
    }
    drop(cast); // its log: the recorder ends when the last one is gone
    recorder.finish(&manifest)?;
    outcome
}

/// What the threads of a run share.
struct Cast<'w> {
    spec: &'w RunSpec,
    transport: &'static transport::list::Entry,
    policy: &'static policy::list::Entry,
    clock: Clock,
    log: Log,
    stop: StopFlag,
    client: NetNs,
    server: NetNs,
    local_paths: Vec<LocalPath>,
    address: SocketAddr,
    identity: quic::Identity,
    /// When the application's time is over.
    end: Time,
    server_settled: AtomicBool,
}

/// Runs emulator, failures, server and client until the client's application is done.
fn play(
    cast: &Cast<'_>,
    emulator: Emulator,
    failures: FailureDriver,
    reports: &mut impl Write,
) -> Result<(Timing, Stack), WorkError> {
    let Cast {
        clock, log, stop, ..
    } = cast;
    let emulator_stop = StopFlag::new().map_err(WorkError::Descriptor)?;
    let (changes, changed) = path_changes().map_err(WorkError::Descriptor)?;
    let (listening, ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let emulation = scope.spawn(|| emulator.run(&emulator_stop));
        let failing = scope.spawn(|| {
            let result = failures.run(*clock, &mut log.clone(), &changes, stop);
            if result.is_err() {
                stop.stop();
            }
            result
        });
        let serving = scope.spawn(|| {
            let result = cast.serve(listening);
            stop.stop();
            result
        });
        let walking = scope.spawn(|| {
            let result = cast.walk(ready, changed);
            stop.stop();
            result
        });
        while !wait_for(stop, Duration::from_secs(1)) {
            let seconds = clock.now().as_secs_f64();
            say(reports, &Report::At { seconds });
        }
        let (walked, served) = (joined(walking.join()), joined(serving.join()));
        let failed = joined(failing.join());
        wait_for(&emulator_stop, LINGER);
        emulator_stop.stop();
        let timing = joined(emulation.join());
        // The server's reason first: without it the client has none of its own.
        served?;
        let stack = walked?;
        failed?;
        if was_terminated() {
            return Err(WorkError::Interrupted(clock.now().as_secs_f64()));
        }
        let stack = stack.ok_or(WorkError::Interrupted(clock.now().as_secs_f64()))?;
        Ok((timing?, stack))
    })
}

impl Cast<'_> {
    /// The server's thread.
    fn serve(&self, listening: mpsc::Sender<()>) -> Result<(), WorkError> {
        self.server.enter()?;
        let client_paths: Vec<_> = self
            .local_paths
            .iter()
            .map(|p| (p.name.clone(), p.address))
            .collect();
        let endpoint = (self.transport.listen)(&ServerSetup {
            clock: self.clock,
            seed: self.spec.seed,
            address: self.address,
            client_paths: &client_paths,
            congestion: self.spec.scenario.congestion.as_deref(),
            scheduler: self.spec.scenario.scheduler_of(Side::Server),
            identity: &self.identity,
        })
        .map_err(WorkError::Setup)?;
        // A client that is gone already says why.
        let _ = listening.send(());
        Ok(self.live().server(Server::new(self.end), endpoint)?)
    }

    fn live(&self) -> Live<'_, Log> {
        Live {
            clock: self.clock,
            log: self.log.clone(),
            stop: &self.stop,
            server_settled: &self.server_settled,
        }
    }

    /// The client's thread; `None` when the server never listened.
    fn walk(
        &self,
        ready: mpsc::Receiver<()>,
        changes: PathChangeReceiver,
    ) -> Result<Option<Stack>, WorkError> {
        self.client.enter()?;
        if ready.recv().is_err() {
            return Ok(None);
        }
        let scenario = &self.spec.scenario;
        let endpoint = (self.transport.connect)(&ClientSetup {
            clock: self.clock,
            seed: self.spec.seed,
            server: self.address,
            paths: &self.local_paths,
            channels: scenario.traffic.channels(),
            congestion: scenario.congestion.as_deref(),
            scheduler: scenario.scheduler_of(Side::Client),
            policy: self.policy,
            pin: self.identity.pin(),
            binding: Binding::Address,
        })
        .map_err(WorkError::Setup)?;
        let stack = Stack {
            server_scheduler: self.transport.server_scheduler(World::Emulated, scenario),
            ..endpoint.stack()
        };
        let decides = self
            .transport
            .decides_at_run_time(World::Emulated, self.policy);
        let paths = self.local_paths.iter().map(|p| (p.name.clone(), p.kind));
        let manager = decides.then(|| (self.policy.make)(&Parameters::of(scenario)));
        let client = Client::new(paths, &scenario.traffic, self.end, manager);
        self.live().client(client, endpoint, changes)?;
        Ok(Some(stack))
    }
}

/// Waits for the flag, at most `limit`; whether it is raised.
fn wait_for(flag: &StopFlag, limit: Duration) -> bool {
    let mut poll = [PollFd::new(flag.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    // An interrupted wait is a short one.
    matches!(nix::poll::poll(&mut poll, timeout), Ok(1))
}

/// A thread's result; a panic is a bug and goes on as one.
fn joined<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn device(spec: &RunSpec) -> Result<Option<DeviceKind>, WorkError> {
    let Some(name) = &spec.device else {
        return Ok(None);
    };
    match DeviceKind::find(name) {
        Some(kind) => Ok(Some(kind)),
        None => Err(WorkError::NoDevice(name.clone())),
    }
}

fn manifest(spec: &RunSpec, ground: &Ground) -> Result<Manifest, WorkError> {
    Ok(Manifest {
        started_at: jiff::Timestamp::now().to_string(),
        kernel: machine::kernel(),
        sysctls: sysctl::recorded(&ground.client)?,
        device: Some(ground.kind.name().to_owned()),
        ..spec.manifest()
    })
}

/// When the parent is killed, so is the worker, and with it its namespaces.
fn die_with_parent() {
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}
