//! What do the tests run, and how do they watch it?

use crate::hosts::NAMES;
use model::live::{Consent, LiveFacts, Mode};
use model::record::EventKind;
use model::scenario::{Interactive, Traffic};
use model::{Family, Name, PathKind};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use walkabout_measure::transport::LocalPath;
use walkabout_measure::world::live::{
    LiveError, LiveRecord, LiveRun, RunEnd, Test, Until, interfaces, local_path,
};

/// Nothing here takes longer unless it is broken.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The paths as `walkabout test` would make them.
pub fn paths(family: Family) -> Vec<LocalPath> {
    let all = interfaces().unwrap();
    let kinds = [PathKind::Wifi, PathKind::Cellular];
    NAMES
        .iter()
        .zip(kinds)
        .map(|(name, kind)| local_path(&all, &Name::from(*name), kind, name, family).unwrap())
        .collect()
}

/// A run of the interactive pattern.
pub fn run(transport: &str, policy: &str, seconds: u64, folder: &Path) -> LiveRun {
    LiveRun {
        transport: transport.to_owned(),
        policy: policy.to_owned(),
        traffic: Traffic::Interactive(Interactive::default()),
        duration: Duration::from_secs(seconds),
        token: format!("{transport}.{policy}"),
        folder: folder.join(format!("{transport}-{policy}")),
        facts: LiveFacts {
            test: "00112233445566778899aabbccddeeff".to_owned(),
            experiment: "trial".to_owned(),
            mode: Mode::Stable,
            position: 0,
            server: "s1".to_owned(),
            family: Family::Ipv4,
            port: 443,
            consent: Consent {
                version: "1".to_owned(),
                agreed_at: "2026-01-31T12:00:00Z".to_owned(),
                publish: false,
            },
            networks: Vec::new(),
            reachability: Vec::new(),
            traps: Vec::new(),
            invalid: None,
            ended: None,
            server_clock: None,
            measured_energy: Vec::new(),
            location: None,
        },
    }
}

/// A test of `runs` against the server at `server` with this pin.
pub fn test(runs: Vec<LiveRun>, server: SocketAddr, pin: [u8; 32], until: Until) -> Test {
    Test {
        runs,
        server,
        certificate_sha256: pin,
        paths: paths(Family::of(server.ip())),
        until,
    }
}

/// What was seen while a test ran.
#[derive(Default)]
pub struct Seen {
    pub records: Vec<LiveRecord>,
}

impl Seen {
    /// Messages of `run` that were answered after `since_us`.
    pub fn answered(&self, run: &str, since_us: u64) -> usize {
        let answered = |record: &&LiveRecord| match record {
            LiveRecord::Message { run: of, message } => {
                of == run && message.acked_us.is_some() && message.sent_us >= since_us
            }
            _ => false,
        };
        self.records.iter().filter(answered).count()
    }

    /// Whether `run` has sent data over cellular.
    pub fn uses_cellular(&self, run: &str) -> bool {
        self.records.iter().any(|record| match record {
            LiveRecord::Event { run: of, event } => {
                let cell = event
                    .path
                    .as_ref()
                    .is_some_and(|path| path.as_str() == "cell");
                of == run && cell && event.kind == EventKind::FirstData
            }
            _ => false,
        })
    }

    /// The time of the last thing seen of `run`.
    pub fn time_us(&self, run: &str) -> u64 {
        let time = |record: &LiveRecord| match record {
            LiveRecord::Sample { run: of, sample } if of == run => Some(sample.time_us),
            _ => None,
        };
        self.records.iter().filter_map(time).max().unwrap_or(0)
    }
}

/// Carries out `test` while `walk` looks at what is seen: it waits for conditions with the first
/// argument, and may raise the stop flag.
pub fn carry_out(
    test: &Test,
    walk: impl FnOnce(&mut dyn FnMut(&dyn Fn(&Seen) -> bool), &AtomicBool),
) -> (Result<Vec<RunEnd>, LiveError>, Seen) {
    let stop = AtomicBool::new(false);
    let (watch, watched) = channel();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let watch = watch;
            test.carry_out(&stop, &watch)
        });
        let mut seen = Seen::default();
        let mut wait = |condition: &dyn Fn(&Seen) -> bool| wait_for(&watched, &mut seen, condition);
        walk(&mut wait, &stop);
        let ends = thread.join().unwrap();
        seen.records.extend(watched.try_iter());
        (ends, seen)
    })
}

fn wait_for(watched: &Receiver<LiveRecord>, seen: &mut Seen, condition: &dyn Fn(&Seen) -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition(seen) {
        let left = deadline.saturating_duration_since(Instant::now());
        match watched.recv_timeout(left) {
            Ok(record) => seen.records.push(record),
            Err(RecvTimeoutError::Timeout) => {
                let is_event = |record: &&LiveRecord| matches!(record, LiveRecord::Event { .. });
                let events: Vec<_> = seen.records.iter().filter(is_event).collect();
                panic!("it did not come: {events:#?}");
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the test ended before it came"),
        }
    }
}

/// One that only waits for the end.
pub fn just_run(test: &Test) -> Vec<RunEnd> {
    carry_out(test, |_, _| {}).0.unwrap()
}
