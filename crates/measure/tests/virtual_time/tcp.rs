//! What do TCP and Multipath TCP make of a run in virtual time? Both paths are used, events and
//! samples say what happened, and a dead path is left.

use crate::check::{check, simulated};
use crate::random::Case;
use model::record::{EventKind, Packet};
use model::{Direction, Manifest, Side};
use std::collections::BTreeMap;
use walkabout_measure::recording::Collected;

const SECOND_NS: u64 = 1_000_000_000;

fn path(name: &str, rate: &str, delay: &str) -> String {
    let link = format!("rate = \"{rate}\"\ndelay = \"{delay}\"\n");
    format!("[[path]]\nname = \"{name}\"\nkind = \"{name}\"\n[path.up]\n{link}[path.down]\n{link}")
}

fn run(transport: &'static str, policy: &'static str, rest: &str) -> (Manifest, Collected) {
    let case = Case {
        text: format!(
            "name = \"mine\"\nsummary = \"mine\"\ntransports = [\"{transport}\"]\n\
             policies = [\"{policy}\"]\n{rest}"
        ),
        transport,
        policy,
        seed: 1,
    };
    let run = simulated(&case);
    check(&case, &run);
    run
}

/// Payload bytes that were delivered, by path.
fn carried(packets: &[Packet], direction: Direction) -> BTreeMap<&str, u64> {
    let mut carried = BTreeMap::new();
    let delivered = packets.iter().filter(|p| p.delivered_ns.is_some());
    for packet in delivered.filter(|p| p.direction == direction) {
        *carried.entry(packet.path.as_str()).or_default() += packet.payload_bytes;
    }
    carried
}

/// What happened, in order: side, kind and path.
fn story(rows: &Collected, kinds: &[EventKind]) -> Vec<String> {
    let events = rows.events.iter().filter(|e| kinds.contains(&e.kind));
    let word = |kind| serde_json::to_value(kind).map(|v| v.as_str().unwrap_or("").to_owned());
    events
        .map(|event| {
            let side = match event.side {
                Some(Side::Client) => "client",
                Some(Side::Server) => "server",
                None => "",
            };
            let kind = word(event.kind).expect("a word");
            let path = event.path.as_ref().map_or("", |p| p.as_str());
            format!("{side} {kind} {path}")
        })
        .collect()
}

#[test]
fn bulk_over_one_path_takes_its_rate() {
    let paths = path("wifi", "25 Mbit/s", "10 ms");
    let (manifest, rows) = run(
        "tcp",
        "single",
        &format!("duration = \"20 s\"\n[traffic.bulk]\nsize = \"20 MB\"\n{paths}"),
    );
    // 20 MB of payload, 52 bytes of headers on 1,448 of payload.
    let ideal = 20e6 * 8.0 / 25e6 * (1500.0 / 1448.0);
    let took = rows.messages[0].delay_us.expect("answered") as f64 / 1e6;
    assert!((ideal..ideal * 1.1).contains(&took), "{took} s, {ideal} s");
    let stack = &manifest.stack;
    assert_eq!(
        (stack.name.as_str(), stack.congestion.as_str()),
        ("walkabout", "cubic")
    );
    assert_eq!(
        (stack.path_manager.as_str(), stack.scheduler.as_str()),
        ("none", "none")
    );
}

#[test]
fn bulk_over_two_paths_takes_the_sum_of_their_rates() {
    let paths = [
        path("wifi", "25 Mbit/s", "10 ms"),
        path("cellular", "25 Mbit/s", "30 ms"),
    ];
    let (manifest, rows) = run(
        "mptcp",
        "fullmesh",
        &format!(
            "duration = \"20 s\"\n[traffic.bulk]\nsize = \"20 MB\"\n{}",
            paths.concat()
        ),
    );
    let ideal = 20e6 * 8.0 / 50e6 * (1500.0 / 1428.0);
    let took = rows.messages[0].delay_us.expect("answered") as f64 / 1e6;
    assert!((ideal..ideal * 1.25).contains(&took), "{took} s, {ideal} s");
    let carried = carried(&rows.packets, Direction::Down);
    for path in ["wifi", "cellular"] {
        assert!(carried[path] > 7_000_000, "{carried:?}");
    }
    let stack = &manifest.stack;
    assert_eq!(
        (stack.path_manager.as_str(), stack.scheduler.as_str()),
        ("userspace", "linux-default")
    );
}

/// The host takes the address away and gives it back; the policy closes and opens.
#[test]
fn a_path_whose_address_goes_is_closed_and_comes_back() {
    let paths = [
        path("wifi", "30 Mbit/s", "10 ms"),
        path("cellular", "10 Mbit/s", "30 ms"),
    ];
    let (_, rows) = run(
        "mptcp",
        "backup",
        &format!(
            "duration = \"12 s\"\n[traffic.interactive]\n{}[[failure]]\npath = \"wifi\"\n\
             kind = \"address-withdrawn\"\nat = \"4 s\"\nduration = \"4 s\"\n",
            paths.concat()
        ),
    );
    let kinds = [
        EventKind::PathOpening,
        EventKind::PathOpened,
        EventKind::PathClosed,
        EventKind::Fallback,
        EventKind::ActionFailed,
    ];
    let client: Vec<String> = story(&rows, &kinds)
        .into_iter()
        .filter(|line| line.starts_with("client"))
        .collect();
    let channels = 2;
    let expected = [
        ("client path-opened wifi", 2 * channels),
        ("client path-opening cellular", channels),
        ("client path-opened cellular", channels),
        ("client path-closed wifi", channels),
        ("client path-opening wifi", channels),
    ];
    for (line, count) in expected {
        let found = client.iter().filter(|l| *l == line).count();
        assert_eq!(found, count, "{line}: {client:#?}");
    }
    assert_eq!(client.len(), 6 * channels, "{client:#?}");
    // Nothing leaves over an address that is not there.
    let gone = 4 * SECOND_NS..8 * SECOND_NS;
    let over_wifi = rows
        .packets
        .iter()
        .filter(|p| p.path.as_str() == "wifi" && p.direction == Direction::Up)
        .filter(|p| gone.contains(&p.enqueued_ns) && p.enqueued_ns > gone.start)
        .count();
    assert_eq!(over_wifi, 0);
    let slowest = rows.messages.iter().filter_map(|m| m.delay_us).max();
    assert!(slowest.is_some_and(|us| us < 1_000_000), "{slowest:?}");
}

/// Every column that the stack can fill is filled, at both ends.
#[test]
fn samples_say_what_the_stack_knows() {
    let paths = [
        path("wifi", "30 Mbit/s", "10 ms"),
        path("cellular", "10 Mbit/s", "30 ms"),
    ];
    let (_, rows) = run(
        "mptcp",
        "backup",
        &format!(
            "duration = \"4 s\"\n[traffic.interactive]\n{}",
            paths.concat()
        ),
    );
    for side in [Side::Client, Side::Server] {
        for (path, backup) in [("wifi", false), ("cellular", true)] {
            let mut of_path = rows.samples.iter().filter(|s| {
                let at = s.side == side && s.connection == 0;
                at && s.path.as_ref().is_some_and(|p| p.as_str() == path)
            });
            let last = of_path.next_back().expect("sampled");
            assert_eq!(last.state, "established");
            let srtt = last.srtt_us.expect("measured");
            let rtt = if path == "wifi" { 20_000 } else { 60_000 };
            assert!((rtt..rtt + 45_000).contains(&srtt), "{last:?}");
            assert!(last.rto_us.is_some_and(|us| us >= 200_000), "{last:?}");
            assert!(last.cwnd_bytes.is_some_and(|b| b >= 10 * 1_400), "{last:?}");
            assert!(last.sent_packets > Some(0) && last.received_bytes.is_some());
            assert_eq!(last.lost_packets, Some(0));
            let own = if side == Side::Client {
                last.backup
            } else {
                last.peer_backup
            };
            assert_eq!(own, Some(backup), "{last:?}");
        }
        let whole = |s: &&model::record::Sample| s.side == side && s.path.is_none();
        let last = rows
            .samples
            .iter()
            .rfind(whole)
            .expect("a row of the connection");
        assert!(
            last.unsent_bytes.is_some() && last.in_flight_bytes.is_some(),
            "{last:?}"
        );
    }
}

/// What a host sends sets a timer, and the host turns when that is due, not at its next sample:
/// the tail-loss probe comes two round trips after the last data (RFC 8985, section 7.2).
#[test]
fn a_probe_follows_two_round_trips_after_what_was_lost() {
    let (_, rows) = run(
        "tcp",
        "single",
        &format!(
            "duration = \"4 s\"\n[traffic.interactive]\n{}[[failure]]\npath = \"wifi\"\n\
             kind = \"silent-loss\"\nat = \"2.05 s\"\n",
            path("wifi", "30 Mbit/s", "10 ms")
        ),
    );
    let lost: Vec<u64> = rows
        .packets
        .iter()
        .filter(|p| p.direction == Direction::Up && p.payload_bytes > 0)
        .map(|p| p.enqueued_ns)
        .filter(|at| *at > 2_050_000_000)
        .collect();
    let data = *lost.first().expect("data was sent");
    let probe = lost.iter().find(|at| **at > data + 5_000_000);
    let after = probe.expect("something was sent again") - data;
    assert!((40_000_000..50_000_000).contains(&after), "{after} ns");
}

/// Two segments a message, the second not full: nothing waits for an acknowledgement.
#[test]
fn messages_take_a_round_trip_and_no_more() {
    for (transport, policy) in [("tcp", "single"), ("mptcp", "fullmesh")] {
        let paths = [
            path("wifi", "30 Mbit/s", "10 ms"),
            path("cellular", "10 Mbit/s", "30 ms"),
        ];
        let (_, rows) = run(
            transport,
            policy,
            &format!(
                "duration = \"4 s\"\n[traffic.interactive]\n{}",
                paths.concat()
            ),
        );
        let slowest = rows.messages.iter().map(|m| m.delay_us);
        let slowest = slowest.max().flatten().expect("all are answered");
        assert!(
            (20_000..22_000).contains(&slowest),
            "{transport}: {slowest} us"
        );
    }
}
