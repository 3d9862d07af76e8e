//! What follows from what noq reports? Its events become ours: connections come and go, paths
//! open and close, streams are accepted.

use super::core::Core;
use super::path::status;
use model::record::EventKind;
use model::{PathIndex, Side, Time};
use noq_proto::{
    ConnectionError, Event, PathAbandonReason, PathEvent, PathId, PathStatus, StreamEvent,
};
use std::time::Duration;

/// A path that carries data again after a pause of this length is worth a line.
const PAUSE_WORTH_A_NOTE: Duration = Duration::from_millis(500);

impl Core {
    /// Lets everything take its course that does not depend on the time.
    pub(super) fn drive(&mut self, now: Time) {
        loop {
            self.open_streams();
            self.open_wanted_paths(now);
            self.push_outgoing();
            let exchanged = self.exchange_endpoint_events();
            let mut handled = false;
            for session in 0..self.sessions.len() {
                while let Some(event) = self.sessions[session].connection.poll() {
                    handled = true;
                    self.handle(now, session, event);
                }
            }
            if !exchanged && !handled {
                return;
            }
        }
    }

    fn handle(&mut self, now: Time, session: usize, event: Event) {
        match event {
            Event::Connected => self.connected(now, session),
            Event::HandshakeConfirmed => {
                self.sessions[session].confirmed = true;
                self.forget_handshake(session);
            }
            Event::ConnectionLost { reason } => self.lost(now, session, &reason),
            Event::Stream(StreamEvent::Opened { .. }) => self.accept_streams(session),
            Event::Path(event) => self.path_event(now, session, event),
            // Reading and writing are tried whenever there is something to read or write.
            Event::Stream(_)
            | Event::HandshakeDataReady
            | Event::DatagramReceived
            | Event::DatagramsUnblocked
            | Event::NatTraversal(_) => {}
        }
    }

    fn connected(&mut self, now: Time, session: usize) {
        self.forget_handshake(session);
        let is_client = self.side == Side::Client;
        let state = &mut self.sessions[session];
        state.connected = true;
        let multipath = state.connection.is_multipath_negotiated();
        let path = state
            .paths
            .learn(&state.connection, PathId::ZERO, is_client);
        if let Some(index) = path
            && let Some(live) = &mut state.paths.slots[index.0].current
        {
            live.established = true;
            let keep_alive = self.config.keep_alive.filter(|_| multipath);
            // The id is open: it was established this very moment.
            let _ = state
                .connection
                .set_path_keep_alive_interval(PathId::ZERO, keep_alive);
        }
        self.changed = true;
        let how = if multipath { "with" } else { "without" };
        let detail = format!("QUIC connection {how} multipath");
        self.event(now, EventKind::Connected, session, path, detail);
        if self.config.multipath && !multipath {
            let detail = "the peer did not negotiate multipath";
            self.event(now, EventKind::Fallback, session, None, detail);
        }
        self.event(now, EventKind::PathOpened, session, path, "path id 0");
    }

    fn forget_handshake(&mut self, session: usize) {
        let slots = &self.sessions[session].paths.slots;
        for live in slots.iter().filter_map(|slot| slot.current.as_ref()) {
            live.record.lock().forget_handshake();
        }
    }

    fn lost(&mut self, now: Time, session: usize, reason: &ConnectionError) {
        let reason = reason.to_string();
        self.changed = true;
        self.event(now, EventKind::Disconnected, session, None, reason.clone());
        let state = &mut self.sessions[session];
        state.lost = Some(reason);
        for slot in &mut state.paths.slots {
            slot.wanted = None;
        }
    }

    fn path_event(&mut self, now: Time, session: usize, event: PathEvent) {
        self.changed = true;
        match event {
            PathEvent::Established { id, .. } => self.established(now, session, id),
            PathEvent::Abandoned { id, reason, .. } => self.abandoned(now, session, id, &reason),
            PathEvent::Discarded { id, path_stats, .. } => {
                let paths = &mut self.sessions[session].paths;
                if let Some(index) = paths.index_of(id) {
                    paths.slots[index.0].discarded(id, &path_stats);
                }
            }
            PathEvent::RemoteStatus { id, status, .. } => {
                self.remote_status(now, session, id, status);
            }
            // Address reports (not negotiated), and whatever a later noq adds.
            _ => {}
        }
    }

    fn established(&mut self, now: Time, session: usize, id: PathId) {
        let is_client = self.side == Side::Client;
        let state = &mut self.sessions[session];
        let path = state.paths.learn(&state.connection, id, is_client);
        if let Some(index) = path
            && let Some(live) = &mut state.paths.slots[index.0].current
        {
            live.established = true;
            let keep_alive = self.config.keep_alive.filter(|_| !live.backup);
            // The id is open: it was established this very moment.
            let _ = state
                .connection
                .set_path_keep_alive_interval(id, keep_alive);
            if live.backup && is_client {
                // noq 1.4 tells the peer of changes only, and a path opened as backup was never
                // anything else: change it there and back. Before the path is established the
                // peer would ignore it.
                let _ = state.connection.set_path_status(id, PathStatus::Available);
                let _ = state.connection.set_path_status(id, PathStatus::Backup);
            }
        }
        let detail = format!("path id {id}");
        self.event(now, EventKind::PathOpened, session, path, detail);
    }

    fn abandoned(&mut self, now: Time, session: usize, id: PathId, reason: &PathAbandonReason) {
        let is_client = self.side == Side::Client;
        let state = &mut self.sessions[session];
        let path = state.paths.learn(&state.connection, id, is_client);
        if let Some(index) = path {
            state.paths.slots[index.0].abandoned(id);
        }
        let reason = match reason {
            PathAbandonReason::ApplicationClosed { .. } => "closed by this end",
            PathAbandonReason::RemoteAbandoned { .. } => "closed by the peer",
            PathAbandonReason::TimedOut => "idle for too long",
            PathAbandonReason::UnusableAfterNetworkChange => "unusable after a network change",
            #[allow(deprecated)]
            PathAbandonReason::ValidationFailed => "validation failed",
        };
        let detail = format!("path id {id}: {reason}");
        self.event(now, EventKind::PathClosed, session, path, detail);
    }

    /// The peer changed a path's priority. noq leaves it to the application to follow: the
    /// server does, so that the client's priorities hold in both directions.
    fn remote_status(&mut self, now: Time, session: usize, id: PathId, remote: PathStatus) {
        let is_client = self.side == Side::Client;
        let backup = remote == PathStatus::Backup;
        let state = &mut self.sessions[session];
        let path = state.paths.learn(&state.connection, id, is_client);
        let Some(index) = path else { return };
        let Some(live) = &mut state.paths.slots[index.0].current else {
            return;
        };
        let news = live.peer_backup != backup;
        live.peer_backup = backup;
        if !is_client {
            live.backup = backup;
            // The path may have closed since; then there is nothing to follow.
            let _ = state.connection.set_path_status(id, status(backup));
        }
        if news && !is_client {
            let detail = format!("{}, by the peer", priority(backup));
            self.event(now, EventKind::PriorityChanged, session, path, detail);
        }
    }

    /// Stream data went out on `path`: the first ever there, or the first after a pause.
    pub(super) fn note_data(&mut self, now: Time, session: usize, path: PathIndex) {
        let paths = &mut self.sessions[session].paths;
        let previous = paths.in_use.replace(path);
        let last = paths.slots[path.0].last_data.replace(now);
        match last {
            None => {
                let detail = match previous {
                    Some(from) => format!("after {}", paths.slots[from.0].name),
                    None => String::new(),
                };
                self.event(now, EventKind::FirstData, session, Some(path), detail);
            }
            Some(last) if previous != Some(path) && now.since(last) >= PAUSE_WORTH_A_NOTE => {
                let pause = now.since(last).as_millis();
                let detail = format!("carries data again after {pause} ms");
                self.event(now, EventKind::Note, session, Some(path), detail);
            }
            Some(_) => {}
        }
    }
}

/// A priority in words.
pub(super) fn priority(backup: bool) -> &'static str {
    if backup { "backup" } else { "regular" }
}
