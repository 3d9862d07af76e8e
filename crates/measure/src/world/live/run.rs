//! One run: its folder, its transport and its application, from the start to the last row.

use super::energy::Meter;
use super::names;
use super::records;
use super::tee::Tee;
use super::watch::{Verdict, Watched};
use super::{LiveRecord, LiveRun, RunEnd, Test};
use crate::Clock;
use crate::emulator::{PathChangeReceiver, StopFlag, path_changes, sysctl};
use crate::host::{Client, Deadline, Live};
use crate::memory;
use crate::recording::Recorder;
use crate::transport::kernel::{self, Local};
use crate::transport::list::{ClientSetup, Entry, SetupError};
use crate::transport::{Binding, LocalPath, quic};
use crate::world::machine;
use crate::world::plan::RunSpec;
use model::live::{Ended, TokenRefused};
use model::manifest::{Stack, Status};
use model::scenario::{Link, Multipath, Path, Queue};
use model::units::Span;
use model::{Family, Manifest, Name, Scenario, Seed, Time, World};
use policy::list::Parameters;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

/// Why `packets` and the captures of a live run are empty.
const NO_PACKETS: &str = "packets: on real interfaces packets are not captured, so `packets` and the \
    captures are empty; metrics that rest on packets are computed from the samples";

/// A run whose folder is open.
pub struct Run<'t> {
    test: &'t Test,
    run: &'t LiveRun,
    transport: &'static Entry,
    policy: &'static policy::list::Entry,
    clock: Clock,
    recorder: Recorder,
    manifest: Manifest,
    tee: Tee,
    deadline: Deadline,
    changed: PathChangeReceiver,
    over: Arc<AtomicBool>,
}

impl<'t> Run<'t> {
    /// Opens the run's folder; the watcher gets what it needs of it. The error is the run's own end.
    pub fn open(
        test: &'t Test,
        run: &'t LiveRun,
        (transport, policy): (&'static Entry, &'static policy::list::Entry),
        clock: Clock,
        watch: &Sender<LiveRecord>,
    ) -> Result<(Run<'t>, Watched), RunEnd> {
        let failed = |error: String| RunEnd {
            folder: run.folder.clone(),
            ended: Ended::Failed,
            invalid: None,
            error: Some(error),
            refused: None,
        };
        let manifest = manifest(test, run);
        let names: Vec<Name> = test.paths.iter().map(|p| p.name.clone()).collect();
        let recorder = Recorder::create(&run.folder, &manifest, &names);
        let recorder = recorder.map_err(|error| failed(error.to_string()))?;
        let (changes, changed) =
            path_changes().map_err(|error| failed(format!("no event descriptor: {error}")))?;
        let label = RunSpec::label(&run.transport, &run.policy);
        let tee = Tee::new(recorder.log(), watch.clone(), label);
        let deadline = Deadline::new(Time::ZERO + run.duration);
        let over = Arc::new(AtomicBool::new(false));
        let watched = Watched {
            tee: tee.clone(),
            deadline: deadline.clone(),
            changes,
            over: Arc::clone(&over),
        };
        let run = Run {
            test,
            run,
            transport,
            policy,
            clock,
            recorder,
            manifest,
            tee,
            deadline,
            changed,
            over,
        };
        Ok((run, watched))
    }

    /// Carries it out in the calling thread, which has the test's network namespace.
    pub fn carry_out(self, verdict: &OnceLock<Verdict>) -> RunEnd {
        let Run {
            test,
            run,
            transport,
            policy,
            clock,
            recorder,
            mut manifest,
            tee,
            deadline,
            changed,
            over,
        } = self;
        let mut stack = Stack::default();
        let meter = Meter::start(std::path::Path::new("/sys"));
        let mut outcome = drive(
            test,
            run,
            (transport, policy),
            (clock, manifest.seed, deadline.clone()),
            tee.clone(),
            changed,
            &mut stack,
        );
        let measured_energy = meter.read();
        let end = clock.now().min(deadline.get());
        over.store(true, Ordering::Relaxed);

        let mut facts = run.facts.clone();
        facts.measured_energy = measured_energy;
        let mut refused = None;
        if let Some(began) = tee.began() {
            let from: Vec<Local> = test.paths.iter().map(local).collect();
            match records::fetch(test.server, &run.token, &from, clock, began) {
                Ok(fetched) if fetched.records.refused.is_some() => {
                    refused = fetched.records.refused;
                    if let Some(TokenRefused { why, server_s: _ }) = &refused {
                        outcome = Err(format!("the server refused the token: {why}"));
                    }
                }
                Ok(fetched) => {
                    facts.server_clock = Some(fetched.clock);
                    // Not to who watches: it is old by now.
                    let names = names::of(&fetched.records.paths, &test.paths, transport.multipath);
                    fetched.write(end, &names, &mut tee.log());
                }
                Err(reason) => manifest.skipped.push(format!(
                    "server: its records could not be fetched, so the tables hold the client's rows \
                     alone: {reason}"
                )),
            }
        }
        let verdict = verdict.get().cloned();
        let invalid = verdict.as_ref().and_then(|v| v.invalid.clone());
        let ended = match (&outcome, &verdict) {
            (Err(_), _) => Ended::Failed,
            (Ok(()), Some(verdict)) => verdict.ended,
            (Ok(()), None) => Ended::Done,
        };
        facts.ended = Some(ended);
        facts.invalid.clone_from(&invalid);
        manifest.status = match outcome {
            Ok(()) => Status::Complete,
            Err(_) => Status::Failed,
        };
        manifest.error = outcome.err();
        manifest.stack = stack;
        manifest.peak_memory_bytes = memory::peak();
        manifest.live = Some(facts);
        let mut error = manifest.error.clone();
        drop(tee);
        if let Err(reason) = recorder.finish(&manifest) {
            error.get_or_insert(reason.to_string());
        }
        RunEnd {
            folder: run.folder.clone(),
            ended: if error.is_some() {
                Ended::Failed
            } else {
                ended
            },
            invalid,
            error,
            refused,
        }
    }
}

/// Connects and runs the application to its end.
fn drive(
    test: &Test,
    run: &LiveRun,
    (transport, policy): (&'static Entry, &'static policy::list::Entry),
    (clock, seed, deadline): (Clock, Seed, Deadline),
    tee: Tee,
    changed: PathChangeReceiver,
    stack: &mut Stack,
) -> Result<(), String> {
    let endpoint = (transport.connect)(&ClientSetup {
        clock,
        seed,
        server: test.server,
        paths: &test.paths,
        channels: run.traffic.channels(),
        congestion: None,
        scheduler: None,
        extensions: &Multipath::NONE,
        policy,
        pin: quic::Pin(test.certificate_sha256),
        binding: Binding::Interface,
    })
    .map_err(|error| with_advice(&error))?;
    *stack = endpoint.stack();
    let decides = transport.decides_at_run_time(World::Live, policy);
    let paths = test.paths.iter().map(|p| (p.name.clone(), p.kind));
    let manager = decides.then(|| (policy.make)(&Parameters::default()));
    let client = Client::new(paths, &run.traffic, seed, deadline.get(), manager)
        .with_token(&*run.token)
        .with_deadline(deadline);
    let stop = StopFlag::new().map_err(|error| format!("no event descriptor: {error}"))?;
    let live = Live {
        clock,
        log: tee,
        stop: &stop,
        // A test server does not say when it has its answers: the client always waits for them.
        server_settled: &AtomicBool::new(false),
    };
    let result = live.client(client, endpoint, changed);
    result.map_err(|error| error.to_string())
}

/// The words of an error, and what to do when it is a missing privilege.
fn with_advice(error: &SetupError) -> String {
    let source = match error.downcast_ref::<kernel::ConnectError>() {
        Some(kernel::ConnectError::Sysctl { source, .. }) => source,
        Some(kernel::ConnectError::PathManager { source, .. }) => source,
        _ => return error.to_string(),
    };
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => format!(
            "{error}. The paths of the kernel's Multipath TCP are managed by an administrator: run it with \
             sudo, give the program the capability (sudo setcap cap_net_admin+ep PROGRAM), or leave mptcp \
             out; tcp, quic and mpquic need no privilege"
        ),
        _ => error.to_string(),
    }
}

/// Where connections over `path` start.
fn local(path: &LocalPath) -> Local {
    Local {
        address: Some(path.address),
        interface: Binding::Interface.interface(path),
    }
}

fn manifest(test: &Test, run: &LiveRun) -> Manifest {
    let scenario = scenario(test, run);
    let (transport, policy) = (&run.transport, &run.policy);
    Manifest {
        started_at: jiff::Timestamp::now().to_string(),
        kernel: machine::kernel(),
        sysctls: sysctl::here(),
        skipped: vec![NO_PACKETS.to_owned()],
        live: Some(run.facts.clone()),
        ..Manifest::new(World::Live, &scenario, transport, policy, seed())
    }
}

/// The run as a scenario: links of which nothing is known but that they are there.
fn scenario(test: &Test, run: &LiveRun) -> Scenario {
    let link = Link {
        rate: None,
        trace: None,
        delay: Span::from_millis(0),
        jitter: None,
        loss: None,
        burst: None,
        reorder: None,
        duplicate: None,
        queue: Queue::default(),
    };
    let paths = test.paths.iter().map(|path| Path {
        name: path.name.clone(),
        kind: path.kind,
        up: link.clone(),
        down: link.clone(),
        changes: Vec::new(),
        walk: None,
    });
    let (traffic, background) = run.traffic.parts();
    Scenario {
        // One pattern is not compared with another.
        name: format!("{}-{}", run.facts.experiment, run.traffic.name()),
        summary: format!("real interfaces, to the test server {}", run.facts.server),
        duration: Span::from(run.duration),
        transports: vec![run.transport.clone()],
        policies: vec![run.policy.clone()],
        congestion: None,
        scheduler: None,
        multipath: Multipath::NONE,
        server_scheduler: None,
        oracle: None,
        family: Family::of(test.server.ip()),
        traffic: traffic.clone(),
        background: background.cloned(),
        paths: paths.collect(),
        failures: Vec::new(),
    }
}

/// A seed no other client has: connection IDs come from it, and a server meets many clients.
pub(super) fn seed() -> Seed {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // Keyed from the system's randomness when the process starts, and different each time.
    Seed(RandomState::new().build_hasher().finish())
}
