//! The host whose transport layer is the kernel's: its sockets, its path manager, its counters.

use crate::Failure;
use crate::stream::{Sink, Source};
use model::Family;
use nix::sys::socket::{
    AddressFamily, Backlog, Shutdown, SockFlag, SockType, SockaddrStorage, accept4, bind, connect,
    listen, setsockopt, shutdown, sockopt,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use walkabout_measure::emulator::NetNs;
use walkabout_measure::netlink::mptcp::{Control, Limits, LocalAddress};

/// Which protocol a socket asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    Tcp,
    Mptcp,
}

pub struct Kernel {
    pub namespace: NetNs,
    pub control: Control,
    listener: Option<OwnedFd>,
    connection: Option<TcpStream>,
    /// Whether the connection is established, as far as the kernel says.
    connected: bool,
    pub source: Source,
    pub sink: Sink,
    /// The error that ended the connection.
    pub error: Option<io::Error>,
    buffer: Vec<u8>,
}

impl Kernel {
    pub fn new(namespace: NetNs, (source, sink): (Source, Sink)) -> Result<Kernel, Failure> {
        let mut control = namespace.run(Control::open)??;
        control.set_limits(Limits {
            subflows: 8,
            add_addr_accepted: 8,
        })?;
        Ok(Kernel {
            namespace,
            control,
            listener: None,
            connection: None,
            connected: false,
            source,
            sink,
            error: None,
            buffer: vec![0; 64 << 10],
        })
    }

    /// Sets a sysctl of its namespace, by its path below /proc/sys.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Failure> {
        let path = format!("/proc/sys/{name}");
        let set = self.namespace.run(|| fs::write(&path, value))?;
        Ok(set.map_err(|error| format!("{path}: {error}"))?)
    }

    /// Gives the path manager an address.
    pub fn add_endpoint(
        &mut self,
        id: u8,
        ip: IpAddr,
        port: Option<u16>,
        flags: u32,
    ) -> io::Result<()> {
        self.control.add_endpoint(&LocalAddress {
            id,
            ip,
            port,
            flags,
            interface: 0,
        })
    }

    fn socket(&self, address: SocketAddr, protocol: Protocol) -> Result<OwnedFd, Failure> {
        let family = match Family::of(address.ip()) {
            Family::Ipv4 => AddressFamily::Inet,
            Family::Ipv6 => AddressFamily::Inet6,
        };
        let protocol = match protocol {
            Protocol::Tcp => libc::IPPROTO_TCP,
            Protocol::Mptcp => libc::IPPROTO_MPTCP,
        };
        let kind = SockType::Stream as i32 | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let made = self.namespace.run(|| {
            // SAFETY: no pointer is passed.
            match unsafe { libc::socket(family as i32, kind, protocol) } {
                -1 => Err(io::Error::last_os_error()),
                // SAFETY: the descriptor was just opened and belongs to no one else.
                fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            }
        })??;
        setsockopt(&made, sockopt::ReuseAddr, &true)?;
        Ok(made)
    }

    pub fn listen(&mut self, address: SocketAddr, protocol: Protocol) -> Result<(), Failure> {
        let socket = self.socket(address, protocol)?;
        bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
        listen(&socket, Backlog::new(16)?)?;
        self.listener = Some(socket);
        Ok(())
    }

    pub fn connect(
        &mut self,
        from: IpAddr,
        to: SocketAddr,
        protocol: Protocol,
    ) -> Result<(), Failure> {
        let socket = self.socket(to, protocol)?;
        bind(
            socket.as_raw_fd(),
            &SockaddrStorage::from(SocketAddr::new(from, 0)),
        )?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(nix::Error::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        self.connection = Some(TcpStream::from(socket));
        Ok(())
    }

    /// The descriptors that wake it, and for what.
    pub fn fds(&self) -> impl Iterator<Item = (RawFd, i16)> {
        let listener = self.listener.iter().map(|l| (l.as_raw_fd(), libc::POLLIN));
        let connection = self.connection.iter().filter_map(|connection| {
            let mut events = 0;
            if !self.sink.ended && self.error.is_none() {
                events |= libc::POLLIN;
            }
            if self.error.is_none() && (!self.connected || self.source.wants_to_write()) {
                events |= libc::POLLOUT;
            }
            (events != 0).then_some((connection.as_raw_fd(), events))
        });
        listener.chain(connection)
    }

    pub fn is_connected(&self) -> bool {
        self.connected
    }

    pub fn turn(&mut self) -> Result<(), Failure> {
        if self.connection.is_none()
            && let Some(listener) = &self.listener
        {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            match accept4(listener.as_raw_fd(), flags) {
                Ok(fd) => {
                    // SAFETY: the descriptor was just opened and belongs to no one else.
                    let connection = unsafe { TcpStream::from_raw_fd(fd) };
                    self.connection = Some(connection);
                    self.connected = true;
                }
                Err(nix::Error::EAGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        if self.error.is_some() {
            return Ok(());
        }
        if !self.connected {
            if let Some(error) = connection.take_error()? {
                self.error = Some(error);
                return Ok(());
            }
            if connection.peer_addr().is_err() {
                return Ok(());
            }
            self.connected = true;
        }
        let mut error = None;
        self.source.pump(|bytes| match connection.write(bytes) {
            Ok(count) => Ok(count),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(e) => {
                error = Some(e);
                Ok(0)
            }
        })?;
        if error.is_none() && self.source.is_to_close() {
            shutdown(connection.as_raw_fd(), Shutdown::Write)?;
        }
        while error.is_none() && !self.sink.ended {
            match connection.read(&mut self.buffer) {
                Ok(0) => self.sink.ended = true,
                Ok(count) => self.sink.take(&self.buffer[..count])?,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => error = Some(e),
            }
        }
        self.error = error;
        Ok(())
    }

    /// Closes the connection at once: MP_FASTCLOSE, or a reset.
    pub fn abort(&mut self) -> Result<(), Failure> {
        if let Some(connection) = self.connection.take() {
            let linger = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            setsockopt(&connection, sockopt::Linger, &linger)?;
        }
        Ok(())
    }

    /// The counters of Multipath TCP of its namespace, by Linux's names.
    pub fn counters(&self) -> Result<BTreeMap<String, u64>, Failure> {
        let text = self
            .namespace
            .run(|| fs::read_to_string("/proc/thread-self/net/netstat"))??;
        let mut lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("MPTcpExt: "));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
            return Err("the kernel counts nothing of Multipath TCP".into());
        };
        let parsed = names.split(' ').zip(values.split(' '));
        Ok(parsed
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect())
    }

    /// One of them.
    pub fn counter(&self, name: &str) -> Result<u64, Failure> {
        let counters = self.counters()?;
        counters
            .get(name)
            .copied()
            .ok_or_else(|| format!("the kernel has no counter {name}").into())
    }

    pub fn state(&self) -> String {
        let counted = self.counters().map(|mut counters| {
            counters.retain(|_, value| *value > 0);
            counters
        });
        format!(
            "kernel: sends {}, received {}, ended {}, error {:?}\n{counted:?}",
            self.source.total(),
            self.sink.received,
            self.sink.ended,
            self.error,
        )
    }
}
