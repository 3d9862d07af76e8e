//! What does the oracle need of a kernel? The seam behind which tests put another one.

use crate::netlink::mptcp::{LocalAddress, Notification};
use crate::netlink::sockets::{Connection, Subflow};
use model::PathKind;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// An interface that may be a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What it is; `None` for what one does not walk with, such as bridges and tunnels.
    pub kind: Option<PathKind>,
    /// Whether it is up and has a carrier.
    pub running: bool,
    /// Its addresses of global scope, the preferred first.
    pub addresses: Vec<IpAddr>,
    /// The lowest metric of its default routes; `None` without any.
    pub metric: Option<u32>,
}

/// Every Multipath TCP connection of a host, and what can be done about it.
pub trait Kernel {
    /// Every subflow, in place of what was in `seen`.
    fn subflows(&mut self, seen: &mut Vec<Subflow>) -> io::Result<()>;

    /// Every connection, in place of what was in `seen`.
    fn connections(&mut self, seen: &mut Vec<Connection>) -> io::Result<()>;

    /// The interfaces as they are now.
    fn interfaces(&mut self) -> io::Result<Vec<Interface>>;

    /// What happened to connections since the last call is added to `told`; an error says that
    /// some of it was lost.
    fn told(&mut self, told: &mut Vec<Notification>) -> io::Result<()>;

    /// Whether interfaces, addresses or routes have changed since the last call.
    fn interfaces_changed(&mut self) -> bool;

    /// Opens a subflow of the connection `token`.
    fn create(&mut self, token: u32, local: &LocalAddress, remote: SocketAddr) -> io::Result<()>;

    /// Closes this end of a subflow.
    fn destroy(&mut self, token: u32, local: SocketAddr, remote: SocketAddr) -> io::Result<()>;

    /// Tells the peer that an address is gone.
    fn remove(&mut self, token: u32, id: u8) -> io::Result<()>;

    /// Makes a subflow backup or regular, and tells the peer.
    fn set_backup(
        &mut self,
        token: u32,
        local: SocketAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> io::Result<()>;
}
