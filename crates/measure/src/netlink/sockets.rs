//! Which Multipath TCP connections and subflows does a network namespace have, whoever opened them?
//! All of them with one request each, into memory that is used again.
//!
//! Numbers are those of linux/inet_diag.h, linux/sock_diag.h and linux/mptcp.h.

use super::generic::{Attributes, Writer};
use super::unprivileged;
use crate::transport::kernel::info::{self, MptcpInfo, TcpInfo};
use crate::transport::kernel::ulp::{self, Role};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

/// `TCPDIAG_GETSOCK`: the older request, which lists sockets of IPv4 and IPv6 in one pass over the
/// kernel's table.
const TCPDIAG_GETSOCK: u16 = 18;
/// `SOCK_DIAG_BY_FAMILY`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Length of `struct inet_diag_msg`.
const DIAG_MESSAGE: usize = 72;
/// Length of `struct inet_diag_sockid`.
const SOCKET_ID: usize = 48;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_ULP_INFO_MPTCP: u16 = 3;
const MPTCP_SUBFLOW_ATTR_TOKEN_LOC: u16 = 2;
/// `INET_DIAG_REQ_PROTOCOL`: protocols that do not fit into the request's byte.
const INET_DIAG_REQ_PROTOCOL: u16 = 3;
const IPPROTO_MPTCP: u32 = 262;
/// `IPPROTO_RAW` in the byte says that the attribute has the protocol.
const IN_THE_ATTRIBUTE: u8 = 255;

/// States of sockets that carry, or are about to carry, a subflow (net/tcp_states.h): not
/// TIME_WAIT (6), CLOSE (7) and LISTEN (10), of which a host may have many.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// The kernel fills at most 32 KiB at a time (netlink_dump), if the reader takes as much.
const BUFFER: usize = 1 << 15;

/// A subflow, or another TCP socket whose upper layer is Multipath TCP.
#[derive(Clone, Copy, Debug)]
pub struct Subflow {
    /// The socket's number, unique since the host was started.
    pub cookie: u64,
    /// The number of the application's socket; 0 when the application has closed it.
    pub inode: u32,
    /// The interface it is bound to, 0 for none.
    pub interface: u32,
    /// The connection's local token; 0 for one that this end joined.
    pub token: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Whether its socket is one of IPv6 that carries IPv4, with mapped addresses (RFC 4291, section
    /// 2.5.5.2); `local` and `remote` are those of IPv4.
    pub mapped: bool,
    /// The kernel's figures.
    pub tcp: TcpInfo,
    /// Its part in the connection.
    pub role: Role,
}

impl Subflow {
    /// Both ends as the socket has them: by these the kernel finds it.
    pub fn ends(&self) -> [SocketAddr; 2] {
        [self.local, self.remote].map(|end| match end.ip() {
            IpAddr::V4(ip) if self.mapped => {
                SocketAddr::new(ip.to_ipv6_mapped().into(), end.port())
            }
            _ => end,
        })
    }
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Its local token.
    pub token: u32,
    /// The number of the application's socket; 0 when the application has closed it.
    pub inode: u32,
    /// This end of the initial subflow; as `remote` all zeros until the first SYN has left.
    pub local: SocketAddr,
    /// The other end of it.
    pub remote: SocketAddr,
    /// Whether both ends may still send: no end has said that it is done.
    pub open: bool,
}

/// The sockets of the network namespace it was opened in.
#[derive(Debug)]
pub struct Sockets {
    socket: netlink_sys::Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Sockets {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> io::Result<Sockets> {
        let open = || {
            let mut socket = netlink_sys::Socket::new(netlink_sys::protocols::NETLINK_SOCK_DIAG)?;
            socket.bind_auto()?;
            socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        // An administrator is also told marks and sequence numbers, which nobody here reads and which
        // make a tenth of a listing's cost.
        let modest = match tells_anybody() {
            true => unprivileged::open(open).ok(),
            false => None,
        };
        Ok(Sockets {
            socket: modest.map_or_else(open, Ok)?,
            buffer: vec![0; BUFFER],
            sequence: 0,
        })
    }

    /// Every subflow, in place of what was in `seen`.
    pub fn subflows(&mut self, seen: &mut Vec<Subflow>) -> io::Result<()> {
        seen.clear();
        // struct inet_diag_req: family, two lengths, extensions, the socket's id, states, tables.
        let mut body = vec![0, 0, 0, 1 << (INET_DIAG_INFO - 1)];
        body.extend([0; SOCKET_ID]);
        body.extend(STATES.to_ne_bytes());
        body.extend([0; 4]);
        let request = Writer::new(TCPDIAG_GETSOCK, DUMP, &body).finish();
        self.dump(request, |message| seen.extend(subflow(message)))
    }

    /// Every connection, in place of what was in `seen`. What listens is none.
    pub fn connections(&mut self, seen: &mut Vec<Connection>) -> io::Result<()> {
        seen.clear();
        for family in [libc::AF_INET, libc::AF_INET6] {
            // struct inet_diag_req_v2: family, protocol, extensions, padding, states, the id.
            let info = 1 << (INET_DIAG_INFO - 1);
            let mut body = vec![family as u8, IN_THE_ATTRIBUTE, info, 0];
            body.extend(STATES.to_ne_bytes());
            body.extend([0; SOCKET_ID]);
            let request = Writer::new(SOCK_DIAG_BY_FAMILY, DUMP, &body)
                .attribute(INET_DIAG_REQ_PROTOCOL, &IPPROTO_MPTCP.to_ne_bytes())
                .finish();
            self.dump(request, |message| seen.extend(connection(message)))?;
        }
        Ok(())
    }

    fn dump(&mut self, mut request: Vec<u8>, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let length = request.len() as u32;
        request[0..4].copy_from_slice(&length.to_ne_bytes());
        request[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        self.socket.send(&request, 0)?;
        loop {
            let length = self.receive()?;
            let mut rest = &self.buffer[..length];
            while let Some(message) = first(rest) {
                rest = &rest[message.len().next_multiple_of(4).min(rest.len())..];
                if u32_at(message, 8) != self.sequence {
                    continue;
                }
                match u16_at(message, 4) {
                    NLMSG_DONE | NLMSG_ERROR => return outcome(message),
                    _ => each(message),
                }
            }
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        loop {
            let buffer = &mut self.buffer;
            let fd = self.socket.as_raw_fd();
            // SAFETY: the buffer is live and as long as said.
            let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            if let Ok(length) = usize::try_from(got) {
                return Ok(length);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// Whether this kernel tells a subflow's role to anybody: Linux 6.15 and later (net/mptcp/diag.c), before
/// only with `CAP_NET_ADMIN`.
fn tells_anybody() -> bool {
    let release = nix::sys::utsname::uname().map(|u| u.release().to_string_lossy().into_owned());
    release.is_ok_and(|release| version(&release) >= Some((6, 15)))
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The first message of a datagram.
fn first(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes
        .get(..HEADER)
        .map(|header| u32_at(header, 0) as usize)?;
    bytes
        .get(..length)
        .filter(|message| message.len() >= HEADER)
}

fn outcome(message: &[u8]) -> io::Result<()> {
    match message.get(HEADER..HEADER + 4) {
        Some(bytes) if i32_of(bytes) < 0 => Err(io::Error::from_raw_os_error(-i32_of(bytes))),
        _ => Ok(()),
    }
}

/// What `struct inet_diag_msg` says of any socket.
struct Base {
    state: u8,
    mapped: bool,
    local: SocketAddr,
    remote: SocketAddr,
    interface: u32,
    cookie: u64,
    inode: u32,
}

fn base(message: &[u8]) -> Option<Base> {
    let body = message.get(HEADER..HEADER + DIAG_MESSAGE)?;
    let ip = |at: usize| {
        let bytes: [u8; 16] = body.get(at..at + 16)?.try_into().ok()?;
        match i32::from(body[0]) {
            libc::AF_INET => {
                let [a, b, c, d, ..] = bytes;
                Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
            }
            libc::AF_INET6 => Some(IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()),
            _ => None,
        }
    };
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let local = SocketAddr::new(ip(8)?, port(4));
    Some(Base {
        state: body[1],
        mapped: i32::from(body[0]) == libc::AF_INET6 && local.is_ipv4(),
        local,
        remote: SocketAddr::new(ip(24)?, port(6)),
        interface: u32_at(body, 40),
        cookie: u64::from(u32_at(body, 44)) | u64::from(u32_at(body, 48)) << 32,
        inode: u32_at(body, 68),
    })
}

fn subflow(message: &[u8]) -> Option<Subflow> {
    let (mut info, mut upper) = (None, None);
    for (kind, value) in Attributes::of_message(message, DIAG_MESSAGE) {
        match kind {
            INET_DIAG_INFO => info = Some(value),
            INET_DIAG_ULP_INFO => upper = Some(value),
            _ => {}
        }
    }
    // Most sockets of a host have no upper layer.
    let mptcp = Attributes::new(upper?).nested(INET_ULP_INFO_MPTCP)?;
    let Base {
        state: _,
        mapped,
        local,
        remote,
        interface,
        cookie,
        inode,
    } = base(message)?;
    Some(Subflow {
        cookie,
        inode,
        interface,
        token: mptcp.u32(MPTCP_SUBFLOW_ATTR_TOKEN_LOC).unwrap_or(0),
        local,
        remote,
        mapped,
        tcp: TcpInfo::of_bytes(info?)?,
        role: ulp::role(&mptcp)?,
    })
}

fn connection(message: &[u8]) -> Option<Connection> {
    let attributes = Attributes::of_message(message, DIAG_MESSAGE);
    let info = MptcpInfo::of_bytes(attributes.get(INET_DIAG_INFO)?)?;
    let base = base(message)?;
    (!info.fell_back()).then_some(Connection {
        token: info.token,
        inode: base.inode,
        local: base.local,
        remote: base.remote,
        open: base.state == info::ESTABLISHED,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn i32_of(bytes: &[u8]) -> i32 {
    i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(flags: u32) -> Vec<u8> {
        let mut body = vec![libc::AF_INET as u8, 1, 0, 0];
        body.extend(80u16.to_be_bytes());
        body.extend(4711u16.to_be_bytes());
        for last in [1, 2] {
            body.extend([10, 0, 0, last]);
            body.extend([0; 12]);
        }
        body.extend(7u32.to_ne_bytes());
        body.extend(0x1_0000_0002_u64.to_ne_bytes());
        body.extend([0; 16]);
        body.extend(99u32.to_ne_bytes());
        let tcp = [1u8; size_of::<TcpInfo>()];
        let mut message = Writer::new(TCPDIAG_GETSOCK, 0, &body)
            .attribute(INET_DIAG_INFO, &tcp)
            .nested(INET_DIAG_ULP_INFO, |w| {
                w.attribute(1, b"mptcp\0").nested(INET_ULP_INFO_MPTCP, |w| {
                    w.attribute(MPTCP_SUBFLOW_ATTR_TOKEN_LOC, &77u32.to_ne_bytes())
                        .attribute(8, &flags.to_ne_bytes())
                        .attribute(9, &[0])
                        .attribute(10, &[2])
                })
            })
            .finish();
        let length = message.len() as u32;
        message[..4].copy_from_slice(&length.to_ne_bytes());
        message
    }

    #[test]
    fn a_subflow_is_read() {
        let bytes = message(1 << 5);
        let read = subflow(&bytes).unwrap();
        assert_eq!((read.cookie, read.inode), (0x1_0000_0002, 99));
        assert_eq!((read.interface, read.token), (7, 77));
        assert_eq!(read.local, SocketAddr::from(([10, 0, 0, 1], 80)));
        assert_eq!(read.remote, SocketAddr::from(([10, 0, 0, 2], 4711)));
        assert!(read.role.backup());
        assert_eq!(read.tcp.state, 1);
        for end in 0..bytes.len() {
            let _ = (subflow(&bytes[..end]), connection(&bytes[..end]));
        }
    }

    #[test]
    fn lengths_that_lie_end_the_datagram() {
        let bytes = message(0);
        assert_eq!(first(&bytes).map(<[u8]>::len), Some(bytes.len()));
        assert!(first(&bytes[..bytes.len() - 1]).is_none());
        assert!(first(&[0; 40]).is_none());
    }

    #[test]
    fn a_release_has_a_version() {
        assert_eq!(version("6.18.44-fc"), Some((6, 18)));
        assert_eq!(version("7.0-rc1"), Some((7, 0)));
        assert_eq!(version("5.19"), Some((5, 19)));
        assert!(version("unknown") < Some((0, 0)));
    }

    #[test]
    fn a_namespace_can_be_asked() {
        let mut sockets = Sockets::open().unwrap();
        let (mut subflows, mut connections) = (Vec::new(), Vec::new());
        sockets.subflows(&mut subflows).unwrap();
        sockets.connections(&mut connections).unwrap();
    }
}
