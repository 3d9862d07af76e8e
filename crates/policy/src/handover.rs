//! On which path are the connections of a host, one at a time, and when do they go back?
//!
//! What managers that break before they make have in common, however they judge a path. All is
//! on the home path, and nothing elsewhere, until home fails: then every connection opens a
//! subflow on the spare path and leaves home as soon as that one is established. Once it has
//! begun, a handover is finished even if home comes back meanwhile. Trouble that is no failure
//! yet (an *alarm*) opens the spare as backup, and leaves home in use.
//!
//! The way back: when home's interface is up and the hold-down is over, home is opened as a
//! probe, regular. When it has been established on every connection for [`Limits::good`] without
//! a sign of failure, the spare is closed. If it is not established within [`Limits::timeout`],
//! or fails again, the hold-down begins again and is twice as long. If the spare is in trouble
//! itself, or is down, the probe does not wait for the hold-down.

use crate::requests::{At, Requests};
use crate::roles::{HOME, is_up, label, spare};
use crate::silence::millis;
use crate::watches::Silent;
use crate::{ConnectionView, Decision, PathState, SubflowView, View};
use model::{PathIndex, Time};
use std::time::Duration;

/// What keeps connections from going back and forth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// For how long home is not tried after it failed; doubles with each attempt that fails.
    pub hold: Duration,
    /// The longest hold-down.
    pub longest_hold: Duration,
    /// How long a return must have lasted for the next hold-down to start from the first again.
    pub settle: Duration,
    /// How long a probe may take to be established.
    pub timeout: Duration,
    /// For how long an established probe must show no sign of failure.
    pub good: Duration,
}

/// How home is left once the spare path works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// Its subflow is closed, and the spare one is regular.
    Close,
    /// Its subflow is held to have failed, and the spare one is a backup.
    Suspect,
}

/// What was seen of the paths.
#[derive(Debug, Default)]
pub struct Signs {
    /// The subflows that are silent: a return to such a home is given up, and a spare path all of
    /// whose subflows are silent is in trouble.
    pub silent: Silent,
    /// Whether home is left as well when a subflow on it is silent: a failure seen by one
    /// connection is one of the path.
    pub leave_silent: bool,
    /// Why home must be left otherwise.
    pub failure: Option<String>,
    /// Why the spare should be there, though home may yet be good.
    pub alarm: Option<String>,
}

/// Where the connections are, all of them.
#[derive(Debug)]
enum Phase {
    Home,
    /// At home, with the spare open.
    Alarmed {
        since: Time,
        cause: String,
    },
    /// On the spare, or on the way there.
    Away {
        since: Time,
        cause: String,
    },
    /// On the spare, with home open to see whether it works.
    Probing {
        since: Time,
        good_since: Option<Time>,
        cause: String,
    },
}

/// The connections that go together.
#[derive(Debug)]
pub struct Handover {
    limits: Limits,
    leave: Leave,
    phase: Phase,
    hold: Duration,
    /// When home was last returned to.
    returned: Option<Time>,
}

fn established(connection: &ConnectionView, path: PathIndex) -> Option<&SubflowView> {
    connection
        .on(path)
        .filter(|s| s.state == PathState::Established)
}

impl Handover {
    /// Connections that are at home.
    pub fn new(limits: Limits, leave: Leave) -> Handover {
        Handover {
            limits,
            leave,
            phase: Phase::Home,
            hold: limits.hold,
            returned: None,
        }
    }

    /// There are no connections any more: those to come begin at home.
    pub fn forget(&mut self) {
        self.phase = Phase::Home;
    }

    /// One step; what to do follows from it.
    pub fn advance(
        &mut self,
        now: Time,
        view: &View,
        connections: &[&ConnectionView],
        signs: &Signs,
    ) {
        let name = || label(view, HOME);
        let silent = |c: &ConnectionView, path| signs.silent.contains_key(&(c.id, path));
        let silence = |c: &&ConnectionView| {
            let verdict = signs.silent.get(&(c.id, HOME))?;
            Some(format!("connection {} on {}: {verdict}", c.id, name()))
        };
        let lost = || {
            let gone = connections.iter().find(|c| c.on(HOME).is_none());
            let gone = gone.map(|c| format!("connection {} has no subflow on {}", c.id, name()));
            let down = || format!("the interface of {} is down", name());
            (!is_up(view, HOME)).then(down).or(gone)
        };
        let spare = spare(view);
        // The spare cannot be relied on: nothing is lost by trying home.
        let trouble = spare.is_none_or(|path| {
            let on = |c: &&&ConnectionView| c.on(path).is_some();
            let mut using = connections.iter().filter(on).peekable();
            using.peek().is_some() && using.all(|c| silent(c, path))
        });
        let Limits {
            longest_hold,
            timeout,
            good,
            ..
        } = self.limits;
        match &mut self.phase {
            Phase::Home | Phase::Alarmed { .. } => {
                if spare.is_none() {
                    return;
                }
                let silence = || connections.iter().find_map(silence);
                let failure = lost()
                    .or_else(|| signs.failure.clone())
                    .or_else(|| signs.leave_silent.then(silence).flatten());
                let alarm = signs.alarm.clone();
                let at_ease = matches!(self.phase, Phase::Home);
                if at_ease && (failure.is_some() || alarm.is_some()) {
                    self.hold_down(now);
                }
                match (failure, alarm, &mut self.phase) {
                    (Some(cause), ..) => self.phase = Phase::Away { since: now, cause },
                    (None, Some(_), Phase::Alarmed { since, .. }) => *since = now,
                    (None, Some(cause), _) => self.phase = Phase::Alarmed { since: now, cause },
                    (None, None, Phase::Alarmed { since, .. })
                        if now.since(*since) >= self.hold =>
                    {
                        self.returned = Some(now);
                        self.phase = Phase::Home;
                    }
                    (None, None, _) => {}
                }
            }
            Phase::Away { since, .. } => {
                let waited = now.since(*since);
                let due = waited >= self.hold || (trouble && waited >= good);
                if is_up(view, HOME) && (due || spare.is_none()) {
                    let name = name();
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
                    established(c, HOME).is_some_and(|s| s.timeouts == 0 && !s.suspected)
                        && !silent(c, HOME)
                };
                // One that was given up before is not the probe.
                let probe = |c: &&&ConnectionView| {
                    good_since.is_some() || c.on(HOME).is_some_and(|s| !s.suspected)
                };
                let silence = connections.iter().filter(probe).find_map(silence);
                let fails = signs.failure.clone().or(silence);
                *good_since = match fails.is_none() && connections.iter().all(works) {
                    true => good_since.or(Some(now)),
                    false => None,
                };
                match *good_since {
                    Some(began) if now.since(began) >= good || trouble => {
                        self.returned = Some(now);
                        self.phase = Phase::Home;
                    }
                    Some(_) => {}
                    None => {
                        let late = now.since(*since) >= timeout;
                        if late || fails.is_some() || !is_up(view, HOME) {
                            let down = lost().filter(|_| !is_up(view, HOME));
                            let late = || {
                                let (name, timeout) = (name(), millis(timeout));
                                format!(
                                    "{name} did not answer on every connection within {timeout}"
                                )
                            };
                            let cause = down.or(fails).unwrap_or_else(late);
                            self.hold = (self.hold * 2).min(longest_hold);
                            self.phase = Phase::Away { since: now, cause };
                        }
                    }
                }
            }
        }
    }

    /// Home is left, or may be: for how long?
    fn hold_down(&mut self, now: Time) {
        let Limits {
            hold,
            longest_hold,
            settle,
            ..
        } = self.limits;
        let relapse = self.returned.is_some_and(|t| now.since(t) < settle);
        self.hold = if relapse {
            (self.hold * 2).min(longest_hold)
        } else {
            hold
        };
    }

    /// What is asked of a connection now.
    pub fn act(&self, at: At<'_>, requests: &mut Requests, decisions: &mut Vec<Decision>) {
        let At {
            view, connection, ..
        } = at;
        let name = |path| label(view, path);
        let as_backup = self.leave == Leave::Suspect;
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
            Phase::Alarmed { cause, .. } => {
                if let Some(spare) = spare {
                    requests.forgive(connection, spare);
                    requests.open(at, spare, true, decisions, || cause.clone());
                }
            }
            Phase::Away { cause, .. } => {
                let Some(spare) = spare else {
                    return;
                };
                // It may just have been closed, on a return that did not last.
                requests.forgive(connection, spare);
                requests.open(at, spare, as_backup, decisions, || cause.clone());
                requests.set_backup(at, spare, as_backup, decisions, || cause.clone());
                if established(connection, spare).is_some() {
                    let words = || format!("{} is established; {cause}", name(spare));
                    match self.leave {
                        Leave::Suspect if is_up(view, HOME) => {
                            requests.suspect(at, HOME, decisions, words)
                        }
                        _ => requests.close(at, HOME, decisions, words),
                    };
                }
            }
            Phase::Probing { cause, .. } => {
                // What is held to have failed is not used, and would not show that it works.
                if connection.on(HOME).is_some_and(|s| s.suspected) {
                    requests.close(at, HOME, decisions, || cause.clone());
                }
                requests.open(at, HOME, false, decisions, || cause.clone());
                let works = |s: &SubflowView| s.state == PathState::Established;
                if let Some(spare) = spare
                    && !connection.subflows.iter().any(works)
                {
                    requests.open(at, spare, as_backup, decisions, || {
                        "the connection has no established subflow".to_owned()
                    });
                }
            }
        }
    }
}
