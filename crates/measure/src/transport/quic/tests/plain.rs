//! Is QUIC without cryptography as long and as quick as under TLS?

use super::pipe::Joined;
use crate::transport::quic::Security;
use crate::transport::quic::identity::{Identity, SERVER_NAME};
use crate::transport::quic::plain::Plain;
use model::{PathIndex, Time};
use noq_proto::Side;
use noq_proto::crypto::{ClientConfig, ServerConfig, Session};
use noq_proto::transport_parameters::TransportParameters;
use std::collections::VecDeque;
use std::time::Duration;
use traffic::Channels;

/// QUIC version 1 (RFC 9000, section 15).
const VERSION: u32 = 1;

/// Lengths of what each end writes, and whether the client did, until both are done.
fn flights(client: Box<dyn Session>, server: Box<dyn Session>) -> Vec<(bool, usize)> {
    let mut ends = [client, server];
    let mut flights = Vec::new();
    let mut under_way: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
    let mut writes =
        |ends: &mut [Box<dyn Session>; 2], from: usize, under_way: &mut VecDeque<_>| {
            // As noq does: until nothing comes, with or without new keys.
            loop {
                let mut bytes = Vec::new();
                let keys = ends[from].write_handshake(&mut bytes);
                if !bytes.is_empty() {
                    flights.push((from == 0, bytes.len()));
                    under_way.push_back((1 - from, bytes));
                } else if keys.is_none() {
                    return;
                }
            }
        };
    writes(&mut ends, 0, &mut under_way);
    while let Some((to, bytes)) = under_way.pop_front() {
        ends[to].read_handshake(&bytes).expect("a valid handshake");
        writes(&mut ends, to, &mut under_way);
    }
    for end in &ends {
        assert!(!end.is_handshaking());
        assert!(end.transport_parameters().unwrap().is_some());
    }
    flights
}

#[test]
fn the_handshake_has_the_lengths_of_tls() {
    let none: &[u8] = &[];
    let parameters = TransportParameters::read(Side::Server, &mut &*none).unwrap();
    let identity = Identity::generate().unwrap();
    let tls = flights(
        identity
            .pin()
            .client()
            .unwrap()
            .start_session(VERSION, SERVER_NAME, &parameters)
            .unwrap(),
        identity
            .server()
            .unwrap()
            .start_session(VERSION, &parameters),
    );
    let plain = flights(
        ClientConfig::start_session(&Plain, VERSION, SERVER_NAME, &parameters).unwrap(),
        ServerConfig::start_session(&Plain, VERSION, &parameters),
    );
    assert_eq!(plain, tls);
}

/// Time, path, direction and size of every datagram of ten seconds over two paths, of which one
/// is opened later and carries on when the other dies: enough packets for several updates of
/// the keys.
fn trace(security: impl Fn() -> Security) -> Vec<(Time, usize, bool, usize)> {
    let security = security();
    let mut joined = Joined::secured(7, &[20, 60], &security);
    joined.run_for(Duration::from_millis(500));
    joined.open(PathIndex(1), true).unwrap();
    for round in 0..200 {
        joined.client.write(0, &[1; 3_000]);
        joined.server.write(0, &[2; 9_000]);
        if round == 100 {
            joined.pipes[0].up = false;
            joined.close(PathIndex(0)).unwrap();
        }
        joined.run_for(Duration::from_millis(50));
        joined.drain_client(0);
    }
    joined.trace
}

#[test]
fn every_datagram_has_the_time_and_length_it_has_under_tls() {
    let plain = trace(|| Security::None);
    let tls = trace(|| Security::Tls(Identity::generate().unwrap()));
    assert!(plain.len() > 2_000, "{}", plain.len());
    let differs = plain.iter().zip(&tls).position(|(a, b)| a != b);
    assert_eq!(differs.map(|n| (n, plain[n], tls[n])), None);
    assert_eq!(plain.len(), tls.len());
}
