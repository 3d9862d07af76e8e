//! What does MultiMob's path manager do on our Multipath TCP and on multipath QUIC? Cellular stays
//! asleep while Wi-Fi is good, is opened when it fails, and is neither opened nor closed all the
//! time when Wi-Fi only loses some packets.

use crate::check::{check, simulated};
use crate::random::Case;
use model::record::EventKind;
use model::{Direction, Manifest};
use walkabout_measure::recording::Collected;

/// MultiMob's pair of schedulers.
const PAIR: &str = "scheduler = \"client-priority\"\nserver_scheduler = \"follow\"\n";

/// A run of `duration` seconds over Wi-Fi of 20 ms and cellular of 60 ms.
fn run(
    transport: &'static str,
    policy: &'static str,
    (head, wifi, tail): (&str, &str, &str),
    seed: u64,
) -> (Manifest, Collected) {
    let link = |rate: &str, delay: &str| format!("rate = \"{rate}\"\ndelay = \"{delay}\"\n");
    let path = |name: &str, link: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nkind = \"{name}\"\n[path.up]\n{link}[path.down]\n{link}"
        )
    };
    let case = Case {
        text: format!(
            "name = \"mine\"\nsummary = \"mine\"\ntransports = [\"{transport}\"]\n\
             policies = [\"{policy}\"]\ncongestion = \"cubic\"\n{head}[traffic.interactive]\n{}{}{tail}",
            path("wifi", &format!("{}{wifi}", link("30 Mbit/s", "10 ms"))),
            path("cellular", &link("10 Mbit/s", "30 ms")),
        ),
        transport,
        policy,
        seed,
    };
    let run = simulated(&case);
    check(&case, &run);
    run
}

/// Packets over cellular, in both directions.
fn cellular(rows: &Collected) -> usize {
    let packets = rows.packets.iter();
    packets.filter(|p| p.path.as_str() == "cellular").count()
}

/// How often each of the two connections of the traffic opened cellular.
fn openings(rows: &Collected) -> Vec<usize> {
    let opened = |connection| {
        let events = rows.events.iter().filter(|e| {
            e.kind == EventKind::PathOpening
                && e.connection == Some(connection)
                && e.path.as_ref().is_some_and(|p| p.as_str() == "cellular")
                && e.side == Some(model::Side::Client)
        });
        events.count()
    };
    (0..2).map(opened).collect()
}

const BOTH: [&str; 2] = ["multimob", "multimob-tlp"];

#[test]
fn no_packet_goes_over_cellular_while_wifi_is_good() {
    for policy in BOTH {
        for (transport, schedulers) in [("mptcp", ""), ("mptcp", PAIR), ("mpquic", "")] {
            let head = format!("duration = \"20 s\"\n{schedulers}");
            let (manifest, rows) = run(transport, policy, (&head, "", ""), 1);
            assert_eq!(cellular(&rows), 0, "{policy} on {transport}, {schedulers}");
            assert!(rows.messages.len() > 380, "{policy} on {transport}");
            let follows = transport == "mptcp" && !schedulers.is_empty();
            let server = manifest.stack.server_scheduler.as_deref();
            assert_eq!(server, follows.then_some("follow"));
        }
    }
}

#[test]
fn a_silent_wifi_is_left_and_returned_to() {
    let failure = "[[failure]]\npath = \"wifi\"\nkind = \"silent-loss\"\nat = \"5.03 s\"\n\
                   duration = \"3 s\"\n";
    // What noq takes to move, three probe timeouts, grows with the time the oracle took to notice
    // (docs/decisions/0003): a period is too long for it.
    for (policy, transport, schedulers, longest) in [
        ("multimob", "mptcp", "", 1_700),
        ("multimob", "mptcp", PAIR, 1_700),
        ("multimob", "mpquic", "", 8_000),
        ("multimob-tlp", "mptcp", "", 350),
        ("multimob-tlp", "mptcp", PAIR, 350),
        ("multimob-tlp", "mpquic", "", 500),
    ] {
        for direction in ["", "direction = \"up\"\n", "direction = \"down\"\n"] {
            let what = format!("{policy} on {transport}, {schedulers}{direction}");
            let head = format!("duration = \"25 s\"\n{schedulers}");
            let tail = format!("{failure}{direction}");
            let (_, rows) = run(transport, policy, (&head, "", &tail), 1);
            let delays = rows.messages.iter().map(|m| m.delay_us);
            let delay = delays.map(|d| d.expect("answered")).max();
            assert!(delay < Some(longest * 1_000), "{what}: {delay:?} us");
            let before = rows
                .packets
                .iter()
                .filter(|p| p.enqueued_ns < 5_030_000_000);
            assert!(before.clone().all(|p| p.path.as_str() == "wifi"), "{what}");
            let late = rows
                .packets
                .iter()
                .filter(|p| p.enqueued_ns > 20_000_000_000);
            assert!(late.clone().all(|p| p.path.as_str() == "wifi"), "{what}");
            assert!(late.count() > 100, "{what}");
        }
    }
}

#[test]
fn steady_loss_does_not_make_it_flap() {
    for policy in BOTH {
        for transport in ["mptcp", "mpquic"] {
            for loss in ["5 %", "10 %", "20 %"] {
                for seed in [1, 2] {
                    let head = format!("duration = \"60 s\"\n{PAIR}");
                    let wifi = format!("loss = \"{loss}\"\n");
                    let (_, rows) = run(transport, policy, (&head, &wifi, ""), seed);
                    let what = format!("{policy} on {transport}, {loss}, seed {seed}");
                    // At 0, 5, 15 and 35 s, if every return were to fail at once.
                    let openings = openings(&rows);
                    assert!(openings.iter().all(|&n| n <= 4), "{what}: {openings:?}");
                    let answered = rows.messages.iter().filter(|m| m.delay_us.is_some());
                    let up = answered.filter(|m| m.direction == Direction::Up).count();
                    assert!(up > 550, "{what}: {up} answered");
                }
            }
        }
    }
}
