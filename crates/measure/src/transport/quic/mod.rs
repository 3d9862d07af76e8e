//! How do QUIC and multipath QUIC (RFC 10069) carry the traffic? Over `noq-proto`: a core
//! without sockets or clocks ([`core`]), and a thin driver with UDP sockets ([`udp`]).
//!
//! The virtual world drives [`Core`] with link models in place of sockets; both worlds share
//! everything else. docs/decisions/0003-noq-paths.md says how noq treats its paths and what
//! follows for path managers.
//!
//! Plain `quic` does not negotiate multipath and never migrates: it stays on path 0, so that
//! it stalls when path 0 dies. That stall is what it is measured for.

mod action;
mod channel;
pub mod config;
pub mod controller;
pub mod core;
mod drive;
pub mod identity;
mod observe;
mod packets;
mod path;
mod plain;
mod settings;
mod socket;
pub mod udp;

#[cfg(test)]
mod tests;

pub use self::config::{CoreConfig, PathAddress, QuicError, Security};
pub use self::controller::Congestion;
pub use self::core::{Core, Transmit};
pub use self::identity::{Identity, Pin};
pub use self::packets::Packets;
pub use self::settings::transport as transport_parameters;
pub use self::udp::{Client, ClientConfig, Server, ServerConfig};

/// The version of noq-proto that Cargo.lock pins; a test compares the two.
pub const NOQ_VERSION: &str = "1.4.0";
