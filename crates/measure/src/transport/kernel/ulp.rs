//! What the kernel tells about a subflow's role: backup flags, address ids, how far it is.
//!
//! None of it is in MPTCP_FULL_INFO; sock_diag(7) has it as the upper-layer protocol's info of
//! the subflow's TCP socket (linux/inet_diag.h, linux/mptcp.h).

use crate::netlink::Socket;
use crate::netlink::generic::{Attributes, Writer};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// `SOCK_DIAG_BY_FAMILY`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Length of `struct inet_diag_msg`.
const DIAG_MESSAGE: usize = 72;
/// Asked for because without it the upper-layer protocol's info does not come either.
const INET_DIAG_INFO: u8 = 2;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_ULP_INFO_MPTCP: u16 = 3;
const MPTCP_SUBFLOW_ATTR_FLAGS: u16 = 8;
const MPTCP_SUBFLOW_ATTR_ID_REM: u16 = 9;
const MPTCP_SUBFLOW_ATTR_ID_LOC: u16 = 10;

const FLAG_MCAP_LOC: u32 = 1 << 1;
const FLAG_JOIN_LOC: u32 = 1 << 3;
const FLAG_BACKUP_REM: u32 = 1 << 4;
const FLAG_BACKUP_LOC: u32 = 1 << 5;
const FLAG_FULLY_ESTABLISHED: u32 = 1 << 6;

/// A subflow's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    flags: u32,
    /// The local address's id.
    pub local_id: u8,
    /// The remote address's id.
    pub remote_id: u8,
}

impl Role {
    /// Whether this side wants it used only when no other works.
    pub fn backup(&self) -> bool {
        self.flags & FLAG_BACKUP_LOC != 0
    }

    /// Whether the peer asked for that.
    pub fn peer_backup(&self) -> bool {
        self.flags & FLAG_BACKUP_REM != 0
    }

    /// Whether this side opened it: the client's of a connection, initial or joined.
    pub fn opened_here(&self) -> bool {
        self.flags & (FLAG_MCAP_LOC | FLAG_JOIN_LOC) != 0
    }

    /// Whether this side joined it and waits for the fourth acknowledgement, before which it
    /// may not send data (RFC 8684 section 3.2).
    pub fn joining(&self) -> bool {
        self.flags & FLAG_JOIN_LOC != 0 && self.flags & FLAG_FULLY_ESTABLISHED == 0
    }
}

/// Asks sock_diag about subflows.
#[derive(Debug)]
pub struct Diagnosis {
    socket: Socket,
}

impl Diagnosis {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> io::Result<Diagnosis> {
        let socket = Socket::open(netlink_sys::protocols::NETLINK_SOCK_DIAG)?;
        Ok(Diagnosis { socket })
    }

    /// A subflow's role; `None` when it is gone, or is no MPTCP subflow. A subflow that is bound
    /// to an interface is found only by its index; one that is not, by any.
    pub fn role(&mut self, local: SocketAddr, remote: SocketAddr, interface: u32) -> Option<Role> {
        let request = request(local, remote, interface);
        let answers = self.socket.request(&request).ok()?;
        answers.iter().find_map(|answer| parse(answer))
    }
}

/// `struct inet_diag_req_v2` for one socket: the kernel looks it up in its hash table.
fn request(local: SocketAddr, remote: SocketAddr, interface: u32) -> Vec<u8> {
    let family = match local {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let extensions = 1 << (INET_DIAG_INFO - 1);
    let mut body = vec![family as u8, libc::IPPROTO_TCP as u8, extensions, 0];
    body.extend([0xff; 4]); // every state
    body.extend(local.port().to_be_bytes());
    body.extend(remote.port().to_be_bytes());
    for ip in [local.ip(), remote.ip()] {
        let mut bytes = [0u8; 16];
        match ip {
            IpAddr::V4(ip) => bytes[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => bytes = ip.octets(),
        }
        body.extend(bytes);
    }
    body.extend(interface.to_ne_bytes());
    body.extend([0xff; 8]); // INET_DIAG_NOCOOKIE
    Writer::new(SOCK_DIAG_BY_FAMILY, 0, &body).finish()
}

fn parse(message: &[u8]) -> Option<Role> {
    let info = Attributes::of_message(message, DIAG_MESSAGE)
        .nested(INET_DIAG_ULP_INFO)?
        .nested(INET_ULP_INFO_MPTCP)?;
    role(&info)
}

/// The role that the attributes of the upper layer's info tell.
pub fn role(info: &Attributes<'_>) -> Option<Role> {
    let (mut flags, mut local_id, mut remote_id) = (None, None, None);
    // In one pass: this is done for each subflow of a host at each look.
    for (kind, value) in info.clone() {
        match kind {
            MPTCP_SUBFLOW_ATTR_FLAGS => flags = value.first_chunk().map(|b| u32::from_ne_bytes(*b)),
            MPTCP_SUBFLOW_ATTR_ID_LOC => local_id = value.first().copied(),
            MPTCP_SUBFLOW_ATTR_ID_REM => remote_id = value.first().copied(),
            _ => {}
        }
    }
    Some(Role {
        flags: flags?,
        local_id: local_id?,
        remote_id: remote_id?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read() {
        let message = Writer::new(SOCK_DIAG_BY_FAMILY, 0, &[0; DIAG_MESSAGE])
            .attribute(8, &[0])
            .nested(INET_DIAG_ULP_INFO, |w| {
                w.attribute(1, b"mptcp\0").nested(INET_ULP_INFO_MPTCP, |w| {
                    w.attribute(
                        MPTCP_SUBFLOW_ATTR_FLAGS,
                        &(FLAG_JOIN_LOC | FLAG_BACKUP_LOC).to_ne_bytes(),
                    )
                    .attribute(MPTCP_SUBFLOW_ATTR_ID_REM, &[0])
                    .attribute(MPTCP_SUBFLOW_ATTR_ID_LOC, &[2])
                })
            })
            .finish();
        let role = parse(&message).unwrap();
        assert!(role.backup() && role.joining() && !role.peer_backup());
        assert_eq!((role.local_id, role.remote_id), (2, 0));
        for end in 0..message.len() {
            let _ = parse(&message[..end]);
        }
    }

    #[test]
    fn a_request_has_the_length_of_inet_diag_req_v2() {
        let any = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(request(any, any, 0).len(), 16 + 56);
    }
}
