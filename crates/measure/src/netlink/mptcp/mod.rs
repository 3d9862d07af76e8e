//! How Multipath TCP's path manager is spoken to.
//!
//! Numbers are those of linux/mptcp.h and linux/mptcp_pm.h. Commands need `CAP_NET_ADMIN` in
//! the user namespace that owns the network namespace.

mod events;

pub use events::{EventKind, Events, Notification};

use super::Socket;
use super::generic::{self, Attributes, Family, Writer};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `MPTCP_PM_NAME`.
const FAMILY: &str = "mptcp_pm";
/// `MPTCP_PM_VER`.
const VERSION: u8 = 1;

const CMD_ADD_ADDR: u8 = 1;
const CMD_DEL_ADDR: u8 = 2;
const CMD_GET_ADDR: u8 = 3;
const CMD_FLUSH_ADDRS: u8 = 4;
const CMD_SET_LIMITS: u8 = 5;
const CMD_GET_LIMITS: u8 = 6;
const CMD_SET_FLAGS: u8 = 7;
const CMD_ANNOUNCE: u8 = 8;
const CMD_REMOVE: u8 = 9;
const CMD_SUBFLOW_CREATE: u8 = 10;
const CMD_SUBFLOW_DESTROY: u8 = 11;

const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;
const ATTR_TOKEN: u16 = 4;
const ATTR_LOC_ID: u16 = 5;
const ATTR_ADDR_REMOTE: u16 = 6;

const ADDR_FAMILY: u16 = 1;
const ADDR_ID: u16 = 2;
const ADDR_ADDR4: u16 = 3;
const ADDR_ADDR6: u16 = 4;
const ADDR_PORT: u16 = 5;
const ADDR_FLAGS: u16 = 6;
const ADDR_IF_IDX: u16 = 7;

/// What an endpoint is for: `MPTCP_PM_ADDR_FLAG_*`.
pub mod flag {
    /// Announced to the peer with ADD_ADDR.
    pub const SIGNAL: u32 = 1 << 0;
    /// Subflows are opened from it.
    pub const SUBFLOW: u32 = 1 << 1;
    /// Its subflows are backup.
    pub const BACKUP: u32 = 1 << 2;
    /// Subflows are opened to each address of the peer.
    pub const FULLMESH: u32 = 1 << 3;
}

/// A local address the path manager may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalAddress {
    /// Its address id within the connection (RFC 8684 section 3.2); 0 is the initial subflow's
    /// address, and for an endpoint lets the kernel choose.
    pub id: u8,
    /// The address.
    pub ip: IpAddr,
    /// The port, where it matters: announced addresses only.
    pub port: Option<u16>,
    /// [`flag`]s.
    pub flags: u32,
    /// The interface's index, 0 for any.
    pub interface: u32,
}

impl LocalAddress {
    fn write(&self, kind: u16, writer: Writer) -> Writer {
        writer.nested(kind, |w| {
            let w = write_ip(w, self.ip).attribute(ADDR_ID, &[self.id]);
            let w = w.attribute(ADDR_FLAGS, &self.flags.to_ne_bytes());
            let w = match self.port {
                Some(port) => w.attribute(ADDR_PORT, &port.to_ne_bytes()),
                None => w,
            };
            match self.interface {
                0 => w,
                index => w.attribute(ADDR_IF_IDX, &index.to_ne_bytes()),
            }
        })
    }

    fn parse(attributes: &Attributes<'_>) -> Option<LocalAddress> {
        let ip = match attributes.array::<4>(ADDR_ADDR4) {
            Some(bytes) => IpAddr::V4(Ipv4Addr::from(bytes)),
            None => IpAddr::V6(Ipv6Addr::from(attributes.array::<16>(ADDR_ADDR6)?)),
        };
        Some(LocalAddress {
            id: attributes.u8(ADDR_ID)?,
            ip,
            port: attributes.u16(ADDR_PORT).filter(|p| *p != 0),
            flags: attributes.u32(ADDR_FLAGS).unwrap_or(0),
            interface: attributes.u32(ADDR_IF_IDX).unwrap_or(0),
        })
    }
}

fn write_ip(writer: Writer, ip: IpAddr) -> Writer {
    let (family, kind, bytes) = match ip {
        IpAddr::V4(ip) => (libc::AF_INET, ADDR_ADDR4, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, ADDR_ADDR6, ip.octets().to_vec()),
    };
    writer
        .attribute(ADDR_FAMILY, &(family as u16).to_ne_bytes())
        .attribute(kind, &bytes)
}

fn write_socket_address(writer: Writer, kind: u16, address: SocketAddr) -> Writer {
    writer.nested(kind, |w| {
        // The port is in the machine's byte order here, unlike in events.
        write_ip(w, address.ip()).attribute(ADDR_PORT, &address.port().to_ne_bytes())
    })
}

/// How much the kernel's own path manager does: `ip mptcp limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Additional subflows of a connection, at most 8.
    pub subflows: u32,
    /// Announced addresses it opens subflows to, at most 8.
    pub add_addr_accepted: u32,
}

/// The commands to the path manager of the network namespace it was opened in.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    family: u16,
}

impl Control {
    /// Opens a socket in the calling thread's network namespace. `ENOENT`: this kernel has no
    /// MPTCP.
    pub fn open() -> io::Result<Control> {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC)?;
        let family = Family::resolve(&mut socket, FAMILY)?.id;
        Ok(Control { socket, family })
    }

    fn command(&self, command: u8) -> Writer {
        Writer::generic(self.family, 0, command, VERSION)
    }

    fn run(&mut self, writer: Writer) -> io::Result<()> {
        self.socket.request(&writer.finish()).map(drop)
    }

    /// Gives the kernel's own path manager an address. `EEXIST`: it has it already.
    pub fn add_endpoint(&mut self, address: &LocalAddress) -> io::Result<()> {
        let writer = self.command(CMD_ADD_ADDR);
        self.run(address.write(ATTR_ADDR, writer))
    }

    /// Takes an endpoint away: its subflows are closed and the peer is told (RM_ADDR).
    pub fn remove_endpoint(&mut self, id: u8) -> io::Result<()> {
        let writer = self.command(CMD_DEL_ADDR);
        self.run(writer.nested(ATTR_ADDR, |w| w.attribute(ADDR_ID, &[id])))
    }

    /// Changes an endpoint's flags: the peers of its subflows are told when it becomes backup or
    /// regular (MP_PRIO).
    pub fn change_endpoint(&mut self, address: &LocalAddress) -> io::Result<()> {
        let writer = self.command(CMD_SET_FLAGS);
        self.run(address.write(ATTR_ADDR, writer))
    }

    /// Takes every endpoint away.
    pub fn flush_endpoints(&mut self) -> io::Result<()> {
        let writer = self.command(CMD_FLUSH_ADDRS);
        self.run(writer)
    }

    /// The endpoints of the kernel's own path manager.
    pub fn endpoints(&mut self) -> io::Result<Vec<LocalAddress>> {
        let request = Writer::generic(self.family, generic::DUMP, CMD_GET_ADDR, VERSION);
        let answers = self.socket.request(&request.finish())?;
        let endpoints = answers.iter().filter_map(|answer| {
            let (_, attributes) = generic::parse(answer)?;
            LocalAddress::parse(&attributes.nested(ATTR_ADDR)?)
        });
        Ok(endpoints.collect())
    }

    /// Sets the limits of the kernel's own path manager.
    pub fn set_limits(&mut self, limits: Limits) -> io::Result<()> {
        let writer = self
            .command(CMD_SET_LIMITS)
            .attribute(ATTR_RCV_ADD_ADDRS, &limits.add_addr_accepted.to_ne_bytes())
            .attribute(ATTR_SUBFLOWS, &limits.subflows.to_ne_bytes());
        self.run(writer)
    }

    /// The limits of the kernel's own path manager.
    pub fn limits(&mut self) -> io::Result<Limits> {
        let request = self.command(CMD_GET_LIMITS).finish();
        let answers = self.socket.request(&request)?;
        let limits = answers.iter().find_map(|answer| {
            let (_, attributes) = generic::parse(answer)?;
            Some(Limits {
                subflows: attributes.u32(ATTR_SUBFLOWS)?,
                add_addr_accepted: attributes.u32(ATTR_RCV_ADD_ADDRS)?,
            })
        });
        limits.ok_or_else(|| {
            let text = "the kernel's answer about the MPTCP limits is incomplete";
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }

    /// Announces an address of the connection `token` to the peer (ADD_ADDR). Userspace path
    /// manager only; the flags must have [`flag::SIGNAL`] and the id must not be 0.
    pub fn announce(&mut self, token: u32, address: &LocalAddress) -> io::Result<()> {
        let writer = self.with_token(CMD_ANNOUNCE, token);
        self.run(address.write(ATTR_ADDR, writer))
    }

    /// Tells the peer that the address `id` of the connection is gone (RM_ADDR), which makes it
    /// drop its end of the subflows; this end's stay. Userspace path manager only. `EINVAL`: no
    /// such address, or no subflow uses it any more.
    pub fn remove(&mut self, token: u32, id: u8) -> io::Result<()> {
        let writer = self.with_token(CMD_REMOVE, token);
        self.run(writer.attribute(ATTR_LOC_ID, &[id]))
    }

    /// Opens a subflow from `local` (its port is not used) to `remote`. Userspace path manager
    /// only. `EINVAL`: the connection knows the address by another id, or the id by another
    /// address.
    pub fn create_subflow(
        &mut self,
        token: u32,
        local: &LocalAddress,
        remote: SocketAddr,
    ) -> io::Result<()> {
        let writer = local.write(ATTR_ADDR, self.with_token(CMD_SUBFLOW_CREATE, token));
        self.run(write_socket_address(writer, ATTR_ADDR_REMOTE, remote))
    }

    /// Closes this end of a subflow, and forgets its address's id. Userspace path manager only.
    /// `ESRCH`: no such subflow.
    pub fn destroy_subflow(
        &mut self,
        token: u32,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> io::Result<()> {
        let writer = self.with_token(CMD_SUBFLOW_DESTROY, token);
        let writer = write_socket_address(writer, ATTR_ADDR, local);
        self.run(write_socket_address(writer, ATTR_ADDR_REMOTE, remote))
    }

    /// Makes a subflow backup or regular and tells the peer (MP_PRIO, on that subflow).
    /// Userspace path manager only. `EINVAL`: no such subflow.
    pub fn set_backup(
        &mut self,
        token: u32,
        local: SocketAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> io::Result<()> {
        let flags = if backup { flag::BACKUP } else { 0 };
        let writer = self
            .with_token(CMD_SET_FLAGS, token)
            .nested(ATTR_ADDR, |w| {
                write_ip(w, local.ip())
                    .attribute(ADDR_PORT, &local.port().to_ne_bytes())
                    .attribute(ADDR_FLAGS, &flags.to_ne_bytes())
            });
        self.run(write_socket_address(writer, ATTR_ADDR_REMOTE, remote))
    }

    fn with_token(&self, command: u8, token: u32) -> Writer {
        self.command(command)
            .attribute(ATTR_TOKEN, &token.to_ne_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_address_reads_back() {
        let address = LocalAddress {
            id: 3,
            ip: IpAddr::from([10, 77, 2, 2]),
            port: Some(4711),
            flags: flag::SUBFLOW | flag::BACKUP,
            interface: 12,
        };
        let message = address.write(ATTR_ADDR, Writer::generic(0x20, 0, CMD_ADD_ADDR, VERSION));
        let message = message.finish();
        let (command, attributes) = generic::parse(&message).unwrap();
        assert_eq!(command, CMD_ADD_ADDR);
        let inner = attributes.nested(ATTR_ADDR).unwrap();
        assert_eq!(LocalAddress::parse(&inner), Some(address));
        assert_eq!(inner.u16(ADDR_FAMILY), Some(libc::AF_INET as u16));
    }
}
