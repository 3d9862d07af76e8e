//! What is settled before the first run: which server, over what, and what reaches it?

use super::Test;
use super::paths::{self, TestPath};
use super::ping::{self, Pinged, Wanted, words};
use crate::failure::Failure;
use measure::transport::LocalPath;
use measure::world::live::{ReachTarget, reach};
use model::Family;
use model::live::{Outcome, Reachability};
use platform::api::{Metadata, Server};
use std::net::SocketAddr;
use std::time::Duration;

/// The transports whose way to the server is tried.
const TRIED: [&str; 4] = ["tcp", "mptcp", "quic", "mpquic"];
/// How long a handshake may take: three times what a slow cellular network needs.
const HANDSHAKE: Duration = Duration::from_secs(4);

/// The test's server, and the way there.
pub struct Setting<'m> {
    /// The server.
    pub server: &'m Server,
    /// Its address and port.
    pub address: SocketAddr,
    /// SHA-256 of its certificate.
    pub certificate: [u8; 32],
    /// What came of asking the servers.
    pub pinged: Vec<Pinged>,
    /// The paths of this family, the first one first.
    pub local: Vec<LocalPath>,
    /// What reached the server.
    pub reachability: Vec<Reachability>,
    /// Pitfalls, a sentence each.
    pub traps: Vec<String>,
}

impl<'m> Setting<'m> {
    /// Asks the servers, takes the nearest, and tries what reaches it. The first packets to any server
    /// are sent here.
    pub fn find(
        test: &Test,
        metadata: &'m Metadata,
        paths: &[TestPath],
    ) -> Result<Setting<'m>, Failure> {
        let wanted = Wanted {
            server: test.server.as_deref(),
            family: test.family,
            port: test.port,
        };
        let pinged = ping::ask(&metadata.servers, paths, &wanted)?;
        let chosen = ping::nearest(&pinged, paths)?;
        let (address, family) = (chosen.address, chosen.family);
        let server = metadata.servers.iter().find(|s| s.id == chosen.server);
        let server = server.ok_or_else(|| Failure::failed("the server is gone"))?;
        let certificate = platform::token::unhex(&server.certificate_sha256).ok_or_else(|| {
            Failure::failed(format!(
                "the collector's metadata is wrong: the certificate of `{}` is no SHA-256",
                server.id
            ))
        })?;
        let reachability = tried(server, certificate);
        let offered: Vec<Family> = Family::ALL
            .into_iter()
            .filter(|f| server.addresses.iter().any(|a| Family::of(*a) == *f))
            .collect();
        let mut traps = paths::traps(paths, &offered, family);
        traps.extend(unreached(&reachability));
        Ok(Setting {
            server,
            address,
            certificate,
            pinged,
            local: paths.iter().filter_map(|path| path.local(family)).collect(),
            reachability,
            traps,
        })
    }

    /// Over which version of the internet protocol.
    pub fn family(&self) -> Family {
        Family::of(self.address.ip())
    }

    /// For people: the servers' delays, the choice, and what does not reach it.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.pinged.iter().map(Pinged::line).collect();
        let family = words(self.family());
        let Setting {
            server, address, ..
        } = self;
        let (id, place) = (&server.id, &server.place);
        lines.push(format!(
            "server {id} ({place}) over {family}, port {}",
            address.port()
        ));
        let offered = self.reachability.iter();
        let offered = offered.filter(|r| r.outcome != Outcome::NotOffered);
        let all = offered.clone().count();
        let reached = offered.filter(|r| r.outcome == Outcome::Reached).count();
        lines.push(format!(
            "{reached} of {all} ways (transport, family, port) reach it"
        ));
        lines.extend(self.traps.iter().map(|trap| format!("! {trap}")));
        lines
    }
}

impl Pinged {
    fn line(&self) -> String {
        let family = words(self.family);
        let what = match (self.median_us, &self.error) {
            (Some(median), _) => format!("{:.2} ms", median as f64 / 1e3),
            (None, Some(error)) => error.clone(),
            (None, None) => "no answer".to_owned(),
        };
        let (server, answered, asked) = (&self.server, self.answered, self.asked);
        format!("ping {server} over {family}: {answered}/{asked}, {what}")
    }
}

/// One handshake per transport, family and port; a family the server has no address of is not offered.
fn tried(server: &Server, certificate: [u8; 32]) -> Vec<Reachability> {
    let mut targets = Vec::new();
    let mut missing = Vec::new();
    for family in Family::ALL {
        let address = server.addresses.iter().find(|a| Family::of(**a) == family);
        for port in &server.ports {
            for transport in TRIED {
                let transport = transport.to_owned();
                match address {
                    Some(address) => targets.push(ReachTarget {
                        transport,
                        server: SocketAddr::new(*address, *port),
                    }),
                    None => missing.push(Reachability {
                        transport,
                        family,
                        port: *port,
                        outcome: Outcome::NotOffered,
                        handshake_us: None,
                    }),
                }
            }
        }
    }
    let mut all = reach(&targets, certificate, HANDSHAKE);
    all.extend(missing);
    all
}

/// What does not reach the server although it has the address, a sentence per family and outcome.
fn unreached(reachability: &[Reachability]) -> Vec<String> {
    let mut groups: Vec<(Family, Outcome, Vec<String>)> = Vec::new();
    for one in reachability {
        let fine = matches!(one.outcome, Outcome::Reached | Outcome::NotOffered);
        if fine {
            continue;
        }
        let what = format!("{} at port {}", one.transport, one.port);
        let same = |g: &&mut (Family, Outcome, _)| g.0 == one.family && g.1 == one.outcome;
        match groups.iter_mut().find(same) {
            Some((_, _, list)) => list.push(what),
            None => groups.push((one.family, one.outcome, vec![what])),
        }
    }
    let sentence = |(family, outcome, list): (Family, Outcome, Vec<String>)| {
        let why = match outcome {
            Outcome::HandshakeTimeout => {
                "no answer to the handshake: something on the way drops it"
            }
            Outcome::NoRoute => "this machine has no route",
            Outcome::Refused => "the server's host refuses it",
            Outcome::FellBack => "multipath was not agreed on, so these use one path",
            Outcome::Failed | Outcome::Reached | Outcome::NotOffered => "the handshake failed",
        };
        let family = words(family);
        format!(
            "Over {family} the server is not reached by {}: {why}.",
            list.join(", ")
        )
    };
    groups.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_reach_the_server_is_told_by_cause() {
        let one = |transport: &str, family, port, outcome| Reachability {
            transport: transport.to_owned(),
            family,
            port,
            outcome,
            handshake_us: None,
        };
        let all = [
            one("tcp", Family::Ipv4, 443, Outcome::Reached),
            one("quic", Family::Ipv4, 443, Outcome::HandshakeTimeout),
            one("mpquic", Family::Ipv4, 443, Outcome::HandshakeTimeout),
            one("quic", Family::Ipv4, 6121, Outcome::Refused),
            one("tcp", Family::Ipv6, 443, Outcome::NotOffered),
        ];
        insta::assert_snapshot!(unreached(&all).join("\n"), @r"
        Over IPv4 the server is not reached by quic at port 443, mpquic at port 443: no answer to the handshake: something on the way drops it.
        Over IPv4 the server is not reached by quic at port 6121: the server's host refuses it.
        ");
    }
}
