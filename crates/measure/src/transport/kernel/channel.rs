//! One connection as a channel: what is written waits here until the socket takes it.

use super::observe::Ages;
use super::socket;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The first handshake is under way.
    Connecting,
    /// Data can flow.
    Open,
    /// Over, for good.
    Closed,
}

/// One connection.
#[derive(Debug)]
pub struct Channel {
    stream: TcpStream,
    /// How far it is.
    pub phase: Phase,
    /// Whether it is a Multipath TCP connection, and has not fallen back.
    pub mptcp: bool,
    /// Our end of the first subflow.
    pub local: SocketAddr,
    /// The peer's end of the first subflow.
    pub remote: SocketAddr,
    /// How long bytes have waited for their acknowledgement.
    pub ages: Ages,
    outgoing: VecDeque<u8>,
}

impl Channel {
    /// A channel over a non-blocking stream.
    pub fn new(stream: TcpStream, phase: Phase, remote: SocketAddr) -> io::Result<Channel> {
        stream.set_nonblocking(true)?;
        Ok(Channel {
            phase,
            mptcp: socket::is_mptcp(stream.as_raw_fd())?,
            local: stream.local_addr()?,
            remote,
            ages: Ages::default(),
            outgoing: VecDeque::new(),
            stream,
        })
    }

    /// The socket.
    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Whether the socket's becoming writable would change anything.
    pub fn wants_to_write(&self) -> bool {
        self.phase == Phase::Connecting || !self.outgoing.is_empty()
    }

    /// Bytes written and not yet taken by the socket.
    pub fn queued(&self) -> usize {
        self.outgoing.len()
    }

    /// Puts `data` into the queue, unless the connection is over.
    pub fn write(&mut self, data: &[u8]) {
        if self.phase != Phase::Closed {
            self.outgoing.extend(data);
        }
    }

    /// Finds out whether the handshake is done; the error says why it failed.
    pub fn finish_connecting(&mut self) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.fd(),
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one valid pollfd, and a length of one; a timeout of zero never waits.
        if unsafe { libc::poll(&mut poll, 1, 0) } <= 0 {
            return Ok(false);
        }
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        if poll.revents & libc::POLLOUT == 0 {
            return Ok(false);
        }
        // Known for sure only now; the local address was bound before.
        self.local = self.stream.local_addr()?;
        self.phase = Phase::Open;
        Ok(true)
    }

    /// Hands the socket as much of the queue as it takes. An error means that the connection is
    /// over.
    pub fn send(&mut self) -> io::Result<()> {
        while self.phase == Phase::Open && !self.outgoing.is_empty() {
            let (front, back) = self.outgoing.as_slices();
            let parts = [IoSlice::new(front), IoSlice::new(back)];
            match self.stream.write_vectored(&parts) {
                Ok(0) => return Ok(()),
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has arrived; 0 when nothing waits. An error means that the connection is
    /// over; `UnexpectedEof` that the peer closed it.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.phase != Phase::Open || buffer.is_empty() {
            return Ok(0);
        }
        loop {
            return match self.stream.read(buffer) {
                Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => Ok(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// Tells the peer that nothing more will come.
    pub fn say_goodbye(&mut self) {
        // The connection may be gone already, which is what was wanted.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Ends the channel; what is queued is dropped.
    pub fn end(&mut self) {
        self.phase = Phase::Closed;
        self.outgoing.clear();
    }
}
