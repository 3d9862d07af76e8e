//! What both ends have in common: the channels, what is seen of them, and what happened.

use super::channel::{Channel, Phase};
use super::info::{self, Subflow};
use super::observe::{self, Observation, Observed};
use super::socket;
use super::ulp::Diagnosis;
use crate::Clock;
use crate::netlink::mptcp::Events;
use model::record::{Event, EventKind, Sample};
use model::{Name, PathIndex, Side, Time};
use policy::{ConnectionView, PathState};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use traffic::Channels;

/// How a path is recognised, and what it is called.
#[derive(Clone, Debug)]
pub struct PathKey {
    /// The client's address on it.
    pub client: IpAddr,
    /// This end's interface, 0 for any.
    pub interface: u32,
    /// Its name.
    pub name: Name,
}

/// A subflow that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    state: PathState,
    /// Both ends: another subflow on the same path is another one.
    ends: (SocketAddr, SocketAddr),
}

impl Known {
    fn of(observed: &Observed) -> Known {
        Known {
            state: observed.state,
            ends: (observed.subflow.local, observed.subflow.remote),
        }
    }
}

/// The connections of one end.
pub struct Connections {
    pub side: Side,
    pub clock: Clock,
    /// The client's address on each path, which tells the subflows apart at both ends.
    paths: Vec<PathKey>,
    pub channels: Vec<Channel>,
    pub events: Vec<Event>,
    /// Whether the path manager should be asked.
    pub changed: bool,
    diagnosis: Option<Diagnosis>,
    pub notifications: Option<Events>,
    /// The subflows seen last, by channel and path.
    pub known: BTreeMap<(usize, PathIndex), Known>,
    /// Paths that have carried data, by channel.
    used: Vec<(usize, PathIndex)>,
    /// Why a subflow closed, told before it is seen to be gone.
    pub reasons: BTreeMap<(usize, PathIndex), String>,
    /// Connections by their local tokens.
    pub tokens: BTreeMap<u32, usize>,
}

impl Connections {
    /// No connections yet. Without privileges there are no notifications: what happens to
    /// subflows is then noticed when they are looked at.
    pub fn new(side: Side, clock: Clock, paths: Vec<PathKey>, mptcp: bool) -> Connections {
        Connections {
            side,
            clock,
            paths,
            channels: Vec::new(),
            events: Vec::new(),
            changed: false,
            diagnosis: mptcp.then(Diagnosis::open).and_then(Result::ok),
            notifications: mptcp.then(Events::subscribe).and_then(Result::ok),
            known: BTreeMap::new(),
            used: Vec::new(),
            reasons: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// An event at this end.
    pub fn event(
        &mut self,
        now: Time,
        kind: EventKind,
        channel: Option<usize>,
        path: Option<PathIndex>,
        detail: impl Into<String>,
    ) {
        let mut event = Event::new(now, kind, detail);
        event.side = Some(self.side);
        event.connection = channel.map(|c| c as u64);
        event.path = path
            .and_then(|p| self.paths.get(p.0))
            .map(|p| p.name.clone());
        self.events.push(event);
    }

    /// The descriptors to wait for.
    pub fn wait_for(&self, fds: &mut Vec<(RawFd, bool)>) {
        let open = self.channels.iter().filter(|c| c.phase != Phase::Closed);
        fds.extend(open.map(|c| (c.fd(), c.wants_to_write())));
        fds.extend(self.notifications.iter().map(|n| (n.as_raw_fd(), false)));
    }

    /// Hands each channel's queue to its socket.
    pub fn flush(&mut self, now: Time) {
        for index in 0..self.channels.len() {
            if let Err(error) = self.channels[index].send() {
                self.end(now, index, &error);
            }
        }
    }

    /// Marks a channel as over.
    pub fn end(&mut self, now: Time, channel: usize, error: &io::Error) {
        let connection = &mut self.channels[channel];
        if connection.phase == Phase::Closed {
            return;
        }
        connection.end();
        let detail = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the peer closed the connection".to_owned(),
            _ => error.to_string(),
        };
        self.see(now, channel, &[]);
        self.event(now, EventKind::Disconnected, Some(channel), None, detail);
        self.changed = true;
    }

    /// Says why a subflow is about to be seen gone.
    pub fn expect_close(&mut self, channel: usize, path: PathIndex, reason: String) {
        self.reasons.insert((channel, path), reason);
    }

    /// The path of a client's address.
    pub fn path_of(&self, client: IpAddr) -> Option<PathIndex> {
        let client = client.to_canonical();
        let index = self.paths.iter().position(|p| p.client == client)?;
        Some(PathIndex(index))
    }

    /// Looks at every channel that is open.
    pub fn refresh(&mut self, now: Time) {
        for channel in 0..self.channels.len() {
            self.observe(now, channel);
        }
    }

    /// Whether a subflow is on its way to be usable, which no notification tells.
    pub fn is_opening(&self) -> bool {
        self.known.values().any(|k| k.state == PathState::Opening)
    }

    /// Looks at a channel; `None` when it is over or the kernel does not tell.
    pub fn observe(&mut self, now: Time, channel: usize) -> Option<Observation> {
        let connection = self.channels.get_mut(channel)?;
        if connection.phase == Phase::Closed {
            return None;
        }
        let fd = connection.fd();
        let queued = connection.queued() as u64;
        let unsent = socket::unsent(fd).unwrap_or(0);
        let unacknowledged = socket::unacknowledged(fd).unwrap_or(0);
        let mut mptcp = None;
        if connection.mptcp {
            mptcp = info::mptcp(fd).ok()?;
            // While it connects it is too early to tell.
            if mptcp.is_none() && connection.phase == Phase::Open {
                connection.mptcp = false;
                let detail = "the connection is plain TCP: Multipath TCP was refused or given up";
                self.event(now, EventKind::Fallback, Some(channel), None, detail);
            }
        }
        let connection = &mut self.channels[channel];
        let subflows = match &mptcp {
            Some(mptcp) => mptcp.subflows.clone(),
            None => vec![Subflow {
                local: connection.local,
                remote: connection.remote,
                tcp: info::tcp(fd).ok()?,
            }],
        };
        connection.ages.keep(&subflows);
        let ages: Vec<_> = subflows
            .iter()
            .map(|s| connection.ages.of_subflow(now, s))
            .collect();
        let mut observed = Vec::new();
        for (subflow, oldest_unacked) in subflows.into_iter().zip(ages) {
            let client = match self.side {
                Side::Client => subflow.local,
                Side::Server => subflow.remote,
            };
            let Some(path) = self.path_of(client.ip()) else {
                continue;
            };
            let interface = self.paths[path.0].interface;
            let role = match (&mptcp, &mut self.diagnosis) {
                (Some(_), Some(diagnosis)) => {
                    diagnosis.role(subflow.local, subflow.remote, interface)
                }
                _ => None,
            };
            if let Some(state) = observe::state(&subflow.tcp, role.as_ref()) {
                observed.push(Observed {
                    path,
                    state,
                    subflow,
                    role,
                    oldest_unacked,
                });
            }
        }
        let subflows = observe::one_for_each_path(observed);
        self.see(now, channel, &subflows);

        let outstanding = unacknowledged.saturating_sub(unsent);
        let ages = &mut self.channels[channel].ages;
        let oldest_unacked = match (&mptcp, subflows.as_slice()) {
            (Some(mptcp), _) => {
                self.tokens.insert(mptcp.info.token, channel);
                let acknowledged = mptcp.info.snd_una;
                ages.of_connection(now, acknowledged + outstanding, acknowledged)
            }
            (None, [only]) => only.oldest_unacked,
            (None, _) => None,
        };
        Some(Observation {
            mptcp: mptcp.map(|m| m.info),
            subflows,
            unsent: unsent + queued,
            outstanding,
            oldest_unacked,
        })
    }

    /// Compares a channel's subflows with what was seen before and logs what changed.
    fn see(&mut self, now: Time, channel: usize, subflows: &[Observed]) {
        let of_channel = (channel, PathIndex(0))..(channel + 1, PathIndex(0));
        let before: Vec<(PathIndex, Known)> = self
            .known
            .range(of_channel)
            .map(|((_, path), known)| (*path, *known))
            .collect();
        for (path, old) in before {
            if subflows.iter().any(|s| Known::of(s).ends == old.ends) {
                continue;
            }
            self.known.remove(&(channel, path));
            let reason = self.reasons.remove(&(channel, path)).unwrap_or_default();
            let kind = EventKind::PathClosed;
            self.event(now, kind, Some(channel), Some(path), reason);
            self.changed = true;
        }
        for subflow in subflows {
            let key = (channel, subflow.path);
            let old = self.known.insert(key, Known::of(subflow));
            if old != Some(Known::of(subflow)) {
                self.changed = true;
                if subflow.state == PathState::Established {
                    let detail = describe(subflow);
                    let kind = EventKind::PathOpened;
                    self.event(now, kind, Some(channel), Some(subflow.path), detail);
                }
            }
            let carried = subflow.subflow.tcp.data_segs_out > 0;
            if carried && !self.used.contains(&key) {
                self.used.push(key);
                let detail = "seen at the first look after it was sent";
                let kind = EventKind::FirstData;
                self.event(now, kind, Some(channel), Some(subflow.path), detail);
            }
        }
    }

    /// What a path manager sees.
    pub fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        let mut views = Vec::new();
        for channel in 0..self.channels.len() {
            let Some(observation) = self.observe(now, channel) else {
                continue;
            };
            views.push(ConnectionView {
                id: channel,
                has_unsent: observation.unsent > 0,
                subflows: observation.subflows.iter().map(observe::view).collect(),
            });
        }
        views
    }

    /// A row for each connection and one for each of its subflows.
    pub fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        for channel in 0..self.channels.len() {
            let observation = self.observe(now, channel).unwrap_or_default();
            let state = match self.channels[channel].phase {
                Phase::Connecting => "connecting",
                Phase::Open => "established",
                Phase::Closed => "closed",
            };
            let side = self.side;
            let row = observe::connection_row(now, side, channel, state, &observation);
            samples.push(row);
            for subflow in &observation.subflows {
                let name = self.paths[subflow.path.0].name.clone();
                let mut row = observe::subflow_row(now, side, channel, name, subflow);
                if observation.mptcp.is_none() {
                    // All that waits, waits for this one path.
                    row.unsent_bytes = Some(observation.unsent);
                }
                samples.push(row);
            }
        }
    }

    /// Says goodbye on every channel.
    pub fn close(&mut self, now: Time) {
        self.flush(now);
        let open = |c: &&mut Channel| c.phase == Phase::Open;
        self.channels
            .iter_mut()
            .filter(open)
            .for_each(Channel::say_goodbye);
    }
}

impl Channels for Connections {
    fn write(&mut self, channel: usize, data: &[u8]) {
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.write(data);
        }
    }

    fn queued(&self, channel: usize) -> usize {
        self.channels.get(channel).map_or(0, Channel::queued)
    }

    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let Some(open) = self.channels.get_mut(channel) else {
            return 0;
        };
        match open.read(buffer) {
            Ok(count) => count,
            Err(error) => {
                let now = self.clock.now();
                self.end(now, channel, &error);
                0
            }
        }
    }

    fn is_open(&self, channel: usize) -> bool {
        let channel = self.channels.get(channel);
        channel.is_some_and(|c| c.phase != Phase::Closed)
    }
}

fn describe(observed: &Observed) -> String {
    let Subflow { local, remote, .. } = observed.subflow;
    match observed.role {
        None => format!("{local} to {remote}"),
        Some(role) => format!(
            "{local} to {remote}, address ids {} and {}{}{}",
            role.local_id,
            role.remote_id,
            if role.backup() { ", backup" } else { "" },
            if role.peer_backup() {
                ", backup for the peer"
            } else {
                ""
            },
        ),
    }
}
