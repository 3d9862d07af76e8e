//! How is what the path manager decides carried out, and what becomes of it?

use super::{Grip, Oracle, QUICK};
use crate::oracle::hands::Outcome;
use crate::oracle::kernel::Kernel;
use crate::oracle::log::Kind;
use crate::oracle::places::PathNow;
use crate::oracle::table::{Seen, Tracked};
use crate::oracle::watch::Watch;
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
        let would = if self.watch.dry_run { "would " } else { "" };
        let detail = format!("{would}{what}: {}", decision.cause);
        self.entry(now, Kind::Decision, Some(id), Some(path), detail);
        if self.watch.dry_run {
            return;
        }
        let Some(connection) = self.watch.table.get(id).cloned() else {
            self.watch.counters.gone += 1;
            return;
        };
        let outcome = match decision.action {
            Action::Open { backup, .. } => self.open(&connection, path, backup),
            ref on => match self.best(&connection, path) {
                Some(seen) => self.change(&connection, &seen, on),
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
        let path = path.map(|p| self.paths[p.0].label().to_owned());
        if self.watch.note(now, id, path, what, outcome) {
            self.grips.insert(id, Grip::Kernels);
        }
    }

    fn open(&mut self, connection: &Tracked, path: PathIndex, backup: bool) -> Outcome {
        let now = &self.paths[path.0];
        match connection.ends_among(&now.addresses) {
            Some((local, remote)) => {
                let local = (local, now.index);
                let Watch { kernel, hands, .. } = &mut self.watch;
                hands.open(kernel, connection, local, remote, backup)
            }
            None => Outcome::Refused(format!(
                "{} has no address from which {} can be reached",
                now.label(),
                connection.remote
            )),
        }
    }

    fn change(&mut self, connection: &Tracked, seen: &Seen, action: &Action) -> Outcome {
        let Watch { kernel, hands, .. } = &mut self.watch;
        match *action {
            Action::SetBackup { backup, .. } => hands.set_backup(kernel, connection, seen, backup),
            // The kernel knows no failed subflows from outside, and what is in flight on one moves
            // only when it is gone.
            _ => hands.close(kernel, connection, seen),
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
        if self.watch.dry_run || self.strays.is_empty() {
            return;
        }
        let due = |(cookie, since): (&u64, &Time)| {
            (now.since(*since) >= ADDRESS_PATIENCE).then_some(*cookie)
        };
        let due: Vec<u64> = self.strays.iter().filter_map(due).collect();
        let mut closing = Vec::new();
        for connection in self.watch.table.connections() {
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
                let Watch { kernel, hands, .. } = &mut self.watch;
                let outcome = hands.close(kernel, &connection, &seen);
                let what = format!("close, as {} is gone", seen.subflow.local.ip());
                self.note(now, connection.id, path, &what, outcome);
            }
        }
    }
}
