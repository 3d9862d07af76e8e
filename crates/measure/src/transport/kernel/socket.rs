//! How the sockets of the kernel transports are made.

use super::{Protocol, SetupError, sysctl};
use crate::transport::bind_to_interface;
use nix::sys::socket::{SockaddrStorage, bind, connect, listen};
use std::ffi::c_int;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// `IPPROTO_MPTCP` (linux/in.h).
pub const IPPROTO_MPTCP: c_int = 262;
/// `TCP_CA_NAME_MAX` (net/tcp.h).
const CONTROLLER_NAME: usize = 16;
/// Connections that may wait to be accepted; far above any pattern's number of channels.
const BACKLOG: i32 = 128;

fn new(protocol: Protocol, address: IpAddr) -> Result<OwnedFd, SetupError> {
    let domain = match address {
        IpAddr::V4(_) => libc::AF_INET,
        IpAddr::V6(_) => libc::AF_INET6,
    };
    let number = match protocol {
        Protocol::Tcp => libc::IPPROTO_TCP,
        Protocol::Mptcp => IPPROTO_MPTCP,
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(domain, kind, number) };
    if fd < 0 {
        let source = io::Error::last_os_error();
        return Err(SetupError::Socket { protocol, source });
    }
    // SAFETY: `fd` is a fresh descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Where a connection starts from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local {
    /// The address; the host chooses when absent.
    pub address: Option<IpAddr>,
    /// The interface's index; the address and the routes choose when absent.
    pub interface: Option<u32>,
}

/// A non-blocking connection that has been started from `local`.
pub fn start(
    protocol: Protocol,
    local: Local,
    server: SocketAddr,
    congestion: Option<&str>,
) -> Result<TcpStream, SetupError> {
    let fd = new(protocol, server.ip())?;
    prepare(fd.as_raw_fd(), congestion)?;
    if let Some(index) = local.interface {
        bind_to_interface(fd.as_raw_fd(), index).map_err(|source| SetupError::Option {
            option: "SO_BINDTOIFINDEX",
            source,
        })?;
    }
    if let Some(address) = local.address {
        let address = SocketAddr::new(address, 0);
        let bound = bind(fd.as_raw_fd(), &SockaddrStorage::from(address));
        bound.map_err(|errno| SetupError::Bind {
            address,
            source: errno.into(),
        })?;
    }
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(server)) {
        Ok(()) | Err(nix::errno::Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
        Err(errno) => Err(SetupError::Connect {
            from: local
                .address
                .map(|a| format!(" from {a}"))
                .unwrap_or_default(),
            server,
            source: errno.into(),
        }),
    }
}

/// A non-blocking listener.
pub fn serve(
    protocol: Protocol,
    address: SocketAddr,
    congestion: Option<&str>,
) -> Result<TcpListener, SetupError> {
    let fd = new(protocol, address.ip())?;
    set_int(
        fd.as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_REUSEADDR,
        1,
        "SO_REUSEADDR",
    )?;
    prepare(fd.as_raw_fd(), congestion)?;
    let refused = |errno: nix::errno::Errno| SetupError::Bind {
        address,
        source: errno.into(),
    };
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address)).map_err(refused)?;
    let backlog = nix::sys::socket::Backlog::new(BACKLOG).map_err(refused)?;
    listen(&fd, backlog).map_err(refused)?;
    Ok(TcpListener::from(fd))
}

/// Sets what every connection has: no delay for small messages (interactive traffic is what is
/// measured), and the congestion controller.
pub fn prepare(fd: RawFd, congestion: Option<&str>) -> Result<(), SetupError> {
    set_int(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1, "TCP_NODELAY")?;
    let Some(name) = congestion else {
        return Ok(());
    };
    // SAFETY: the pointer and length are those of the live string.
    let result = unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(SetupError::Congestion {
        name: name.to_owned(),
        available: sysctl::read("net.ipv4.tcp_available_congestion_control")
            .unwrap_or_else(|| "unknown".to_owned()),
        source: io::Error::last_os_error(),
    })
}

fn set_int(
    fd: RawFd,
    level: c_int,
    option: c_int,
    value: c_int,
    name: &'static str,
) -> Result<(), SetupError> {
    // SAFETY: the pointer and length are those of a live integer.
    let result = unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            (&raw const value).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(SetupError::Option {
        option: name,
        source: io::Error::last_os_error(),
    })
}

/// The congestion controller of a connection, as the kernel says.
pub fn congestion(fd: RawFd) -> io::Result<String> {
    let mut name = [0u8; CONTROLLER_NAME];
    let length = read_option(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?;
    let name = name[..length].split(|b| *b == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Whether a connection's socket is an MPTCP one: an accepted connection of a client that did
/// not ask for MPTCP is a plain TCP socket.
pub fn is_mptcp(fd: RawFd) -> io::Result<bool> {
    let mut value = [0u8; 4];
    read_option(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL, &mut value)?;
    Ok(c_int::from_ne_bytes(value) == IPPROTO_MPTCP)
}

/// Reads a socket option into `buffer`; returns how many bytes the kernel wrote.
pub fn read_option(fd: RawFd, level: c_int, option: c_int, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: the pointer and length are those of the live buffer.
    let result = unsafe {
        libc::getsockopt(
            fd,
            level,
            option,
            buffer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match result {
        0 => Ok((length as usize).min(buffer.len())),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `SIOCOUTQ`: bytes of the stream that are not acknowledged, sent or not (linux/sockios.h).
pub fn unacknowledged(fd: RawFd) -> io::Result<u64> {
    queue(fd, libc::TIOCOUTQ)
}

/// `SIOCOUTQNSD`: bytes of the stream that are not sent (linux/sockios.h).
pub fn unsent(fd: RawFd) -> io::Result<u64> {
    queue(fd, 0x894b)
}

fn queue(fd: RawFd, request: libc::c_ulong) -> io::Result<u64> {
    let mut bytes: c_int = 0;
    // SAFETY: both requests write one int to the pointer.
    match unsafe { libc::ioctl(fd, request as _, &raw mut bytes) } {
        0 => Ok(u64::try_from(bytes).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}
