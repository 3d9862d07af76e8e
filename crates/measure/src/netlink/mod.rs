//! How the program speaks netlink: links, addresses, routes and rules, and Multipath TCP's
//! path manager.

mod address;
pub mod generic;
pub mod mptcp;
pub mod route;
mod rule;
pub mod socket;
pub(crate) mod sockets;
mod unprivileged;

pub use socket::Socket;
