//! How long does traffic stall when path 0 dies silently, by what the path manager does? The
//! figures of docs/decisions/0003-noq-paths.md (`--nocapture` prints them).

use super::interactive::{Delays, Interactive};
use super::pipe::{CELLULAR, Joined, WIFI, ms};
use model::Time;
use std::time::Duration;
use traffic::Channels;

/// What the client's path manager does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaction {
    /// Nothing.
    Nothing,
    /// Open cellular, wait until it is established, close Wi-Fi.
    OpenThenClose,
    /// Cellular is open as a backup from the start: close Wi-Fi.
    CloseWithBackup,
    /// Cellular is open as a regular path from the start: close Wi-Fi.
    CloseWithRegular,
    /// Cellular is open as a backup from the start: make it regular and Wi-Fi the backup.
    StatusOnly,
}
use Reaction::{CloseWithBackup, CloseWithRegular, Nothing, OpenThenClose, StatusOnly};

/// When the path manager reacts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trigger {
    /// When something of Wi-Fi's is overdue: a probe was sent, a packet lost, or the oldest
    /// packet has waited for longer than the probe timeout.
    Overdue,
    /// When a probe was sent or a packet lost.
    Probe,
    /// This long after the failure.
    After(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    Both,
    Up,
    Down,
}
const LOSSES: [Loss; 3] = [Loss::Both, Loss::Up, Loss::Down];

/// When the failure sets in, after a chunk was handed over.
const PHASES_MS: [u64; 10] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90];
/// What is under way when the traffic ends: a chunk each way.
const UNDER_WAY: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Case {
    reaction: Reaction,
    loss: Loss,
    trigger: Trigger,
    /// How often the path manager is asked.
    period: Duration,
    rtts_ms: [u64; 2],
    burst: Duration,
}

#[derive(Debug)]
struct Outcome {
    delays: Delays,
    /// From the failure to the trigger.
    trigger: Option<Duration>,
    /// From the failure to the reaction.
    reacted: Option<Duration>,
}

/// The worst over all phases.
#[derive(Debug, PartialEq)]
struct Worst {
    trigger_ms: f64,
    reacted_ms: f64,
    up_ms: f64,
    down_ms: f64,
    unanswered: usize,
}

impl Case {
    fn new(reaction: Reaction, loss: Loss) -> Case {
        Case {
            reaction,
            loss,
            trigger: Trigger::Overdue,
            period: ms(20),
            rtts_ms: [20, 60],
            burst: Duration::ZERO,
        }
    }

    /// Lets path 0 die `phase_ms` after a chunk was handed over.
    fn fail(&self, phase_ms: u64) -> Outcome {
        let mut joined = Joined::new(true, 7, &self.rtts_ms);
        for pipe in &mut joined.pipes {
            pipe.burst = self.burst;
        }
        joined.run_for(ms(1_000));
        assert!(joined.client.is_connected());
        let mut traffic = Interactive::new(joined.now);
        match self.reaction {
            CloseWithBackup | StatusOnly => joined.open(CELLULAR, true).unwrap(),
            CloseWithRegular => joined.open(CELLULAR, false).unwrap(),
            Nothing | OpenThenClose => {}
        }
        traffic.run(&mut joined, ms(3_000 + phase_ms), self.period, |_| {});
        let failure = joined.now;
        joined.pipes[0].up = self.loss == Loss::Down;
        joined.pipes[0].down = self.loss == Loss::Up;
        let before = joined.client_path(WIFI).unwrap().retransmissions;
        let (mut trigger, mut reacted) = (None, None);
        traffic.run(&mut joined, ms(6_000), self.period, |joined| {
            if reacted.is_some() {
                return;
            }
            let since = joined.now.since(failure);
            if trigger.is_none() {
                let wifi = joined.client_path(WIFI).unwrap();
                let probed = wifi.retransmissions > before;
                let triggered = match self.trigger {
                    Trigger::Overdue => probed || wifi.oldest_unacked > wifi.rto,
                    Trigger::Probe => probed,
                    Trigger::After(delay) => since >= delay,
                };
                if !triggered {
                    return;
                }
                trigger = Some(since);
                if self.reaction == OpenThenClose {
                    joined.open(CELLULAR, false).unwrap();
                }
            }
            match self.reaction {
                Nothing => return,
                StatusOnly => {
                    joined.set_backup(CELLULAR, false).unwrap();
                    joined.set_backup(WIFI, true).unwrap();
                }
                _ if joined.is_established(CELLULAR) => joined.close(WIFI).unwrap(),
                _ => return,
            }
            reacted = Some(since);
        });
        let since = Time::from_nanos(failure.as_nanos() - 200_000_000);
        Outcome {
            delays: traffic.delays(since, joined.now),
            trigger,
            reacted,
        }
    }

    fn worst(&self) -> Worst {
        let outcomes: Vec<Outcome> = PHASES_MS.iter().map(|phase| self.fail(*phase)).collect();
        let most = |value: fn(&Outcome) -> f64| outcomes.iter().map(value).fold(0.0, f64::max);
        let worst = Worst {
            trigger_ms: most(|o| millis(o.trigger)),
            reacted_ms: most(|o| millis(o.reacted)),
            up_ms: most(|o| o.delays.up_ms),
            down_ms: most(|o| o.delays.down_ms),
            unanswered: most(|o| o.delays.unanswered as f64) as usize,
        };
        println!(
            "{:?} {:?} {:?}, RTT {:?} ms, asked every {:?}, bursts {:?}: trigger {:.0}, \
             reaction {:.0}, up {:.0}, down {:.0} ms, unanswered {}",
            self.reaction,
            self.loss,
            self.trigger,
            self.rtts_ms,
            self.period,
            self.burst,
            worst.trigger_ms,
            worst.reacted_ms,
            worst.up_ms,
            worst.down_ms,
            worst.unanswered,
        );
        worst
    }
}

fn millis(duration: Option<Duration>) -> f64 {
    duration.map_or(0.0, |d| d.as_secs_f64() * 1e3)
}

#[test]
fn break_before_make_recovers_within_600_ms_in_every_direction_of_loss() {
    for loss in LOSSES {
        for reaction in [OpenThenClose, CloseWithBackup, CloseWithRegular] {
            let worst = Case::new(reaction, loss).worst();
            assert!(worst.up_ms < 450.0 && worst.down_ms < 450.0, "{worst:?}");
            assert!(worst.unanswered <= UNDER_WAY, "{worst:?}");
        }
        let rare = Case {
            period: ms(100),
            ..Case::new(OpenThenClose, loss)
        };
        let worst = rare.worst();
        assert!(worst.up_ms < 600.0 && worst.down_ms < 600.0, "{worst:?}");
    }
}

#[test]
fn recovery_grows_with_the_probe_timeout_of_the_dead_path() {
    let near = Case::new(OpenThenClose, Loss::Both);
    let far = Case {
        rtts_ms: [200, 60],
        ..near
    };
    let (near, far) = (near.worst(), far.worst());
    // Three times the difference of the round-trip times is 540 ms.
    assert!(far.up_ms > near.up_ms + 500.0, "{near:?} {far:?}");
    assert!(far.up_ms < 1_600.0, "{far:?}");
}

/// A probe timeout above the interval between chunks never fires while chunks are sent: each
/// packet restarts it (RFC 9002, section 6.2.1).
#[test]
fn probes_alone_are_a_late_trigger() {
    let overdue = Case {
        rtts_ms: [200, 60],
        ..Case::new(OpenThenClose, Loss::Both)
    };
    let probe = Case {
        trigger: Trigger::Probe,
        ..overdue
    };
    assert!(millis(overdue.fail(0).trigger) < 300.0);
    // It fires once the window is full and nothing more is sent.
    assert!(millis(probe.fail(0).trigger) > 500.0);
}

/// At the moment a path is established both ends acknowledge on every path. With room in the
/// dead path's window that goes there, and is lost; without, it goes over the new path, where
/// it looks like a round trip as long as the outage.
#[test]
fn a_late_reaction_costs_more_with_a_path_that_is_opened_for_it() {
    let late = |reaction, loss| Case {
        trigger: Trigger::After(ms(800)),
        ..Case::new(reaction, loss)
    };
    for loss in LOSSES {
        let backup = late(CloseWithBackup, loss).worst();
        assert!(backup.up_ms < 1_150.0 && backup.down_ms < 1_150.0);
    }
    let opened = late(OpenThenClose, Loss::Both).worst();
    assert!((3_000.0..5_000.0).contains(&opened.up_ms), "{opened:?}");
}

#[test]
fn datagrams_that_arrive_in_bursts_do_not_spoil_the_recovery() {
    for loss in LOSSES {
        let bursts = Case {
            burst: ms(20),
            ..Case::new(OpenThenClose, loss)
        };
        let worst = bursts.worst();
        assert!(worst.up_ms < 800.0 && worst.down_ms < 800.0, "{worst:?}");
    }
}

#[test]
fn nothing_moves_while_the_dead_path_stays_open() {
    for reaction in [Nothing, StatusOnly] {
        let outcome = Case::new(reaction, Loss::Both).fail(0);
        assert!(outcome.delays.up_ms >= 6_000.0, "{outcome:?}");
        assert!(outcome.delays.down_ms >= 6_000.0, "{outcome:?}");
    }
}

/// A client that only receives has nothing in flight: without keep-alive it never notices.
#[test]
fn a_download_needs_keep_alive_to_notice_a_dead_path() {
    let notices = |keep_alive: Option<Duration>| {
        let mut joined = Joined::configured(7, &[20, 60], |config| config.keep_alive = keep_alive);
        joined.run_for(ms(500));
        joined.client.write(0, b"GET");
        joined.run_for(ms(200));
        for _ in 0..20 {
            joined.server.write(0, &[5; 2_000]);
            joined.run_for(ms(100));
            joined.drain_client(0);
        }
        joined.pipes[0].up = false;
        joined.pipes[0].down = false;
        let before = joined.client_path(WIFI).unwrap().retransmissions;
        joined.run_for(ms(3_000));
        joined.client_path(WIFI).unwrap().retransmissions > before
    };
    assert!(!notices(None));
    assert!(notices(Some(ms(500))));
}

#[test]
fn plain_quic_stalls_and_recovers_when_its_path_returns() {
    let mut joined = Joined::new(false, 7, &[20, 60]);
    joined.run_for(ms(500));
    let mut traffic = Interactive::new(joined.now);
    traffic.run(&mut joined, ms(2_000), ms(100), |_| {});
    let failure = joined.now;
    joined.pipes[0].up = false;
    joined.pipes[0].down = false;
    traffic.run(&mut joined, ms(8_000), ms(100), |_| {});
    let stalled = traffic.delays(failure, joined.now);
    assert!(
        stalled.up_ms > 7_900.0 && stalled.unanswered > 140,
        "{stalled:?}"
    );
    joined.pipes[0].up = true;
    joined.pipes[0].down = true;
    let probe = joined.client_path(WIFI).unwrap().rto.unwrap();
    traffic.run(&mut joined, ms(16_000), ms(100), |_| {});
    let delays = traffic.delays(failure, joined.now);
    println!("after 8 s of silence noq waits {probe:?} for its next probe; {delays:?}");
    // Both ends' windows are full, and then noq 1.4 sends acknowledgements only along with its
    // own probes: it takes up to two of them.
    assert!(delays.up_ms < 8_000.0 + 12_000.0, "{delays:?}");
    assert!(delays.unanswered <= UNDER_WAY, "{delays:?}");
    assert!(joined.trace.iter().all(|(_, path, _, _)| *path == 0));
}
