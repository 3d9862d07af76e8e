//! Do connections, channels and paths come and go as the path manager and the records see them?

use super::interactive::Interactive;
use super::pipe::{CELLULAR, Joined, WIFI, ms};
use crate::transport::quic::{Congestion, NOQ_VERSION};
use model::record::{Event, EventKind};
use model::{Side, Time};
use policy::{Action, PathState};
use traffic::Channels;

fn of_kind(events: &[Event], kind: EventKind) -> Vec<&Event> {
    events.iter().filter(|event| event.kind == kind).collect()
}

fn connected(multipath: bool) -> Joined {
    let mut joined = Joined::new(multipath, 3, &[20, 60]);
    joined.run_for(ms(500));
    assert!(joined.client.is_connected());
    joined
}

#[test]
fn handshake_and_two_channels_both_ways() {
    let mut joined = Joined::new(true, 3, &[20, 60]);
    assert!(!joined.client.is_connected());
    joined.client.write(0, b"early");
    assert_eq!(joined.client.queued(0), 5);
    joined.run_for(ms(19));
    assert!(!joined.client.is_connected());
    joined.run_for(ms(481));
    assert!(joined.client.is_connected());
    assert_eq!(joined.client.queued(0), 0);
    joined.client.write(1, b"hello");
    joined.run_for(ms(100));
    assert_eq!(joined.server.accepted(), Some(0));
    assert_eq!(joined.server.accepted(), Some(1));
    assert_eq!(joined.server.accepted(), None);
    let mut buffer = [0; 16];
    assert_eq!(joined.server.read(0, &mut buffer), 5);
    assert_eq!(&buffer[..5], b"early");
    assert_eq!(joined.server.read(1, &mut buffer), 5);
    joined.server.write(1, b"back");
    joined.run_for(ms(100));
    assert_eq!(joined.client.read(1, &mut buffer), 4);
    assert_eq!(&buffer[..4], b"back");
    for events in [joined.client_events(), joined.server_events()] {
        assert_eq!(of_kind(&events, EventKind::Connected).len(), 1);
        let first = of_kind(&events, EventKind::FirstData);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].path.as_ref().unwrap().as_str(), "wifi");
    }
}

#[test]
fn a_backup_is_one_at_both_ends_and_carries_no_data() {
    let mut joined = connected(true);
    let mut traffic = Interactive::new(joined.now);
    joined.open(CELLULAR, true).unwrap();
    traffic.run(&mut joined, ms(500), ms(100), |_| {});
    let since = joined.now;
    traffic.run(&mut joined, ms(2_000), ms(100), |_| {});
    for view in [joined.client_path(CELLULAR), joined.server_path(CELLULAR)] {
        let view = view.unwrap();
        assert_eq!(view.state, PathState::Established);
        assert!(view.backup);
    }
    assert_eq!(joined.datagrams(since, CELLULAR, true), 0);
    assert_eq!(joined.datagrams(since, CELLULAR, false), 0);
    let events = joined.server_events();
    let changes = of_kind(&events, EventKind::PriorityChanged);
    assert_eq!(changes.last().unwrap().detail, "backup, by the peer");
    assert_eq!(changes.last().unwrap().side, Some(Side::Server));
    // Made the regular one, with Wi-Fi the backup, it carries everything.
    joined.set_backup(CELLULAR, false).unwrap();
    joined.set_backup(WIFI, true).unwrap();
    traffic.run(&mut joined, ms(500), ms(100), |_| {});
    let since = joined.now;
    traffic.run(&mut joined, ms(2_000), ms(100), |_| {});
    assert_eq!(joined.datagrams(since, WIFI, true), 0);
    assert_eq!(joined.datagrams(since, WIFI, false), 0);
    // The last chunk each way is under way.
    let delays = traffic.delays(Time::ZERO, joined.now);
    assert!(delays.unanswered <= 2, "{delays:?}");
    for events in [joined.client_events(), joined.server_events()] {
        let first = of_kind(&events, EventKind::FirstData);
        let paths: Vec<_> = first.iter().map(|e| e.path.clone().unwrap()).collect();
        assert!(paths.iter().any(|path| path.as_str() == "cellular"));
    }
}

#[test]
fn a_path_is_closed_and_opened_again() {
    let mut joined = connected(true);
    let mut traffic = Interactive::new(joined.now);
    joined.open(CELLULAR, false).unwrap();
    traffic.run(&mut joined, ms(1_000), ms(100), |_| {});
    for round in 0..6 {
        let (leave, stay) = if round % 2 == 0 {
            (WIFI, CELLULAR)
        } else {
            (CELLULAR, WIFI)
        };
        joined.close(leave).unwrap();
        traffic.run(&mut joined, ms(50), ms(100), |_| {});
        assert_eq!(joined.client_path(leave).unwrap().state, PathState::Closing);
        traffic.run(&mut joined, ms(1_000), ms(100), |_| {});
        assert!(joined.client_path(leave).is_none(), "drained");
        assert!(joined.server_path(leave).is_none(), "drained");
        assert!(joined.is_established(stay));
        let sent = path_sent(&mut joined, leave.0);
        joined.open(leave, false).unwrap();
        traffic.run(&mut joined, ms(500), ms(100), |_| {});
        assert!(joined.is_established(leave));
        assert!(joined.server_path(leave).is_some());
        // Counters go on from where the previous path id left off.
        assert!(path_sent(&mut joined, leave.0) > sent);
    }
    // Each chunk was handed over at most 500 ms before the end.
    traffic.run(&mut joined, ms(90), ms(100), |_| {});
    assert_eq!(traffic.delays(Time::ZERO, joined.now).unanswered, 0);
    let events = joined.client_events();
    assert_eq!(of_kind(&events, EventKind::PathClosed).len(), 6);
    assert_eq!(of_kind(&events, EventKind::PathOpening).len(), 7);
    assert_eq!(of_kind(&events, EventKind::PathOpened).len(), 8);
    let events = joined.server_events();
    let closed = of_kind(&events, EventKind::PathClosed);
    assert_eq!(closed[0].detail, "path id 0: closed by the peer");
    assert_eq!(closed[0].path.as_ref().unwrap().as_str(), "wifi");
}

fn path_sent(joined: &mut Joined, path: usize) -> u64 {
    let mut samples = Vec::new();
    joined.client.sample(joined.now, &mut samples);
    let rows = samples.iter().filter(|sample| sample.path.is_some());
    rows.map(|row| row.sent_packets.unwrap()).nth(path).unwrap()
}

/// noq prefers the lowest path id, and a path that is opened again gets a higher one.
#[test]
fn data_returns_to_a_reopened_path_only_when_the_other_steps_back() {
    let mut joined = connected(true);
    let mut traffic = Interactive::new(joined.now);
    joined.open(CELLULAR, false).unwrap();
    traffic.run(&mut joined, ms(300), ms(100), |_| {});
    joined.close(WIFI).unwrap();
    traffic.run(&mut joined, ms(500), ms(100), |_| {});
    joined.open(WIFI, false).unwrap();
    traffic.run(&mut joined, ms(500), ms(100), |_| {});
    let since = joined.now;
    traffic.run(&mut joined, ms(1_000), ms(100), |_| {});
    assert_eq!(joined.datagrams(since, WIFI, true), 0);
    joined.set_backup(CELLULAR, true).unwrap();
    traffic.run(&mut joined, ms(500), ms(100), |_| {});
    let since = joined.now;
    traffic.run(&mut joined, ms(1_000), ms(100), |_| {});
    for up in [true, false] {
        assert!(joined.datagrams(since, WIFI, up) > 20);
        assert_eq!(joined.datagrams(since, CELLULAR, up), 0);
    }
}

/// Right after the handshake there are no connection ids for another path yet.
#[test]
fn a_path_asked_for_too_early_is_opened_soon() {
    let mut joined = Joined::new(true, 3, &[20, 60]);
    while joined.open(CELLULAR, true).is_err() {
        joined.run_for(ms(1));
    }
    let asked = joined.now;
    while !joined.is_established(CELLULAR) {
        joined.run_for(ms(1));
        assert!(joined.now.since(asked) < ms(150), "not open yet");
    }
    joined.run_for(ms(500));
    let since = joined.now;
    joined.run_for(ms(2_000));
    assert_eq!(joined.trace.iter().filter(|sent| sent.0 > since).count(), 0);
}

/// The peer grants a new path id for each one that is closed, once it has heard of it.
#[test]
fn paths_closed_and_opened_in_haste_run_out_of_ids_and_get_new_ones() {
    let mut joined = connected(true);
    joined.open(CELLULAR, false).unwrap();
    joined.run_for(ms(500));
    for _ in 0..20 {
        joined.close(CELLULAR).unwrap();
        joined.open(CELLULAR, false).unwrap();
    }
    joined.run_for(ms(3_000));
    assert!(joined.is_established(CELLULAR));
    let since = joined.now;
    joined.run_for(ms(2_000));
    assert_eq!(joined.trace.iter().filter(|sent| sent.0 > since).count(), 0);
}

#[test]
fn actions_that_cannot_be_carried_out_say_why() {
    let mut joined = connected(true);
    let error = joined.close(WIFI).unwrap_err();
    assert!(error.contains("only established one"), "{error}");
    let error = joined.open(WIFI, false).unwrap_err();
    assert!(error.contains("already open"), "{error}");
    let error = joined.set_backup(CELLULAR, true).unwrap_err();
    assert!(error.contains("not open"), "{error}");
    // Opening over a dead path takes for ever, and may be given up.
    joined.pipes[1].up = false;
    joined.open(CELLULAR, false).unwrap();
    let error = joined.close(WIFI).unwrap_err();
    assert!(error.contains("only established one"), "{error}");
    joined.run_for(ms(3_000));
    assert_eq!(
        joined.client_path(CELLULAR).unwrap().state,
        PathState::Opening
    );
    joined.close(CELLULAR).unwrap();
    joined.pipes[1].up = true;
    joined.run_for(ms(3_000));
    joined.open(CELLULAR, false).unwrap();
    joined.run_for(ms(500));
    assert!(joined.is_established(CELLULAR));

    let action = Action::Open {
        connection: 0,
        path: CELLULAR,
        backup: false,
    };
    let error = joined.server.apply(joined.now, &action).unwrap_err();
    assert!(error.contains("only the client"), "{error}");
    let mut plain = connected(false);
    let error = plain.open(CELLULAR, false).unwrap_err();
    assert!(error.contains("not negotiated multipath"), "{error}");
}

#[test]
fn a_server_without_multipath_is_a_fallback() {
    let mut joined = Joined::with(true, false, Congestion::Reno, 3, &[20, 60]);
    joined.run_for(ms(500));
    assert!(joined.client.is_connected());
    let events = joined.client_events();
    assert_eq!(of_kind(&events, EventKind::Fallback).len(), 1);
    assert_eq!(joined.client.stack().congestion, "reno");
}

#[test]
fn samples_measure_what_the_pipe_does() {
    for congestion in [Congestion::Cubic, Congestion::Reno, Congestion::Bbr3] {
        let mut joined = Joined::with(true, true, congestion, 3, &[20, 60]);
        joined.run_for(ms(500));
        let mut traffic = Interactive::new(joined.now);
        traffic.run(&mut joined, ms(3_000), ms(100), |_| {});
        let mut samples = Vec::new();
        joined.client.sample(joined.now, &mut samples);
        assert_eq!(samples.len(), 2, "the connection and wifi");
        let wifi = &samples[1];
        let srtt = wifi.srtt_us.unwrap();
        assert!((20_000..24_000).contains(&srtt), "{wifi:?}");
        assert!(wifi.rttvar_us.unwrap() < 5_000, "{wifi:?}");
        let rto = srtt + (4 * wifi.rttvar_us.unwrap()).max(1_000) + 25_000;
        assert!(wifi.rto_us.unwrap().abs_diff(rto) < 10, "{wifi:?}");
        assert_eq!(wifi.timeouts, Some(0));
        assert_eq!(wifi.lost_packets, Some(0));
        assert_eq!(wifi.retransmitted_packets, Some(0));
        assert!(wifi.cwnd_bytes.unwrap() >= 12_000);
        let path_sent = joined.datagrams(Time::ZERO, WIFI, true) as u64;
        assert!(wifi.sent_packets.unwrap() >= path_sent);
        let bytes: usize = joined.trace.iter().filter(|t| t.2).map(|t| t.3).sum();
        assert_eq!(wifi.sent_bytes.unwrap(), bytes as u64);
        assert_eq!(samples[0].sent_bytes, wifi.sent_bytes);
        // Everything is acknowledged within a second: nothing may stay in flight.
        joined.run_for(ms(1_000));
        let view = joined.client_path(WIFI).unwrap();
        assert_eq!((view.in_flight, view.oldest_unacked), (0, None));
        // Then the path dies: probes count as timeouts, and what is in flight grows old.
        joined.pipes[0].up = false;
        joined.client.write(0, &[0; 2_000]);
        joined.run_for(ms(1_000));
        let view = joined.client_path(WIFI).unwrap();
        assert!(view.timeouts >= 3, "{view:?}");
        assert!(view.in_flight >= 2_000, "{view:?}");
        assert_eq!(view.oldest_unacked, Some(ms(1_000)));
    }
}

#[test]
fn closing_tells_the_peer() {
    let mut joined = connected(true);
    joined.client.close(joined.now);
    joined.run_for(ms(200));
    let events = joined.server_events();
    assert_eq!(of_kind(&events, EventKind::Disconnected).len(), 1);
    assert!(!joined.server.is_open(0));
}

/// A receive buffer that is full takes the last datagram of a connection, and nobody sends that again.
#[test]
fn a_close_that_is_lost_is_said_again() {
    let mut joined = connected(true);
    assert!(!joined.client.is_leaving());
    joined.client.write(0, b"hello");
    joined.run_for(ms(100));
    joined.server.write(0, &[1; 1_000]);
    joined.run_until(joined.now);
    joined.client.close(joined.now);
    let mut lost = 0;
    while joined.client.poll_transmit(joined.now).is_some() {
        lost += 1;
    }
    assert!(lost > 0 && joined.client.is_leaving());
    assert!(joined.server.is_open(0));
    // What the server has sent meets a client that is gone, which says so.
    joined.run_for(ms(200));
    assert!(!joined.server.is_open(0));
    joined.run_for(ms(2_000));
    assert!(!joined.client.is_leaving());
}

/// noq paces the close as well: right after a burst it is not there to be sent, and whoever leaves then has
/// said nothing.
#[test]
fn a_close_that_is_held_back_has_a_time() {
    let mut joined = connected(true);
    joined.client.write(0, &vec![1; 200_000]);
    joined.run_until(joined.now);
    assert!(joined.client.goodbye_at().is_none());
    joined.client.close(joined.now);
    joined.run_until(joined.now);
    let at = joined.client.goodbye_at().expect("it is held back");
    assert!(at > joined.now && at < joined.now + ms(20), "{at:?}");
    joined.run_until(at);
    assert!(joined.client.goodbye_at().is_none());
    joined.run_for(ms(11));
    assert!(!joined.server.is_open(0));
}

#[test]
fn a_client_that_expects_another_server_fails_to_connect() {
    let mut joined = Joined::strangers(3, &[20]);
    joined.run_for(ms(1_000));
    assert!(!joined.client.is_connected());
    assert!(joined.client.connect_failure().is_some());
}

#[test]
fn the_same_seed_gives_the_same_times_and_sizes() {
    let run = |seed| {
        let mut joined = Joined::new(true, seed, &[20, 60]);
        joined.run_for(ms(500));
        let mut traffic = Interactive::new(joined.now);
        joined.open(CELLULAR, true).unwrap();
        traffic.run(&mut joined, ms(2_000), ms(100), |_| {});
        joined.pipes[0].down = false;
        traffic.run(&mut joined, ms(300), ms(100), |_| {});
        joined.close(WIFI).unwrap();
        traffic.run(&mut joined, ms(2_000), ms(100), |_| {});
        joined.trace
    };
    assert!(run(11) == run(11), "two runs of one seed differ");
    assert!(run(11) != run(12), "the seed changes nothing");
}

#[test]
fn the_version_is_the_one_that_is_built() {
    let lock = include_str!("../../../../../../Cargo.lock");
    let entry = format!("name = \"noq-proto\"\nversion = \"{NOQ_VERSION}\"\n");
    assert!(lock.contains(&entry));
}
