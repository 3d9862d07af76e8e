//! When are a host's connections looked at again, and what is kept of what was found and done? The frame
//! that [`super::client::Oracle`] and [`super::follow::Follower`] have in common.

use super::hands::{Hands, Outcome};
use super::kernel::Kernel;
use super::log::{Entry, Kind};
use super::status::{Counters, Status};
use super::table::{Changes, Table};
use crate::netlink::mptcp::Notification;
use model::Time;
use std::time::Duration;

/// A host's connections, and the hands on them.
pub struct Watch<K> {
    pub kernel: K,
    pub table: Table,
    pub hands: Hands,
    /// To say what would be done, and do nothing.
    pub dry_run: bool,
    pub counters: Counters,
    next_look: Time,
    last_look: Option<Time>,
    log: Vec<Entry>,
    /// Memory used again.
    told: Vec<Notification>,
}

impl<K: Kernel> Watch<K> {
    pub fn new(kernel: K, dry_run: bool) -> Watch<K> {
        Watch {
            kernel,
            table: Table::default(),
            hands: Hands::default(),
            dry_run,
            counters: Counters::default(),
            next_look: Time::ZERO,
            last_look: None,
            log: Vec::new(),
            told: Vec::new(),
        }
    }

    /// When it wants to be called next, if nothing happens.
    pub fn poll_at(&self) -> Time {
        self.next_look
    }

    /// The entries of the log since the last call.
    pub fn take_log(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.log)
    }

    /// Adds to the log; `path` is the path's name.
    pub fn entry(
        &mut self,
        now: Time,
        kind: Kind,
        connection: Option<usize>,
        path: Option<String>,
        detail: String,
    ) {
        self.log.push(Entry {
            time_us: now.as_micros(),
            kind,
            connection,
            path,
            detail,
        });
    }

    /// Something was missed: everything is read again.
    pub fn lost(&mut self, now: Time, detail: String) {
        self.counters.resyncs += 1;
        self.table.resync();
        self.entry(now, Kind::Resync, None, None, detail);
    }

    /// Takes in what the kernel told; whether it is worth a look.
    pub fn take_in(&mut self, now: Time) -> bool {
        let mut told = std::mem::take(&mut self.told);
        told.clear();
        let read = self.kernel.told(&mut told);
        let mut happened = false;
        for notification in &told {
            happened |= self.table.take_in(notification);
        }
        self.told = told;
        if let Err(error) = read {
            self.lost(now, format!("notifications were lost: {error}"));
            happened = true;
        }
        happened
    }

    /// Looks as soon as `closest` has passed since the last look.
    pub fn hurry(&mut self, now: Time, closest: Duration) {
        let soonest = self.last_look.map_or(now, |last| last + closest);
        self.next_look = self.next_look.min(soonest.max(now));
    }

    /// Looks if that is due, and has the next look come `period` later; what came and went, unless it was too
    /// early or could not be read.
    pub fn look(&mut self, now: Time, period: Duration) -> Option<Changes> {
        if now < self.next_look {
            return None;
        }
        self.next_look = now + period;
        self.last_look = Some(now);
        self.counters.looks += 1;
        match self.table.look(now, &mut self.kernel) {
            Ok(changes) => {
                for (id, _) in &changes.went {
                    self.hands.forget(*id);
                }
                Some(changes)
            }
            Err(error) => {
                self.lost(now, format!("the connections could not be read: {error}"));
                None
            }
        }
    }

    /// Counts and tells what became of `what`; whether the connection is the kernel's own path manager's.
    pub fn note(
        &mut self,
        now: Time,
        connection: usize,
        path: Option<String>,
        what: &str,
        outcome: Outcome,
    ) -> bool {
        match outcome {
            Outcome::Done(how) => {
                self.counters.done += 1;
                let detail = format!("{what}: {how}");
                self.entry(now, Kind::Done, Some(connection), path, detail);
            }
            Outcome::Gone => {
                self.counters.gone += 1;
                self.table.resync();
            }
            Outcome::NotOurs => {
                let detail = "it began under the kernel's own path manager".to_owned();
                self.entry(now, Kind::LeftAlone, Some(connection), None, detail);
                return true;
            }
            Outcome::Refused(why) => {
                self.counters.failed += 1;
                let detail = format!("{what}: {why}");
                self.entry(now, Kind::Failed, Some(connection), path, detail);
            }
        }
        false
    }

    /// The status, but for paths and connections.
    pub fn status(&self, now: Time, role: &'static str, policy: &str, period: Duration) -> Status {
        let mut status = Status::new(role, policy.to_owned(), self.dry_run);
        status.period_ms = period.as_millis() as u64;
        status.running_ms = now.as_micros() / 1_000;
        status.counters = self.counters;
        status
    }
}
