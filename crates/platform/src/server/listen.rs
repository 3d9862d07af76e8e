//! Where does the server listen, and what can it not offer on this machine? Per address and port one
//! socket for TCP and Multipath TCP, and one for QUIC and multipath QUIC.

use super::certificate::Certificate;
use super::quic;
use super::{Config, ServerError};
use measure::transport::kernel::{IPPROTO_MPTCP, prepare_namespace};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{Backlog, SockaddrStorage, bind, listen, setsockopt, sockopt};
use std::ffi::c_int;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Connections that may wait to be accepted; the system's own limit (`net.core.somaxconn`) applies as well.
const BACKLOG: i32 = 4_096;
/// Bytes asked of the kernel for datagrams that wait, of all connections; it grants what net.core.rmem_max
/// allows.
const DATAGRAM_BUFFER: usize = 4 << 20;
/// Attempts to find a port that is free for TCP and for UDP, when any port will do.
const ATTEMPTS: usize = 32;
/// Descriptors besides those of connections: listeners, files, the runtime's own.
const SPARE_DESCRIPTORS: u64 = 128;

/// What the server listens with.
pub(super) struct Listening {
    pub tcp: Vec<tokio::net::TcpListener>,
    pub quic: Vec<noq::Endpoint>,
    pub addresses: Vec<SocketAddr>,
    pub missing: Vec<String>,
}

/// Opens every socket of `config`. The unspecified IPv6 address is left out, with a word, where the
/// machine has no IPv6.
pub(super) fn open(config: &Config, certificate: &Certificate) -> Result<Listening, ServerError> {
    let mut all = Listening {
        tcp: Vec::new(),
        quic: Vec::new(),
        addresses: Vec::new(),
        missing: Vec::new(),
    };
    if let Err(error) = prepare_namespace() {
        let what = format!("Multipath TCP may not be joined by further paths: {error}");
        all.missing.push(what);
    }
    all.missing.extend(raise_descriptors(config));
    let server = quic::server_config(config, certificate)?;
    for &ip in &config.addresses {
        for &port in &config.ports {
            let address = SocketAddr::new(ip, port);
            let sockets = match pair(address) {
                Ok(sockets) => sockets,
                Err(error) if ip == IpAddr::from([0; 16]) && no_ipv6(&error) => {
                    all.missing.push(format!("IPv6: {error}"));
                    continue;
                }
                Err(source) => return Err(ServerError::Listen { address, source }),
            };
            let started = all.start(sockets, &server);
            started.map_err(|source| ServerError::Listen { address, source })?;
        }
    }
    all.missing.dedup();
    Ok(all)
}

impl Listening {
    fn start(&mut self, sockets: Pair, server: &noq::ServerConfig) -> io::Result<()> {
        let Pair { tcp, udp, plain } = sockets;
        if let Some(reason) = plain {
            self.missing.push(format!("Multipath TCP: {reason}"));
        }
        let listener = tokio::net::TcpListener::from_std(tcp)?;
        self.addresses.push(listener.local_addr()?);
        self.tcp.push(listener);
        self.quic.push(quic::endpoint(udp, server.clone())?);
        Ok(())
    }
}

struct Pair {
    tcp: std::net::TcpListener,
    udp: UdpSocket,
    /// Why Multipath TCP is not served.
    plain: Option<io::Error>,
}

/// The two sockets of an address, on one port.
fn pair(address: SocketAddr) -> io::Result<Pair> {
    let mut attempts = ATTEMPTS;
    loop {
        let (tcp, plain) = tcp(address)?;
        let bound = tcp.local_addr()?;
        match udp(bound) {
            Ok(udp) => return Ok(Pair { tcp, udp, plain }),
            Err(error)
                if address.port() == 0
                    && error.kind() == io::ErrorKind::AddrInUse
                    && attempts > 0 =>
            {
                attempts -= 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A listener for TCP and Multipath TCP, or for TCP alone with the reason.
fn tcp(address: SocketAddr) -> io::Result<(std::net::TcpListener, Option<io::Error>)> {
    let (socket, plain) = match socket(address, libc::SOCK_STREAM, IPPROTO_MPTCP) {
        Ok(socket) => (socket, None),
        Err(reason) => {
            let tcp = socket(address, libc::SOCK_STREAM, libc::IPPROTO_TCP)?;
            (tcp, Some(reason))
        }
    };
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok((socket.into(), plain))
}

fn udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket(address, libc::SOCK_DGRAM, libc::IPPROTO_UDP)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    // A datagram that finds no room here would count as lost by the network. A wish, not a need.
    let _ = setsockopt(&socket, sockopt::RcvBuf, &DATAGRAM_BUFFER);
    Ok(socket.into())
}

fn socket(address: SocketAddr, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    let domain = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(domain, kind, protocol) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` is a fresh descriptor that nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    if address.is_ipv6() {
        // Both families may be listened on with one port.
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    Ok(socket)
}

fn no_ipv6(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL)
    )
}

/// Allows as many descriptors as the connections need, as far as the hard limit goes.
fn raise_descriptors(config: &Config) -> Option<String> {
    let wanted = config.limits.connections as u64 + SPARE_DESCRIPTORS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft >= wanted {
        return None;
    }
    let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    (hard < wanted).then(|| {
        let connections = config.limits.connections;
        format!(
            "{connections} connections: only {hard} descriptors may be open; raise LimitNOFILE (ulimit -n) to {wanted}"
        )
    })
}
