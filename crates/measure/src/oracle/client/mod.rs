//! How does a path manager steer every Multipath TCP connection this host opens, whoever opens it?
//!
//! No input, no clock: [`Oracle::poll`] is called when it is due or when the kernel has told
//! something, and everything it knows comes through [`Kernel`]. A connection that the kernel's own
//! path manager has, one that this host accepted, and one that has nothing to do with the two
//! paths is left alone.

mod act;
mod view;

use super::kernel::{Interface, Kernel};
use super::log::{Entry, Kind};
use super::numbers::ByNumber;
use super::places::{PathNow, Places};
use super::status::{ConnectionStatus, PathStatus, Status};
use super::table::{Changes, Seen, Tracked};
use super::watch::Watch;
use model::{PathIndex, Time};
use policy::{Decision, PathManager, SubflowView, View};
use std::collections::BTreeMap;
use std::time::Duration;

/// After a decision the next looks follow each other this closely, for [`QUICK`]: no event tells
/// that a subflow got the fourth acknowledgement, after which it is usable.
const QUICK_PERIOD: Duration = Duration::from_millis(10);
/// For how long: some round-trip times of a mobile network.
const QUICK: Duration = Duration::from_millis(400);
/// Interfaces are read at least this often, whatever was told.
const INTERFACES_PERIOD: Duration = Duration::from_secs(10);

/// Whose a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grip {
    Ours,
    Kernels,
}

/// The oracle of a host that opens connections.
pub struct Oracle<K> {
    watch: Watch<K>,
    manager: Box<dyn PathManager>,
    name: String,
    period: Duration,
    places: Places,
    paths: [PathNow; 2],
    grips: ByNumber<usize, Grip>,
    /// The path of each subflow, as long as the connection has it.
    homes: ByNumber<u64, PathIndex>,
    /// Since when a subflow's address is on no interface.
    strays: BTreeMap<u64, Time>,
    quick_until: Time,
    interfaces_at: Time,
    /// Whether the interfaces were read before.
    interfaces_known: bool,
    view: View,
    /// The memory of views that are over.
    emptied: Vec<Vec<SubflowView>>,
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
            watch: Watch::new(kernel, dry_run),
            manager,
            name: name.to_owned(),
            period,
            places,
            paths,
            grips: ByNumber::default(),
            homes: ByNumber::default(),
            strays: BTreeMap::new(),
            quick_until: Time::ZERO,
            interfaces_at: Time::ZERO,
            interfaces_known: false,
            view: View::default(),
            emptied: Vec::new(),
            decisions: Vec::new(),
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

    /// Takes in what the kernel told, and looks, decides and acts when that is due.
    pub fn poll(&mut self, now: Time) {
        let mut happened = self.watch.take_in(now);
        let changed = self.watch.kernel.interfaces_changed();
        if (changed || now >= self.interfaces_at) && self.read_interfaces(now) {
            happened = true;
            self.quick_until = now + QUICK;
        }
        if happened {
            self.watch.hurry(now, QUICK_PERIOD);
        }
        if let Some(changes) = self.watch.look(now, self.period) {
            self.decide(now, &changes);
        }
        if now < self.quick_until {
            self.watch.hurry(now, QUICK_PERIOD);
        }
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
        let path = path.map(|p| p.label().to_owned());
        self.watch.entry(now, kind, connection, path, detail);
    }

    fn read_interfaces(&mut self, now: Time) -> bool {
        self.interfaces_at = now + INTERFACES_PERIOD;
        let interfaces = match self.watch.kernel.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => {
                let detail = format!("the interfaces could not be read: {error}");
                self.watch.lost(now, detail);
                return false;
            }
        };
        let paths = self.places.resolve(&interfaces);
        let before = std::mem::replace(&mut self.paths, paths);
        // What is not there at the beginning is told as well.
        let first = !std::mem::replace(&mut self.interfaces_known, true);
        for (index, old) in before.iter().enumerate() {
            let new = &self.paths[index];
            if old != new || first {
                let which = if index == 0 { "home" } else { "backup" };
                let detail = format!("{which}: {}", in_words(new, &interfaces));
                self.entry(now, Kind::Path, None, Some(PathIndex(index)), detail);
            }
        }
        before != self.paths
    }

    fn decide(&mut self, now: Time, changes: &Changes) {
        for (id, _) in &changes.went {
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
        self.emptied.extend(view.connections.drain(..).map(|of| {
            let mut subflows = of.subflows;
            subflows.clear();
            subflows
        }));
        self.view = view;
        for decision in &decisions {
            self.watch.counters.decisions += 1;
            self.carry_out(now, decision);
        }
        self.decisions = decisions;
        self.close_strays(now);
    }

    /// What there is now.
    pub fn status(&self, now: Time) -> Status {
        let mut status = self.watch.status(now, "client", &self.name, self.period);
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
            .watch
            .table
            .connections()
            .map(|c| ConnectionStatus::of(c, state(c), &name))
            .collect();
        status
    }
}

/// How a path is, among these interfaces.
fn in_words(path: &PathNow, interfaces: &[Interface]) -> String {
    let words = |all: Vec<String>| all.join(", ");
    if path.up {
        let addresses = path.addresses.iter().map(ToString::to_string);
        return format!("up, {}", words(addresses.collect()));
    }
    if path.index != 0 {
        return "down".to_owned();
    }
    let names = words(interfaces.iter().map(|i| i.name.clone()).collect());
    let what = match path.name {
        Some(_) => "no such interface",
        None => "no interface fits",
    };
    format!("{what}; there are {names}; one that appears is taken")
}
