//! No address that was not validated gets more bytes than it sent, whatever it sends (RFC 9000, section 8.1).

use super::rig::{Ground, Server};
use measure::transport::quic::{Congestion, Core, CoreConfig, PathAddress, Pin, Security};
use model::{Name, Seed, Time};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use walkabout_platform::server::Limits;

/// A client's first datagram.
fn initial(server: &Server, seed: u64) -> Vec<u8> {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let config = CoreConfig {
        base: Instant::now(),
        seed: Seed(seed),
        multipath: true,
        congestion: Congestion::default(),
        paths: vec![PathAddress {
            name: Name::from("wifi"),
            client: local,
        }],
        keep_alive: None,
        security: Security::Pinned(Pin(server.pin())),
    };
    let mut core = Core::client(config, server.address(), 1, Time::ZERO).expect("a client");
    let transmit = core.poll_transmit(Time::ZERO).expect("an Initial");
    transmit.payload.to_vec()
}

/// Sends the datagrams from a fresh address that never answers; bytes sent and received. A last datagram
/// that is always answered (by a Retry) says that those before it were dealt with.
fn exchange(server: &Server, datagrams: &[Vec<u8>]) -> (usize, usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let target: SocketAddr = server.address();
    for datagram in datagrams {
        // Too long or too short for UDP is nothing sent.
        let _ = socket.send_to(datagram, target);
    }
    let sent = datagrams.iter().map(Vec::len).sum();
    let mut received = 0;
    let mut buffer = [0; 2048];
    // Everything that was sent is answered or not within milliseconds: the marker from another socket
    // is answered after it.
    let marker = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    marker
        .set_read_timeout(Some(super::rig::PATIENCE))
        .expect("set");
    marker.send_to(&initial(server, 999), target).expect("sent");
    marker.recv(&mut buffer).expect("the marker is answered");
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("set");
    while let Ok(n) = socket.recv(&mut buffer) {
        received += n;
    }
    (sent, received)
}

#[test]
fn an_initial_gets_a_shorter_retry_and_nothing_else() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let first = initial(&server, 1);
    assert!(first.len() >= 1_200);
    let (sent, received) = exchange(&server, std::slice::from_ref(&first));
    assert!((1..sent / 5).contains(&received), "{received} of {sent}");

    // The same again and again, without ever proving the address: each is answered alone.
    let again = vec![first; 20];
    let (sent, received) = exchange(&server, &again);
    assert!(received <= sent / 5, "{received} of {sent}");
    let text = server.metrics();
    assert!(
        !text.contains("connections_total{"),
        "no connection was made:\n{text}"
    );
    server.stop();
}

#[test]
fn nothing_short_is_answered_with_more() {
    let ground = Ground::new();
    let server = ground.serve(Limits::default());
    let first = initial(&server, 2);
    let with_version = |version: u32, length: usize| {
        let mut datagram = first.clone();
        datagram[1..5].copy_from_slice(&version.to_be_bytes());
        datagram.truncate(length);
        datagram
    };
    let short_header = |length: usize| {
        let mut datagram = first.clone();
        datagram[0] = 0x40;
        datagram.truncate(length);
        datagram
    };
    let mut cases: Vec<(String, Vec<u8>)> = Vec::new();
    for length in [0, 1, 5, 7, 20, 21, 40, 100, 300, 1_199, 1_200] {
        for version in [0, 1, 0x6b33_43cf, 0x0a0a_0a0a, 0xff00_001d, u32::MAX] {
            let name = format!("version {version:#x}, {length} bytes");
            cases.push((name, with_version(version, length)));
        }
        cases.push((
            format!("short header, {length} bytes"),
            short_header(length),
        ));
        cases.push((format!("zeros, {length} bytes"), vec![0; length]));
        cases.push((format!("ones, {length} bytes"), vec![0xff; length]));
    }
    // The shortest long header there is: no connection ids.
    cases.push(("bait".into(), vec![0xc0, 1, 2, 3, 4, 0, 0]));
    // All from one address each, a few at a time, as each exchange waits for silence.
    for group in cases.chunks(24) {
        for (name, datagram) in group {
            // One that is answered with more than it has would not be noticed among longer ones.
            let (sent, received) = exchange_quickly(&server, datagram);
            assert!(received <= sent, "{name}: {received} bytes for {sent}");
        }
    }
    server.stop();
}

/// As [`exchange`] for one datagram, without waiting for silence: two markers from the same address
/// follow it, whose answers are known in length.
fn exchange_quickly(server: &Server, datagram: &[u8]) -> (usize, usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket
        .set_read_timeout(Some(super::rig::PATIENCE))
        .expect("set");
    let target = server.address();
    socket.send_to(datagram, target).expect("sent");
    let marker = initial(server, 998);
    socket.send_to(&marker, target).expect("sent");
    // A Retry echoes the client's source connection id, which the marker's seed fixes.
    let id = source_id(&marker);
    let mut buffer = [0; 2048];
    let mut received = 0;
    loop {
        let n = socket.recv(&mut buffer).expect("the marker is answered");
        let is_retry = buffer[0] & 0xf0 == 0xf0 && buffer[1..5] == [0, 0, 0, 1];
        if is_retry && buffer[6..6 + usize::from(buffer[5])] == *id {
            return (datagram.len(), received);
        }
        received += n;
    }
}

/// The source connection id of a long header (RFC 9000, section 17.2).
fn source_id(datagram: &[u8]) -> Vec<u8> {
    let destination = usize::from(datagram[5]);
    let at = 6 + destination;
    let length = usize::from(datagram[at]);
    datagram[at + 1..at + 1 + length].to_vec()
}
