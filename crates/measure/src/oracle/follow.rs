//! How does a server on an unmodified kernel send on the subflow its client used last?
//!
//! MultiMob's server follows its client (section III-C of the paper): it answers on the subflow on which the last
//! data came. The kernel's scheduler has no such choice, but it leaves backup subflows alone while
//! another one works; so the follower makes every subflow but the one in use backup (SET_FLAGS).
//!
//! What it cannot help: SET_FLAGS tells the client as well (MP_PRIO, on the subflow itself, lost
//! where that is dead), so it steers both directions; and a client that uses two paths at once
//! keeps the one of them that it used first, as data then comes on both.

use super::hands::{Hands, Outcome};
use super::kernel::Kernel;
use super::log::{Entry, Kind};
use super::status::{ConnectionStatus, Counters, Status};
use super::table::{End, Seen, Table, Tracked};
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
    kernel: K,
    settings: Follow,
    dry_run: bool,
    table: Table,
    hands: Hands,
    memories: HashMap<usize, Memory>,
    next_look: Time,
    last_look: Option<Time>,
    counters: Counters,
    log: Vec<Entry>,
}

impl<K: Kernel> Follower<K> {
    /// A follower.
    pub fn new(kernel: K, settings: Follow, dry_run: bool) -> Follower<K> {
        Follower {
            kernel,
            settings,
            dry_run,
            table: Table::default(),
            hands: Hands::default(),
            memories: HashMap::new(),
            next_look: Time::ZERO,
            last_look: None,
            counters: Counters::default(),
            log: Vec::new(),
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &K {
        &self.kernel
    }

    /// The kernel of a test.
    #[cfg(test)]
    pub fn kernel_mut(&mut self) -> &mut K {
        &mut self.kernel
    }

    /// When it wants to be called next, if nothing happens.
    pub fn poll_at(&self) -> Time {
        self.next_look
    }

    /// The entries of the log since the last call.
    pub fn take_log(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.log)
    }

    /// The connection that has this token.
    pub fn token_of(&self, connection: usize) -> Option<u32> {
        self.table.get(connection).map(|c| c.token)
    }

    fn entry(&mut self, now: Time, kind: Kind, connection: Option<usize>, detail: String) {
        self.log.push(Entry {
            time_us: now.as_micros(),
            kind,
            connection,
            path: None,
            detail,
        });
    }

    fn lost(&mut self, now: Time, detail: String) {
        self.counters.resyncs += 1;
        self.table.resync();
        self.entry(now, Kind::Resync, None, detail);
    }

    /// Takes in what the kernel told, and looks and acts when that is due.
    pub fn poll(&mut self, now: Time) {
        let mut told = Vec::new();
        let read = self.kernel.told(&mut told);
        let mut happened = false;
        for notification in &told {
            happened |= self.table.take_in(notification);
        }
        if let Err(error) = read {
            self.lost(now, format!("notifications were lost: {error}"));
            happened = true;
        }
        // Nothing here depends on the interfaces, but what is not read fills the socket.
        let _ = self.kernel.interfaces_changed();
        if happened {
            let soonest = self.last_look.map_or(now, |last| last + CLOSEST);
            self.next_look = self.next_look.min(soonest.max(now));
        }
        if now < self.next_look {
            return;
        }
        self.next_look = now + self.settings.period.get();
        self.last_look = Some(now);
        self.counters.looks += 1;
        match self.table.look(now, &mut self.kernel) {
            Ok(changes) => {
                for (id, _) in &changes.went {
                    self.memories.remove(id);
                    self.hands.forget(*id);
                }
                self.follow(now);
            }
            Err(error) => self.lost(now, format!("the connections could not be read: {error}")),
        }
    }

    fn follow(&mut self, now: Time) {
        let table = std::mem::take(&mut self.table);
        for connection in table.connections() {
            if connection.end == Some(End::Server) {
                self.follow_one(now, connection);
            }
        }
        self.table = table;
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
                    self.counters.decisions += 1;
                    let would = if self.dry_run { "would " } else { "" };
                    let to = used.subflow.remote.ip();
                    let detail = format!("{would}send on the subflow to {to}: {cause}");
                    self.entry(now, Kind::Decision, Some(connection.id), detail);
                }
            }
            if !self.dry_run {
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
            let outcome = self
                .hands
                .set_backup(&mut self.kernel, connection, seen, backup);
            let to = subflow.remote.ip();
            match outcome {
                Outcome::Done(how) => {
                    self.counters.done += 1;
                    let detail = format!("subflow to {to}: {how}");
                    self.entry(now, Kind::Done, Some(connection.id), detail);
                }
                Outcome::Gone => {
                    self.counters.gone += 1;
                    self.table.resync();
                }
                Outcome::NotOurs => {
                    memory.kernels = true;
                    let detail = "it began under the kernel's own path manager".to_owned();
                    self.entry(now, Kind::LeftAlone, Some(connection.id), detail);
                    return;
                }
                Outcome::Refused(why) => {
                    self.counters.failed += 1;
                    let detail = format!("subflow to {to}: {why}");
                    self.entry(now, Kind::Failed, Some(connection.id), detail);
                }
            }
        }
    }

    /// What there is now.
    pub fn status(&self, now: Time) -> Status {
        let mut status = Status::new("server", "follow".to_owned(), self.dry_run);
        status.period_ms = self.settings.period.get().as_millis() as u64;
        status.running_ms = now.as_micros() / 1_000;
        status.counters = self.counters;
        let state = |c: &Tracked| match (c.end, self.memories.get(&c.id)) {
            _ if !c.open => "ended",
            (Some(End::Server), Some(memory)) if memory.kernels => "kernel",
            (Some(End::Server), _) => "steered",
            _ => "other",
        };
        status.connections = self
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
