//! What reaches a server, and the class of what does not.

use crate::hosts::{DESKTOP_BOTH, Hosts, inside, ip};
use crate::server::{Records, Server};
use model::Family;
use model::live::Outcome;
use std::net::UdpSocket;
use std::time::Duration;
use walkabout_measure::world::live::{ReachTarget, reach};

#[test]
fn each_failure_has_its_class() {
    inside("reach::each_failure_has_its_class", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let server = Server::honest(&ground);
        let _v6 = Server::start(
            &ground,
            "[fd77::1]:443",
            &["mptcp", "mpquic"],
            Records::Honest,
        );
        // A server without multipath, and a port that takes datagrams and never answers.
        let plain = Server::start(&ground, "10.77.0.1:6121", &["tcp", "quic"], Records::Honest);
        let _silent = ground.at_server(|| UdpSocket::bind("10.77.0.1:5555").unwrap());
        ip("route add unreachable 203.0.113.0/24");
        ip("-6 route add unreachable 2001:db8::/32");
        let table = [
            ("tcp", "10.77.0.1:443", Outcome::Reached),
            ("mptcp", "10.77.0.1:443", Outcome::Reached),
            ("quic", "10.77.0.1:443", Outcome::Reached),
            ("mpquic", "10.77.0.1:443", Outcome::Reached),
            ("tcp", "[fd77::1]:443", Outcome::Reached),
            ("mptcp", "[fd77::1]:443", Outcome::Reached),
            ("tcp", "10.77.0.1:6121", Outcome::Reached),
            ("mptcp", "10.77.0.1:6121", Outcome::FellBack),
            // Nobody listens.
            ("tcp", "10.77.0.1:9", Outcome::Refused),
            ("mptcp", "10.77.0.1:9", Outcome::Refused),
            ("quic", "10.77.0.1:9", Outcome::Refused),
            ("mpquic", "10.77.0.1:9", Outcome::Refused),
            ("quic", "[fd77::1]:9", Outcome::Refused),
            // Silence: a port that does not answer, and a host that is not there.
            ("quic", "10.77.0.1:5555", Outcome::HandshakeTimeout),
            ("mpquic", "10.77.0.1:5555", Outcome::HandshakeTimeout),
            ("tcp", "10.77.9.9:443", Outcome::HandshakeTimeout),
            ("quic", "10.77.9.9:443", Outcome::HandshakeTimeout),
            // No way there.
            ("tcp", "203.0.113.1:443", Outcome::NoRoute),
            ("mptcp", "203.0.113.1:443", Outcome::NoRoute),
            ("quic", "203.0.113.1:443", Outcome::NoRoute),
            ("tcp", "[2001:db8::1]:443", Outcome::NoRoute),
            ("mpquic", "[2001:db8::1]:443", Outcome::NoRoute),
            ("sctp", "10.77.0.1:443", Outcome::Failed),
        ];
        let target = |(transport, server): (&str, &str)| ReachTarget {
            transport: transport.to_owned(),
            server: server.parse().unwrap(),
        };
        let targets: Vec<ReachTarget> = table.iter().map(|(t, s, _)| target((t, s))).collect();
        let found = reach(&targets, server.pin, Duration::from_secs(3));
        for ((transport, address, expected), found) in table.iter().zip(&found) {
            assert_eq!(found.outcome, *expected, "{transport} to {address}");
            let completed = matches!(expected, Outcome::Reached | Outcome::FellBack);
            assert_eq!(found.handshake_us.is_some(), completed);
            assert_eq!(found.transport, *transport);
            assert_eq!(found.family == Family::Ipv6, address.starts_with('['));
        }

        let found = reach(
            &[
                target(("mpquic", "10.77.0.1:6121")),
                target(("quic", "10.77.0.1:6121")),
            ],
            plain.pin,
            Duration::from_secs(3),
        );
        assert_eq!(found[0].outcome, Outcome::FellBack);
        assert_eq!(found[1].outcome, Outcome::Reached);
        // Another's certificate.
        let found = reach(&targets[2..4], [7; 32], Duration::from_secs(3));
        assert!(
            found.iter().all(|f| f.outcome == Outcome::Failed),
            "{found:?}"
        );
        assert!(found.iter().all(|f| f.handshake_us.is_none()));
    });
}
