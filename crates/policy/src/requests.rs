//! Which actions make sense now, and which were already asked for? What every path manager
//! keeps to, whatever it wants:
//!
//! - nothing is asked for twice while the transport is at it, nothing of an unknown connection;
//! - a subflow is opened on a path that is up and has none, once the connection has ever been
//!   established, and after failures only at growing intervals;
//! - a subflow is closed, or held to have failed, only while another one is established on a path
//!   that is up, and is not being closed itself.

use crate::roles::is_up;
use crate::view::{Action, ConnectionView, Decision, PathState, SubflowView, View};
use model::{PathIndex, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// For how long an action that does not show in the view counts as under way.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often opening is tried again after it failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// At least this long between two attempts; doubles with each failure in a row.
    pub first: Duration,
    /// At most this long.
    pub longest: Duration,
}

impl Default for Retry {
    /// From 1 s, TCP's first SYN retransmission (RFC 6298, section 2), up to 30 s.
    fn default() -> Retry {
        Retry {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(30),
        }
    }
}

impl Retry {
    fn after(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        (self.first * (1 << doublings)).min(self.longest)
    }
}

type Key = (usize, PathIndex);

#[derive(Debug)]
struct Attempt {
    asked: Time,
    /// In a row.
    failures: u32,
    stage: Stage,
    /// Whether it ended because it was closed at our request.
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Not seen in the view so far.
    Asked,
    Opening,
    Established,
    /// Gone again.
    Over,
}

/// The memory of what was asked for.
#[derive(Debug, Default)]
pub struct Requests {
    retry: Retry,
    attempts: BTreeMap<Key, Attempt>,
    closes: BTreeMap<Key, Time>,
    priorities: BTreeMap<Key, (bool, Time)>,
    suspicions: BTreeMap<Key, Time>,
    /// Connections that ever had an established subflow, in order.
    started: Vec<usize>,
    /// The paths that were up when last looked at.
    up: BTreeSet<PathIndex>,
}

impl Requests {
    /// No memory.
    pub fn new(retry: Retry) -> Requests {
        Requests {
            retry,
            ..Requests::default()
        }
    }

    /// Takes notice of what became of the requests; call it first in each decision.
    pub fn observe(&mut self, now: Time, view: &View) {
        debug_assert!(view.connections.is_sorted_by_key(|c| c.id));
        let connection = |id: usize| {
            let place = view.connections.binary_search_by_key(&id, |c| c.id);
            place.ok().map(|place| &view.connections[place])
        };
        let subflow = |(id, path): Key| connection(id).and_then(|c| c.on(path));

        let mut before = self.started.iter().copied().peekable();
        let started = view.connections.iter().filter(|c| {
            while before.next_if(|&id| id < c.id).is_some() {}
            before.next_if_eq(&c.id).is_some()
                || (c.subflows.iter()).any(|s| s.state == PathState::Established)
        });
        self.started = started.map(|c| c.id).collect();

        // A path that came back is worth an attempt at once.
        let paths = (0..view.paths.len()).map(PathIndex);
        let up: BTreeSet<PathIndex> = paths.filter(|&p| is_up(view, p)).collect();
        self.attempts.retain(|&(id, path), attempt| {
            let came_back = up.contains(&path) && !self.up.contains(&path);
            let under_way = matches!(attempt.stage, Stage::Asked | Stage::Opening);
            connection(id).is_some() && (under_way || !came_back)
        });
        self.up = up;

        for (&key, attempt) in &mut self.attempts {
            attempt.stage = match subflow(key).map(|s| s.state) {
                Some(PathState::Established) => {
                    attempt.failures = 0;
                    Stage::Established
                }
                Some(PathState::Opening) => Stage::Opening,
                Some(PathState::Closing) => attempt.stage,
                None if attempt.stage == Stage::Asked && now.since(attempt.asked) < PATIENCE => {
                    Stage::Asked
                }
                None => {
                    if matches!(attempt.stage, Stage::Asked | Stage::Opening) {
                        attempt.failures += 1;
                    }
                    Stage::Over
                }
            };
        }
        self.closes
            .retain(|&key, asked| subflow(key).is_some() && now.since(*asked) < PATIENCE);
        self.suspicions.retain(|&key, asked| {
            let pending = subflow(key).is_some_and(|s| !s.suspected);
            pending && now.since(*asked) < PATIENCE
        });
        self.priorities.retain(|&key, (wanted, asked)| {
            let pending = subflow(key).is_some_and(|s| s.backup != *wanted);
            pending && now.since(*asked) < PATIENCE
        });
    }

    /// Whether the connection ever had an established subflow.
    pub fn has_started(&self, connection: &ConnectionView) -> bool {
        self.started.binary_search(&connection.id).is_ok()
    }

    /// Those connections of the view observed last that ever had an established subflow, in order.
    pub fn started<'v>(&self, view: &'v View) -> Vec<&'v ConnectionView> {
        let mut started = self.started.iter().copied().peekable();
        let of = |c: &&ConnectionView| started.next_if_eq(&c.id).is_some();
        view.connections.iter().filter(of).collect()
    }

    /// For how long the subflow has been opening at this manager's request; `None` when it is
    /// not opening.
    pub fn opening_for(&self, now: Time, c: &ConnectionView, path: PathIndex) -> Option<Duration> {
        let attempt = self.attempts.get(&(c.id, path))?;
        matches!(attempt.stage, Stage::Asked | Stage::Opening).then(|| now.since(attempt.asked))
    }

    /// A subflow that was closed at our request, not by a failure, may be opened again at once.
    pub fn forgive(&mut self, connection: &ConnectionView, path: PathIndex) {
        let key = (connection.id, path);
        if self.attempts.get(&key).is_some_and(|a| a.closed) {
            self.attempts.remove(&key);
        }
    }

    /// Opens a subflow if that makes sense; returns whether it was asked for.
    pub fn open(
        &mut self,
        at: At<'_>,
        path: PathIndex,
        backup: bool,
        decisions: &mut Vec<Decision>,
        cause: impl FnOnce() -> String,
    ) -> bool {
        let At {
            now,
            view,
            connection,
        } = at;
        let key = (connection.id, path);
        let failures = match self.attempts.get(&key) {
            None => 0,
            Some(a) if a.stage == Stage::Asked => return false,
            Some(a) if now.since(a.asked) < self.retry.after(a.failures) => return false,
            Some(a) => a.failures,
        };
        if connection.on(path).is_some() || !is_up(view, path) || !self.has_started(connection) {
            return false;
        }
        let attempt = Attempt {
            asked: now,
            failures,
            stage: Stage::Asked,
            closed: false,
        };
        self.attempts.insert(key, attempt);
        self.closes.remove(&key);
        let connection = connection.id;
        decisions.push(Decision {
            action: Action::Open {
                connection,
                path,
                backup,
            },
            cause: cause(),
        });
        true
    }

    /// Closes a subflow if that makes sense; returns whether it was asked for.
    pub fn close(
        &mut self,
        at: At<'_>,
        path: PathIndex,
        decisions: &mut Vec<Decision>,
        cause: impl FnOnce() -> String,
    ) -> bool {
        let At {
            now,
            view,
            connection,
        } = at;
        let key = (connection.id, path);
        let there = connection
            .on(path)
            .is_some_and(|s| s.state != PathState::Closing);
        if !there || !self.has_another(view, connection, path) || self.closes.contains_key(&key) {
            return false;
        }
        self.closes.insert(key, now);
        // Opening it again waits as after a failure.
        self.attempts
            .entry(key)
            .and_modify(|a| {
                a.asked = now;
                a.closed = true;
            })
            .or_insert(Attempt {
                asked: now,
                failures: 0,
                stage: Stage::Over,
                closed: true,
            });
        let connection = connection.id;
        decisions.push(Decision {
            action: Action::Close { connection, path },
            cause: cause(),
        });
        true
    }

    /// Whether the connection can do without its subflow on `path`.
    fn has_another(&self, view: &View, connection: &ConnectionView, path: PathIndex) -> bool {
        connection.subflows.iter().any(|s| {
            let key = (connection.id, s.path);
            s.path != path
                && s.state == PathState::Established
                && is_up(view, s.path)
                && !self.closes.contains_key(&key)
                && !self.suspicions.contains_key(&key)
        })
    }

    /// Holds an established subflow to have failed if that makes sense; returns whether it was
    /// asked for.
    pub fn suspect(
        &mut self,
        at: At<'_>,
        path: PathIndex,
        decisions: &mut Vec<Decision>,
        cause: impl FnOnce() -> String,
    ) -> bool {
        let At {
            now,
            view,
            connection,
        } = at;
        let key = (connection.id, path);
        let suspect = |s: &SubflowView| s.state == PathState::Established && !s.suspected;
        let asked = self.suspicions.contains_key(&key) || self.closes.contains_key(&key);
        if asked
            || !connection.on(path).is_some_and(suspect)
            || !self.has_another(view, connection, path)
        {
            return false;
        }
        self.suspicions.insert(key, now);
        let connection = connection.id;
        decisions.push(Decision {
            action: Action::Suspect { connection, path },
            cause: cause(),
        });
        true
    }

    /// Makes an established subflow backup or regular, unless it is; returns whether it was
    /// asked for.
    pub fn set_backup(
        &mut self,
        at: At<'_>,
        path: PathIndex,
        backup: bool,
        decisions: &mut Vec<Decision>,
        cause: impl FnOnce() -> String,
    ) -> bool {
        let At {
            now, connection, ..
        } = at;
        let key = (connection.id, path);
        let Some(subflow) = connection.on(path) else {
            return false;
        };
        let asked = self.priorities.get(&key).map(|&(wanted, _)| wanted);
        if subflow.state != PathState::Established || asked.unwrap_or(subflow.backup) == backup {
            return false;
        }
        self.priorities.insert(key, (backup, now));
        let connection = connection.id;
        decisions.push(Decision {
            action: Action::SetBackup {
                connection,
                path,
                backup,
            },
            cause: cause(),
        });
        true
    }
}

/// When, and of which connection in which view, something is asked.
#[derive(Clone, Copy, Debug)]
pub struct At<'v> {
    /// Now.
    pub now: Time,
    /// What the manager sees.
    pub view: &'v View,
    /// The connection, one of the view's.
    pub connection: &'v ConnectionView,
}
