//! The server's end: accepts every connection and leaves path management to the kernel.

use super::channel::{Channel, Phase};
use super::connections::{Connections, PathKey};
use super::paths::LIMITS;
use super::{ListenError, Protocol, ServerConfig, SetupError, socket, stack, sysctl};
use crate::netlink::mptcp::Control;
use crate::oracle::Kind;
use crate::oracle::follow::Follower;
use crate::oracle::linux::Linux;
use crate::transport::{Endpoint, SocketEndpoint};
use model::daemon::Follow;
use model::manifest::Stack;
use model::record::{Event, EventKind, Sample};
use model::{PathIndex, Side, Time};
use policy::{Action, ConnectionView};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

/// A server over the kernel's TCP or MPTCP.
pub struct Server {
    connections: Connections,
    config: ServerConfig,
    listener: TcpListener,
    accepted: VecDeque<usize>,
    congestion: String,
    follower: Option<Follower<Linux>>,
}

impl Server {
    /// Sets up the calling thread's network namespace (for MPTCP: the kernel's own path manager
    /// with its highest limits) and listens.
    pub fn listen(config: ServerConfig) -> Result<Server, ListenError> {
        let mptcp = config.protocol == Protocol::Mptcp;
        let follow = mptcp && config.follow;
        if follow {
            sysctl::set("net.mptcp.enabled", "1")?;
            sysctl::set_path_manager(true)?;
        } else if mptcp {
            prepare_namespace()?;
        }
        // Before anyone can join: joins are accepted while a process listens to the events.
        let follower = follow.then(Linux::open).transpose();
        let follower = follower.map_err(|source| SetupError::PathManager {
            what: "following clients",
            source,
        })?;
        let follower = follower.map(|kernel| Follower::new(kernel, Follow::default(), false));
        let wanted = config.congestion.as_deref();
        let listener = socket::serve(config.protocol, config.address, wanted)?;
        let congestion = socket::congestion(listener.as_raw_fd()).map_err(|source| {
            let option = "TCP_CONGESTION";
            SetupError::Option { option, source }
        })?;
        let keys = config.paths.iter().map(|(client, name)| PathKey {
            client: *client,
            interface: 0,
            name: name.clone(),
        });
        Ok(Server {
            connections: Connections::new(Side::Server, config.clock, keys.collect(), mptcp),
            config,
            listener,
            accepted: VecDeque::new(),
            congestion,
            follower,
        })
    }

    /// Where it listens.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn channel(&self, stream: TcpStream, peer: SocketAddr) -> Result<Channel, SetupError> {
        socket::prepare(stream.as_raw_fd(), self.config.congestion.as_deref())?;
        Channel::new(stream, Phase::Open, peer).map_err(|source| SetupError::Option {
            option: "SO_PROTOCOL",
            source,
        })
    }

    fn accept(&mut self, now: Time) -> io::Result<()> {
        loop {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    // The client gave up in between: accept(2).
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                    _ => return Err(error),
                },
            };
            let channel = match self.channel(stream, peer) {
                Ok(channel) => channel,
                Err(why) => {
                    // One connection that is broken already does not end the run.
                    let detail = format!("a connection from {peer} was dropped: {why}");
                    self.connections
                        .event(now, EventKind::Note, None, None, detail);
                    continue;
                }
            };
            let index = self.connections.channels.len();
            let plain = self.config.protocol == Protocol::Mptcp && !channel.mptcp;
            let detail = format!("from {peer}");
            self.connections.channels.push(channel);
            self.connections
                .event(now, EventKind::Connected, Some(index), None, detail);
            if plain {
                let detail = "the client came with plain TCP";
                self.connections
                    .event(now, EventKind::Fallback, Some(index), None, detail);
            }
            self.connections.observe(now, index);
            self.accepted.push_back(index);
        }
    }
}

impl Server {
    /// Follows the clients; what is decided and done becomes events.
    fn follow(&mut self, now: Time) {
        let Some(follower) = &mut self.follower else {
            return;
        };
        follower.poll(now);
        for entry in follower.take_log() {
            let kind = match entry.kind {
                Kind::Decision => EventKind::Decision,
                Kind::Done => EventKind::PriorityChanged,
                Kind::Failed => EventKind::ActionFailed,
                _ => EventKind::Note,
            };
            let token = entry.connection.and_then(|c| follower.token_of(c));
            let channel = token.and_then(|t| self.connections.tokens.get(&t).copied());
            let detail = format!("follow: {}", entry.detail);
            self.connections.event(now, kind, channel, None, detail);
        }
    }
}

/// MPTCP on, the kernel's own path manager, its highest limits. Where that is refused and the
/// namespace allows joins already, as on a server that someone else set up, it is left as it is.
pub fn prepare_namespace() -> Result<(), SetupError> {
    sysctl::set("net.mptcp.enabled", "1")?;
    sysctl::set_path_manager(false)?;
    let refused = |source| SetupError::PathManager {
        what: "setting the limits",
        source,
    };
    let mut control = Control::open().map_err(refused)?;
    match control.set_limits(LIMITS) {
        Err(error) if !control.limits().is_ok_and(|l| l.subflows > 0) => Err(refused(error)),
        _ => Ok(()),
    }
}

channels_are_of!(Server, connections);

impl SocketEndpoint for Server {
    fn wait_for(&self, fds: &mut Vec<(RawFd, bool)>) {
        fds.push((self.listener.as_raw_fd(), false));
        self.connections.wait_for(fds);
        let follower = self.follower.iter();
        fds.extend(
            follower
                .flat_map(|f| f.kernel().wait_for())
                .map(|fd| (fd, false)),
        );
    }
}

impl Endpoint for Server {
    fn poll_at(&self) -> Option<Time> {
        self.follower.as_ref().map(Follower::poll_at)
    }

    fn poll(&mut self, now: Time) -> io::Result<()> {
        self.accept(now)?;
        self.connections.flush(now);
        self.connections.drain_notifications(now);
        self.follow(now);
        Ok(())
    }

    fn flush(&mut self, now: Time) -> io::Result<()> {
        self.connections.flush(now);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        true
    }

    fn accepted(&mut self) -> Option<usize> {
        self.accepted.pop_front()
    }

    fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        self.connections.view(now)
    }

    fn apply(&mut self, _now: Time, _action: &Action) -> Result<(), String> {
        Err("the server leaves paths to the client and the kernel".to_owned())
    }

    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        self.connections.sample(now, samples);
    }

    fn events(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.connections.events);
    }

    fn path_changed(&mut self, _now: Time, _path: PathIndex, _up: bool) {}

    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.connections.changed)
    }

    fn stack(&self) -> Stack {
        let manager = match self.config.protocol {
            Protocol::Tcp => "none",
            Protocol::Mptcp if self.follower.is_some() => "userspace",
            Protocol::Mptcp => "kernel",
        };
        stack(self.congestion.clone(), manager)
    }

    fn close(&mut self, now: Time) {
        self.connections.close(now);
    }
}
