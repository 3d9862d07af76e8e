//! The client: it connects, speaks the pattern, asks the policy, and records.

use super::observer::Observer;
use super::{CONNECT_TIMEOUT, Deadline, GRACE, HostError, Turn};
use crate::failure::PathChange;
use crate::recording::Sink;
use crate::transport::Endpoint;
use model::record::{Event, EventKind, Message};
use model::scenario::Traffic;
use model::{Name, PathKind, Seed, Side, Time};
use policy::{Action, Decision, PathManager, PathView, View};
use traffic::hello;
use traffic::{Half, pattern};

/// The client's host but for its transport and its time, which the driver brings.
pub struct Client {
    observer: Observer,
    /// When the application's time is over; the run ends at most [`GRACE`] later.
    end: Deadline,
    names: Vec<Name>,
    paths: Vec<PathView>,
    traffic: Traffic,
    token: Option<String>,
    half: Box<dyn Half>,
    manager: Option<Box<dyn PathManager>>,
    started: bool,
    next_decision: Time,
    messages: Vec<Message>,
}

impl Client {
    /// A client that speaks `traffic` (what that draws comes from `seed`) until `end` over `paths`,
    /// under `manager` where one decides at run time.
    pub fn new(
        paths: impl IntoIterator<Item = (Name, PathKind)>,
        traffic: &Traffic,
        seed: Seed,
        end: Time,
        manager: Option<Box<dyn PathManager>>,
    ) -> Client {
        let view = |(name, kind)| (name, PathView { kind, up: true });
        let (names, paths) = paths.into_iter().map(view).unzip();
        Client {
            observer: Observer::new(Side::Client),
            end: Deadline::new(end),
            names,
            paths,
            traffic: traffic.clone(),
            token: None,
            half: pattern::client(traffic, seed),
            manager,
            started: false,
            next_decision: Time::ZERO,
            messages: Vec::new(),
        }
    }

    /// The same, showing `token` to a test server.
    pub fn with_token(self, token: impl Into<String>) -> Client {
        Client {
            token: Some(token.into()),
            ..self
        }
    }

    /// The same, ending at `deadline`, which others may bring forward.
    pub fn with_deadline(self, deadline: Deadline) -> Client {
        Client {
            end: deadline,
            ..self
        }
    }

    /// When the oldest of the client's messages without an answer was sent.
    pub fn oldest_unanswered(&self) -> Option<Time> {
        let sent = self.half.unanswered().into_iter().map(|m| m.sent_us);
        sent.min().map(Time::from_micros)
    }

    /// Does all that is due at `now`: call it when something arrived, when `changes` came up,
    /// and when the last turn said so.
    pub fn turn(
        &mut self,
        now: Time,
        endpoint: &mut dyn Endpoint,
        changes: &[PathChange],
        server_settled: bool,
        sink: &mut dyn Sink,
    ) -> Result<Turn, HostError> {
        let transport = |source| HostError::Transport {
            side: "client",
            source,
        };
        let end = self.end.get();
        let over = now >= end;
        if over {
            self.half.finish();
        }
        let settled = || self.half.unanswered().is_empty() && server_settled;
        if over && (now >= end + GRACE || settled()) {
            return Ok(Turn::Done);
        }
        for change in changes {
            self.paths[change.path.0].up = change.up;
            endpoint.path_changed(now, change.path, change.up);
        }
        endpoint.poll(now).map_err(transport)?;
        if !self.started && endpoint.is_connected() {
            self.started = true;
            self.observer
                .event(now, EventKind::ApplicationStart, "", sink);
            hello::greet(endpoint, &self.traffic, self.token.as_deref());
        }
        if self.started {
            self.half.poll(now, endpoint, &mut self.messages);
            if !self.messages.is_empty() {
                self.messages.drain(..).for_each(|m| sink.message(m));
            }
            self.observer.report_fault(now, &*self.half, sink);
            if self.half.is_done() {
                return Ok(Turn::Done);
            }
        } else if now.since(Time::ZERO) > CONNECT_TIMEOUT {
            return Err(HostError::ConnectTimeout(CONNECT_TIMEOUT));
        }
        endpoint.flush(now).map_err(transport)?;

        let ask = endpoint.take_changed() || !changes.is_empty();
        if self.manager.is_some() && (ask || now >= self.next_decision) {
            self.next_decision = self.decide(now, endpoint, sink);
        }
        self.observer.observe(now, endpoint, sink);
        let next = self.next(endpoint);
        Ok(Turn::Until(if over { next } else { next.min(end) }))
    }

    fn next(&self, endpoint: &dyn Endpoint) -> Time {
        let mut until = self.observer.next_sample();
        if self.manager.is_some() {
            until = until.min(self.next_decision);
        }
        if self.started {
            until = self.half.poll_at().map_or(until, |t| until.min(t));
        }
        endpoint.poll_at().map_or(until, |t| until.min(t))
    }

    /// The application ends, whatever came before: records what is unanswered, says goodbye.
    pub fn end(&mut self, now: Time, endpoint: &mut dyn Endpoint, sink: &mut dyn Sink) {
        self.observer.end(now, endpoint, Some(&*self.half), sink);
        endpoint.close(now);
    }

    /// Asks the policy and carries out what it says; returns when to ask again.
    fn decide(&mut self, now: Time, endpoint: &mut dyn Endpoint, sink: &mut dyn Sink) -> Time {
        let Some(manager) = &mut self.manager else {
            return Time::MAX;
        };
        let view = View {
            paths: self.paths.clone(),
            connections: endpoint.view(now),
        };
        let mut decisions = Vec::new();
        manager.decide(now, &view, &mut decisions);
        let next = manager.period().map_or(Time::MAX, |period| now + period);
        for Decision { action, cause } in decisions {
            let (connection, path, words) = describe(&action);
            let mut event = Event {
                side: Some(Side::Client),
                path: Some(self.names[path.0].clone()),
                connection: Some(connection as u64),
                cause: Some(cause),
                ..Event::new(now, EventKind::Decision, words)
            };
            sink.event(event.clone());
            if let Err(reason) = endpoint.apply(now, &action) {
                event.kind = EventKind::ActionFailed;
                event.detail = format!("{words}: {reason}");
                sink.event(event);
            }
        }
        next
    }
}

/// The connection and path of an action, and what it does in words.
fn describe(action: &Action) -> (usize, model::PathIndex, &'static str) {
    match *action {
        Action::Open {
            connection,
            path,
            backup,
        } => {
            let words = if backup { "open as backup" } else { "open" };
            (connection, path, words)
        }
        Action::Close { connection, path } => (connection, path, "close"),
        Action::Suspect { connection, path } => (connection, path, "hold it to have failed"),
        Action::SetBackup {
            connection,
            path,
            backup,
        } => {
            let words = if backup {
                "make backup"
            } else {
                "make regular"
            };
            (connection, path, words)
        }
    }
}
