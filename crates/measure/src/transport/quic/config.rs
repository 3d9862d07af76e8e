//! What is a core made from, and why could it not be made?

use super::controller::{Congestion, UnknownCongestion};
use super::identity::{Identity, IdentityError, Pin};
use model::{Name, Seed};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// A path as both ends know it: its name and the client's address on it.
#[derive(Clone, Debug)]
pub struct PathAddress {
    /// The scenario's name.
    pub name: Name,
    /// The client's address.
    pub client: IpAddr,
}

/// What a core is made from.
#[derive(Clone)]
pub struct CoreConfig {
    /// The instant of [`model::Time::ZERO`]; any instant will do in virtual time.
    pub base: Instant,
    /// The run's seed.
    pub seed: Seed,
    /// Whether to negotiate multipath (RFC 10069).
    pub multipath: bool,
    /// The congestion controller of each path.
    pub congestion: Congestion,
    /// The paths in the scenario's order; a connection starts on the first.
    pub paths: Vec<PathAddress>,
    /// Pings on regular paths after this much silence; backups stay silent. An end that only
    /// receives has nothing in flight, and notices a dead path by a ping only.
    pub keep_alive: Option<Duration>,
    /// How the two ends come to trust each other.
    pub security: Security,
}

/// How packets are protected.
#[derive(Clone)]
pub enum Security {
    /// By TLS 1.3. The server holds the key of this certificate, the client accepts no other.
    Tls(Identity),
    /// By TLS 1.3, at a client that knows the hash of the server's certificate.
    Pinned(Pin),
    /// Not at all, where no packet leaves the process: the same flights and lengths, no
    /// cryptography, and the same seed gives the same bytes.
    None,
}

impl Security {
    /// As in the manifest.
    pub fn as_str(&self) -> &'static str {
        match self {
            Security::Tls(_) | Security::Pinned(_) => "TLS 1.3",
            Security::None => "none",
        }
    }
}

/// Why an end could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum QuicError {
    /// No certificate.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// noq refused to connect.
    #[error("no QUIC connection to {server} can be started: {source}")]
    Connect {
        /// The server's address.
        server: SocketAddr,
        /// noq's reason.
        source: noq_proto::ConnectError,
    },
    /// A scenario without paths.
    #[error("QUIC needs at least one path; the scenario lists none")]
    NoPath,
    /// A congestion controller that never runs twice alike.
    #[error(
        "noq's bbr draws from the system's randomness and cannot be repeated, as virtual time \
         promises: set `congestion` to cubic or reno, or run it with --world emulated"
    )]
    NotRepeatable,
    /// A congestion controller noq does not have.
    #[error(transparent)]
    Congestion(#[from] UnknownCongestion),
    /// A socket could not be made.
    #[error("no UDP socket at {address}: {source}")]
    Socket {
        /// The address it was to be bound to.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}
