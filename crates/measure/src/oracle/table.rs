//! Which connections are there, which subflows has each, and what was known of them before?
//!
//! The kernel's list of TCP sockets says of a subflow that this end joined neither the token of its
//! connection nor anything else but the application's socket it belongs to (its inode); the list
//! of connections joins the two. It is read when an unknown socket appears, when something
//! happened, and now and then in any case.

use super::kernel::Kernel;
use super::numbers::ByNumber;
use crate::netlink::mptcp::{EventKind, Notification};
use crate::netlink::sockets::{Connection, Subflow};
use crate::transport::kernel::observe::{self, Age};
use model::Time;
use policy::PathState;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The list of connections is read at least this often: what neither the events nor the subflows tell
/// is seen by then. It costs as much as a look.
const FULL_PERIOD: Duration = Duration::from_secs(5);

/// Which end of a connection this host is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It opened the connection.
    Client,
    /// It accepted it.
    Server,
}

/// A subflow as it was seen last.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The kernel's figures.
    pub subflow: Subflow,
    /// How far it is.
    pub state: PathState,
    /// How long its oldest unacknowledged byte has waited.
    pub oldest_unacked: Option<Duration>,
    /// When it was first seen.
    pub since: Time,
    age: Age,
    /// Its place in the kernel's list.
    place: usize,
}

/// A connection as it was seen last.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// Its number in the view and in the log, never used again.
    pub id: usize,
    /// Its local token.
    pub token: u32,
    /// This end of the initial subflow.
    pub local: SocketAddr,
    /// The other end of it.
    pub remote: SocketAddr,
    /// Which end this host is; `None` until a subflow tells.
    pub end: Option<End>,
    /// Its subflows that are not closed.
    pub subflows: Vec<Seen>,
    /// Whether the application has it open, and no end has said that it is done.
    pub open: bool,
    /// Further addresses of the peer, by id.
    pub announced: BTreeMap<u8, SocketAddr>,
}

/// What is remembered of a socket.
#[derive(Clone, Debug)]
struct Memory {
    connection: usize,
    state: PathState,
    age: Age,
    since: Time,
    /// The look it was last seen in.
    look: u64,
}

/// A listed socket that is no subflow of a connection: a stranger, or one that was let go of.
#[derive(Clone, Copy, Debug)]
struct Other {
    subflow: Subflow,
    place: usize,
}

/// What came and went in a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Connections that are new, by their numbers.
    pub came: Vec<usize>,
    /// Connections that are gone, by number and token.
    pub went: Vec<(usize, u32)>,
    /// Whether a subflow appeared, disappeared or changed its state.
    pub subflows: bool,
}

/// The connections of a host.
#[derive(Debug, Default)]
pub struct Table {
    connections: BTreeMap<usize, Tracked>,
    by_token: ByNumber<u32, usize>,
    by_inode: ByNumber<u32, usize>,
    memories: ByNumber<u64, Memory>,
    /// Sockets that no known connection has, as of the last full reading.
    strangers: BTreeSet<u64>,
    /// As of the last look.
    others: Vec<Other>,
    next_id: usize,
    looks: u64,
    /// Whether the list of connections may have changed.
    stale: bool,
    full_at: Time,
    // Memory used again.
    listed: Vec<Subflow>,
    full: Vec<Connection>,
}

impl Table {
    /// The connections, oldest first.
    pub fn connections(&self) -> impl Iterator<Item = &Tracked> {
        self.connections.values()
    }

    /// The connection with this number.
    pub fn get(&self, id: usize) -> Option<&Tracked> {
        self.connections.get(&id)
    }

    /// Reads the list of connections in the next look.
    pub fn resync(&mut self) {
        self.stale = true;
    }

    /// Takes in what the kernel told; whether it is worth a look.
    pub fn take_in(&mut self, told: &Notification) -> bool {
        match told.kind {
            EventKind::Created | EventKind::Established | EventKind::Closed => {
                // Connections come and go all the time: the next look is early enough.
                self.stale = true;
                false
            }
            EventKind::SubflowEstablished
            | EventKind::SubflowClosed
            | EventKind::SubflowPriority => true,
            EventKind::Announced | EventKind::Removed => {
                let known = self.by_token.get(&told.token);
                let connection = known.and_then(|id| self.connections.get_mut(id));
                if let (Some(connection), Some(id)) = (connection, told.remote_id) {
                    match told.remote.filter(|_| told.kind == EventKind::Announced) {
                        Some(mut address) => {
                            if address.port() == 0 {
                                address.set_port(connection.remote.port());
                            }
                            connection.announced.insert(id, address);
                        }
                        None => drop(connection.announced.remove(&id)),
                    }
                }
                false
            }
        }
    }

    /// Looks at every connection.
    pub fn look(&mut self, now: Time, kernel: &mut impl Kernel) -> io::Result<Changes> {
        let mut changes = Changes::default();
        let mut listed = std::mem::take(&mut self.listed);
        let read = kernel.subflows(&mut listed);
        let full = self.stale || now >= self.full_at;
        if read.is_ok() && !full && self.all_as_before(now, &listed) {
            self.listed = listed;
            return Ok(changes);
        }
        let news = read.is_ok() && self.has_news(&listed);
        let full = match (&read, news || full) {
            (Ok(()), true) => self.read_full(now, kernel, &mut changes),
            _ => Ok(()),
        };
        if read.is_ok() && full.is_ok() {
            self.assign(now, &listed, &mut changes);
        }
        self.listed = listed;
        read.and(full).map(|()| changes)
    }

    /// Takes in the figures of subflows that are the same as before, listed at the same places, as they
    /// are in most looks; whether that is all there was to do.
    fn all_as_before(&mut self, now: Time, listed: &[Subflow]) -> bool {
        let state = |s: &Subflow| observe::state(&s.tcp, Some(&s.role));
        let same = |new: &Subflow, old: &Subflow| {
            new.cookie == old.cookie && (new.inode, new.token) == (old.inode, old.token)
        };
        let mut known = self.others.len();
        for connection in self.connections.values_mut() {
            for seen in &mut connection.subflows {
                let new = match listed.get(seen.place) {
                    Some(new) if same(new, &seen.subflow) && state(new) == Some(seen.state) => new,
                    _ => return false,
                };
                seen.subflow = *new;
                seen.oldest_unacked = seen.age.of(now, &new.tcp);
                known += 1;
            }
        }
        known == listed.len()
            && self.others.iter().all(|other| {
                let (new, old) = (listed.get(other.place), &other.subflow);
                new.is_some_and(|new| same(new, old) && state(new) == state(old))
            })
    }

    /// Whether a subflow is unknown, closing or gone, so that the list of connections has to tell
    /// whether its connection has begun or ended.
    fn has_news(&self, listed: &[Subflow]) -> bool {
        let mut known = 0;
        for subflow in listed {
            match self.memories.get(&subflow.cookie) {
                Some(memory) => {
                    known += 1;
                    if observe::state(&subflow.tcp, Some(&subflow.role)) != Some(memory.state) {
                        return true;
                    }
                }
                None if self.strangers.contains(&subflow.cookie) => {}
                None => return true,
            }
        }
        known < self.memories.len()
    }

    fn owner(&self, subflow: &Subflow) -> Option<usize> {
        let known = |id: &usize| self.connections.contains_key(id);
        let by_socket = self.memories.get(&subflow.cookie).map(|m| m.connection);
        let by_token = || match subflow.token {
            0 => None,
            token => self.by_token.get(&token).copied(),
        };
        let by_inode = || match subflow.inode {
            0 => None,
            inode => self.by_inode.get(&inode).copied(),
        };
        by_socket
            .filter(known)
            .or_else(|| by_token().or_else(by_inode).filter(known))
    }

    fn read_full(
        &mut self,
        now: Time,
        kernel: &mut impl Kernel,
        changes: &mut Changes,
    ) -> io::Result<()> {
        let mut full = std::mem::take(&mut self.full);
        let read = kernel.connections(&mut full);
        if read.is_ok() {
            self.stale = false;
            self.full_at = now + FULL_PERIOD;
            self.strangers.clear();
            self.by_inode.clear();
            let tokens: BTreeSet<u32> = full.iter().map(|c| c.token).collect();
            self.connections.retain(|id, known| {
                let stays = tokens.contains(&known.token);
                if !stays {
                    changes.went.push((*id, known.token));
                }
                stays
            });
            let connections = &self.connections;
            self.by_token.retain(|_, id| connections.contains_key(id));
            for connection in &full {
                // Its first SYN is on its way, and the kernel does not say yet where to: the event tells.
                let connecting = connection.remote.port() == 0;
                if connecting && !self.by_token.contains_key(&connection.token) {
                    continue;
                }
                let id = match self.by_token.get(&connection.token) {
                    Some(id) => *id,
                    None => self.adopt(connection, changes),
                };
                if let Some(known) = self.connections.get_mut(&id) {
                    known.open = connection.open && connection.inode != 0;
                }
                if connection.inode != 0 {
                    self.by_inode.insert(connection.inode, id);
                }
            }
        }
        self.full = full;
        read
    }

    fn adopt(&mut self, connection: &Connection, changes: &mut Changes) -> usize {
        let id = self.next_id;
        self.next_id += 1;
        self.by_token.insert(connection.token, id);
        self.connections.insert(
            id,
            Tracked {
                id,
                token: connection.token,
                local: connection.local,
                remote: connection.remote,
                end: None,
                subflows: Vec::new(),
                open: true,
                announced: BTreeMap::new(),
            },
        );
        changes.came.push(id);
        id
    }

    fn assign(&mut self, now: Time, listed: &[Subflow], changes: &mut Changes) {
        self.looks += 1;
        let look = self.looks;
        for connection in self.connections.values_mut() {
            for seen in connection.subflows.drain(..) {
                if let Some(memory) = self.memories.get_mut(&seen.subflow.cookie) {
                    memory.age = seen.age;
                }
            }
        }
        self.others.clear();
        for (place, subflow) in listed.iter().enumerate() {
            let other = Other {
                subflow: *subflow,
                place,
            };
            let Some(id) = self.owner(subflow) else {
                self.strangers.insert(subflow.cookie);
                self.others.push(other);
                continue;
            };
            let Some(connection) = self.connections.get_mut(&id) else {
                continue;
            };
            let Some(state) = observe::state(&subflow.tcp, Some(&subflow.role)) else {
                continue;
            };
            let memory = self.memories.entry(subflow.cookie).or_insert_with(|| {
                changes.subflows = true;
                Memory {
                    connection: id,
                    state,
                    age: Age::default(),
                    since: now,
                    look,
                }
            });
            memory.look = look;
            changes.subflows |= memory.state != state;
            memory.state = state;
            // The application's socket has let go of it: what it still sends nobody waits for.
            if state == PathState::Closing && subflow.inode == 0 {
                self.others.push(other);
                continue;
            }
            connection.end = connection.end.or(Some(match subflow.role.opened_here() {
                true => End::Client,
                false => End::Server,
            }));
            connection.subflows.push(Seen {
                subflow: *subflow,
                state,
                oldest_unacked: memory.age.of(now, &subflow.tcp),
                since: memory.since,
                age: memory.age.clone(),
                place,
            });
        }
        let before = self.memories.len();
        self.memories.retain(|_, memory| memory.look == look);
        changes.subflows |= self.memories.len() != before;
        for connection in self.connections.values_mut() {
            // The kernel lists them by their place in a table of hashes.
            connection
                .subflows
                .sort_by_key(|s| (s.since, s.subflow.cookie));
        }
    }
}
