//! How is a server asked? By the client's half of `ping` over one TCP connection, without a token.

use measure::transport::LocalPath;
use model::record::Message;
use model::scenario::{Ping, Traffic};
use model::{Seed, Time};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use traffic::Channels;

/// How long a connection attempt and each answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Runs the client's half of `ping` over a new connection.
pub fn exchange(
    server: SocketAddr,
    from: &LocalPath,
    ping: &Ping,
    log: &mut Vec<Message>,
) -> io::Result<()> {
    let stream = connect_from(from, server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let traffic = Traffic::Ping(ping.clone());
    // `ping` draws nothing.
    let mut half = traffic::pattern::client(&traffic, Seed(0));
    let mut channel = Channel {
        stream,
        arrived: Vec::new(),
        failed: None,
    };
    let start = Instant::now();
    let now = || Time::ZERO + start.elapsed();
    traffic::hello::greet(&mut channel, &traffic, None);
    let mut buffer = [0; 4096];
    loop {
        half.poll(now(), &mut channel, log);
        if half.is_done() {
            return Ok(());
        }
        if let Some(error) = channel.failed.take() {
            return Err(error);
        }
        if let Some(error) = half.error() {
            return Err(io::Error::other(error));
        }
        match channel.stream.read(&mut buffer) {
            Ok(0) => return Err(io::Error::other("the server closed the connection")),
            Ok(bytes) => channel.arrived.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::Error::other(format!("no answer within {PATIENCE:?}")));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Connects over the path's interface.
fn connect_from(from: &LocalPath, server: SocketAddr) -> io::Result<TcpStream> {
    let family = match server {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let fd = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    // On Linux it also bounds how long connect() may take (socket(7)).
    let patience = TimeVal::milliseconds(PATIENCE.as_millis() as i64);
    setsockopt(&fd, sockopt::SendTimeout, &patience)?;
    // Before Linux 5.7 it takes a privilege; the address alone does where there are rules for it.
    let index = from.interface as libc::c_int;
    // SAFETY: the value is an int, of which the length is given.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTOIFINDEX,
            (&raw const index).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
    let from = SockaddrStorage::from(SocketAddr::new(from.address, 0));
    bind(fd.as_raw_fd(), &from)?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(server)) {
        Ok(()) => Ok(TcpStream::from(fd)),
        Err(nix::Error::EINPROGRESS) => Err(io::Error::other(format!(
            "no connection within {PATIENCE:?}"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// The one channel of `ping`, over a blocking socket.
struct Channel {
    stream: TcpStream,
    arrived: Vec<u8>,
    failed: Option<io::Error>,
}

impl Channels for Channel {
    fn write(&mut self, _: usize, data: &[u8]) {
        if let Err(error) = self.stream.write_all(data) {
            self.failed.get_or_insert(error);
        }
    }
    fn queued(&self, _: usize) -> usize {
        0
    }
    fn read(&mut self, _: usize, buffer: &mut [u8]) -> usize {
        let bytes = buffer.len().min(self.arrived.len());
        buffer[..bytes].copy_from_slice(&self.arrived[..bytes]);
        self.arrived.drain(..bytes);
        bytes
    }
    fn is_open(&self, _: usize) -> bool {
        self.failed.is_none()
    }
}
