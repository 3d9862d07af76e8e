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
//! again, such as the tail-loss probe, or a byte waits so long that one would be due, had newer
//! packets not put it off (see [`crate::silence`]). At that first sign the backup is
//! opened; home is given up only if nothing is acknowledged for 1.5 round trips more. Both
//! overlap, so a false alarm costs a handshake on cellular, and no time is lost.
//!
//! The paper does not say when Wi-Fi is used again. Here it is as with `break-before-make`: after
//! a hold-down, home has to prove itself, and the backup goes (`handover`). All parameters are the
//! scenario's (`[oracle]`).
//!
//! **What it cannot see.** As [`break_before_make`](super::break_before_make): a client that only
//! receives learns nothing of a silent failure from its own packets. Where both ends have the
//! extension `idle_flag`, its stack tells that a subflow is starved, and backups are opened.

use crate::handover::{Handover, Leave, Limits as Holds, Signs};
use crate::oracle::Oracle;
use crate::requests::{At, Requests};
use crate::roles::{HOME, label};
use crate::silence::Limits;
use crate::watches::Watches;
use crate::{ConnectionView, Decision, PathManager, View};
use model::{Time, scenario};
use std::collections::BTreeMap;
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
    /// The peer of each connection, in their order.
    peers: Vec<(usize, Option<IpAddr>)>,
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
            peers: Vec::new(),
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
        for &(id, peer) in &self.peers {
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
        // The idle timer: backups are opened, and the server follows (section III-B).
        for connection in &view.connections {
            if !connection.on(HOME).is_some_and(|s| s.starved) {
                continue;
            }
            let place = self.peers.binary_search_by_key(&connection.id, |p| p.0);
            if let Some(of) = place.ok().and_then(|at| signs.get_mut(&self.peers[at].1)) {
                of.alarm.get_or_insert_with(|| {
                    format!(
                        "connection {} on {}: nothing came for the idle time, and the server has more",
                        connection.id,
                        label(view, HOME)
                    )
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
        let mut before = self.peers.iter().copied().peekable();
        let peers = started.iter().filter_map(|c| {
            while before.next_if(|known| known.0 < c.id).is_some() {}
            let first = || c.subflows.iter().min_by_key(|s| s.path);
            let known = before.next_if(|known| known.0 == c.id);
            known.or_else(|| Some((c.id, first()?.peer)))
        });
        self.peers = peers.collect();
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
        let started = self.requests.started(view);
        self.note_peers(&started);
        let tail_loss = &self.settings.tail_loss;
        let overdue = Some(tail_loss.overdue).filter(|&o| tail_loss.enabled && o > 0.0);
        self.watches.look(now, view, overdue);
        let signs = self.triggers(now, view);
        self.handovers.retain(|peer, _| signs.contains_key(peer));
        let mut groups: BTreeMap<_, Vec<&ConnectionView>> = BTreeMap::new();
        let mut peers = self.peers.iter().peekable();
        for connection in started {
            // One that never had a subflow to be seen has none.
            if let Some((_, peer)) = peers.next_if(|(id, _)| *id == connection.id) {
                groups.entry(*peer).or_default().push(connection);
            }
        }
        for (peer, signs) in signs {
            let group = groups.remove(&peer).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::stage::{Stack, Stage};
    use crate::{Action, PathState, PathView, SubflowView};
    use model::{PathIndex, PathKind};

    fn stage(stack: Stack, manager: fn(&scenario::Oracle) -> MultiMob) -> Stage {
        let manager = Box::new(manager(&scenario::Oracle::default()));
        let mut stage = Stage::of(stack, manager).connections(2);
        stage.run(1_050);
        assert_eq!(stage.story(), "", "nothing happens before a failure");
        stage
    }

    fn blackout(stack: Stack, manager: fn(&scenario::Oracle) -> MultiMob) -> String {
        let mut stage = stage(stack, manager);
        stage.kill(0);
        stage.run(4_000);
        stage.revive(0);
        stage.run(30_000);
        stage.story()
    }

    #[test]
    fn the_oracle_hands_over_and_a_living_home_is_returned_to() {
        insta::assert_snapshot!(blackout(Stack::Mptcp, MultiMob::new));
    }

    #[test]
    fn where_a_subflow_can_be_marked_it_stays() {
        insta::assert_snapshot!(blackout(Stack::Marking, MultiMob::new));
    }

    #[test]
    fn over_quic_all_counts_as_lost_after_a_timeout() {
        insta::assert_snapshot!(blackout(Stack::Quic, MultiMob::new));
    }

    #[test]
    fn a_probe_opens_at_once_and_home_is_left_when_it_goes_unanswered() {
        insta::assert_snapshot!(blackout(Stack::Mptcp, MultiMob::with_tail_loss));
    }

    #[test]
    fn a_probe_where_a_subflow_can_be_marked() {
        insta::assert_snapshot!(blackout(Stack::Marking, MultiMob::with_tail_loss));
    }

    #[test]
    fn a_great_timeout_opens_the_backup_and_marks_nothing() {
        let mut stage = stage(Stack::Mptcp, MultiMob::new);
        stage.set_rtt(0, 1_400);
        stage.run(4_000);
        stage.set_rtt(0, 20);
        stage.run(20_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_home_that_revives_and_dies_again_is_held_down_longer() {
        let mut stage = stage(Stack::Marking, MultiMob::with_tail_loss);
        for (kill, revive) in [(1_100, 2_000), (10_000, 11_000), (25_000, 26_000)] {
            stage.run(kill);
            stage.kill(0);
            stage.run(revive);
            stage.revive(0);
        }
        stage.run(60_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_failure_right_after_the_return_does_not_wait() {
        let mut stage = stage(Stack::Mptcp, MultiMob::with_tail_loss);
        stage.kill(0);
        stage.run(2_000);
        stage.revive(0);
        stage.run(7_300);
        assert!(stage.story().ends_with("no other path is needed"));
        stage.kill(0);
        stage.run(7_500);
        let story = stage.story();
        assert!(
            story.contains("7.340 s  1: open path 1 as backup"),
            "{story}"
        );
    }

    #[test]
    fn an_interface_that_goes_down_is_left_at_once_and_returned_to() {
        let mut stage = stage(Stack::Marking, MultiMob::new);
        stage.set_up(0, false);
        stage.run(12_000);
        stage.set_up(0, true);
        stage.run(20_000);
        insta::assert_snapshot!(stage.story());
    }

    /// A view of one subflow over Wi-Fi for each connection: its peer, packets lost of 10 sent for
    /// each step.
    fn view(step: u64, connections: &[(u8, u64)]) -> View {
        let path = |kind| PathView { kind, up: true };
        let connection = |(id, &(peer, lost)): (usize, &(u8, u64))| ConnectionView {
            id,
            has_unsent: false,
            subflows: vec![SubflowView {
                path: PathIndex(0),
                peer: Some(IpAddr::from([192, 0, 2, peer])),
                state: PathState::Established,
                backup: false,
                suspected: false,
                srtt: Some(Duration::from_millis(20)),
                rto: Some(Duration::from_millis(220)),
                timeouts: 0,
                retransmissions: 0,
                sent: 10 * step,
                lost: lost * step,
                in_flight: 0,
                oldest_unacked: None,
                starved: false,
                received: 0,
            }],
        };
        View {
            paths: vec![path(PathKind::Wifi), path(PathKind::Cellular)],
            connections: connections.iter().enumerate().map(connection).collect(),
        }
    }

    #[test]
    fn a_failure_is_one_of_the_netpath_not_of_the_interface() {
        let mut manager = MultiMob::new(&scenario::Oracle::default());
        let mut decisions = Vec::new();
        for step in 0..2 {
            let now = Time::from_millis(500 * step);
            let view = view(step, &[(1, 9), (1, 0), (2, 0)]);
            manager.decide(now, &view, &mut decisions);
        }
        let open = |connection| Action::Open {
            connection,
            path: PathIndex(1),
            backup: true,
        };
        let actions: Vec<_> = decisions.iter().map(|d| d.action).collect();
        assert_eq!(actions, [open(0), open(1)]);
        assert_eq!(
            decisions[0].cause,
            "Wi-Fi (path 0): the smoothed loss rate rose to 45.0 %, above 25.0 %"
        );
        let loss: Vec<f64> = manager.oracle().netpaths().map(|(_, r)| r.loss()).collect();
        assert_eq!(loss, [0.45, 0.0]);
    }

    /// A download stops: there is nothing of the client's own that could be lost.
    #[test]
    fn a_starved_subflow_opens_the_backups() {
        let mut manager = MultiMob::new(&scenario::Oracle::default());
        let mut decisions = Vec::new();
        for step in 0..3 {
            let mut view = view(step, &[(1, 0), (1, 0), (2, 0)]);
            view.connections[1].subflows[0].starved = step == 2;
            manager.decide(Time::from_millis(500 * step), &view, &mut decisions);
            assert_eq!(decisions.is_empty(), step < 2);
        }
        let open = |connection| Action::Open {
            connection,
            path: PathIndex(1),
            backup: true,
        };
        let actions: Vec<_> = decisions.iter().map(|d| d.action).collect();
        assert_eq!(actions, [open(0), open(1)]);
        assert_eq!(
            decisions[0].cause,
            "connection 1 on Wi-Fi (path 0): nothing came for the idle time, and the server has more"
        );
    }
}
