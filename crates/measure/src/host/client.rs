//! The client: it connects, speaks the pattern, asks the policy, and records.

use super::observer::Observer;
use super::wait::wait;
use super::{CONNECT_TIMEOUT, GRACE, HostError};
use crate::Clock;
use crate::emulator::{PathChangeReceiver, StopFlag};
use crate::recording::Log;
use crate::transport::{Endpoint, LocalPath};
use model::record::{Event, EventKind};
use model::scenario::Traffic;
use model::{Side, Time};
use policy::{Action, Decision, PathManager, PathView, View};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use traffic::Half;
use traffic::hello;

/// Everything the client's thread needs.
pub struct ClientHost<'h> {
    /// The run's clock.
    pub clock: Clock,
    /// Where records go.
    pub log: Log,
    /// Ends the run early, and is raised when the application is done.
    pub stop: &'h StopFlag,
    /// When the application's time is over; the run ends at most [`super::GRACE`] later.
    pub end: Time,
    /// Whether the server, too, has every answer.
    pub server_settled: &'h AtomicBool,
    /// The host's paths.
    pub paths: &'h [LocalPath],
    /// Changes of the host's network state.
    pub changes: PathChangeReceiver,
    /// The transport.
    pub endpoint: Box<dyn Endpoint>,
    /// What the application does.
    pub traffic: &'h Traffic,
    /// The application.
    pub half: Box<dyn Half>,
    /// The policy, where one decides at run time.
    pub manager: Option<Box<dyn PathManager>>,
}

impl ClientHost<'_> {
    /// Runs until the application is done, the end has come or `stop` is raised.
    pub fn run(mut self) -> Result<(), HostError> {
        let mut observer = Observer::new(Side::Client, self.log.clone());
        let result = self.drive(&mut observer);
        let now = self.clock.now();
        observer.end(now, &mut *self.endpoint, Some(&*self.half));
        self.endpoint.close(now);
        self.stop.stop();
        result
    }

    fn drive(&mut self, observer: &mut Observer) -> Result<(), HostError> {
        let transport = |source| HostError::Transport {
            side: "client",
            source,
        };
        let mut views: Vec<PathView> = self
            .paths
            .iter()
            .map(|p| PathView {
                kind: p.kind,
                up: true,
            })
            .collect();
        let mut started = false;
        let mut next_decision = Time::ZERO;
        let (mut messages, mut fds) = (Vec::new(), Vec::new());
        loop {
            let now = self.clock.now();
            let over = now >= self.end;
            if over {
                self.half.finish();
            }
            let settled =
                || self.half.unanswered().is_empty() && self.server_settled.load(Ordering::Relaxed);
            if self.stop.is_stopped() || now >= self.end + GRACE || over && settled() {
                return Ok(());
            }
            let mut ask = false;
            for change in self.changes.take() {
                views[change.path.0].up = change.up;
                self.endpoint.path_changed(now, change.path, change.up);
                ask = true;
            }
            self.endpoint.poll(now).map_err(transport)?;
            if !started && self.endpoint.is_connected() {
                started = true;
                observer.event(now, EventKind::ApplicationStart, "");
                hello::greet(&mut *self.endpoint, self.traffic);
            }
            if started {
                self.half.poll(now, &mut *self.endpoint, &mut messages);
                messages.drain(..).for_each(|m| self.log.message(m));
                observer.report_fault(now, &*self.half);
                if self.half.is_done() {
                    return Ok(());
                }
            } else if now.since(Time::ZERO) > CONNECT_TIMEOUT {
                return Err(HostError::ConnectTimeout(CONNECT_TIMEOUT));
            }
            self.endpoint.flush(now).map_err(transport)?;

            ask |= self.endpoint.take_changed();
            if self.manager.is_some() && (ask || now >= next_decision) {
                next_decision = self.decide(now, &views);
            }
            observer.observe(now, &mut *self.endpoint);

            let mut until = observer.next_sample();
            if !over {
                until = until.min(self.end);
            }
            if self.manager.is_some() {
                until = until.min(next_decision);
            }
            if started {
                until = self.half.poll_at().map_or(until, |t| until.min(t));
            }
            until = self.endpoint.poll_at().map_or(until, |t| until.min(t));
            fds.clear();
            fds.push((self.changes.as_raw_fd(), false));
            fds.push((self.stop.as_raw_fd(), false));
            self.endpoint.wait_for(&mut fds);
            wait(&self.clock, &fds, until).map_err(transport)?;
        }
    }

    /// Asks the policy and carries out what it says; returns when to ask again.
    fn decide(&mut self, now: Time, paths: &[PathView]) -> Time {
        let Some(manager) = &mut self.manager else {
            return Time::MAX;
        };
        let view = View {
            paths: paths.to_vec(),
            connections: self.endpoint.view(now),
        };
        let mut decisions = Vec::new();
        manager.decide(now, &view, &mut decisions);
        let next = manager.period().map_or(Time::MAX, |period| now + period);
        for Decision { action, cause } in decisions {
            let (connection, path, words) = match action {
                Action::Open {
                    connection,
                    path,
                    backup: false,
                } => (connection, path, "open"),
                Action::Open {
                    connection, path, ..
                } => (connection, path, "open as backup"),
                Action::Close { connection, path } => (connection, path, "close"),
                Action::SetBackup {
                    connection,
                    path,
                    backup: true,
                } => (connection, path, "make backup"),
                Action::SetBackup {
                    connection, path, ..
                } => (connection, path, "make regular"),
            };
            let mut event = Event {
                side: Some(Side::Client),
                path: Some(self.paths[path.0].name.clone()),
                connection: Some(connection as u64),
                cause: Some(cause),
                ..Event::new(now, EventKind::Decision, words)
            };
            self.log.event(event.clone());
            if let Err(reason) = self.endpoint.apply(now, &action) {
                event.kind = EventKind::ActionFailed;
                event.detail = format!("{words}: {reason}");
                self.log.event(event);
            }
        }
        next
    }
}
