//! Sessions with a token: every transport and pattern, budgets, replays, restarts, records.

use super::client::{By, Client, hello, is_turned_away, records, say};
use super::rig::{Ground, Server, await_that, now_s};
use model::record::{EventKind, Message};
use model::scenario::{Bulk, Flow, Interactive, Iperf, Ping, Traffic};
use model::units::{ByteSize, Span};
use model::{Direction, Side};
use std::time::Duration;
use walkabout_platform::server::Limits;
use walkabout_platform::token::{Claims, SigningKey};

fn interactive() -> Traffic {
    Traffic::Interactive(Interactive {
        period: Span::from_millis(10),
        ..Interactive::default()
    })
}

fn bulk(bytes: u64) -> Traffic {
    let size = ByteSize::from_bytes(bytes);
    Traffic::Bulk(Bulk { size })
}

fn client(by: By, server: &Server, traffic: &Traffic, token: &str) -> Client {
    Client::new(by, server.address(), server.pin(), traffic, Some(token))
}

#[test]
fn every_transport_carries_both_directions_and_the_server_keeps_its_half() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    assert_eq!(
        server.ready.missing,
        Vec::<String>::new(),
        "nothing may be missing"
    );
    for by in By::ALL {
        let token = ground.token();
        let mut client = client(by, &server, &interactive(), &token);
        client.until("thirty answers", |c| c.log.len() >= 30);
        let live = records(server.address(), &token).expect("records of a session under way");
        assert!(live.cut.is_none() && live.server == "near");
        let log = client.close();
        assert!(log.iter().all(|m| m.direction == Direction::Up));

        server.await_metric(
            &format!("walkabout_server_sessions{{transport=\"{}\"}}", by.name()),
            0,
        );
        let kept = records(server.address(), &token).expect("records of a session that is over");
        let answered = kept.messages.0.iter().filter(|m| m.acked_us.is_some());
        assert!(answered.count() >= 20, "{by:?}");
        for message in &kept.messages.0 {
            assert_eq!((message.direction, message.channel), (Direction::Down, 1));
            assert!(message.sent_us <= kept.now_us);
        }
        // The download began with the session: its clock starts with the first hello.
        assert!(kept.messages.0[0].sent_us < 5_000_000);
        let (family, security) = match by {
            By::Tcp | By::Mptcp => ("linux", None),
            By::Quic | By::Mpquic => ("noq", Some("TLS 1.3".to_owned())),
        };
        assert_eq!((&*kept.stack.name, kept.stack.security), (family, security));
        let on_paths = kept.samples.0.iter().filter(|s| s.path.is_some());
        let on_paths: Vec<_> = on_paths.collect();
        assert!(!on_paths.is_empty(), "{by:?}");
        for sample in &on_paths {
            assert_eq!(sample.side, Side::Server);
            assert_eq!(sample.path.as_ref().map(|p| p.as_str()), Some("path-1"));
            assert!(
                sample.srtt_us > Some(0) && sample.received_bytes > Some(0),
                "{sample:?}"
            );
        }
        let kinds: Vec<EventKind> = kept.events.iter().map(|e| e.kind).collect();
        let connected = kinds.iter().filter(|k| **k == EventKind::Connected).count();
        assert_eq!(connected, 2, "{kinds:?}");
        assert_eq!(kinds.first(), Some(&EventKind::ApplicationStart));
        assert!(kinds.contains(&EventKind::ApplicationStop), "{kinds:?}");
        assert!(
            kept.events.iter().any(|e| e.detail.contains(by.name())),
            "{by:?}"
        );
        assert_eq!(
            server.metric(&format!(
                "walkabout_server_sessions_total{{transport=\"{}\"}}",
                by.name()
            )),
            1
        );
    }
    server.stop();
}

#[test]
fn a_second_path_of_multipath_quic_is_seen_with_its_rank() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let token = ground.token();
    let mut client = client(By::Mpquic, &server, &interactive(), &token);
    client.until("an answer", |c| !c.log.is_empty());
    client.open_second_path();
    client.until("seen by the server", |_| {
        let records = records(server.address(), &token).expect("records");
        let second = |s: &&model::record::Sample| {
            s.path.as_ref().is_some_and(|p| p.as_str() == "path-2") && s.backup == Some(true)
        };
        let ranked = |e: &model::record::Event| e.kind == EventKind::PriorityChanged;
        records.samples.0.iter().find(second).is_some() && records.events.iter().any(ranked)
    });
    client.close();
    server.stop();
}

#[test]
fn bulk_arrives_whole_over_every_transport() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    for by in By::ALL {
        let mut client = client(by, &server, &bulk(3_000_000), &ground.token());
        client.until("downloaded", |c| c.is_done());
        assert_eq!(client.log[0].answer_bytes, 3_000_000);
        client.close();
    }
    server.stop();
}

#[test]
fn iperf_fills_the_path_both_ways_and_both_ends_know_each_second() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let traffic = Traffic::Iperf(Iperf {
        duration: Span::from_millis(1_000),
        direction: Flow::Both,
        ..Iperf::default()
    });
    for by in By::ALL {
        let token = ground.key.sign(&Claims {
            bytes: 1 << 40,
            ..ground.claims()
        });
        let mut client = client(by, &server, &traffic, &token);
        client.until("over", |c| c.is_done());
        let up = megabits(&client.close(), Direction::Up);
        server.await_metric(
            &format!("walkabout_server_sessions{{transport=\"{}\"}}", by.name()),
            0,
        );
        let kept = records(server.address(), &token).expect("records");
        assert_eq!(kept.cut, None, "{by:?}");
        let down = megabits(&kept.messages.0, Direction::Down);
        // Loopback carries far more, also where everything is slow.
        assert!(up > 5.0 && down > 5.0, "{by:?}: {up} up, {down} down");
    }
    server.stop();
}

/// Throughput by the blocks answered within the first second.
fn megabits(log: &[Message], direction: Direction) -> f64 {
    assert!(log.iter().all(|m| m.direction == direction));
    let start = log.iter().map(|m| m.sent_us).min().expect("blocks");
    let in_time = |m: &&Message| m.acked_us.is_some_and(|acked| acked < start + 1_000_000);
    let bytes: u64 = log.iter().filter(in_time).map(|m| m.size_bytes).sum();
    bytes as f64 * 8.0 / 1e6
}

#[test]
fn tokens_that_are_not_good_are_turned_away_and_counted() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let good = ground.claims();
    let sign = |change: &dyn Fn(&mut Claims)| {
        let mut claims = good.clone();
        change(&mut claims);
        ground.key.sign(&claims)
    };
    let cases = [
        ("token-forged", SigningKey::generate().0.sign(&good)),
        ("token-malformed", "nonsense".to_owned()),
        ("token-other-server", sign(&|c| c.server = "far".into())),
        ("token-expired", sign(&|c| c.expires_s = now_s() - 1)),
        ("token-not-yet", sign(&|c| c.issued_s = now_s() + 600)),
    ];
    let traffic = Traffic::Ping(Ping::default());
    for (reason, token) in cases {
        let stream = say(server.address(), &hello(&traffic, Some(&token)));
        assert!(is_turned_away(stream), "{reason}");
        server.await_metric(&refused(reason), 1);
    }
    // None of them used the id up.
    let mut client = client(By::Quic, &server, &traffic, &ground.key.sign(&good));
    client.until("served", |c| c.is_done());
    client.close();
    server.stop();
}

fn refused(reason: &str) -> String {
    format!("walkabout_server_refused_total{{reason=\"{reason}\"}}")
}

#[test]
fn a_token_is_good_once_even_after_a_crash() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let pin = server.pin();
    let (token, fresh) = (ground.token(), ground.token());
    let traffic = Traffic::Ping(Ping::default());
    let mut first = client(By::Tcp, &server, &traffic, &token);
    first.until("served", |c| c.is_done());
    // While it is under way another pattern, or the same channel again, is no part of it.
    let other = say(server.address(), &hello(&bulk(1_000), Some(&token)));
    assert!(is_turned_away(other));
    let again = say(server.address(), &hello(&traffic, Some(&token)));
    assert!(is_turned_away(again));
    server.await_metric(&refused("other-session"), 1);
    server.await_metric(&refused("taken"), 1);
    first.close();
    server.await_metric("walkabout_server_sessions{transport=\"tcp\"}", 0);
    let replayed = say(server.address(), &hello(&traffic, Some(&token)));
    assert!(is_turned_away(replayed));
    server.await_metric(&refused("token-used"), 1);

    server.kill();
    let server = ground.serve(Limits::default());
    assert_eq!(server.pin(), pin, "the certificate is kept");
    let replayed = say(server.address(), &hello(&traffic, Some(&token)));
    assert!(is_turned_away(replayed));
    server.await_metric(&refused("token-used"), 1);
    let error = records(server.address(), &token).expect_err("records do not survive");
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    let mut client = client(By::Tcp, &server, &traffic, &fresh);
    client.until("served", |c| c.is_done());
    client.close();
    server.stop();
}

#[test]
fn a_session_is_cut_when_its_bytes_are_spent_and_carries_no_more() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    for by in By::ALL {
        let token = ground.key.sign(&Claims {
            bytes: 500_000,
            ..ground.claims()
        });
        let before = moved(&server);
        let mut client = client(by, &server, &bulk(10_000_000), &token);
        client.until("cut", |c| c.error().is_some());
        assert!(!client.is_done(), "{by:?}");
        await_that("the records say so", || {
            let records = records(server.address(), &token).expect("records");
            records.cut.as_deref() == Some("the token's 500000 bytes are spent")
        });
        assert_eq!(moved(&server) - before, 500_000, "{by:?}");
    }
    assert_eq!(
        server.metric("walkabout_server_cut_total{reason=\"bytes\"}"),
        4
    );
    server.stop();
}

fn moved(server: &Server) -> u64 {
    ["received", "sent"]
        .map(|d| {
            server.metric(&format!(
                "walkabout_server_bytes_total{{direction=\"{d}\"}}"
            ))
        })
        .iter()
        .sum()
}

#[test]
fn a_session_is_cut_when_its_time_is_over() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    for by in [By::Mptcp, By::Mpquic] {
        let token = ground.key.sign(&Claims {
            seconds: 1,
            ..ground.claims()
        });
        let start = std::time::Instant::now();
        let mut client = client(by, &server, &interactive(), &token);
        client.until("cut", |c| c.is_cut());
        assert!(start.elapsed() >= Duration::from_secs(1), "{by:?}");
        let kept = records(server.address(), &token).expect("records");
        assert_eq!(kept.cut.as_deref(), Some("the token's 1 s are over"));
    }
    server.stop();
}

#[test]
fn the_same_token_at_once_begins_one_session() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let token = ground.token();
    let traffic = Traffic::Ping(Ping::default());
    let hellos: Vec<_> = (0..8)
        .map(|_| {
            let (address, hello) = (server.address(), hello(&traffic, Some(&token)));
            std::thread::spawn(move || say(address, &hello))
        })
        .collect();
    let streams: Vec<_> = hellos
        .into_iter()
        .map(|t| t.join().expect("said"))
        .collect();
    server.await_metric(&refused("taken"), 7);
    let total = "walkabout_server_sessions_total{transport=\"tcp\"}";
    assert_eq!(server.metric(total), 1);
    drop(streams);
    server.stop();
}
