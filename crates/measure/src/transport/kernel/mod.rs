//! How the kernel's own TCP and Multipath TCP carry the channels.
//!
//! Each channel is a connection of its own. Nothing here ever waits: what a socket cannot take
//! stays in a buffer in user space. The send buffer is left to the kernel's autotuning and
//! `TCP_NOTSENT_LOWAT` is left unset, as ordinary applications leave both: a channel is one
//! byte stream, so a shallower queue in the kernel would not let a later message overtake an
//! earlier one, and what waits unsent is recorded on either side of the socket.
//!
//! What was found about the kernel's path managers is in docs/decisions/0002-kernel-mptcp.md.

mod channel;
mod client;
mod connections;
pub(crate) mod info;
mod kept;
mod notices;
pub(crate) mod observe;
mod paths;
mod server;
mod socket;
pub(crate) mod sysctl;
pub(crate) mod ulp;
mod watch;

pub use client::Client;
pub(crate) use kept::KeptSettings;
pub use server::{Server, prepare_namespace};
pub use socket::{IPPROTO_MPTCP, congestion, is_mptcp};
pub(crate) use socket::{Local, start};
pub use watch::{ClientPaths, Watch};

use super::{Binding, LocalPath};
use crate::Clock;
use model::Name;
use model::manifest::Stack;
use policy::list::KernelManaged;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

/// Which of the kernel's transports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// Multipath TCP v1 (RFC 8684).
    Mptcp,
}

/// Who opens and closes the client's subflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathManagement {
    /// The kernel, from these endpoints.
    Kernel(KernelManaged),
    /// A path manager of ours, through [`super::Endpoint::apply`].
    Userspace,
}

/// What a client is to do.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Which transport.
    pub protocol: Protocol,
    /// The server.
    pub server: SocketAddr,
    /// The host's paths in the scenario's order; connections start from the first.
    pub paths: Vec<LocalPath>,
    /// How many channels, each a connection.
    pub channels: usize,
    /// The congestion controller's name for TCP_CONGESTION; `None` for the system's default.
    pub congestion: Option<String>,
    /// Who manages MPTCP's paths; without effect on TCP.
    pub management: PathManagement,
    /// The run's clock.
    pub clock: Clock,
    /// What keeps a path's packets on its interface.
    pub binding: Binding,
}

/// What a server is to do.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Which transport. A [`Protocol::Mptcp`] server serves TCP clients as well.
    pub protocol: Protocol,
    /// Where to listen; port 0 lets the kernel choose.
    pub address: SocketAddr,
    /// The client's paths in the scenario's order: its address on each, which tells the
    /// subflows apart, and the name for the records.
    pub paths: Vec<(IpAddr, Name)>,
    /// The congestion controller's name for TCP_CONGESTION; `None` for the system's default.
    pub congestion: Option<String>,
    /// Whether the subflow that the client used last is to carry what the server sends: the
    /// kernel's scheduler does not do that by itself, so [`crate::oracle`]'s follower makes the
    /// others backup, and the namespace's connections are in the hands of this process.
    pub follow: bool,
    /// The run's clock.
    pub clock: Clock,
}

/// Why a kernel transport could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Nothing to connect from.
    #[error("a client needs at least one path and one channel; give it both")]
    Empty,
    /// The kernel refused a socket.
    #[error(
        "no {protocol:?} socket: {source}; Multipath TCP needs a kernel with CONFIG_MPTCP and sysctl net.mptcp.enabled=1"
    )]
    Socket {
        /// Which transport.
        protocol: Protocol,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The address cannot be used.
    #[error("cannot bind to {address}: {source}; is it assigned to an interface that is up?")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The connection cannot even be tried.
    #[error("cannot connect{from} to {server}: {source}")]
    Connect {
        /// From where, with the word in front; empty where the host chooses.
        from: String,
        /// To.
        server: SocketAddr,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The congestion controller cannot be used.
    #[error("congestion controller `{name}` refused: {source}; this kernel has: {available}")]
    Congestion {
        /// Its name.
        name: String,
        /// What the kernel has.
        available: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A socket option failed.
    #[error("socket option {option} failed: {source}")]
    Option {
        /// Which.
        option: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A sysctl cannot be written.
    #[error(
        "cannot set sysctl {name} to `{value}`: {source}; it takes CAP_NET_ADMIN in the user namespace of this network namespace, and a writable /proc/sys"
    )]
    Sysctl {
        /// Which.
        name: String,
        /// To what.
        value: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The path manager refused a command.
    #[error(
        "MPTCP path manager: {what}: {source}; it takes CAP_NET_ADMIN in the user namespace of this network namespace"
    )]
    PathManager {
        /// What was asked.
        what: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// Why a client could not be set up.
pub type ConnectError = SetupError;
/// Why a server could not be set up.
pub type ListenError = SetupError;

/// Whether a connection that is open speaks Multipath TCP, and has not fallen back to TCP.
pub(crate) fn is_multipath(fd: RawFd) -> io::Result<bool> {
    Ok(info::mptcp(fd)?.is_some())
}

/// The kernel as a stack; TCP's path manager is `none`.
pub fn stack(congestion: String, path_manager: &str) -> Stack {
    let version = nix::sys::utsname::uname()
        .map(|u| u.release().to_string_lossy().into_owned())
        .unwrap_or_else(|_| "unknown".to_owned());
    let scheduler = match path_manager {
        "none" => "none".to_owned(),
        _ => sysctl::read("net.mptcp.scheduler").unwrap_or_else(|| "default".to_owned()),
    };
    Stack {
        name: "linux".to_owned(),
        version,
        congestion,
        path_manager: path_manager.to_owned(),
        scheduler,
        server_scheduler: None,
        security: None,
    }
}
