//! What does the path manager see of the host's connections, and which of them are left alone?

use super::{Grip, Oracle};
use crate::oracle::hands::Outcome;
use crate::oracle::kernel::Kernel;
use crate::oracle::log::Kind;
use crate::oracle::places::PathNow;
use crate::oracle::table::{End, Seen, Tracked};
use crate::oracle::watch::Watch;
use crate::transport::kernel::observe;
use model::{PathIndex, Time};
use policy::{ConnectionView, PathState, PathView, SubflowView};
use std::collections::HashSet;

impl<K: Kernel> Oracle<K> {
    /// The path of a subflow: by the interface it is bound to, by its address, or the one it had
    /// while its address was still there.
    pub(super) fn path_of(&mut self, seen: &Seen) -> Option<PathIndex> {
        let subflow = &seen.subflow;
        let by_address = |p: &PathNow| p.addresses.contains(&subflow.local.ip());
        let by_index = |p: &PathNow| subflow.interface != 0 && p.index == subflow.interface;
        let found = (self.paths.iter().position(by_index))
            .or_else(|| self.paths.iter().position(by_address))
            .map(PathIndex);
        match found {
            Some(path) => {
                self.homes.insert(subflow.cookie, path);
                Some(path)
            }
            None => self.homes.get(&subflow.cookie).copied(),
        }
    }

    /// Fills the view with what there is now.
    pub(super) fn build_view(&mut self, now: Time) {
        let table = std::mem::take(&mut self.watch.table);
        let mut view = std::mem::take(&mut self.view);
        view.paths.clear();
        view.paths.extend(self.paths.iter().map(|p| PathView {
            kind: p.kind,
            up: p.up,
        }));
        view.connections.clear();
        let mut cookies = 0;
        self.strays
            .retain(|cookie, _| self.homes.contains_key(cookie));
        for connection in table.connections() {
            cookies += connection.subflows.len();
            if let Some(of) = self.connection_view(now, connection) {
                view.connections.push(of);
            }
        }
        if self.homes.len() > 2 * cookies + 64 {
            let live: HashSet<u64> = table
                .connections()
                .flat_map(|c| c.subflows.iter().map(|s| s.subflow.cookie))
                .collect();
            self.homes.retain(|cookie, _| live.contains(cookie));
        }
        self.view = view;
        self.watch.table = table;
    }

    /// What the path manager sees of a connection; `None` of one that is left alone.
    fn connection_view(&mut self, now: Time, connection: &Tracked) -> Option<ConnectionView> {
        let grip = self.grips.get(&connection.id).copied();
        if connection.end != Some(End::Client) || grip == Some(Grip::Kernels) {
            return None;
        }
        let unacknowledged =
            |s: &Seen| s.state == PathState::Established && s.subflow.tcp.unacked > 0;
        if !connection.open && !connection.subflows.iter().any(unacknowledged) {
            return None;
        }
        let mut ours = grip.is_some();
        let mut subflows: Vec<SubflowView> = self.emptied.pop().unwrap_or_default();
        let mut unsent = false;
        for seen in &connection.subflows {
            let Some(path) = self.path_of(seen) else {
                continue;
            };
            ours = true;
            unsent |= seen.subflow.tcp.notsent_bytes > 0;
            let subflow = &seen.subflow;
            if !self.paths[path.0].addresses.contains(&subflow.local.ip()) {
                self.strays.entry(subflow.cookie).or_insert(now);
                continue;
            }
            self.strays.remove(&subflow.cookie);
            let backup = subflow.role.backup();
            let netpath = (path, subflow.remote.ip());
            let (tcp, age) = (&subflow.tcp, seen.oldest_unacked);
            let new = observe::subflow_view(netpath, seen.state, backup, tcp, age);
            match subflows.iter_mut().find(|s| s.path == path) {
                None => subflows.push(new),
                Some(old) if observe::rank(new.state) >= observe::rank(old.state) => *old = new,
                Some(_) => {}
            }
        }
        // A connection to the host itself takes no path.
        let to_itself = self
            .paths
            .iter()
            .any(|p| p.addresses.contains(&connection.remote.ip()));
        // One that works, or that nobody steers yet, and that one of the two paths cannot carry, as it lacks
        // IPv6, stays where it is; its vain trials would be held against the path.
        let works = subflows.iter().any(|s| s.state == PathState::Established);
        let cannot = |p: &PathNow| p.up && !connection.leads_from_any(&p.addresses);
        let stays = (works || grip.is_none()) && self.paths.iter().any(cannot);
        if !ours || to_itself || stays || (grip.is_none() && !self.takes_hold(now, connection)) {
            return None;
        }
        subflows.sort_by_key(|s| s.path);
        Some(ConnectionView {
            id: connection.id,
            has_unsent: unsent,
            subflows,
        })
    }

    /// Finds out whether a connection can be steered; once of each.
    fn takes_hold(&mut self, now: Time, connection: &Tracked) -> bool {
        let outcome = match self.watch.dry_run {
            true => Outcome::Done(String::new()),
            false => {
                let Watch { kernel, hands, .. } = &mut self.watch;
                hands.probe(kernel, connection)
            }
        };
        let to = format!("{} to {}", connection.local, connection.remote);
        let (grip, kind, detail) = match outcome {
            Outcome::Done(_) => (Grip::Ours, Kind::Adopted, to),
            Outcome::Gone => return false,
            Outcome::NotOurs => {
                let why = "it began under the kernel's own path manager";
                (Grip::Kernels, Kind::LeftAlone, format!("{to}: {why}"))
            }
            Outcome::Refused(why) => (Grip::Kernels, Kind::LeftAlone, format!("{to}: {why}")),
        };
        self.grips.insert(connection.id, grip);
        self.entry(now, kind, Some(connection.id), None, detail);
        grip == Grip::Ours
    }
}
