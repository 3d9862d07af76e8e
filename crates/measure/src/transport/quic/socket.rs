//! How does one UDP socket send and receive datagrams with their ECN codepoint, never blocking?

use crate::transport::bind_to_interface;
use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};
use noq_proto::EcnCodepoint;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Asked of the kernel for each direction; it grants what net.core.{r,w}mem_max allow.
const BUFFER_BYTES: usize = 4 << 20;

/// A bound, non-blocking UDP socket.
pub(super) struct Socket {
    socket: UdpSocket,
    address: SocketAddr,
    control: Vec<u8>,
}

/// A datagram that arrived.
pub(super) struct Arrival {
    pub remote: SocketAddr,
    pub ecn: Option<EcnCodepoint>,
    /// Bytes of it in the buffer.
    pub size: usize,
}

impl Socket {
    /// Bound to `address`, and to the interface with this index where one is given.
    pub(super) fn bind(address: SocketAddr, interface: Option<u32>) -> io::Result<Socket> {
        let socket = UdpSocket::bind(address)?;
        if let Some(index) = interface {
            bind_to_interface(socket.as_raw_fd(), index)?;
        }
        socket.set_nonblocking(true)?;
        // Larger buffers are a wish, not a need.
        let _ = setsockopt(&socket.as_fd(), sockopt::RcvBuf, &BUFFER_BYTES);
        let _ = setsockopt(&socket.as_fd(), sockopt::SndBuf, &BUFFER_BYTES);
        if address.is_ipv4() {
            setsockopt(&socket.as_fd(), sockopt::IpRecvTos, &true)?;
        } else {
            setsockopt(&socket.as_fd(), sockopt::Ipv6RecvTClass, &true)?;
        }
        forbid_fragments(&socket, address.is_ipv4())?;
        Ok(Socket {
            address: socket.local_addr()?,
            socket,
            control: cmsg_space!(i32),
        })
    }

    /// With the port the kernel chose.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a datagram. Any error means that it was not sent.
    pub(super) fn send(
        &mut self,
        remote: SocketAddr,
        ecn: Option<EcnCodepoint>,
        payload: &[u8],
    ) -> io::Result<()> {
        let bits = ecn.map_or(0, |codepoint| codepoint as u8);
        let class = i32::from(bits);
        let control = match (ecn, remote.ip()) {
            (None, _) => None,
            (Some(_), IpAddr::V4(_)) => Some(ControlMessage::Ipv4Tos(&bits)),
            (Some(_), IpAddr::V6(_)) => Some(ControlMessage::Ipv6TClass(&class)),
        };
        sendmsg(
            self.fd(),
            &[IoSlice::new(payload)],
            control.as_slice(),
            MsgFlags::empty(),
            Some(&SockaddrStorage::from(remote)),
        )?;
        Ok(())
    }

    /// The next datagram that waits, if any. Errors (an ICMP message about an earlier datagram,
    /// an interface that went down) carry no datagram and are skipped like none.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Option<Arrival> {
        let fd = self.fd();
        let mut parts = [IoSliceMut::new(buffer)];
        let message =
            recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut self.control), MsgFlags::empty())
                .ok()?;
        let remote = message.address.as_ref().and_then(socket_address)?;
        let ecn = message.cmsgs().ok().and_then(|mut all| {
            all.find_map(|control| match control {
                ControlMessageOwned::Ipv4Tos(tos) => EcnCodepoint::from_bits(tos),
                // The low byte of the traffic class holds ECN (RFC 3168, section 5).
                ControlMessageOwned::Ipv6TClass(class) => EcnCodepoint::from_bits(class as u8),
                _ => None,
            })
        });
        Some(Arrival {
            remote,
            ecn,
            size: message.bytes,
        })
    }
}

fn socket_address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddr::from(std::net::SocketAddrV4::from(*v4)));
    }
    let v6 = storage.as_sockaddr_in6()?;
    Some(SocketAddr::from(std::net::SocketAddrV6::from(*v6)))
}

/// QUIC datagrams must not be fragmented (RFC 9000, section 14); the kernel's own path MTU
/// cache stays out of it, because noq probes for the MTU itself.
fn forbid_fragments(socket: &UdpSocket, v4: bool) -> io::Result<()> {
    let (level, option, value): (_, _, libc::c_int) = if v4 {
        (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_PROBE,
        )
    } else {
        (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_PROBE,
        )
    };
    // SAFETY: the descriptor is open as long as `socket` lives, and the option's value is a
    // c_int of the length given, as ip(7) and ipv6(7) demand.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
