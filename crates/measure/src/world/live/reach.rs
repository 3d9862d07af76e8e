//! What reaches the server? One handshake per transport, family and port, and the class of its failure.

use crate::Clock;
use crate::transport::kernel::{self, ConnectError, Local, Protocol};
use crate::transport::quic::{Congestion, Core, CoreConfig, PathAddress, Pin, QuicError, Security};
use model::live::{Outcome, Reachability};
use model::record::EventKind;
use model::{Family, Name, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A datagram of QUIC is never longer on a path that has not been probed for more.
const DATAGRAM_BYTES: usize = 2048;

/// How long a server may take to confirm a handshake, beyond which it is left alone, and how long the close
/// may wait for its turn: a round trip of any network.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachTarget {
    /// `tcp`, `mptcp`, `quic` or `mpquic`.
    pub transport: String,
    /// The server's address and port.
    pub server: SocketAddr,
}

/// Tries each target once, all at once, for at most `timeout`; in the order given. The host chooses
/// the way.
pub fn reach(
    targets: &[ReachTarget],
    certificate_sha256: [u8; 32],
    timeout: Duration,
) -> Vec<Reachability> {
    let pin = Pin(certificate_sha256);
    std::thread::scope(|scope| {
        let tries: Vec<_> = targets
            .iter()
            .map(|target| scope.spawn(move || attempt(target, pin, timeout)))
            .collect();
        let tries = tries.into_iter();
        // A panic is a bug and goes on as one.
        let ends = tries.map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        ends.collect()
    })
}

fn attempt(target: &ReachTarget, pin: Pin, timeout: Duration) -> Reachability {
    let clock = Clock::start();
    let server = target.server;
    let at_once = |outcome| (outcome, clock.now());
    let (outcome, end) = match &*target.transport {
        "tcp" => at_once(over_kernel(Protocol::Tcp, server, timeout)),
        "mptcp" => at_once(over_kernel(Protocol::Mptcp, server, timeout)),
        "quic" => over_quic(false, server, pin, clock, timeout),
        "mpquic" => over_quic(true, server, pin, clock, timeout),
        // Not a transport that is tried this way.
        _ => at_once(Outcome::Failed),
    };
    let completed = matches!(outcome, Outcome::Reached | Outcome::FellBack);
    Reachability {
        transport: target.transport.clone(),
        family: Family::of(server.ip()),
        port: server.port(),
        outcome,
        handshake_us: completed.then(|| end.as_micros()),
    }
}

/// The handshake of the kernel's TCP or Multipath TCP.
fn over_kernel(protocol: Protocol, server: SocketAddr, timeout: Duration) -> Outcome {
    let stream = match kernel::start(protocol, Local::default(), server, None) {
        Ok(stream) => stream,
        Err(ConnectError::Connect { source, .. }) => return class(&source),
        // No Multipath TCP in this kernel, and the like.
        Err(_) => return Outcome::Failed,
    };
    match wait(stream.as_fd(), PollFlags::POLLOUT, timeout) {
        Ok(false) => return Outcome::HandshakeTimeout,
        Ok(true) => {}
        Err(_) => return Outcome::Failed,
    }
    match stream.take_error() {
        Ok(None) if protocol == Protocol::Tcp => Outcome::Reached,
        Ok(None) => match kernel::is_multipath(stream.as_raw_fd()) {
            Ok(true) => Outcome::Reached,
            Ok(false) => Outcome::FellBack,
            Err(_) => Outcome::Failed,
        },
        Ok(Some(error)) | Err(error) => class(&error),
    }
}

/// The handshake of QUIC, over a socket that is connected, so that it hears of ICMP errors; and when it
/// was over.
fn over_quic(
    multipath: bool,
    server: SocketAddr,
    pin: Pin,
    clock: Clock,
    timeout: Duration,
) -> (Outcome, Time) {
    let any: IpAddr = match server.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let open = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        Ok::<_, io::Error>((socket.local_addr()?.ip(), socket))
    };
    let (local, socket) = match open() {
        Ok(opened) => opened,
        Err(error) => return (class(&error), clock.now()),
    };
    match Attempt::new(multipath, server, pin, clock, (local, socket)) {
        Ok(attempt) => attempt.carry_out(Time::ZERO + timeout),
        Err(_) => (Outcome::Failed, clock.now()),
    }
}

/// A QUIC handshake under way.
struct Attempt {
    core: Core,
    socket: UdpSocket,
    local: IpAddr,
    server: SocketAddr,
    clock: Clock,
    multipath: bool,
}

impl Attempt {
    fn new(
        multipath: bool,
        server: SocketAddr,
        pin: Pin,
        clock: Clock,
        (local, socket): (IpAddr, UdpSocket),
    ) -> Result<Attempt, QuicError> {
        let config = CoreConfig {
            base: clock.instant(Time::ZERO),
            seed: super::run::seed(),
            multipath,
            congestion: Congestion::default(),
            paths: vec![PathAddress {
                name: Name::from("reach"),
                client: local,
            }],
            keep_alive: None,
            security: Security::Pinned(pin),
        };
        Ok(Attempt {
            core: Core::client(config, server, 1, clock.now())?,
            socket,
            local,
            server,
            clock,
            multipath,
        })
    }

    /// Until the handshake is over, one way or the other, and the server knows.
    fn carry_out(mut self, deadline: Time) -> (Outcome, Time) {
        let outcome = self.shake_hands(deadline);
        let end = self.clock.now();
        if matches!(outcome, Outcome::Reached | Outcome::FellBack) {
            // A close that overtakes the client's last words of the handshake means nothing to the server.
            // What comes of it is nobody's concern any more.
            let _ = self.exchange(end + LAST_WORDS, |attempt| attempt.core.is_confirmed());
        }
        let now = self.clock.now();
        self.core.close(now);
        let _ = self.exchange(now + LAST_WORDS, |attempt| {
            attempt.core.goodbye_at().is_none()
        });
        (outcome, end)
    }

    fn shake_hands(&mut self, deadline: Time) -> Outcome {
        let over = |attempt: &Attempt| {
            attempt.core.connect_failure().is_some() || attempt.core.is_connected()
        };
        match self.exchange(deadline, over) {
            Err(error) => class(&error),
            Ok(false) => Outcome::HandshakeTimeout,
            Ok(true) if self.core.is_connected() => self.agreed(),
            Ok(true) => Outcome::Failed,
        }
    }

    /// Sends and receives until it is `over` or the deadline, of which `false` tells.
    fn exchange(&mut self, deadline: Time, over: impl Fn(&Attempt) -> bool) -> io::Result<bool> {
        let mut buffer = vec![0; DATAGRAM_BYTES];
        loop {
            let now = self.clock.now();
            self.core.handle_timeouts(now);
            self.send(now)?;
            if over(self) {
                return Ok(true);
            }
            if now >= deadline {
                return Ok(false);
            }
            let until = self.core.poll_at().map_or(deadline, |at| at.min(deadline));
            let left = until.since(now).max(Duration::from_millis(1));
            wait(self.socket.as_fd(), PollFlags::POLLIN, left)?;
            self.receive(&mut buffer)?;
        }
    }

    /// What the two ends agreed on.
    fn agreed(&mut self) -> Outcome {
        let mut events = Vec::new();
        self.core.events(&mut events);
        let fell_back = events.iter().any(|e| e.kind == EventKind::Fallback);
        match self.multipath && fell_back {
            true => Outcome::FellBack,
            false => Outcome::Reached,
        }
    }

    /// Sends what there is. The socket tells of an earlier datagram's fate as well.
    fn send(&mut self, now: Time) -> io::Result<()> {
        while let Some(transmit) = self.core.poll_transmit(now) {
            match self.socket.send(transmit.payload) {
                Ok(_) => {}
                // Lost, as on a link.
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            match self.socket.recv(buffer) {
                Ok(size) => {
                    let (local, server) = (self.local, self.server);
                    let now = self.clock.now();
                    self.core.receive(now, local, server, None, &buffer[..size]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    let full = error.raw_os_error() == Some(libc::ENOBUFS);
    full || matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// The class of an error of connect(2), or of a socket that was told of an ICMP error.
fn class(error: &io::Error) -> Outcome {
    match error.raw_os_error() {
        Some(
            libc::ENETUNREACH
            | libc::EHOSTUNREACH
            | libc::ENETDOWN
            | libc::EADDRNOTAVAIL
            | libc::EAFNOSUPPORT,
        ) => Outcome::NoRoute,
        Some(libc::ECONNREFUSED | libc::ECONNRESET) => Outcome::Refused,
        Some(libc::ETIMEDOUT) => Outcome::HandshakeTimeout,
        _ => Outcome::Failed,
    }
}

/// Waits for the descriptor; `false` when the time was over first.
fn wait(fd: std::os::fd::BorrowedFd<'_>, flags: PollFlags, timeout: Duration) -> io::Result<bool> {
    let timeout = TimeSpec::from_duration(timeout);
    match ppoll(&mut [PollFd::new(fd, flags)], Some(timeout), None) {
        Ok(count) => Ok(count > 0),
        // A short wait; only a signal handler of the caller's does this.
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
