//! How is what the path manager decides carried out, and what becomes of it?

use super::{Grip, Oracle, QUICK};
use crate::oracle::hands::Outcome;
use crate::oracle::kernel::Kernel;
use crate::oracle::log::Kind;
use crate::oracle::places::PathNow;
use crate::oracle::table::{Seen, Tracked};
use crate::transport::kernel::observe;
use model::{PathIndex, Time};
use policy::{Action, Decision, PathState};
use std::time::Duration;

/// An address is gone for good, and no matter of a network that comes back at once, after this.
const ADDRESS_PATIENCE: Duration = Duration::from_millis(500);

impl<K: Kernel> Oracle<K> {
    /// Carries out a decision, or says what it would do.
    pub(super) fn carry_out(&mut self, now: Time, decision: &Decision) {
        let (id, path) = decision.action.target();
        let what = match decision.action {
            Action::Open { backup: false, .. } => "open",
            Action::Open { backup: true, .. } => "open as backup",
            Action::Close { .. } => "close",
            Action::Suspect { .. } => "hold it to have failed, close",
            Action::SetBackup { backup: false, .. } => "make regular",
            Action::SetBackup { backup: true, .. } => "make backup",
        };
        let would = if self.dry_run { "would " } else { "" };
        let detail = format!("{would}{what}: {}", decision.cause);
        self.entry(now, Kind::Decision, Some(id), Some(path), detail);
        if self.dry_run {
            return;
        }
        let Some(connection) = self.table.get(id).cloned() else {
            self.counters.gone += 1;
            return;
        };
        let outcome = match decision.action {
            Action::Open { backup, .. } => self.open(&connection, path, backup),
            // The kernel knows no failed subflows from outside, and what is in flight on one moves
            // only when it is gone.
            Action::Close { .. } | Action::Suspect { .. } => match self.best(&connection, path) {
                Some(seen) => self.hands.close(&mut self.kernel, &connection, &seen),
                None => Outcome::Gone,
            },
            Action::SetBackup { backup, .. } => match self.best(&connection, path) {
                Some(seen) => self
                    .hands
                    .set_backup(&mut self.kernel, &connection, &seen, backup),
                None => Outcome::Gone,
            },
        };
        self.quick_until = now + QUICK;
        self.note(now, id, Some(path), what, outcome);
    }

    fn note(
        &mut self,
        now: Time,
        id: usize,
        path: Option<PathIndex>,
        what: &str,
        outcome: Outcome,
    ) {
        match outcome {
            Outcome::Done(how) => {
                self.counters.done += 1;
                self.entry(now, Kind::Done, Some(id), path, format!("{what}: {how}"));
            }
            Outcome::Gone => {
                self.counters.gone += 1;
                self.table.resync();
            }
            Outcome::NotOurs => {
                self.grips.insert(id, Grip::Kernels);
                let detail = "the kernel's own path manager has it".to_owned();
                self.entry(now, Kind::LeftAlone, Some(id), None, detail);
            }
            Outcome::Refused(why) => {
                self.counters.failed += 1;
                self.entry(now, Kind::Failed, Some(id), path, format!("{what}: {why}"));
            }
        }
    }

    fn open(&mut self, connection: &Tracked, path: PathIndex, backup: bool) -> Outcome {
        let now = &self.paths[path.0];
        match connection.ends_among(&now.addresses) {
            Some((local, remote)) => {
                let local = (local, now.index);
                let kernel = &mut self.kernel;
                self.hands.open(kernel, connection, local, remote, backup)
            }
            None => Outcome::Refused(format!(
                "{} has no address from which {} can be reached",
                now.label(),
                connection.remote
            )),
        }
    }

    /// The furthest subflow on a path.
    fn best(&mut self, connection: &Tracked, path: PathIndex) -> Option<Seen> {
        let mut best: Option<Seen> = None;
        for seen in &connection.subflows {
            let furthest = best
                .as_ref()
                .is_none_or(|b| observe::rank(seen.state) >= observe::rank(b.state));
            let there = |p: &PathNow| p.addresses.contains(&seen.subflow.local.ip());
            if self.path_of(seen) == Some(path) && there(&self.paths[path.0]) && furthest {
                best = Some(seen.clone());
            }
        }
        best
    }

    /// Closes subflows whose address the host has lost, once another one is usable.
    pub(super) fn close_strays(&mut self, now: Time) {
        if self.dry_run || self.strays.is_empty() {
            return;
        }
        let due = |(cookie, since): (&u64, &Time)| {
            (now.since(*since) >= ADDRESS_PATIENCE).then_some(*cookie)
        };
        let due: Vec<u64> = self.strays.iter().filter_map(due).collect();
        let mut closing = Vec::new();
        for connection in self.table.connections() {
            let usable = |s: &&Seen| {
                s.state == PathState::Established && !self.strays.contains_key(&s.subflow.cookie)
            };
            if connection.subflows.iter().find(usable).is_none() {
                continue;
            }
            for seen in &connection.subflows {
                if due.contains(&seen.subflow.cookie) && seen.state != PathState::Closing {
                    closing.push((connection.clone(), seen.clone()));
                }
            }
        }
        for (connection, seen) in closing {
            self.strays.remove(&seen.subflow.cookie);
            if self.grips.get(&connection.id) == Some(&Grip::Ours) {
                let path = self.homes.remove(&seen.subflow.cookie);
                let outcome = self.hands.close(&mut self.kernel, &connection, &seen);
                let what = format!("close, as {} is gone", seen.subflow.local.ip());
                self.note(now, connection.id, path, &what, outcome);
            }
        }
    }
}
