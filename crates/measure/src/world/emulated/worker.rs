//! One run, from its specification on standard input to its folder.

use crate::Clock;
use crate::emulator::{
    DeviceKind, Emulator, EmulatorError, FailureDriver, Ground, GroundError, NamespaceError,
    StopFlag, enter_user_namespace,
};
use crate::host::{ClientHost, HostError, ServerHost};
use crate::recording::{RecordError, Recorder};
use crate::transport::list::{ClientSetup, ServerSetup};
use crate::transport::{self, quic};
use crate::world::plan::RunSpec;
use model::manifest::{Stack, Status, Timing};
use model::record::FORMAT_VERSION;
use model::{Manifest, Name, PathIndex, Time};
use network::topology::{self, Traces};
use network::trace::Trace;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;
use std::time::Duration;

/// The port servers listen on.
const PORT: u16 = 443;

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
    /// The links cannot be built.
    #[error(transparent)]
    Topology(#[from] topology::TopologyError),
    /// Anything about the specification.
    #[error("{0}")]
    Spec(String),
    /// This machine lacks something the transport needs.
    #[error("{0}")]
    Impossible(String),
    /// The run was told to stop.
    #[error("interrupted after {0:.1} s")]
    Interrupted(f64),
}

impl WorkError {
    /// Whether this machine cannot do it at all, whatever the user changes in the scenario.
    pub fn is_impossible(&self) -> bool {
        match self {
            WorkError::Namespace(_) | WorkError::Ground(_) | WorkError::Impossible(_) => true,
            WorkError::Record(_)
            | WorkError::Host(_)
            | WorkError::Emulator(_)
            | WorkError::Topology(_)
            | WorkError::Spec(_)
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
    let (transport, policy) = entries(spec)?;
    let device = spec.device.as_deref().map(DeviceKind::find).transpose();
    let device = device.map_err(WorkError::Spec)?;
    let traces = parse_traces(spec)?;
    let links = (0..spec.scenario.paths.len())
        .map(|path| topology::build(&spec.scenario, PathIndex(path), spec.seed, &traces))
        .collect::<Result<Vec<_>, _>>()?;

    enter_user_namespace()?;
    // Once more: a change of credentials may have cleared it.
    die_with_parent();
    let stop = StopFlag::new().map_err(|e| WorkError::Impossible(format!("eventfd: {e}")))?;
    stop.raise_on_termination();
    let names: Vec<Name> = spec.scenario.paths.iter().map(|p| p.name.clone()).collect();
    let kinds: Vec<_> = spec
        .scenario
        .paths
        .iter()
        .map(|p| (p.name.clone(), p.kind))
        .collect();
    let ground = Ground::make(&kinds, device)?;
    let mut manifest = manifest(spec, &ground);
    let recorder = Recorder::create(&spec.folder, &manifest, &names)?;
    let log = recorder.log();
    let identity = quic::Identity::generate().map_err(WorkError::Spec)?;
    let server = SocketAddr::new(ground.server_address, PORT);
    let client_paths: Vec<(Name, IpAddr)> = ground
        .local_paths
        .iter()
        .map(|p| (p.name.clone(), p.address))
        .collect();

    let clock = Clock::start();
    let end = Time::ZERO + spec.scenario.duration.get();
    let (changes, changes_receiver) = mpsc::channel();
    let changed = StopFlag::new().map_err(|e| WorkError::Impossible(format!("eventfd: {e}")))?;
    let emulator_stop =
        StopFlag::new().map_err(|e| WorkError::Impossible(format!("eventfd: {e}")))?;
    let emulator = Emulator::new(
        &ground,
        &names,
        links,
        clock,
        log.clone(),
        Duration::from_nanos(spec.lateness_bound_ns),
    )?;

    let congestion = spec.scenario.congestion.as_deref();
    let (stack_sender, stack_receiver) = mpsc::channel::<Stack>();
    let (ready_sender, ready) = mpsc::channel::<()>();
    let outcome = std::thread::scope(|scope| {
        let emulation = scope.spawn(|| emulator.run(&emulator_stop));
        let failures = scope.spawn(|| {
            FailureDriver {
                scenario: &spec.scenario,
                seed: spec.seed,
                ground: &ground,
                clock,
                log: log.clone(),
                changes,
                wake: &changed,
            }
            .run(&stop)
        });
        let serving = scope.spawn(|| -> Result<(), WorkError> {
            let hosted = (|| {
                enter(&ground.server)?;
                let endpoint = (transport.listen)(&ServerSetup {
                    clock,
                    seed: spec.seed,
                    address: server,
                    client_paths: &client_paths,
                    congestion,
                    identity: &identity,
                })
                .map_err(WorkError::Impossible)?;
                let _ = ready_sender.send(());
                let host = ServerHost {
                    clock,
                    log: log.clone(),
                    stop: &stop,
                    endpoint,
                };
                Ok(host.run()?)
            })();
            stop.raise();
            hosted
        });
        let walking = scope.spawn(|| -> Result<(), WorkError> {
            let hosted = (|| {
                enter(&ground.client)?;
                if ready.recv().is_err() {
                    return Ok(()); // the server says why
                }
                let endpoint = (transport.connect)(&ClientSetup {
                    clock,
                    seed: spec.seed,
                    server,
                    paths: &ground.local_paths,
                    channels: spec.scenario.traffic.channels(),
                    congestion,
                    policy,
                    identity: &identity,
                })
                .map_err(WorkError::Impossible)?;
                let _ = stack_sender.send(endpoint.stack());
                let at_run_time = transport.multipath && !endpoint.manages_paths();
                let host = ClientHost {
                    clock,
                    log: log.clone(),
                    stop: &stop,
                    end,
                    paths: &ground.local_paths,
                    changes: changes_receiver,
                    changed: &changed,
                    endpoint,
                    half: traffic::pattern::client(&spec.scenario.traffic),
                    manager: at_run_time.then(|| (policy.make)()),
                };
                Ok(host.run()?)
            })();
            stop.raise();
            hosted
        });
        while !stop.wait(Duration::from_secs(1)) {
            let seconds = clock.now().as_secs_f64();
            say(reports, &Report::At { seconds });
        }
        let walked = joined(walking.join(), "client");
        let served = joined(serving.join(), "server");
        let failed = joined(failures.join(), "failures").map_err(WorkError::Ground);
        stop.wait(LINGER);
        emulator_stop.raise();
        let timing = joined(emulation.join(), "emulator");
        walked.and(served).and(failed)?;
        if stop.was_terminated() {
            return Err(WorkError::Interrupted(clock.now().as_secs_f64()));
        }
        Ok(timing?)
    });

    if let Ok(stack) = stack_receiver.try_recv() {
        manifest.stack = stack;
    }
    manifest.peak_memory_bytes = peak_memory();
    match &outcome {
        Ok(timing) => {
            manifest.status = Status::Complete;
            manifest.timing = Some(*timing);
        }
        Err(WorkError::Interrupted(_)) => manifest.error = outcome.as_ref().err().map(|e| e.to_string()),
        Err(error) => {
            manifest.status = Status::Failed;
            manifest.error = Some(error.to_string());
        }
    }
    recorder.finish(&manifest)?;
    outcome
}

/// A thread's result; a panic is a bug and goes on as one.
fn joined<T>(result: std::thread::Result<T>, _what: &str) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn enter(namespace: &crate::emulator::NetNs) -> Result<(), WorkError> {
    Ok(namespace.enter()?)
}

fn entries(
    spec: &RunSpec,
) -> Result<(&'static transport::list::Entry, &'static policy::list::Entry), WorkError> {
    let transport = transport::list::find(&spec.transport)
        .ok_or_else(|| WorkError::Spec(format!("no transport is called `{}`", spec.transport)))?;
    let policy = policy::list::find(&spec.policy)
        .ok_or_else(|| WorkError::Spec(format!("no policy is called `{}`", spec.policy)))?;
    Ok((transport, policy))
}

fn parse_traces(spec: &RunSpec) -> Result<Traces, WorkError> {
    spec.traces
        .iter()
        .map(|(file, text)| match Trace::parse(text) {
            Ok(trace) => Ok((file.clone(), trace)),
            Err(error) => Err(WorkError::Spec(format!("{}: {error}", file.display()))),
        })
        .collect()
}

fn manifest(spec: &RunSpec, ground: &Ground) -> Manifest {
    let (kernel, sysctls) = ground.describe();
    Manifest {
        format_version: FORMAT_VERSION,
        walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
        status: Status::Incomplete,
        error: None,
        started_at: jiff::Timestamp::now().to_string(),
        world: "emulated".to_owned(),
        transport: spec.transport.clone(),
        policy: spec.policy.clone(),
        seed: spec.seed,
        repetition: spec.repetition,
        scenario: spec.scenario.clone(),
        failure_onsets_us: (0..)
            .zip(&spec.scenario.failures)
            .map(|(index, failure)| failure.onset(spec.seed, index).as_micros())
            .collect(),
        stack: Stack {
            name: String::new(),
            version: String::new(),
            congestion: String::new(),
            path_manager: String::new(),
            scheduler: String::new(),
        },
        kernel,
        sysctls,
        device: Some(ground.device().name().to_owned()),
        skipped: Vec::new(),
        timing: None,
        peak_memory_bytes: None,
    }
}

/// The process's highest resident memory so far.
fn peak_memory() -> Option<u64> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).ok()?;
    u64::try_from(usage.max_rss()).ok().map(|kib| kib * 1024)
}

/// When the parent is killed, so is the worker, and with it its namespaces.
fn die_with_parent() {
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}
