//! What reaches the server? One handshake per transport, family and port, and the class of its failure.

use model::live::Reachability;
use std::net::SocketAddr;
use std::time::Duration;

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachTarget {
    /// `tcp`, `mptcp`, `quic` or `mpquic`.
    pub transport: String,
    /// The server's address and port.
    pub server: SocketAddr,
}

/// Tries each target once, all at once, for at most `timeout`; in the order given.
pub fn reach(
    targets: &[ReachTarget],
    certificate_sha256: [u8; 32],
    timeout: Duration,
) -> Vec<Reachability> {
    let _ = (targets, certificate_sha256, timeout);
    todo!()
}
