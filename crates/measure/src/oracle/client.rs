//! How does a path manager steer every Multipath TCP connection this host opens, whoever opens it?
//!
//! No input, no clock: [`Oracle::poll`] is called when it is due or when the kernel has told
//! something, and everything it knows comes through [`Kernel`]. A connection that the kernel's own
//! path manager has, one that this host accepted, and one that has nothing to do with the two
//! paths is left alone.

use super::hands::{Hands, Outcome};
use super::kernel::Kernel;
use super::log::{Entry, Kind};
use super::places::{PathNow, Places};
use super::status::{ConnectionStatus, Counters, PathStatus, Status, SubflowStatus};
use super::table::{Changes, End, Seen, Table, Tracked};
use crate::transport::kernel::observe;
use model::{PathIndex, Time};
use policy::{
    Action, ConnectionView, Decision, PathManager, PathState, PathView, SubflowView, View,
};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// After a decision the next looks follow each other this closely, for [`QUICK`]: no event tells
/// that a subflow got the fourth acknowledgement, after which it is usable.
const QUICK_PERIOD: Duration = Duration::from_millis(10);
/// For how long: some round-trip times of a mobile network.
const QUICK: Duration = Duration::from_millis(400);
/// Interfaces are read at least this often, whatever was told.
const INTERFACES_PERIOD: Duration = Duration::from_secs(10);
/// An address is gone for good, and no matter of a network that comes back at once, after this.
const ADDRESS_PATIENCE: Duration = Duration::from_millis(500);

/// Whose a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grip {
    Ours,
    Kernels,
}

/// The oracle of a host that opens connections.
pub struct Oracle<K> {
    kernel: K,
    manager: Box<dyn PathManager>,
    name: String,
    period: Duration,
    dry_run: bool,
    places: Places,
    paths: [PathNow; 2],
    table: Table,
    hands: Hands,
    grips: HashMap<usize, Grip>,
    /// The path of each subflow, as long as the connection has it.
    homes: HashMap<u64, PathIndex>,
    /// Since when a subflow's address is on no interface.
    strays: BTreeMap<u64, Time>,
    next_look: Time,
    last_look: Option<Time>,
    quick_until: Time,
    interfaces_at: Time,
    counters: Counters,
    log: Vec<Entry>,
    view: View,
    decisions: Vec<Decision>,
}

impl<K: Kernel> Oracle<K> {
    /// An oracle that asks `manager`, called `name`, every `period`.
    pub fn new(
        kernel: K,
        manager: Box<dyn PathManager>,
        name: &str,
        period: Duration,
        places: Places,
        dry_run: bool,
    ) -> Oracle<K> {
        let mut places = places;
        let paths = places.resolve(&[]);
        Oracle {
            kernel,
            manager,
            name: name.to_owned(),
            period,
            dry_run,
            places,
            paths,
            table: Table::default(),
            hands: Hands::default(),
            grips: HashMap::new(),
            homes: HashMap::new(),
            strays: BTreeMap::new(),
            next_look: Time::ZERO,
            last_look: None,
            quick_until: Time::ZERO,
            interfaces_at: Time::ZERO,
            counters: Counters::default(),
            log: Vec::new(),
            view: View::default(),
            decisions: Vec::new(),
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

    /// Takes in what the kernel told, and looks, decides and acts when that is due.
    pub fn poll(&mut self, now: Time) {
        let mut happened = self.take_in(now);
        let changed = self.kernel.interfaces_changed();
        if (changed || now >= self.interfaces_at) && self.read_interfaces(now) {
            happened = true;
            self.quick_until = now + QUICK;
        }
        if happened {
            let soonest = self.last_look.map_or(now, |last| last + QUICK_PERIOD);
            self.next_look = self.next_look.min(soonest.max(now));
        }
        if now < self.next_look {
            return;
        }
        self.last_look = Some(now);
        self.counters.looks += 1;
        match self.table.look(now, &mut self.kernel) {
            Ok(changes) => self.decide(now, changes),
            Err(error) => self.lost(now, format!("the connections could not be read: {error}")),
        }
        let period = match now < self.quick_until {
            true => QUICK_PERIOD.min(self.period),
            false => self.period,
        };
        self.next_look = now + period;
    }

    fn entry(
        &mut self,
        now: Time,
        kind: Kind,
        connection: Option<usize>,
        path: Option<PathIndex>,
        detail: String,
    ) {
        let path = path.and_then(|p| self.paths.get(p.0));
        self.log.push(Entry {
            time_us: now.as_micros(),
            kind,
            connection,
            path: path.map(|p| p.label().to_owned()),
            detail,
        });
    }

    fn lost(&mut self, now: Time, detail: String) {
        self.counters.resyncs += 1;
        self.table.resync();
        self.entry(now, Kind::Resync, None, None, detail);
    }

    fn take_in(&mut self, now: Time) -> bool {
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
        happened
    }

    fn read_interfaces(&mut self, now: Time) -> bool {
        self.interfaces_at = now + INTERFACES_PERIOD;
        let interfaces = match self.kernel.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => {
                self.lost(now, format!("the interfaces could not be read: {error}"));
                return false;
            }
        };
        let paths = self.places.resolve(&interfaces);
        let before = std::mem::replace(&mut self.paths, paths);
        for (index, old) in before.iter().enumerate() {
            let new = &self.paths[index];
            if old != new {
                let which = if index == 0 { "home" } else { "backup" };
                let addresses: Vec<String> =
                    new.addresses.iter().map(ToString::to_string).collect();
                let detail = match (&new.name, new.up) {
                    (None, _) => format!("{which}: no interface fits"),
                    (Some(_), false) => format!("{which}: down"),
                    (Some(_), true) => format!("{which}: up, {}", addresses.join(", ")),
                };
                self.entry(now, Kind::Path, None, Some(PathIndex(index)), detail);
            }
        }
        before != self.paths
    }

    /// The path of a subflow: by the interface it is bound to, by its address, or the one it had
    /// while its address was still there.
    fn path_of(&mut self, seen: &Seen) -> Option<PathIndex> {
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

    fn decide(&mut self, now: Time, changes: Changes) {
        for (id, _) in &changes.went {
            self.hands.forget(*id);
            if self.grips.remove(id) == Some(Grip::Ours) {
                let detail = "the connection ended".to_owned();
                self.entry(now, Kind::Gone, Some(*id), None, detail);
            }
        }
        self.build_view(now);
        let mut decisions = std::mem::take(&mut self.decisions);
        decisions.clear();
        let mut view = std::mem::take(&mut self.view);
        self.manager.decide(now, &view, &mut decisions);
        view.connections.clear();
        self.view = view;
        for decision in &decisions {
            self.counters.decisions += 1;
            self.carry_out(now, decision);
        }
        self.decisions = decisions;
        self.close_strays(now);
    }

    fn build_view(&mut self, now: Time) {
        let table = std::mem::take(&mut self.table);
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
            let live: std::collections::HashSet<u64> = table
                .connections()
                .flat_map(|c| c.subflows.iter().map(|s| s.subflow.cookie))
                .collect();
            self.homes.retain(|cookie, _| live.contains(cookie));
        }
        self.view = view;
        self.table = table;
    }

    /// What the path manager sees of a connection; `None` of one that is left alone.
    fn connection_view(&mut self, now: Time, connection: &Tracked) -> Option<ConnectionView> {
        if connection.end != Some(End::Client)
            || self.grips.get(&connection.id) == Some(&Grip::Kernels)
        {
            return None;
        }
        let unacknowledged =
            |s: &Seen| s.state == PathState::Established && s.subflow.tcp.unacked > 0;
        if !connection.open && !connection.subflows.iter().any(unacknowledged) {
            return None;
        }
        let mut ours = self.grips.contains_key(&connection.id);
        let mut subflows: Vec<SubflowView> = Vec::with_capacity(connection.subflows.len());
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
        if !ours || to_itself || !self.has_grip(now, connection) {
            return None;
        }
        subflows.sort_by_key(|s| s.path);
        Some(ConnectionView {
            id: connection.id,
            has_unsent: unsent,
            subflows,
        })
    }

    /// Whether a connection can be steered; found out once.
    fn has_grip(&mut self, now: Time, connection: &Tracked) -> bool {
        if let Some(grip) = self.grips.get(&connection.id) {
            return *grip == Grip::Ours;
        }
        let outcome = match self.dry_run {
            true => Outcome::Done(String::new()),
            false => self.hands.probe(&mut self.kernel, connection),
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

    fn carry_out(&mut self, now: Time, decision: &Decision) {
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
        let like_the_first = |a: &&std::net::IpAddr| a.is_ipv4() == connection.remote.is_ipv4();
        let reachable = |a: &&std::net::IpAddr| connection.remote_for(**a).is_some();
        let address = (now.addresses.iter().find(like_the_first))
            .or_else(|| now.addresses.iter().find(reachable));
        match address {
            Some(address) => {
                let local = (*address, now.index);
                self.hands.open(&mut self.kernel, connection, local, backup)
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
            let furthest = best.is_none_or(|b| observe::rank(seen.state) >= observe::rank(b.state));
            let there = |p: &PathNow| p.addresses.contains(&seen.subflow.local.ip());
            if self.path_of(seen) == Some(path) && there(&self.paths[path.0]) && furthest {
                best = Some(*seen);
            }
        }
        best
    }

    /// Closes subflows whose address the host has lost, once another one is usable.
    fn close_strays(&mut self, now: Time) {
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
                    closing.push((connection.clone(), *seen));
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

    /// What there is now.
    pub fn status(&self, now: Time) -> Status {
        let mut status = Status::new("client", self.name.clone(), self.dry_run);
        status.period_ms = self.period.as_millis() as u64;
        status.running_ms = now.as_micros() / 1_000;
        status.counters = self.counters;
        status.paths = self
            .paths
            .iter()
            .map(|path| PathStatus {
                interface: path.name.clone(),
                kind: path.kind,
                up: path.up,
                addresses: path.addresses.clone(),
            })
            .collect();
        let state = |c: &Tracked| match self.grips.get(&c.id) {
            _ if !c.open => "ended",
            Some(Grip::Ours) => "steered",
            Some(Grip::Kernels) => "kernel",
            None => "other",
        };
        let name = |s: &Seen| {
            let path = self.homes.get(&s.subflow.cookie)?;
            self.paths[path.0].name.clone()
        };
        status.connections = self
            .table
            .connections()
            .map(|c| connection_status(c, state(c), &name))
            .collect();
        status
    }
}

/// A connection as the status shows it; `path` names the interface of a subflow's path.
pub fn connection_status(
    connection: &Tracked,
    state: &'static str,
    path: &dyn Fn(&Seen) -> Option<String>,
) -> ConnectionStatus {
    let subflow = |seen: &Seen| {
        let tcp = &seen.subflow.tcp;
        SubflowStatus {
            local: seen.subflow.local,
            remote: seen.subflow.remote,
            path: path(seen),
            state: match seen.state {
                PathState::Opening => "opening",
                PathState::Established => "established",
                PathState::Closing => "closing",
            },
            backup: seen.subflow.role.backup(),
            peer_backup: seen.subflow.role.peer_backup(),
            srtt_us: (tcp.rtt > 0).then_some(tcp.rtt),
            timeouts: u32::from(tcp.retransmits),
            retransmissions: u64::from(tcp.total_retrans),
            in_flight_bytes: tcp.outstanding(),
        }
    };
    ConnectionStatus {
        connection: connection.id,
        token: connection.token,
        local: connection.local,
        remote: connection.remote,
        state,
        subflows: connection.subflows.iter().map(subflow).collect(),
    }
}
