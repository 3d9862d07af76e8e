//! What the kernel tells about Multipath TCP connections and subflows as it happens.
//!
//! Numbers are those of linux/mptcp.h and linux/mptcp_pm.h.

use super::FAMILY;
use crate::netlink::Socket;
use crate::netlink::generic::{self, Family};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

/// `MPTCP_PM_EV_GRP_NAME`.
const GROUP: &str = "mptcp_pm_events";

/// What happened to a connection: `enum mptcp_event_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A connection exists.
    Created,
    /// A connection may open further subflows.
    Established,
    /// A connection is gone.
    Closed,
    /// The peer announced an address.
    Announced,
    /// The peer took an address back.
    Removed,
    /// A further subflow exists.
    SubflowEstablished,
    /// A subflow is gone.
    SubflowClosed,
    /// The peer changed a subflow's priority.
    SubflowPriority,
}

impl EventKind {
    fn from_number(number: u8) -> Option<EventKind> {
        Some(match number {
            1 => EventKind::Created,
            2 => EventKind::Established,
            3 => EventKind::Closed,
            6 => EventKind::Announced,
            7 => EventKind::Removed,
            10 => EventKind::SubflowEstablished,
            11 => EventKind::SubflowClosed,
            13 => EventKind::SubflowPriority,
            _ => return None,
        })
    }
}

const EV_TOKEN: u16 = 1;
const EV_LOC_ID: u16 = 3;
const EV_REM_ID: u16 = 4;
const EV_SADDR4: u16 = 5;
const EV_SADDR6: u16 = 6;
const EV_DADDR4: u16 = 7;
const EV_DADDR6: u16 = 8;
const EV_SPORT: u16 = 9;
const EV_DPORT: u16 = 10;
const EV_BACKUP: u16 = 11;
const EV_ERROR: u16 = 12;
const EV_RESET_REASON: u16 = 16;

/// One notification of the group `mptcp_pm_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// What happened.
    pub kind: EventKind,
    /// The connection's local token.
    pub token: u32,
    /// The local address's id.
    pub local_id: Option<u8>,
    /// The remote address's id.
    pub remote_id: Option<u8>,
    /// The local address.
    pub local: Option<SocketAddr>,
    /// The remote address.
    pub remote: Option<SocketAddr>,
    /// Whether the peer wants the subflow as backup.
    pub backup: Option<bool>,
    /// The socket error (errno) the subflow ended with.
    pub error: Option<u8>,
    /// The reason in the peer's MP_TCPRST (RFC 8684 section 3.6).
    pub reset_reason: Option<u32>,
}

impl Notification {
    fn parse(message: &[u8]) -> Option<Notification> {
        let (command, attributes) = generic::parse(message)?;
        let address = |v4: u16, v6: u16, port: u16| {
            let ip = match attributes.array::<4>(v4) {
                Some(bytes) => IpAddr::V4(Ipv4Addr::from(bytes)),
                None => IpAddr::V6(Ipv6Addr::from(attributes.array::<16>(v6)?)),
            };
            let port = attributes.array::<2>(port).map_or(0, u16::from_be_bytes);
            // A socket of IPv6 that carries IPv4 has mapped addresses.
            Some(SocketAddr::new(ip.to_canonical(), port))
        };
        Some(Notification {
            kind: EventKind::from_number(command)?,
            token: attributes.u32(EV_TOKEN)?,
            local_id: attributes.u8(EV_LOC_ID),
            remote_id: attributes.u8(EV_REM_ID),
            local: address(EV_SADDR4, EV_SADDR6, EV_SPORT),
            remote: address(EV_DADDR4, EV_DADDR6, EV_DPORT),
            backup: attributes.u8(EV_BACKUP).map(|b| b != 0),
            error: attributes.u8(EV_ERROR),
            reset_reason: attributes.u32(EV_RESET_REASON),
        })
    }
}

/// The notifications of the network namespace it was opened in.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
}

impl Events {
    /// Joins the group. `EPERM` without `CAP_NET_ADMIN`.
    pub fn subscribe() -> io::Result<Events> {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC)?;
        let family = Family::resolve(&mut socket, FAMILY)?;
        let group = family.group(GROUP).ok_or_else(|| {
            let text = "this kernel's MPTCP has no event group (Linux 5.12 and later have)";
            io::Error::new(io::ErrorKind::Unsupported, text)
        })?;
        socket.join_group(group)?;
        Ok(Events {
            socket,
            family: family.id,
        })
    }

    /// The notifications since the last call; never waits. `ENOBUFS`: some were lost.
    pub fn drain(&mut self) -> io::Result<Vec<Notification>> {
        let messages = self.socket.recv_events(true)?;
        let ours = messages
            .iter()
            .filter(|m| generic::kind(m) == Some(self.family));
        Ok(ours.filter_map(|m| Notification::parse(m)).collect())
    }

    /// The descriptor to wait for.
    pub fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::generic::Writer;

    #[test]
    fn a_notification_is_read() {
        let message = Writer::generic(0x20, 0, 11, 1)
            .attribute(EV_TOKEN, &0xdead_beef_u32.to_ne_bytes())
            .attribute(EV_LOC_ID, &[2])
            .attribute(EV_REM_ID, &[0])
            .attribute(EV_SADDR4, &[10, 77, 2, 2])
            .attribute(EV_DADDR4, &[10, 77, 0, 1])
            .attribute(EV_SPORT, &4711u16.to_be_bytes())
            .attribute(EV_DPORT, &80u16.to_be_bytes())
            .attribute(EV_BACKUP, &[1])
            .attribute(EV_ERROR, &[104])
            .finish();
        let read = Notification::parse(&message).unwrap();
        assert_eq!(read.kind, EventKind::SubflowClosed);
        assert_eq!(read.token, 0xdead_beef);
        assert_eq!(read.local, Some(SocketAddr::from(([10, 77, 2, 2], 4711))));
        assert_eq!(read.remote, Some(SocketAddr::from(([10, 77, 0, 1], 80))));
        assert_eq!((read.local_id, read.remote_id), (Some(2), Some(0)));
        assert_eq!((read.backup, read.error), (Some(true), Some(104)));
        assert_eq!(read.reset_reason, None);
        for end in 0..message.len() {
            let _ = Notification::parse(&message[..end]);
        }
    }
}
