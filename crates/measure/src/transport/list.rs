//! The list of transports.

use super::{Endpoint, LocalPath, kernel, quic};
use crate::Clock;
use model::{Name, Seed};
use std::net::{IpAddr, SocketAddr};

/// An entry of the list.
pub struct Entry {
    /// The name in scenarios, on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it is.
    pub summary: &'static str,
    /// Whether it uses several paths, and so runs under each policy.
    pub multipath: bool,
    /// Makes the client's end in the calling thread's network namespace.
    pub connect: fn(&ClientSetup<'_>) -> Result<Box<dyn Endpoint>, String>,
    /// Makes the server's end in the calling thread's network namespace.
    pub listen: fn(&ServerSetup<'_>) -> Result<Box<dyn Endpoint>, String>,
}

/// What a client needs to connect.
pub struct ClientSetup<'a> {
    /// The run's clock.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
    /// Where the server listens.
    pub server: SocketAddr,
    /// The host's paths; the connection starts on the first.
    pub paths: &'a [LocalPath],
    /// How many channels the pattern needs.
    pub channels: usize,
    /// The congestion controller; the stack's default when absent.
    pub congestion: Option<&'a str>,
    /// The path manager the connection runs under.
    pub policy: &'a policy::list::Entry,
    /// The server's certificate.
    pub identity: &'a quic::Identity,
}

/// What a server needs to listen.
pub struct ServerSetup<'a> {
    /// The run's clock.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
    /// Where to listen.
    pub address: SocketAddr,
    /// The client's addresses and the names of their paths.
    pub client_paths: &'a [(Name, IpAddr)],
    /// The congestion controller; the stack's default when absent.
    pub congestion: Option<&'a str>,
    /// The server's certificate and key.
    pub identity: &'a quic::Identity,
}

/// Every transport, sorted by name.
pub const TRANSPORTS: &[Entry] = &[
    Entry {
        name: "mptcp",
        summary: "Multipath TCP of the Linux kernel",
        multipath: true,
        connect: kernel::connect_mptcp,
        listen: kernel::listen_mptcp,
    },
    Entry {
        name: "mpquic",
        summary: "multipath QUIC of noq",
        multipath: true,
        connect: quic::connect_mpquic,
        listen: quic::listen_mpquic,
    },
    Entry {
        name: "quic",
        summary: "QUIC of noq on the first path",
        multipath: false,
        connect: quic::connect_quic,
        listen: quic::listen_quic,
    },
    Entry {
        name: "tcp",
        summary: "TCP of the Linux kernel on the first path",
        multipath: false,
        connect: kernel::connect_tcp,
        listen: kernel::listen_tcp,
    },
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    TRANSPORTS.iter().find(|e| e.name == name)
}
