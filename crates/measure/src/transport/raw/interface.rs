//! How do IP packets get past the host's own kernel, out of and into one interface?

use crate::emulator::device::PacketSocket;
use crate::netlink::route::{RouteError, Routing};
use model::Family;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// An interface whose packets of one family belong to a stack in user space: the kernel neither
/// takes nor answers what comes in (docs/decisions/0006-real-packets.md). It gets them back when
/// this is dropped.
#[derive(Debug)]
pub struct Interface {
    socket: PacketSocket,
    name: String,
    family: Family,
    /// Of the interface's namespace.
    routing: Routing,
}

impl Interface {
    /// Takes interface `index` of the calling thread's network namespace.
    ///
    /// # Errors
    /// No such interface, or no `CAP_NET_ADMIN` and `CAP_NET_RAW` over the namespace.
    pub fn take(index: u32, family: Family) -> Result<Interface, RouteError> {
        let mut routing = Routing::open()?;
        let link = routing.link_by_index(index)?;
        // A frame goes out to the interface's own hardware address, as the kernel's do on these
        // interfaces (`IFF_NOARP`): the other end's packet socket takes frames for anyone.
        let socket =
            PacketSocket::open(index, family, &link.address).map_err(|source| RouteError {
                task: format!("open a packet socket on the interface {}", link.name),
                source,
            })?;
        routing.shut_out(&link.name, family)?;
        Ok(Interface {
            socket,
            name: link.name,
            family,
            routing,
        })
    }

    /// As [`Interface::take`], the interface that has `address`.
    pub fn take_by_address(address: IpAddr) -> Result<Interface, RouteError> {
        let index = Routing::open()?.interface_of(address)?;
        Interface::take(index, Family::of(address))
    }

    /// The next packet that came in, copied to `packet`: its length, or `None` when none waits.
    pub fn receive(&mut self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        self.socket.recv(packet)
    }

    /// Sends packets in their order.
    ///
    /// # Errors
    /// What the system said of the first it refused (the interface is down or its queue full);
    /// those after it are sent all the same.
    pub fn send(&self, packets: &[&[u8]]) -> io::Result<()> {
        self.socket.send_all(packets)
    }

    /// Takes a pending error off the descriptor, which is ready for ever otherwise: an interface
    /// that goes down leaves one, and works again when it comes up.
    pub fn clear_error(&self) -> io::Result<()> {
        self.socket.clear_error()
    }

    /// Packets that came in and found no room, since the last call.
    pub fn lost(&mut self) -> io::Result<u64> {
        self.socket.lost()
    }

    /// Readable when a packet waits.
    pub fn fd(&self) -> RawFd {
        self.socket.as_fd().as_raw_fd()
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // Where the namespace is gone, so is the rule.
        let _ = self.routing.let_in(&self.name, self.family);
    }
}
