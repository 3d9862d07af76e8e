//! How long does the application wait when a path dies silently? The setting of the MultiMob
//! thesis (De Coninck): two regular subflows, requests and responses of 750 bytes.

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Duration;

use model::Time;

use crate::pair::{CLIENT, Pair, Quality, SERVER, config};

const MESSAGE: usize = 750;
const INTERVAL: Duration = Duration::from_millis(400);
const FAILURE: Duration = Duration::from_secs(3);
const END: Duration = Duration::from_secs(10);
const PHASES: u32 = 30;

/// What came of one moment of the failure.
struct Outcome {
    /// From each request to its response.
    delays: Vec<Duration>,
    log: String,
}

impl Outcome {
    fn longest(&self) -> Duration {
        self.delays
            .iter()
            .copied()
            .max()
            .expect("requests were made")
    }
}

/// Requests from the beginning on; the first path loses everything from [`FAILURE`] and the
/// phase on.
fn run(scheduler: &str, phase: Duration, logged: bool) -> Outcome {
    let path = |rtt_us: u64| Quality {
        delay: Duration::from_micros(rtt_us / 2),
        // A queue of 50 packets, which is far from full here.
        bottleneck: Some((10_000_000, 75_000)),
    };
    let config = config(scheduler, "reno");
    let mut pair = Pair::new(
        1,
        config.clone(),
        config,
        false,
        &[path(15_000), path(25_000)],
    );
    if logged {
        pair = pair.logged();
    }
    pair.establish();
    let begin = pair.network.now;
    let failure = begin + FAILURE + phase;
    // The last responses have time to come.
    let quiet = begin + (END - INTERVAL * 10);
    let (mut next, mut dead) = (begin, false);
    let mut waiting: VecDeque<Time> = VecDeque::new();
    let mut delays = Vec::new();
    let (mut answered, mut received) = (pair.ends[SERVER].read, pair.ends[CLIENT].read);
    while pair.network.now < begin + END {
        if pair.network.now >= next && next < quiet {
            waiting.push_back(pair.network.now);
            assert_eq!(pair.write(CLIENT, MESSAGE), MESSAGE);
            next += INTERVAL;
        }
        if pair.network.now >= failure && !dead {
            let path = pair.paths[0];
            pair.network.each_lane(path, |lane| lane.up = false);
            dead = true;
        }
        let mut until = begin + END;
        if next < quiet {
            until = next;
        }
        if !dead {
            until = until.min(failure);
        }
        pair.network.step(until);
        pair.drain(SERVER);
        while pair.ends[SERVER].read - answered >= MESSAGE as u64 {
            answered += MESSAGE as u64;
            assert_eq!(pair.write(SERVER, MESSAGE), MESSAGE);
        }
        pair.drain(CLIENT);
        while pair.ends[CLIENT].read - received >= MESSAGE as u64 {
            received += MESSAGE as u64;
            let asked = waiting.pop_front().expect("a response to a request");
            delays.push(pair.network.now - asked);
        }
    }
    assert!(waiting.is_empty(), "{} requests unanswered", waiting.len());
    let log = pair.network.log.as_ref().map(|log| {
        let around = failure.as_nanos() - 500_000_000..failure.as_nanos() + 1_500_000_000;
        log.render_where(|entry| around.contains(&entry.sent.as_nanos()))
    });
    Outcome {
        delays,
        log: log.unwrap_or_default(),
    }
}

fn phases(scheduler: &str) -> (Vec<Duration>, String) {
    let mut longest = Vec::new();
    let mut table = format!("{scheduler}: phase of the failure, longest delay (ms)\n");
    for index in 0..PHASES {
        let phase = INTERVAL * index / PHASES;
        let delay = run(scheduler, phase, false).longest();
        let _ = writeln!(
            table,
            "{:6.1} {:7.1}",
            phase.as_secs_f64() * 1e3,
            delay.as_secs_f64() * 1e3
        );
        longest.push(delay);
    }
    (longest, table)
}

/// What takes the time, by the packet log (458 ms at most): 216 ms until the client's
/// retransmission timer (the floor of 200 ms and the round trip) moves the request to the other
/// path, 13 ms there; the server knows nothing of the failure, answers on the dead path, and waits
/// for its own timer, 215 ms; 13 ms back. When the request had arrived just before the failure,
/// only the response is lost and half of that remains.
#[test]
fn lowest_rtt_recovers_within_two_timeouts() {
    let (longest, table) = phases("lowest-rtt");
    println!("{table}");
    let worst = longest.iter().max().expect("phases");
    assert!(*worst < Duration::from_millis(500), "{table}");
}

/// 426 ms are the same two waits, with the connection's retransmission timer of 200 ms instead of
/// the subflow's. In this setting it is 626 ms: the next request comes 400 ms after the one that
/// stalled, so its response is under way on the living path just when the server's timer fires,
/// and as the kernel does, nothing is sent once more on a subflow that has data outstanding; the
/// timer is set anew, 200 ms.
#[test]
fn linux_default_recovers_within_three_timeouts() {
    let (longest, table) = phases("linux-default");
    println!("{table}");
    let worst = longest.iter().max().expect("phases");
    assert!(*worst < Duration::from_millis(700), "{table}");
}

/// The packets around the failure, for reading: `cargo test -p walkabout-mptcp --test rig
/// handover::packets -- --ignored --nocapture`, with SCHEDULER and PHASE (ms) in the environment.
#[test]
#[ignore = "prints a packet log"]
fn packets() {
    let scheduler = std::env::var("SCHEDULER").unwrap_or_else(|_| "lowest-rtt".to_owned());
    let phase = std::env::var("PHASE")
        .ok()
        .and_then(|p| p.parse().ok())
        .unwrap_or(0);
    let outcome = run(&scheduler, Duration::from_millis(phase), true);
    println!("{}\n{:?}", outcome.log, outcome.delays);
}
