//! Those without a token: a ping is answered, nothing else is.

use super::client::{By, Client, hello, is_turned_away, records, say};
use super::rig::{Ground, PATIENCE};
use measure::world::live::{ReachTarget, reach};
use model::live::Outcome;
use model::scenario::{Bulk, Interactive, Ping, Traffic};
use model::units::ByteSize;
use walkabout_platform::server::Limits;

fn ping(count: u32, bytes: u64) -> Traffic {
    let size = ByteSize::from_bytes(bytes);
    Traffic::Ping(Ping { count, size })
}

#[test]
fn small_pings_are_answered_over_every_transport() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    for by in By::ALL {
        let traffic = ping(10, 100);
        let mut client = Client::new(by, server.address(), server.pin(), &traffic, None);
        client.until("answered", |c| c.is_done());
        let log = client.close();
        assert_eq!(log.len(), 10, "{by:?}");
        assert!(log.iter().all(|m| m.delay_us.is_some()), "{by:?}");
        let pings = format!(
            "walkabout_server_pings_total{{transport=\"{}\"}}",
            by.name()
        );
        assert_eq!(server.metric(&pings), 1);
    }
    server.stop();
}

#[test]
fn everything_else_is_not() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let size = ByteSize::from_bytes(100);
    let cases = [
        ping(11, 100),
        ping(10, 101),
        Traffic::Bulk(Bulk { size }),
        Traffic::Interactive(Interactive::default()),
    ];
    let refused = "walkabout_server_refused_total{reason=\"no-token\"}";
    for (traffic, n) in cases.iter().zip(1..) {
        let stream = say(server.address(), &hello(traffic, None));
        assert!(is_turned_away(stream), "{traffic:?}");
        server.await_metric(refused, n);
    }
    // Over QUIC the reason is told.
    let mut client = Client::new(By::Quic, server.address(), server.pin(), &cases[2], None);
    client.until("turned away", |c| c.is_cut());
    server.await_metric(refused, 5);

    // What is no hello, or asks for a session that never was.
    use std::io::Write;
    let mut http = super::client::connect(By::Tcp, server.address()).expect("connected");
    http.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("said");
    assert!(is_turned_away(http));
    server.await_metric("walkabout_server_refused_total{reason=\"hello\"}", 1);
    assert!(records(server.address(), &ground.token()).is_err());
    server.await_metric("walkabout_server_refused_total{reason=\"no-records\"}", 1);
    server.stop();
}

#[test]
fn the_other_family_and_two_ports_are_served_as_well() {
    let ground = Ground::new();
    let config = walkabout_platform::server::Config {
        addresses: vec!["127.0.0.1".parse().expect("v4"), "::1".parse().expect("v6")],
        ports: vec![0, 0],
        ..ground.config(Limits::default())
    };
    let server = super::rig::Server::start(config);
    assert_eq!(server.ready.listening.len(), 4);
    for address in &server.ready.listening {
        let mut client = Client::new(By::Tcp, *address, server.pin(), &ping(1, 10), None);
        client.until("answered", |c| c.is_done());
        client.close();
    }
    server.stop();
}

/// Who only looks whether the server can be reached connects, is let go at once, and is no slow client.
#[test]
fn a_look_whether_it_can_be_reached_ends_at_once() {
    let ground = Ground::new();
    let server = ground.serve(Limits {
        hello_seconds: 3_600,
        ..Limits::default()
    });
    let transports = ["quic", "mpquic"];
    let targets = transports.map(|transport| ReachTarget {
        transport: transport.to_owned(),
        server: server.address(),
    });
    let reached = reach(&targets, server.pin(), PATIENCE);
    for one in &reached {
        assert_eq!(one.outcome, Outcome::Reached, "{one:?}");
    }
    for transport in transports {
        let total = format!("walkabout_server_connections_total{{transport=\"{transport}\"}}");
        server.await_metric(&total, 1);
        let now = format!("walkabout_server_connections{{transport=\"{transport}\"}}");
        server.await_metric(&now, 0);
    }
    assert!(
        !server.metrics().contains("refused_total{"),
        "{}",
        server.metrics()
    );
    server.stop();
}
