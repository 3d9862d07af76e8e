//! How does the core meet the network? One UDP socket per path on the client, bound to the
//! path's address, and one on the server; the source address of a datagram chooses the socket.
//!
//! Nothing here blocks a run or ends it: a datagram that the system refuses (dead route, missing
//! address, full buffer) counts as lost, as it would on a link.

use super::config::{CoreConfig, PathAddress, QuicError, Security};
use super::controller::{Congestion, UnknownCongestion};
use super::core::Core;
use super::identity::{Identity, Pin};
use super::socket::{Arrival, Socket};
use crate::Clock;
use crate::transport::{Binding, Endpoint, LocalPath, SocketEndpoint};
use model::manifest::Stack;
use model::record::{Event, Sample};
use model::{PathIndex, Seed, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use policy::{Action, ConnectionView};
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::Duration;

/// Datagrams taken from one socket before the others and the timers get their turn.
const RECEIVE_BATCH: usize = 64;

/// How long an end that is over waits for its turn to say so, and says it again to a peer that goes on
/// sending, which did not hear it. The burst that noq's pacing allows is back within milliseconds; the peer's
/// idle timeout is there for the rest.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What a client is made from.
#[derive(Clone)]
pub struct ClientConfig {
    /// Whether to negotiate multipath (`mpquic`) or not (`quic`).
    pub multipath: bool,
    /// Where the server listens.
    pub server: SocketAddr,
    /// The host's paths in the scenario's order; the connection starts on the first.
    pub paths: Vec<LocalPath>,
    /// How many streams to open.
    pub channels: usize,
    /// As in [`CoreConfig::keep_alive`]; `None` is noq's default.
    pub keep_alive: Option<Duration>,
    /// `cubic`, `reno` or `bbr`; `None` means `cubic`. The manifest records which.
    pub congestion: Option<String>,
    /// The run's clock.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
    /// The server's certificate; the client accepts no other.
    pub pin: Pin,
    /// What keeps a path's packets on its interface.
    pub binding: Binding,
}

/// What a server is made from.
#[derive(Clone)]
pub struct ServerConfig {
    /// Whether to negotiate multipath when the client offers it.
    pub multipath: bool,
    /// Where to listen.
    pub address: SocketAddr,
    /// The client's paths, so that the server can name them by the client's address.
    pub paths: Vec<PathAddress>,
    /// As in [`ClientConfig::congestion`].
    pub congestion: Option<String>,
    /// The run's clock.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
    /// What the server presents to its clients.
    pub identity: Identity,
}

/// One end of QUIC over UDP sockets: both [`Client`] and [`Server`] are this.
pub struct Udp {
    core: Core,
    clock: Clock,
    /// In the paths' order (client), or the only one (server). `None` when its address is gone.
    sockets: Vec<PathSocket>,
    buffer: Vec<u8>,
}

/// A client; see [`Udp::connect`].
pub type Client = Udp;
/// A server; see [`Udp::listen`].
pub type Server = Udp;

struct PathSocket {
    address: SocketAddr,
    /// The interface it is bound to, where it is.
    interface: Option<u32>,
    socket: Option<Socket>,
    /// Datagrams the system refused.
    refused: u64,
    refusal_noted: bool,
}

impl Udp {
    /// A client that begins to connect to the server over the first path. Its sockets are made
    /// in the calling thread's network namespace.
    pub fn connect(config: ClientConfig) -> Result<Client, QuicError> {
        let paths = config.paths.iter().map(|path| PathAddress {
            name: path.name.clone(),
            client: path.address,
        });
        let core_config = CoreConfig {
            base: config.clock.instant(Time::ZERO),
            seed: config.seed,
            multipath: config.multipath,
            congestion: congestion(config.congestion.as_deref())?,
            paths: paths.collect(),
            keep_alive: config.keep_alive,
            security: Security::Pinned(config.pin),
        };
        let used = if config.multipath {
            config.paths.len()
        } else {
            1
        };
        let paths = config.paths.iter().take(used);
        let sockets = paths.map(|path| {
            let interface = config.binding.interface(path);
            PathSocket::new(SocketAddr::new(path.address, 0), interface)
        });
        let sockets = sockets.collect();
        let now = config.clock.now();
        let core = Core::client(core_config, config.server, config.channels, now)?;
        Ok(Udp::new(core, config.clock, sockets))
    }

    /// A server that accepts connections at its address.
    pub fn listen(config: ServerConfig) -> Result<Server, QuicError> {
        let core_config = CoreConfig {
            base: config.clock.instant(Time::ZERO),
            seed: config.seed,
            multipath: config.multipath,
            congestion: congestion(config.congestion.as_deref())?,
            paths: config.paths,
            keep_alive: None,
            security: Security::Tls(config.identity),
        };
        let address = config.address;
        let socket =
            Socket::bind(address, None).map_err(|source| QuicError::Socket { address, source })?;
        let socket = PathSocket {
            address: socket.address(),
            interface: None,
            socket: Some(socket),
            refused: 0,
            refusal_noted: false,
        };
        Ok(Udp::new(
            Core::server(core_config)?,
            config.clock,
            vec![socket],
        ))
    }

    fn new(core: Core, clock: Clock, sockets: Vec<PathSocket>) -> Udp {
        Udp {
            core,
            clock,
            sockets,
            buffer: vec![0; 2048],
        }
    }

    /// The address of the first socket: where a server listens.
    pub fn local_address(&self) -> SocketAddr {
        self.sockets[0].address
    }

    /// Datagrams that the system refused to send, over all paths.
    pub fn refused(&self) -> u64 {
        self.sockets.iter().map(|socket| socket.refused).sum()
    }

    /// Receives what waits, and answers each datagram before the next is looked at: noq answers
    /// a PATH_RESPONSE with acknowledgements for every path, which must leave before a
    /// PATH_ABANDON behind it is seen (docs/decisions/0003-noq-paths.md, late acknowledgements).
    fn receive(&mut self) {
        for index in 0..self.sockets.len() {
            for _ in 0..RECEIVE_BATCH {
                let slot = &mut self.sockets[index];
                let Some(socket) = &mut slot.socket else {
                    break;
                };
                let Some(arrival) = socket.receive(&mut self.buffer) else {
                    break;
                };
                let Arrival { remote, ecn, size } = arrival;
                let local = slot.address.ip();
                // Each datagram at its own time: a batch may take long to work off.
                let now = self.clock.now();
                self.core
                    .receive(now, local, remote, ecn, &self.buffer[..size]);
                self.send(now);
            }
        }
    }

    /// Until something arrives, `longest` at most.
    fn wait(&self, longest: Duration) {
        let sockets = self.sockets.iter().filter_map(|slot| slot.socket.as_ref());
        let mut fds: Vec<PollFd<'_>> = sockets
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
            .collect();
        let longest = longest.max(Duration::from_millis(1));
        // A signal is as good as something that arrived.
        let _ = poll(
            &mut fds,
            PollTimeout::try_from(longest).unwrap_or(PollTimeout::ZERO),
        );
    }

    fn send(&mut self, now: Time) {
        while let Some(transmit) = self.core.poll_transmit(now) {
            let index = match transmit.local {
                Some(local) => self.sockets.iter().position(|s| s.address.ip() == local),
                None => Some(0),
            };
            // A server bound to the unspecified address has one socket for all.
            let slot = &mut self.sockets[index.unwrap_or(0)];
            let sent = match &mut slot.socket {
                Some(socket) => socket.send(transmit.remote, transmit.ecn, transmit.payload),
                None => Err(io::ErrorKind::AddrNotAvailable.into()),
            };
            if let Err(error) = sent {
                slot.refused += 1;
                if !std::mem::replace(&mut slot.refusal_noted, true) {
                    let path = transmit.path;
                    let detail =
                        format!("the system refuses datagrams ({error}); they count as lost");
                    self.core.note(now, path, detail);
                }
            }
        }
    }
}

pub(super) fn congestion(name: Option<&str>) -> Result<Congestion, UnknownCongestion> {
    name.map_or(Ok(Congestion::default()), str::parse)
}

impl PathSocket {
    fn new(address: SocketAddr, interface: Option<u32>) -> PathSocket {
        let mut slot = PathSocket {
            address,
            interface,
            socket: None,
            refused: 0,
            refusal_noted: false,
        };
        slot.bind();
        slot
    }

    /// Binds to the path's address, to the port used before if there was one: the server knows
    /// a path by address and port. Without the address, every datagram counts as refused.
    fn bind(&mut self) {
        self.socket = None;
        if let Ok(socket) = Socket::bind(self.address, self.interface) {
            self.address = socket.address();
            self.socket = Some(socket);
        }
        self.refusal_noted = false;
    }
}

channels_are_of!(Udp, core);

impl SocketEndpoint for Udp {
    fn wait_for(&self, fds: &mut Vec<(RawFd, bool)>) {
        let sockets = self.sockets.iter().filter_map(|slot| slot.socket.as_ref());
        fds.extend(sockets.map(|socket| (socket.fd(), false)));
    }
}

impl Endpoint for Udp {
    fn poll_at(&self) -> Option<Time> {
        self.core.poll_at()
    }

    fn poll(&mut self, now: Time) -> io::Result<()> {
        self.receive();
        let now = now.max(self.clock.now());
        self.core.handle_timeouts(now);
        self.send(now);
        match self.core.connect_failure() {
            Some(reason) => Err(io::Error::other(format!(
                "the QUIC handshake with the server failed: {reason}"
            ))),
            None => Ok(()),
        }
    }

    fn flush(&mut self, now: Time) -> io::Result<()> {
        self.send(now.max(self.clock.now()));
        Ok(())
    }

    fn is_connected(&self) -> bool {
        self.core.is_connected()
    }

    fn accepted(&mut self) -> Option<usize> {
        self.core.accepted()
    }

    fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        self.core.view(now)
    }

    fn apply(&mut self, now: Time, action: &Action) -> Result<(), String> {
        let applied = self.core.apply(now, action);
        self.send(now.max(self.clock.now()));
        applied
    }

    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        self.core.sample(now, samples);
    }

    fn events(&mut self, events: &mut Vec<Event>) {
        self.core.events(events);
    }

    fn path_changed(&mut self, now: Time, path: PathIndex, up: bool) {
        if self.core.is_client()
            && up
            && let Some(slot) = self.sockets.get_mut(path.0)
        {
            slot.bind();
            if slot.socket.is_none() {
                let detail = format!("no socket at {}: the address is missing", slot.address);
                self.core.note(now, Some(path), detail);
            }
        }
    }

    fn take_changed(&mut self) -> bool {
        self.core.take_changed()
    }

    fn stack(&self) -> Stack {
        self.core.stack()
    }

    fn close(&mut self, now: Time) {
        let now = now.max(self.clock.now());
        self.core.close(now);
        self.send(now);
        let limit = now + LAST_WORDS;
        while self.core.is_leaving() {
            let now = self.clock.now();
            if now >= limit {
                break;
            }
            let due = self.core.goodbye_at().map_or(limit, |at| at.min(limit));
            self.wait(due.since(now));
            self.receive();
            let now = self.clock.now();
            self.core.handle_timeouts(now);
            self.send(now);
        }
    }
}
