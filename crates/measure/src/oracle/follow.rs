//! How does a server on an unmodified kernel send on the subflow its client used last?
//!
//! MultiMob's server follows its client (section III-C of the paper): it answers on the subflow on which the last
//! data came. The kernel's scheduler has no such choice, but it leaves backup subflows alone while
//! another one works; so the follower makes every subflow but the one in use backup (SET_FLAGS).
//!
//! What it cannot help: SET_FLAGS tells the client as well (MP_PRIO, on the subflow itself, lost
//! where that is dead), so it steers both directions; and a client that uses two paths at once
//! keeps the one of them that it used first, as data then comes on both.

use super::kernel::Kernel;
use super::log::{Entry, Kind};
use super::status::{ConnectionStatus, Status};
use super::table::{End, Seen, Tracked};
use super::watch::Watch;
use model::Time;
use model::daemon::Follow;
use policy::PathState;
use std::collections::HashMap;
use std::time::Duration;

/// A change of priority that does not show is asked for again after this.
const PATIENCE: Duration = Duration::from_secs(1);
/// Looks that events cause are at least this far apart.
const CLOSEST: Duration = Duration::from_millis(2);

/// What is remembered of a connection.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// The subflow in use.
    current: Option<u64>,
    /// What was asked for last, by subflow: backup or not, and when.
    asked: HashMap<u64, (bool, Time)>,
    /// Whether the kernel's own path manager has it.
    kernels: bool,
}

/// The follower of a host that accepts connections.
pub struct Follower<K> {
    watch: Watch<K>,
    settings: Follow,
    memories: HashMap<usize, Memory>,
}

impl<K: Kernel> Follower<K> {
    /// A follower.
    pub fn new(kernel: K, settings: Follow, dry_run: bool) -> Follower<K> {
        Follower {
            watch: Watch::new(kernel, dry_run),
            settings,
            memories: HashMap::new(),
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &K {
        &self.watch.kernel
    }

    /// The kernel of a test.
    #[cfg(test)]
    pub fn kernel_mut(&mut self) -> &mut K {
        &mut self.watch.kernel
    }

    /// When it wants to be called next, if nothing happens.
    pub fn poll_at(&self) -> Time {
        self.watch.poll_at()
    }

    /// The entries of the log since the last call.
    pub fn take_log(&mut self) -> Vec<Entry> {
        self.watch.take_log()
    }

    /// The connection that has this token.
    pub fn token_of(&self, connection: usize) -> Option<u32> {
        self.watch.table.get(connection).map(|c| c.token)
    }

    /// Takes in what the kernel told, and looks and acts when that is due.
    pub fn poll(&mut self, now: Time) {
        let happened = self.watch.take_in(now);
        // Nothing here depends on the interfaces, but what is not read fills the socket.
        let _ = self.watch.kernel.interfaces_changed();
        if happened {
            self.watch.hurry(now, CLOSEST);
        }
        if let Some(changes) = self.watch.look(now, self.settings.period.get()) {
            for (id, _) in &changes.went {
                self.memories.remove(id);
            }
            self.follow(now);
        }
    }

    fn follow(&mut self, now: Time) {
        let gone = self.watch.counters.gone;
        let table = std::mem::take(&mut self.watch.table);
        for connection in table.connections() {
            if connection.end == Some(End::Server) {
                self.follow_one(now, connection);
            }
        }
        self.watch.table = table;
        // What was asked for met a subflow or connection that is no more.
        if self.watch.counters.gone > gone {
            self.watch.table.resync();
        }
    }

    fn follow_one(&mut self, now: Time, connection: &Tracked) {
        let mut memory = self.memories.remove(&connection.id).unwrap_or_default();
        let usable = |s: &&Seen| s.state == PathState::Established;
        let usable: Vec<&Seen> = connection.subflows.iter().filter(usable).collect();
        memory
            .asked
            .retain(|cookie, _| usable.iter().any(|s| s.subflow.cookie == *cookie));
        if !memory.kernels
            && let Some((used, cause)) = self.used_last(now, &usable, memory.current)
        {
            if memory.current != Some(used.subflow.cookie) {
                memory.current = Some(used.subflow.cookie);
                // The first one is no decision: there was none before.
                if usable.len() > 1 {
                    self.watch.counters.decisions += 1;
                    let would = if self.watch.dry_run { "would " } else { "" };
                    let to = used.subflow.remote.ip();
                    let detail = format!("{would}send on the subflow to {to}: {cause}");
                    self.watch
                        .entry(now, Kind::Decision, Some(connection.id), None, detail);
                }
            }
            if !self.watch.dry_run {
                self.steer(now, connection, &usable, used.subflow.cookie, &mut memory);
            }
        }
        self.memories.insert(connection.id, memory);
    }

    /// The subflow that the client used last, and why it is held to be that.
    fn used_last<'s>(
        &self,
        now: Time,
        usable: &[&'s Seen],
        current: Option<u64>,
    ) -> Option<(&'s Seen, String)> {
        let quiet = self.settings.quiet.get();
        let at = |seen: &Seen| last_used(now, seen);
        let now_used = usable.iter().find(|s| Some(s.subflow.cookie) == current);
        let latest = usable.iter().max_by_key(|s| at(s))?;
        let Some(in_use) = now_used else {
            // All of a predecessor's are new here: what tells them apart is the data that came.
            let latest = usable.iter().max_by_key(|s| (last_data(now, s), at(s)))?;
            return Some((latest, "it was used last".to_owned()));
        };
        if latest.subflow.cookie == in_use.subflow.cookie {
            return Some((latest, String::new()));
        }
        let ahead = at(latest).since(at(in_use));
        // A client that opens a subflow, and not as a backup, is about to use it.
        let joined = latest.since > in_use.since
            && latest.since >= at(in_use)
            && !latest.subflow.role.peer_backup();
        if joined {
            return Some((latest, "the client has just opened it".to_owned()));
        }
        if ahead >= quiet {
            let cause = format!(
                "data came on it {} ms after the last on the one in use",
                ahead.as_millis()
            );
            return Some((latest, cause));
        }
        Some((in_use, String::new()))
    }

    fn steer(
        &mut self,
        now: Time,
        connection: &Tracked,
        usable: &[&Seen],
        used: u64,
        memory: &mut Memory,
    ) {
        // First the one to use, so that there is always one that is no backup.
        let in_order = usable
            .iter()
            .filter(|s| s.subflow.cookie == used)
            .chain(usable.iter().filter(|s| s.subflow.cookie != used));
        for seen in in_order {
            let subflow = &seen.subflow;
            let backup = subflow.cookie != used;
            let asked = memory.asked.get(&subflow.cookie);
            let pending =
                asked.is_some_and(|(what, at)| *what == backup && now.since(*at) < PATIENCE);
            // One that the client wants as backup is left alone by both ends already.
            let theirs = backup && subflow.role.peer_backup();
            if subflow.role.backup() == backup || pending || theirs {
                continue;
            }
            memory.asked.insert(subflow.cookie, (backup, now));
            let Watch { kernel, hands, .. } = &mut self.watch;
            let outcome = hands.set_backup(kernel, connection, seen, backup);
            let what = format!("subflow to {}", subflow.remote.ip());
            if self.watch.note(now, connection.id, None, &what, outcome) {
                memory.kernels = true;
                return;
            }
        }
    }

    /// What there is now.
    pub fn status(&self, now: Time) -> Status {
        let period = self.settings.period.get();
        let mut status = self.watch.status(now, "server", "follow", period);
        let state = |c: &Tracked| match (c.end, self.memories.get(&c.id)) {
            _ if !c.open => "ended",
            (Some(End::Server), Some(memory)) if memory.kernels => "kernel",
            (Some(End::Server), _) => "steered",
            _ => "other",
        };
        status.connections = self
            .watch
            .table
            .connections()
            .map(|c| ConnectionStatus::of(c, state(c), &|_| None))
            .collect();
        status
    }
}

/// When the client used a subflow last: when data came, or when it opened it other than as a backup.
fn last_used(now: Time, seen: &Seen) -> Time {
    let opened = (!seen.subflow.role.peer_backup()).then_some(seen.since);
    last_data(now, seen).max(opened).unwrap_or(Time::ZERO)
}

/// When data came on a subflow last.
fn last_data(now: Time, seen: &Seen) -> Option<Time> {
    let tcp = &seen.subflow.tcp;
    (tcp.bytes_received > 0).then(|| {
        let ago = Duration::from_millis(u64::from(tcp.last_data_recv));
        Time::from_nanos(now.since(Time::ZERO + ago).as_nanos() as u64)
    })
}
