//! MultiMob's oracle: which netpaths fail, judged from all connections that use them?
//!
//! If a network has trouble, all subflows over it lose packets, whichever connection they belong
//! to (De Coninck and Bonaventure, MultiMob, section III-B). Every period the packets that they
//! sent, lost and sent again since the last one are added up for each netpath, and smoothed. A
//! netpath fails when a smoothed rate is above its threshold and rose; a retransmission timeout
//! above its threshold is trouble without being a failure.

mod average;
mod netpath;

pub use average::Average;
pub use netpath::{Netpath, Rates};

use crate::per_subflow::PerSubflow;
use crate::roles::label;
use crate::silence::millis;
use crate::view::{PathState, SubflowView, View};
use model::{Time, scenario};
use netpath::Counters;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What became too high on a netpath.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trigger {
    /// The smoothed loss rate.
    Loss,
    /// The smoothed retransmission rate.
    Retransmissions,
    /// The greatest retransmission timeout: backups are opened, and nothing is marked.
    Timeout,
}

impl Trigger {
    /// Whether the netpath's subflows are to be held to have failed.
    pub fn marks(self) -> bool {
        match self {
            Trigger::Loss | Trigger::Retransmissions => true,
            Trigger::Timeout => false,
        }
    }
}

/// A netpath in trouble.
#[derive(Clone, PartialEq, Debug)]
pub struct Alarm {
    /// Which.
    pub netpath: Netpath,
    /// What became too high.
    pub trigger: Trigger,
    /// In words, with the figures.
    pub cause: String,
}

/// The monitoring table.
#[derive(Debug)]
pub struct Oracle {
    settings: scenario::Oracle,
    period: Duration,
    /// The end of the present period; `None` before the first look.
    due: Option<Time>,
    netpaths: BTreeMap<Netpath, Rates>,
    /// Of each subflow at the end of the last period.
    counters: PerSubflow<Option<Counters>>,
}

impl Oracle {
    /// An empty table.
    pub fn new(settings: &scenario::Oracle) -> Oracle {
        Oracle {
            settings: settings.clone(),
            period: settings.period.get(),
            due: None,
            netpaths: BTreeMap::new(),
            counters: PerSubflow::default(),
        }
    }

    /// The netpaths and their rates, as of the last period's end.
    pub fn netpaths(&self) -> impl Iterator<Item = (&Netpath, &Rates)> {
        self.netpaths.iter()
    }

    /// Takes the counters when the period is over, and says which netpaths are in trouble; nothing
    /// at any other time. Call it at least once in each period.
    pub fn look(&mut self, now: Time, view: &View) -> Vec<Alarm> {
        let due = *self.due.get_or_insert(now);
        if now < due {
            return Vec::new();
        }
        // Without a drift as long as it is asked in time; a late one does not make the next early.
        let next = due + self.period;
        self.due = Some(if next > now { next } else { now + self.period });
        self.count(view);
        let mut alarms = Vec::new();
        for (&netpath, rates) in &mut self.netpaths {
            if let Some((trigger, words)) = rates.close(&self.settings) {
                let name = label(view, netpath.path);
                let cause = format!("{name}: {words}");
                alarms.push(Alarm {
                    netpath,
                    trigger,
                    cause,
                });
            }
        }
        alarms
    }

    /// Adds what each subflow counted since the last period to its netpath.
    fn count(&mut self, view: &View) {
        let mut used = BTreeSet::new();
        let in_use = |s: &SubflowView| s.state != PathState::Closing;
        for (_, subflow, counters) in self.counters.align(view, in_use) {
            let grown = Counters::advance(counters, subflow);
            let netpath = Netpath::of(subflow);
            used.insert(netpath);
            let rates = self.netpaths.entry(netpath).or_default();
            rates.add(grown);
            if subflow.state == PathState::Established && !subflow.suspected {
                rates.see_timeout(subflow.rto);
            }
        }
        // One without subflows keeps its rates while others lead to the same peer, from which
        // connections may return to it.
        let peers: BTreeSet<_> = used.iter().map(|n| n.peer).collect();
        self.netpaths.retain(|n, _| peers.contains(&n.peer));
    }
}

/// A share as causes write it: `27.5 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The words of a rate that is above its threshold.
fn rate_words(what: &str, value: f64, threshold: f64) -> String {
    let (value, threshold) = (percent(value), percent(threshold));
    format!("the smoothed {what} rate rose to {value}, above {threshold}")
}

/// The words of a timeout that is above its threshold.
fn timeout_words(value: Duration, threshold: Duration) -> String {
    let (value, threshold) = (millis(value), millis(threshold));
    format!("the greatest retransmission timeout is {value}, above {threshold}")
}

#[cfg(test)]
mod tests;
