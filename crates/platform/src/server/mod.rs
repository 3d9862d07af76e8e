//! The test server: TCP, Multipath TCP, QUIC and multipath QUIC at once, every pattern's server half,
//! for whoever shows a token.

use crate::token::VerifyingKey;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// What `walkabout serve` is told.
#[derive(Clone, Debug)]
pub struct Config {
    /// The server's id, which tokens name.
    pub id: String,
    /// Where it listens: each address with each port, TCP and UDP.
    pub addresses: Vec<IpAddr>,
    /// The ports.
    pub ports: Vec<u16>,
    /// What tokens are signed with.
    pub token_key: VerifyingKey,
    /// Where certificate and key are (PEM); self-signed and kept in `state` when absent.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The folder for what has to survive a restart: the certificate, the tokens used.
    pub state: PathBuf,
    /// Where `GET /metrics` answers; nowhere when absent.
    pub metrics: Option<SocketAddr>,
    /// What it takes on.
    pub limits: Limits,
}

/// What a server takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections, idle ones included.
    pub connections: usize,
    /// Connections from one network prefix.
    pub connections_per_prefix: usize,
    /// Sessions under way.
    pub sessions: usize,
    /// Bytes waiting in user space to be sent, of one session.
    pub queued_bytes: usize,
    /// Seconds a connection may take to say its hello.
    pub hello_seconds: u32,
    /// Seconds a session may stay silent.
    pub silence_seconds: u32,
    /// Seconds a drain may take.
    pub drain_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4_096,
            connections_per_prefix: 1_024,
            sessions: 512,
            queued_bytes: 8 << 20,
            hello_seconds: 10,
            silence_seconds: 120,
            drain_seconds: 30,
        }
    }
}

/// Where a server ended up listening, and how it is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Each address and port, TCP and UDP.
    pub listening: Vec<SocketAddr>,
    /// SHA-256 of its certificate (DER), 64 hexadecimal digits.
    pub certificate_sha256: String,
    /// What it cannot offer on this machine, each with the reason.
    pub missing: Vec<String>,
}

/// Why the server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file.
    #[error("{}: {what}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Runs until `stop` resolves, then takes no new session and lets those under way end, at most for
/// [`Limits::drain_seconds`]. `ready` is told where it listens.
pub async fn run(
    config: Config,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServerError> {
    let _ = (config, ready, stop);
    todo!()
}
