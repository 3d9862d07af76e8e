//! The client's end: connects from the first path, and carries out what a path manager asks.

use super::channel::{Channel, Phase};
use super::connections::{Connections, PathKey};
use super::paths::Paths;
use super::{ClientConfig, ConnectError, Protocol, SetupError, socket, stack};
use crate::transport::{Endpoint, SocketEndpoint};
use model::manifest::Stack;
use model::record::{Event, EventKind, Sample};
use model::{PathIndex, Side, Time};
use policy::{Action, ConnectionView};
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// How often a subflow that is opening is looked at: nothing tells when the fourth
/// acknowledgement makes it usable. Well below any round-trip time that matters here.
const OPENING_PERIOD: Duration = Duration::from_millis(5);

/// A client over the kernel's TCP or MPTCP.
pub struct Client {
    connections: Connections,
    config: ClientConfig,
    /// `None` for TCP.
    paths: Option<Paths>,
    congestion: String,
    look_at: Option<Time>,
}

impl Client {
    /// Sets up the calling thread's network namespace and starts a connection for each channel
    /// from the first path. Never waits; [`Endpoint::is_connected`] tells when they are there,
    /// and [`Endpoint::poll`] fails when one cannot be.
    pub fn connect(config: ClientConfig) -> Result<Client, ConnectError> {
        let Some(first) = config.paths.first().filter(|_| config.channels > 0) else {
            return Err(SetupError::Empty);
        };
        let mptcp = config.protocol == Protocol::Mptcp;
        let paths = match mptcp {
            true => {
                let paths = Paths::prepare(config.management, &config.paths, config.server)?;
                Some(paths)
            }
            false => None,
        };
        let keys = config.paths.iter().map(|p| PathKey {
            client: p.address,
            interface: p.interface,
            name: p.name.clone(),
        });
        let mut connections = Connections::new(Side::Client, config.clock, keys.collect(), mptcp);
        let mut congestion = String::new();
        let wanted = config.congestion.as_deref();
        for _ in 0..config.channels {
            let local = socket::Local {
                address: Some(first.address),
                interface: config.binding.interface(first),
            };
            let stream = socket::start(config.protocol, local, config.server, wanted)?;
            let channel = Channel::new(stream, Phase::Connecting, config.server);
            let channel = channel.map_err(option("SO_PROTOCOL"))?;
            congestion = socket::congestion(channel.fd()).map_err(option("TCP_CONGESTION"))?;
            connections.channels.push(channel);
        }
        Ok(Client {
            connections,
            config,
            paths,
            congestion,
            look_at: None,
        })
    }

    /// Finishes the handshakes; one that fails ends the run.
    fn finish_connecting(&mut self, now: Time) -> io::Result<()> {
        for index in 0..self.connections.channels.len() {
            let channel = &mut self.connections.channels[index];
            if channel.phase != Phase::Connecting {
                continue;
            }
            match channel.finish_connecting() {
                Ok(false) => {}
                Ok(true) => {
                    let detail = format!("{} to {}", channel.local, channel.remote);
                    let path = Some(PathIndex(0));
                    self.connections
                        .event(now, EventKind::Connected, Some(index), path, detail);
                    self.connections.observe(now, index);
                }
                Err(error) => {
                    let (local, server) = (channel.local.ip(), self.config.server);
                    self.connections.end(now, index, &error);
                    let text = format!("cannot connect from {local} to {server}: {error}");
                    return Err(io::Error::new(error.kind(), text));
                }
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, now: Time, action: &Action) -> Result<(), String> {
        let (connection, path) = action.target();
        let Some(paths) = &mut self.paths else {
            return Err("TCP has one path; only Multipath TCP opens others".to_owned());
        };
        let Some(seen) = self.connections.observe(now, connection) else {
            return Err(format!("there is no open connection {connection}"));
        };
        let log = |connections: &mut Connections, kind, detail: String| {
            connections.event(now, kind, Some(connection), Some(path), detail);
        };
        match *action {
            Action::Open { backup, .. } => {
                let id = paths.open(connection, path, backup, &seen)?;
                let word = if backup { ", as backup" } else { "" };
                let detail = format!("address id {id}{word}");
                log(&mut self.connections, EventKind::PathOpening, detail);
            }
            // The kernel knows no failed subflows from outside, and what is in flight on one moves
            // only when it is gone.
            Action::Close { .. } | Action::Suspect { .. } => {
                let reason = paths.close(connection, path, &seen)?;
                self.connections.expect_close(connection, path, reason);
                // The kernel has told of the end by now.
                self.connections.drain_notifications(now);
            }
            Action::SetBackup { backup, .. } => {
                paths.set_backup(path, backup, &seen)?;
                let word = if backup { "backup" } else { "regular" };
                let detail = format!("this end made it {word}");
                log(&mut self.connections, EventKind::PriorityChanged, detail);
            }
        }
        self.connections.observe(now, connection);
        Ok(())
    }

    fn plan_look(&mut self, now: Time) {
        self.look_at = self.connections.is_opening().then(|| now + OPENING_PERIOD);
    }
}

fn option(option: &'static str) -> impl Fn(io::Error) -> SetupError {
    move |source| SetupError::Option { option, source }
}

channels_are_of!(Client, connections);

impl SocketEndpoint for Client {
    fn wait_for(&self, fds: &mut Vec<(RawFd, bool)>) {
        self.connections.wait_for(fds);
    }
}

impl Endpoint for Client {
    fn poll_at(&self) -> Option<Time> {
        self.look_at
    }

    fn poll(&mut self, now: Time) -> io::Result<()> {
        self.finish_connecting(now)?;
        self.connections.flush(now);
        self.connections.drain_notifications(now);
        if self.look_at.is_some_and(|at| at <= now) {
            self.connections.refresh(now);
        }
        if self.look_at.is_none_or(|at| at <= now) {
            self.plan_look(now);
        }
        Ok(())
    }

    fn flush(&mut self, now: Time) -> io::Result<()> {
        self.connections.flush(now);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        let mut channels = self.connections.channels.iter();
        channels.all(|c| c.phase == Phase::Open)
    }

    fn accepted(&mut self) -> Option<usize> {
        None
    }

    fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        self.connections.view(now)
    }

    fn apply(&mut self, now: Time, action: &Action) -> Result<(), String> {
        let result = self.carry_out(now, action);
        self.plan_look(now);
        result
    }

    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        self.connections.sample(now, samples);
    }

    fn events(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.connections.events);
    }

    fn path_changed(&mut self, now: Time, path: PathIndex, up: bool) {
        self.connections.changed = true;
        let Some(paths) = &mut self.paths else {
            return;
        };
        // The userspace path manager's subflows stay when their address goes: it is told, and
        // closes them or not.
        let (kind, detail) = match paths.path_changed(path, up) {
            Ok(None) => return,
            Ok(Some(done)) => (EventKind::Note, done.to_owned()),
            Err(error) => (EventKind::ActionFailed, error),
        };
        self.connections.event(now, kind, None, Some(path), detail);
    }

    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.connections.changed)
    }

    fn stack(&self) -> Stack {
        let manager = self.paths.as_ref().map_or("none", Paths::manager);
        stack(self.congestion.clone(), manager)
    }

    fn close(&mut self, now: Time) {
        self.connections.close(now);
    }
}
