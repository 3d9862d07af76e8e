//! How long does traffic stall when path 0 dies silently, by what the path manager does?

use super::pipe::{CELLULAR, Delays, Interactive, Joined, WIFI, ms};
use policy::PathState;
use std::time::Duration;

/// What the client's path manager does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaction {
    /// Nothing.
    None,
    /// Open cellular, wait until it is established, close Wi-Fi.
    OpenThenClose,
    /// Cellular is open as a backup from the start: close Wi-Fi.
    CloseWithBackup,
    /// Cellular is open as a regular path from the start: close Wi-Fi.
    CloseWithRegular,
    /// Cellular is open as a backup from the start: make it regular, Wi-Fi backup.
    StatusOnly,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    Both,
    Up,
    Down,
}

const REACTIONS: [Reaction; 5] = [
    Reaction::None,
    Reaction::OpenThenClose,
    Reaction::CloseWithBackup,
    Reaction::CloseWithRegular,
    Reaction::StatusOnly,
];
const LOSSES: [Loss; 3] = [Loss::Both, Loss::Up, Loss::Down];

struct Outcome {
    delays: Delays,
    /// From the failure to the trigger.
    trigger: Option<Duration>,
    /// From the failure to closing Wi-Fi.
    closed: Option<Duration>,
}

fn fail(reaction: Reaction, loss: Loss, phase_ms: u64, period: Duration) -> Outcome {
    let mut joined = Joined::new(true, 7, &[20, 60]);
    joined.run_for(ms(500));
    assert!(joined.client.is_connected());
    let mut traffic = Interactive::new(joined.now);
    match reaction {
        Reaction::CloseWithBackup | Reaction::StatusOnly => joined.open(CELLULAR, true).unwrap(),
        Reaction::CloseWithRegular => joined.open(CELLULAR, false).unwrap(),
        Reaction::None | Reaction::OpenThenClose => {}
    }
    traffic.run(&mut joined, ms(3_000 + phase_ms), period, |_| {});
    let failure = joined.now;
    joined.pipes[0].up = loss == Loss::Down;
    joined.pipes[0].down = loss == Loss::Up;
    let baseline = joined.client_path(WIFI).unwrap().retransmissions;
    let (mut trigger, mut closed) = (None, None);
    traffic.run(&mut joined, ms(5_000), period, |joined| {
        if closed.is_some() {
            return;
        }
        let wifi = joined.client_path(WIFI).unwrap();
        if trigger.is_none() {
            let overdue = wifi.oldest_unacked > wifi.rto;
            if wifi.retransmissions > baseline || wifi.timeouts > 0 || overdue {
                trigger = Some(joined.now.since(failure));
                if reaction == Reaction::OpenThenClose {
                    joined.open(CELLULAR, false).unwrap();
                }
            } else {
                return;
            }
        }
        match reaction {
            Reaction::None => {}
            Reaction::StatusOnly => {
                joined.set_backup(CELLULAR, false).unwrap();
                joined.set_backup(WIFI, true).unwrap();
                closed = Some(joined.now.since(failure));
            }
            _ if joined.is_established(CELLULAR) => {
                joined.close(WIFI).unwrap();
                closed = Some(joined.now.since(failure));
            }
            _ => {}
        }
    });
    let since = failure.as_nanos().saturating_sub(200_000_000);
    Outcome {
        delays: traffic.delays(model::Time::from_nanos(since)),
        trigger,
        closed,
    }
}

#[test]
fn recovery_table() {
    println!("reaction          loss  phase  trigger closed  up ms   down ms  unanswered");
    for reaction in REACTIONS {
        for loss in LOSSES {
            for phase in [0, 25, 50, 75] {
                let outcome = fail(reaction, loss, phase, ms(20));
                let show = |d: Option<Duration>| d.map_or(-1, |d| d.as_millis() as i64);
                println!(
                    "{:17} {:5} {phase:5} {:7} {:7} {:7.0} {:7.0} {:7}",
                    format!("{reaction:?}"),
                    format!("{loss:?}"),
                    show(outcome.trigger),
                    show(outcome.closed),
                    outcome.delays.up_ms,
                    outcome.delays.down_ms,
                    outcome.delays.unanswered,
                );
            }
        }
    }
    let _ = PathState::Opening;
}
