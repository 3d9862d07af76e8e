//! How long does traffic stall when path 0 dies silently, by what the path manager does? The
//! figures of docs/decisions/0003-noq-paths.md (`--nocapture` prints them).

use super::pipe::{CELLULAR, Delays, Interactive, Joined, WIFI, ms};
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    Both,
    Up,
    Down,
}
const LOSSES: [Loss; 3] = [Loss::Both, Loss::Up, Loss::Down];

/// When the failure sets in, after a chunk was handed over.
const PHASES_MS: [u64; 10] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90];

struct Outcome {
    delays: Delays,
    /// From the failure to the trigger.
    trigger: Option<Duration>,
    /// From the failure to the reaction.
    reacted: Option<Duration>,
}

/// Lets path 0 die `phase` after a chunk; the path manager is asked every `period` and reacts
/// when something of Wi-Fi's is overdue: a probe was sent, a packet lost, or the oldest packet
/// has waited for longer than the probe timeout.
fn fail(reaction: Reaction, loss: Loss, phase: u64, period: u64, rtts_ms: &[u64]) -> Outcome {
    let mut joined = Joined::new(true, 7, rtts_ms);
    joined.run_for(ms(1_000));
    assert!(joined.client.is_connected());
    let mut traffic = Interactive::new(joined.now);
    match reaction {
        CloseWithBackup | StatusOnly => joined.open(CELLULAR, true).unwrap(),
        CloseWithRegular => joined.open(CELLULAR, false).unwrap(),
        Nothing | OpenThenClose => {}
    }
    traffic.run(&mut joined, ms(3_000 + phase), ms(period), |_| {});
    let failure = joined.now;
    joined.pipes[0].up = loss == Loss::Down;
    joined.pipes[0].down = loss == Loss::Up;
    let before = joined.client_path(WIFI).unwrap().retransmissions;
    let (mut trigger, mut reacted) = (None, None);
    traffic.run(&mut joined, ms(5_000), ms(period), |joined| {
        if reacted.is_some() {
            return;
        }
        let wifi = joined.client_path(WIFI).unwrap();
        if trigger.is_none() {
            let overdue = wifi.oldest_unacked > wifi.rto;
            if wifi.retransmissions == before && !overdue {
                return;
            }
            trigger = Some(joined.now.since(failure));
            if reaction == OpenThenClose {
                joined.open(CELLULAR, false).unwrap();
            }
        }
        match reaction {
            Nothing => return,
            StatusOnly => {
                joined.set_backup(CELLULAR, false).unwrap();
                joined.set_backup(WIFI, true).unwrap();
            }
            _ if joined.is_established(CELLULAR) => joined.close(WIFI).unwrap(),
            _ => return,
        }
        reacted = Some(joined.now.since(failure));
    });
    let since = Time::from_nanos(failure.as_nanos() - 200_000_000);
    Outcome {
        delays: traffic.delays(since, joined.now),
        trigger,
        reacted,
    }
}

#[derive(Debug, PartialEq)]
struct Worst {
    trigger_ms: f64,
    reacted_ms: f64,
    up_ms: f64,
    down_ms: f64,
    unanswered: usize,
}

fn worst(reaction: Reaction, loss: Loss, period: u64, rtts_ms: &[u64]) -> Worst {
    let millis = |duration: Option<Duration>| duration.map_or(0.0, |d| d.as_secs_f64() * 1e3);
    let mut worst = Worst {
        trigger_ms: 0.0,
        reacted_ms: 0.0,
        up_ms: 0.0,
        down_ms: 0.0,
        unanswered: 0,
    };
    for phase in PHASES_MS {
        let outcome = fail(reaction, loss, phase, period, rtts_ms);
        worst.trigger_ms = worst.trigger_ms.max(millis(outcome.trigger));
        worst.reacted_ms = worst.reacted_ms.max(millis(outcome.reacted));
        worst.up_ms = worst.up_ms.max(outcome.delays.up_ms);
        worst.down_ms = worst.down_ms.max(outcome.delays.down_ms);
        worst.unanswered = worst.unanswered.max(outcome.delays.unanswered);
    }
    println!(
        "{:17} {:5} {rtts_ms:?} ms, every {period:3} ms: trigger {:4.0}, reaction {:4.0}, \
         up {:4.0}, down {:4.0}, unanswered {}",
        format!("{reaction:?}"),
        format!("{loss:?}"),
        worst.trigger_ms,
        worst.reacted_ms,
        worst.up_ms,
        worst.down_ms,
        worst.unanswered,
    );
    worst
}

/// What is under way when the traffic ends.
const UNDER_WAY: usize = 2;

#[test]
fn break_before_make_recovers_within_600_ms_in_every_direction_of_loss() {
    for reaction in [OpenThenClose, CloseWithBackup, CloseWithRegular] {
        for loss in LOSSES {
            let worst = worst(reaction, loss, 20, &[20, 60]);
            assert!(worst.up_ms < 450.0 && worst.down_ms < 450.0, "{worst:?}");
            assert!(worst.unanswered <= UNDER_WAY, "{worst:?}");
        }
    }
    for loss in LOSSES {
        let worst = worst(OpenThenClose, loss, 100, &[20, 60]);
        assert!(worst.up_ms < 600.0 && worst.down_ms < 600.0, "{worst:?}");
    }
}

#[test]
fn recovery_grows_with_the_probe_timeout_of_the_dead_path() {
    let short = worst(OpenThenClose, Loss::Both, 20, &[20, 60]);
    let long = worst(OpenThenClose, Loss::Both, 20, &[200, 60]);
    // Three times (RTT + 4 x variation): at least 3 x 180 ms more.
    assert!(long.up_ms > short.up_ms + 500.0, "{short:?} {long:?}");
    assert!(long.up_ms < 3_000.0, "{long:?}");
}

#[test]
fn nothing_moves_while_the_dead_path_stays_open() {
    for reaction in [Nothing, StatusOnly] {
        let outcome = fail(reaction, Loss::Both, 0, 20, &[20, 60]);
        assert!(outcome.delays.up_ms >= 5_000.0, "{:?}", outcome.delays);
        assert!(outcome.delays.down_ms >= 5_000.0, "{:?}", outcome.delays);
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
