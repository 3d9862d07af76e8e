//! What does a manager do over time? Two paths, connections that send a chunk every 100 ms over
//! each regular subflow, and a transport that does what it is told, in virtual time.

use crate::{Action, ConnectionView, PathManager, PathState, PathView, SubflowView, View};
use model::{PathIndex, PathKind, Time};
use std::time::Duration;

const STEP: u64 = 5;
const CHUNK: u64 = 100;
/// How long a transport tries to open a subflow.
const GIVE_UP: u64 = 8_000;

/// How losses show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// A tail-loss probe after 2 RTT, an RTO of 200 ms + RTT.
    Mptcp,
    /// The same, and a subflow can be held to have failed, until something is acknowledged on it.
    Marking,
    /// Probe timeouts of 3 RTT, nothing counts as sent again.
    Quic,
}

struct Path {
    kind: PathKind,
    up: bool,
    alive: bool,
    /// Nothing arrives over it; what it sends is acknowledged over another path, once that is used.
    deaf: bool,
    rtt: u64,
}

struct Subflow {
    path: usize,
    state: PathState,
    backup: bool,
    suspected: bool,
    since: u64,
    sent: u64,
    /// Of these, how many did before the oldest byte got no answer.
    arrived: u64,
    retransmissions: u64,
    received: u64,
    /// When the oldest byte that got no answer was sent.
    stuck: Option<u64>,
}

pub struct Stage {
    stack: Stack,
    manager: Box<dyn PathManager>,
    /// In milliseconds.
    now: u64,
    paths: Vec<Path>,
    connections: Vec<Vec<Subflow>>,
    changed: bool,
    story: Vec<String>,
}

impl Stage {
    pub fn new(manager: Box<dyn PathManager>) -> Stage {
        Stage::of(Stack::Mptcp, manager)
    }

    /// Wi-Fi of 20 ms, cellular of 60 ms, and one connection over Wi-Fi.
    pub fn of(stack: Stack, manager: Box<dyn PathManager>) -> Stage {
        let path = |kind, rtt| Path {
            kind,
            up: true,
            alive: true,
            deaf: false,
            rtt,
        };
        Stage {
            stack,
            manager,
            now: 0,
            paths: vec![path(PathKind::Wifi, 20), path(PathKind::Cellular, 60)],
            connections: vec![vec![Subflow::new(0, false, 0)]],
            changed: true,
            story: Vec::new(),
        }
    }

    pub fn connections(mut self, n: usize) -> Stage {
        self.connections = (0..n).map(|_| vec![Subflow::new(0, false, 0)]).collect();
        self
    }

    /// The path loses everything, silently.
    pub fn kill(&mut self, path: usize) {
        self.paths[path].alive = false;
    }

    pub fn revive(&mut self, path: usize) {
        self.paths[path].alive = true;
    }

    /// The path loses everything towards the client.
    pub fn deafen(&mut self, path: usize) {
        self.paths[path].deaf = true;
    }

    /// The interface goes up or down.
    pub fn set_up(&mut self, path: usize, up: bool) {
        self.paths[path].up = up;
        self.changed = true;
    }

    pub fn set_rtt(&mut self, path: usize, ms: u64) {
        self.paths[path].rtt = ms;
    }

    /// The decisions, one per line: when, what, why.
    pub fn story(&self) -> String {
        self.story.join("\n")
    }

    /// The subflows of a connection: path, state, priority.
    pub fn subflows(&self, connection: usize) -> Vec<(usize, (&'static str, &'static str))> {
        let describe = |s: &Subflow| {
            let state = match s.state {
                PathState::Opening => "opening",
                PathState::Established => "established",
                PathState::Closing => "closing",
            };
            (s.path, (state, if s.backup { "backup" } else { "regular" }))
        };
        let mut subflows: Vec<_> = self.connections[connection].iter().map(describe).collect();
        subflows.sort_unstable();
        subflows
    }

    /// Goes on until `end` (milliseconds).
    pub fn run(&mut self, end: u64) {
        while self.now < end {
            self.transport();
            let period = self
                .manager
                .period()
                .map_or(u64::MAX, |p| p.as_millis() as u64);
            if std::mem::take(&mut self.changed) || self.now.is_multiple_of(period) {
                self.decide();
            }
            self.now += STEP;
        }
    }

    fn transport(&mut self) {
        let (now, stack) = (self.now, self.stack);
        let regular = |s: &Subflow| s.state == PathState::Established && !s.backup && !s.suspected;
        let regular: Vec<bool> = self
            .connections
            .iter()
            .map(|c| c.iter().any(regular))
            .collect();
        let subflows = self.connections.iter_mut().zip(regular);
        let subflows = subflows.flat_map(|(c, regular)| c.iter_mut().map(move |s| (s, regular)));
        for (subflow, regular) in subflows {
            let path = &self.paths[subflow.path];
            let works = path.alive && path.up && !path.deaf;
            let before = subflow.state;
            match subflow.state {
                // SYN, SYN/ACK, ACK and its acknowledgement: fully established after 2 RTT.
                PathState::Opening if works && now >= subflow.since + 2 * path.rtt => {
                    subflow.state = PathState::Established;
                }
                PathState::Opening if now >= subflow.since + GIVE_UP => {
                    subflow.state = PathState::Closing;
                }
                PathState::Opening | PathState::Closing => {}
                PathState::Established => {
                    let carries = match stack {
                        Stack::Marking => !regular || !subflow.backup && !subflow.suspected,
                        Stack::Mptcp | Stack::Quic => !subflow.backup,
                    };
                    let sends = carries && now.is_multiple_of(CHUNK);
                    subflow.sent += 2 * u64::from(sends);
                    if works {
                        subflow.received += u64::from(sends || subflow.stuck.is_some());
                        subflow.suspected &= subflow.stuck.is_none();
                        subflow.stuck = None;
                    } else if path.deaf && subflow.backup {
                        subflow.stuck = None;
                    } else if sends && subflow.stuck.is_none() {
                        subflow.stuck = Some(now);
                    }
                    if subflow.stuck.is_none() {
                        subflow.arrived = subflow.sent;
                    }
                    let waited = subflow.stuck.map_or(0, |since| now - since);
                    if stack != Stack::Quic && waited == 2 * path.rtt {
                        subflow.retransmissions += u64::from(waited > 0);
                    }
                }
            }
            self.changed |= subflow.state != before;
        }
        for connection in &mut self.connections {
            let before = connection.len();
            connection.retain(|s| s.state != PathState::Closing || now == s.since);
            self.changed |= connection.len() != before;
        }
    }

    fn view(&self) -> View {
        let subflow = |s: &Subflow| {
            let rtt = self.paths[s.path].rtt;
            let base = match self.stack {
                Stack::Mptcp | Stack::Marking => 200 + rtt,
                Stack::Quic => 3 * rtt,
            };
            let waited = s.stuck.map(|since| self.now - since);
            let (mut timeouts, mut next) = (0, base);
            while waited.unwrap_or(0) >= next {
                timeouts += 1;
                next += base << timeouts;
            }
            SubflowView {
                path: PathIndex(s.path),
                peer: None,
                state: s.state,
                backup: s.backup,
                suspected: s.suspected,
                srtt: Some(Duration::from_millis(rtt)),
                rto: Some(Duration::from_millis(base << timeouts)),
                timeouts,
                retransmissions: s.retransmissions,
                sent: s.sent,
                // After a timeout all that is in flight counts as lost.
                lost: s.retransmissions + if timeouts > 0 { s.sent - s.arrived } else { 0 },
                in_flight: waited.map_or(0, |_| 2_000),
                oldest_unacked: waited.map(Duration::from_millis),
                starved: false,
                received: s.received,
            }
        };
        let connections = self.connections.iter().enumerate();
        View {
            paths: self
                .paths
                .iter()
                .map(|&Path { kind, up, .. }| PathView { kind, up })
                .collect(),
            connections: connections
                .map(|(id, subflows)| ConnectionView {
                    id,
                    has_unsent: false,
                    subflows: subflows.iter().map(subflow).collect(),
                })
                .collect(),
        }
    }

    fn decide(&mut self) {
        let mut decisions = Vec::new();
        let view = self.view();
        self.manager
            .decide(Time::from_millis(self.now), &view, &mut decisions);
        for decision in decisions {
            let what = self.apply(&decision.action);
            let seconds = self.now as f64 / 1e3;
            self.story
                .push(format!("{seconds:7.3} s  {what}: {}", decision.cause));
        }
    }

    fn apply(&mut self, action: &Action) -> String {
        let now = self.now;
        match *action {
            Action::Open {
                connection,
                path,
                backup,
            } => {
                self.connections[connection].push(Subflow::new(path.0, backup, now));
                let how = if backup { "backup" } else { "regular" };
                format!("{connection}: open path {} as {how}", path.0)
            }
            Action::Close { connection, path } => {
                let s = self.subflow(connection, path);
                (s.state, s.since) = (PathState::Closing, now);
                format!("{connection}: close path {}", path.0)
            }
            Action::Suspect { connection, path } => {
                let marking = self.stack == Stack::Marking;
                let s = self.subflow(connection, path);
                match marking {
                    true => s.suspected = true,
                    false => (s.state, s.since) = (PathState::Closing, now),
                }
                format!("{connection}: suspect path {}", path.0)
            }
            Action::SetBackup {
                connection,
                path,
                backup,
            } => {
                self.subflow(connection, path).backup = backup;
                let how = if backup { "backup" } else { "regular" };
                format!("{connection}: make path {} {how}", path.0)
            }
        }
    }

    fn subflow(&mut self, connection: usize, path: PathIndex) -> &mut Subflow {
        let mut subflows = self.connections[connection].iter_mut();
        subflows
            .find(|s| s.path == path.0)
            .expect("managers act on subflows that exist")
    }
}

impl Subflow {
    fn new(path: usize, backup: bool, since: u64) -> Subflow {
        Subflow {
            path,
            state: PathState::Opening,
            backup,
            suspected: false,
            since,
            sent: 0,
            arrived: 0,
            retransmissions: 0,
            received: 0,
            stuck: None,
        }
    }
}
