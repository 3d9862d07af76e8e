//! `break-before-make`: how fast can one path at a time be, from the client and on an unmodified
//! kernel?
//!
//! Only the home path (the first; Wi-Fi) is used, and no packet goes over cellular before a
//! failure. When home goes silent (see [`crate::silence`]), its interface goes down, or its
//! subflow is gone, every connection opens a subflow on cellular - a failure seen by one of them
//! is one of the path - and closes home's as soon as the new one is established. Closing is what
//! makes both ends send again over cellular what was in flight, over MPTCP (REMOVE_ADDR, then a
//! reset) and over MPQUIC alike; the priority alone would not.
//!
//! Once it has begun, a handover is finished even if home comes back meanwhile. The way back:
//! when home's interface is up and the hold-down is over, home is opened as a probe, regular.
//! When it has been established on every connection for [`Settings::probe_good`] without a sign
//! of silence, cellular is closed. If it is not established within [`Settings::probe_timeout`],
//! or goes silent again, it is closed, and the hold-down doubles. If cellular is in trouble
//! itself, or is down, the probe does not wait for the hold-down.
//!
//! **What it cannot see.** The client judges by acknowledgements of its own data. A failure of
//! the uplink, the downlink or both stops these, so each is noticed while the client sends; a
//! client that only receives (`bulk`) sees nothing of a silent failure, and waits for the stack.

use crate::requests::{At, Requests};
use crate::roles::{HOME, is_up, label, spare};
use crate::silence::{Limits, Watch, millis};
use crate::{ConnectionView, Decision, PathManager, PathState, SubflowView, View};
use model::{PathIndex, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// The parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// How often to ask.
    pub period: Duration,
    /// What counts as silence.
    pub limits: Limits,
    /// For how long home is not tried after it failed; doubles with each attempt that fails.
    pub hold_first: Duration,
    /// The longest hold-down.
    pub hold_longest: Duration,
    /// How long a return must have lasted for the next hold-down to start from the first again.
    pub settle: Duration,
    /// How long a probe may take to be established.
    pub probe_timeout: Duration,
    /// For how long an established probe must show no sign of silence.
    pub probe_good: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            period: Duration::from_millis(20),
            limits: Limits::default(),
            hold_first: Duration::from_secs(5),
            hold_longest: Duration::from_secs(60),
            settle: Duration::from_secs(10),
            probe_timeout: Duration::from_secs(3),
            probe_good: Duration::from_secs(1),
        }
    }
}

/// The manager.
#[derive(Debug)]
pub struct BreakBeforeMake {
    settings: Settings,
    requests: Requests,
    watches: BTreeMap<(usize, PathIndex), Watch>,
    phase: Phase,
    hold: Duration,
    /// When home was last returned to.
    returned: Option<Time>,
}

impl Default for BreakBeforeMake {
    fn default() -> Self {
        BreakBeforeMake::new(Settings::default())
    }
}

/// Where the host's connections are, all of them.
#[derive(Debug)]
enum Phase {
    Home,
    /// On cellular, or on the way there.
    Away {
        since: Time,
        cause: String,
    },
    /// On cellular, with home open to see whether it works.
    Probing {
        since: Time,
        good_since: Option<Time>,
        cause: String,
    },
}

fn established(connection: &ConnectionView, path: PathIndex) -> Option<&SubflowView> {
    connection
        .on(path)
        .filter(|s| s.state == PathState::Established)
}

impl BreakBeforeMake {
    /// A manager that finds its connections on the home path.
    pub fn new(settings: Settings) -> BreakBeforeMake {
        BreakBeforeMake {
            settings,
            requests: Requests::default(),
            watches: BTreeMap::new(),
            phase: Phase::Home,
            hold: settings.hold_first,
            returned: None,
        }
    }

    /// Looks at every established subflow: the verdict on each that is silent.
    fn listen(&mut self, now: Time, view: &View) -> BTreeMap<(usize, PathIndex), String> {
        let limits = self.settings.limits;
        let mut before = std::mem::take(&mut self.watches);
        let mut silent = BTreeMap::new();
        for c in &view.connections {
            for s in &c.subflows {
                if s.state == PathState::Established {
                    let key = (c.id, s.path);
                    let mut watch = before.remove(&key).unwrap_or_default();
                    if let Some(verdict) = watch.look(now, s, &limits) {
                        silent.insert(key, verdict);
                    }
                    self.watches.insert(key, watch);
                }
            }
        }
        silent
    }

    /// Why home should be left, if it should.
    fn failure(
        view: &View,
        started: &[&ConnectionView],
        silent: &BTreeMap<(usize, PathIndex), String>,
    ) -> Option<String> {
        let name = || label(view, HOME);
        if !is_up(view, HOME) {
            return Some(format!("the interface of {} is down", name()));
        }
        started.iter().find_map(|c| match c.on(HOME) {
            None => Some(format!("connection {} has no subflow on {}", c.id, name())),
            Some(_) => silent
                .get(&(c.id, HOME))
                .map(|verdict| format!("connection {} on {}: {verdict}", c.id, name())),
        })
    }

    /// One step of the phase; the actions follow from it.
    fn advance(&mut self, now: Time, view: &View, started: &[&ConnectionView]) {
        let silent = self.listen(now, view);
        let failure = || BreakBeforeMake::failure(view, started, &silent);
        let spare = spare(view);
        // Cellular cannot be relied on: nothing is lost by trying home.
        let trouble = spare.is_none_or(|path| {
            let on = |c: &&&ConnectionView| c.on(path).is_some();
            let mut using = started.iter().filter(on).peekable();
            using.peek().is_some() && using.all(|c| silent.contains_key(&(c.id, path)))
        });
        let Settings {
            hold_first,
            hold_longest,
            settle,
            probe_timeout,
            probe_good,
            ..
        } = self.settings;
        match &mut self.phase {
            Phase::Home => {
                let (Some(cause), Some(_)) = (failure(), spare) else {
                    return;
                };
                let relapse = self.returned.is_some_and(|t| now.since(t) < settle);
                self.hold = if relapse {
                    (self.hold * 2).min(hold_longest)
                } else {
                    hold_first
                };
                self.phase = Phase::Away { since: now, cause };
            }
            Phase::Away { since, .. } => {
                let waited = now.since(*since);
                let due = waited >= self.hold || (trouble && waited >= probe_good);
                if is_up(view, HOME) && (due || spare.is_none()) {
                    let name = label(view, HOME);
                    let cause = match spare {
                        Some(path) if trouble => {
                            format!("{} is silent, {name} is up", label(view, path))
                        }
                        Some(_) => format!("{name} is up after a hold-down of {}", millis(waited)),
                        None => format!("{name} is up, and no other path is"),
                    };
                    self.phase = Phase::Probing {
                        since: now,
                        good_since: None,
                        cause,
                    };
                }
            }
            Phase::Probing {
                since, good_since, ..
            } => {
                let works = |c: &&ConnectionView| {
                    established(c, HOME).is_some_and(|s| s.timeouts == 0)
                        && !silent.contains_key(&(c.id, HOME))
                };
                *good_since = match started.iter().all(works) {
                    true => good_since.or(Some(now)),
                    false => None,
                };
                let fell_silent = started.iter().any(|c| silent.contains_key(&(c.id, HOME)));
                match *good_since {
                    Some(good) if now.since(good) >= probe_good || trouble => {
                        self.returned = Some(now);
                        self.phase = Phase::Home;
                    }
                    Some(_) => {}
                    None => {
                        let late = now.since(*since) >= probe_timeout;
                        if late || fell_silent || !is_up(view, HOME) {
                            let name = label(view, HOME);
                            let timeout = millis(probe_timeout);
                            let cause = failure().filter(|_| fell_silent || !is_up(view, HOME));
                            let cause = cause.unwrap_or_else(|| {
                                format!(
                                    "{name} did not answer on every connection within {timeout}"
                                )
                            });
                            self.hold = (self.hold * 2).min(hold_longest);
                            self.phase = Phase::Away { since: now, cause };
                        }
                    }
                }
            }
        }
    }

    /// What the phase asks of a connection.
    fn act(&mut self, at: At<'_>, decisions: &mut Vec<Decision>) {
        let At {
            view, connection, ..
        } = at;
        let requests = &mut self.requests;
        let name = |path| label(view, path);
        let spare = spare(view);
        match &self.phase {
            Phase::Home => {
                // Without another path there is no handover: home is all there is.
                requests.open(at, HOME, false, decisions, || {
                    format!("{} is up and has no subflow", name(HOME))
                });
                if established(connection, HOME).is_some() {
                    for other in connection.subflows.iter().filter(|s| s.path != HOME) {
                        requests.close(at, other.path, decisions, || {
                            format!("{} works: no other path is needed", name(HOME))
                        });
                    }
                }
            }
            Phase::Away { cause, .. } => {
                let Some(spare) = spare else {
                    return;
                };
                requests.open(at, spare, false, decisions, || cause.clone());
                requests.set_backup(at, spare, false, decisions, || cause.clone());
                if established(connection, spare).is_some() {
                    requests.close(at, HOME, decisions, || {
                        format!("{} is established; {cause}", name(spare))
                    });
                }
            }
            Phase::Probing { cause, .. } => {
                requests.open(at, HOME, false, decisions, || cause.clone());
                let works = |s: &SubflowView| s.state == PathState::Established;
                if let Some(spare) = spare
                    && !connection.subflows.iter().any(works)
                {
                    requests.open(at, spare, false, decisions, || {
                        "the connection has no established subflow".to_owned()
                    });
                }
            }
        }
    }
}

impl PathManager for BreakBeforeMake {
    fn decide(&mut self, now: Time, view: &View, decisions: &mut Vec<Decision>) {
        self.requests.observe(now, view);
        let started: Vec<_> = view
            .connections
            .iter()
            .filter(|c| self.requests.has_started(c))
            .collect();
        if started.is_empty() {
            self.phase = Phase::Home;
            self.watches.clear();
            return;
        }
        self.advance(now, view, &started);
        for connection in started {
            let at = At {
                now,
                view,
                connection,
            };
            self.act(at, decisions);
        }
    }

    fn period(&self) -> Option<Duration> {
        Some(self.settings.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::stage::{Stack, Stage};

    fn stage(stack: Stack) -> Stage {
        let mut stage = Stage::of(stack, Box::new(BreakBeforeMake::default()));
        stage.run(1_050);
        assert_eq!(stage.story(), "", "nothing happens before a failure");
        stage
    }

    #[test]
    fn silence_hands_over_and_a_living_home_is_returned_to() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(4_000);
        stage.revive(0);
        stage.run(30_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn over_quic_the_probe_timeout_is_the_sign() {
        let mut stage = stage(Stack::Quic);
        stage.kill(0);
        stage.run(3_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_home_that_stays_dead_is_probed_at_growing_intervals() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(120_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_home_that_revives_and_dies_again_is_held_down_longer() {
        let mut stage = stage(Stack::Mptcp);
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
    fn a_failure_of_one_connection_moves_them_all() {
        let manager = Box::new(BreakBeforeMake::default());
        let mut stage = Stage::of(Stack::Mptcp, manager).connections(3);
        stage.run(1_050);
        stage.kill(0);
        stage.run(9_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn an_interface_that_goes_down_is_left_at_once_and_returned_to() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_up(0, false);
        stage.run(12_000);
        stage.set_up(0, true);
        stage.run(20_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn without_another_path_nothing_is_done() {
        let mut stage = stage(Stack::Mptcp);
        stage.set_up(1, false);
        stage.kill(0);
        stage.run(10_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn home_is_tried_at_once_when_cellular_goes_down() {
        let mut stage = stage(Stack::Mptcp);
        stage.kill(0);
        stage.run(2_000);
        stage.revive(0);
        stage.set_up(1, false);
        stage.run(6_000);
        insta::assert_snapshot!(stage.story());
    }
}
