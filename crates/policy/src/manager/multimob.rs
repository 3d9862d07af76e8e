//! `multimob`: how fast can a handover be while the cellular radio sleeps?
//!
//! MultiMob's path manager (De Coninck and Bonaventure, "MultiMob: Multipath TCP for interactive
//! applications on smartphones", section III-B). No packet goes over cellular until the oracle
//! ([`crate::oracle`]) sees trouble on a netpath of the home path. Then every connection on that
//! netpath opens its backup on cellular; if a rate was the cause, its subflow on home is held to
//! have failed as well, once the backup is established: before that there is nothing else to use.
//! A great retransmission timeout opens backups only.
//!
//! `multimob-tlp` has a second trigger, which does not wait for a period to end: a packet was sent
//! again, such as the tail-loss probe (see [`crate::silence`]). At that first sign the backup is
//! opened; home is given up only if nothing is acknowledged for 1.5 round trips more. Both
//! overlap, so a false alarm costs a handshake on cellular, and no time is lost.
//!
//! The paper does not say when Wi-Fi is used again. Here it is as with `break-before-make`: after
//! a hold-down, home has to prove itself, and the backup goes (`handover`). All parameters are the
//! scenario's (`[oracle]`).
//!
//! **What it cannot see.** As [`break_before_make`](super::break_before_make): a client that only
//! receives learns nothing of a silent failure from its own packets.

use crate::handover::{Handover, Leave, Limits as Holds, Signs};
use crate::oracle::Oracle;
use crate::requests::{At, Requests};
use crate::roles::{HOME, label};
use crate::silence::Limits;
use crate::watches::Watches;
use crate::{ConnectionView, Decision, PathManager, View};
use model::{Time, scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// The manager.
#[derive(Debug)]
pub struct MultiMob {
    settings: scenario::Oracle,
    oracle: Oracle,
    watches: Watches,
    requests: Requests,
    /// The connections to each peer go together: those on home share a netpath.
    handovers: BTreeMap<Option<IpAddr>, Handover>,
    /// The peer of each connection.
    peers: BTreeMap<usize, Option<IpAddr>>,
}

impl MultiMob {
    /// With these parameters.
    pub fn new(settings: &scenario::Oracle) -> MultiMob {
        MultiMob {
            settings: settings.clone(),
            oracle: Oracle::new(settings),
            watches: Watches::default(),
            requests: Requests::default(),
            handovers: BTreeMap::new(),
            peers: BTreeMap::new(),
        }
    }

    /// With the second trigger, whatever the parameters say of it.
    pub fn with_tail_loss(settings: &scenario::Oracle) -> MultiMob {
        let mut settings = settings.clone();
        settings.tail_loss.enabled = true;
        MultiMob::new(&settings)
    }

    /// The monitoring table.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    fn limits(&self, rounds: f64) -> Limits {
        Limits {
            confirm_rtts: rounds,
            ..Limits::default()
        }
    }

    /// What the triggers say of home, for each peer.
    fn triggers(&mut self, now: Time, view: &View) -> BTreeMap<Option<IpAddr>, Signs> {
        let tail_loss = self.settings.tail_loss.clone();
        let silent = self
            .watches
            .silent(now, view, &self.limits(tail_loss.leave_after));
        let doubted = match tail_loss.enabled {
            true => self
                .watches
                .silent(now, view, &self.limits(tail_loss.open_after)),
            false => BTreeMap::new(),
        };
        let mut signs: BTreeMap<_, Signs> = BTreeMap::new();
        for (&id, &peer) in &self.peers {
            let of = signs.entry(peer).or_default();
            of.leave_silent = tail_loss.enabled;
            of.silent.extend(
                silent
                    .range((id, HOME)..(id + 1, HOME))
                    .map(|(key, verdict)| (*key, verdict.clone())),
            );
            if let Some(doubt) = doubted.get(&(id, HOME)) {
                of.alarm.get_or_insert_with(|| {
                    format!("connection {id} on {}: {doubt}", label(view, HOME))
                });
            }
        }
        for alarm in self.oracle.look(now, view) {
            if alarm.netpath.path == HOME
                && let Some(of) = signs.get_mut(&alarm.netpath.peer)
            {
                match alarm.trigger.marks() {
                    true => of.failure = Some(alarm.cause),
                    false => of.alarm = Some(alarm.cause),
                }
            }
        }
        signs
    }

    /// Notes where each connection leads: where its first subflow does, as long as it has one.
    fn note_peers(&mut self, started: &[&ConnectionView]) {
        let there: BTreeSet<usize> = started.iter().map(|c| c.id).collect();
        self.peers.retain(|id, _| there.contains(id));
        for connection in started {
            if let Some(first) = connection.subflows.iter().min_by_key(|s| s.path) {
                self.peers.entry(connection.id).or_insert(first.peer);
            }
        }
    }
}

/// The hysteresis as handovers take it.
fn holds(settings: &scenario::Hysteresis) -> Holds {
    Holds {
        hold: settings.hold.get(),
        longest_hold: settings.longest_hold.get(),
        settle: settings.settle.get(),
        timeout: settings.timeout.get(),
        good: settings.good.get(),
    }
}

impl PathManager for MultiMob {
    fn decide(&mut self, now: Time, view: &View, decisions: &mut Vec<Decision>) {
        self.requests.observe(now, view);
        let started: Vec<_> = view
            .connections
            .iter()
            .filter(|c| self.requests.has_started(c))
            .collect();
        self.note_peers(&started);
        self.watches.look(now, view);
        let signs = self.triggers(now, view);
        self.handovers.retain(|peer, _| signs.contains_key(peer));
        for (peer, signs) in signs {
            let group: Vec<_> = started
                .iter()
                .copied()
                .filter(|c| self.peers.get(&c.id) == Some(&peer))
                .collect();
            let limits = holds(&self.settings.hysteresis);
            let handover = self.handovers.entry(peer);
            let handover = handover.or_insert_with(|| Handover::new(limits, Leave::Suspect));
            handover.advance(now, view, &group, &signs);
            for connection in group {
                let at = At {
                    now,
                    view,
                    connection,
                };
                handover.act(at, &mut self.requests, decisions);
            }
        }
    }

    fn period(&self) -> Option<Duration> {
        let own = self.settings.period.get();
        let tail_loss = &self.settings.tail_loss;
        Some(match tail_loss.enabled {
            true => own.min(tail_loss.period.get()),
            false => own,
        })
    }
}
