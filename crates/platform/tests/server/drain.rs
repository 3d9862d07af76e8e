//! A server that is told to stop: sessions under way end in peace, nothing new begins.

use super::client::{By, Client, connect, hello, is_turned_away, records, say};
use super::rig::{Ground, await_that};
use model::scenario::{Interactive, Ping, Traffic};
use walkabout_platform::server::Limits;

fn interactive() -> Traffic {
    Traffic::Interactive(Interactive::default())
}

#[test]
fn a_drain_lets_sessions_end_and_their_records_be_fetched() {
    let ground = Ground::new();
    let mut server = ground.serve(Limits::default());
    let token = ground.token();
    let mut client = Client::new(
        By::Mptcp,
        server.address(),
        server.pin(),
        &interactive(),
        Some(&token),
    );
    client.until("served", |c| !c.log.is_empty());
    server.begin_stop();
    server.await_metric("walkabout_server_draining", 1);
    let ping = Traffic::Ping(Ping::default());
    for token in [None, Some(ground.token())] {
        let stream = say(server.address(), &hello(&ping, token.as_deref()));
        assert!(is_turned_away(stream));
    }
    server.await_metric("walkabout_server_refused_total{reason=\"draining\"}", 2);
    let before = client.log.len();
    client.until("still served", |c| c.log.len() > before + 1);
    assert!(!server.is_over());
    client.close();
    let kept = records(server.address(), &token).expect("records");
    assert!(kept.cut.is_none() && !kept.messages.0.is_empty());
    let address = server.address();
    server.stop();
    assert!(connect(By::Tcp, address).is_err(), "nobody listens");
}

#[test]
fn a_drain_that_takes_too_long_cuts_the_rest() {
    let ground = Ground::new();
    let mut server = ground.serve(Limits {
        drain_seconds: 1,
        ..Limits::default()
    });
    let address = server.address();
    let pin = server.pin();
    let mut clients: Vec<Client> = By::ALL
        .iter()
        .map(|by| Client::new(*by, address, pin, &interactive(), Some(&ground.token())))
        .collect();
    for client in &mut clients {
        client.until("served", |c| !c.log.is_empty());
    }
    server.begin_stop();
    for client in &mut clients {
        client.until("cut", |c| c.is_cut());
    }
    await_that("the server is gone", || server.is_over());
    server.stop();
}

#[test]
fn nothing_to_drain_takes_no_time() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let _idle = connect(By::Tcp, server.address()).expect("connected");
    let start = std::time::Instant::now();
    server.stop();
    let limit = u64::from(Limits::default().drain_seconds);
    assert!(start.elapsed().as_secs() < limit / 2);
}
