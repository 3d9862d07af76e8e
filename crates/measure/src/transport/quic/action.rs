//! How are a path manager's actions carried out on noq? Open, close and priority, with noq's
//! conditions checked first so that the error says what to do instead.

use super::core::Core;
use super::drive::priority;
use super::path::{Wanted, four_tuple, status};
use model::record::EventKind;
use model::{PathIndex, Side, Time};
use noq_proto::{PathError, PathStatus, VarInt};
use policy::Action;

/// `NO_ERROR`-like code of PATH_ABANDON for a path the path manager closed.
const CLOSED_BY_POLICY: VarInt = VarInt::from_u32(0);

impl Core {
    /// Carries out `action`; the error says why it could not.
    pub fn apply(&mut self, now: Time, action: &Action) -> Result<(), String> {
        self.stirred = true;
        let done = match *action {
            Action::Open {
                connection,
                path,
                backup,
            } => self.open(now, connection, path, backup),
            // What is in flight on a path moves only when it is closed.
            Action::Close { connection, path } | Action::Suspect { connection, path } => {
                self.close_path(now, connection, path)
            }
            Action::SetBackup {
                connection,
                path,
                backup,
            } => self.set_backup(now, connection, path, backup),
        };
        self.drive(now);
        done
    }

    fn check(&self, connection: usize, path: PathIndex) -> Result<(), String> {
        let session = self
            .sessions
            .get(connection)
            .ok_or_else(|| format!("there is no connection {connection}"))?;
        if path.0 >= session.paths.slots.len() {
            return Err(format!("there is no path {}", path.0));
        }
        if let Some(reason) = &session.lost {
            return Err(format!("connection {connection} is over: {reason}"));
        }
        if !session.connection.is_multipath_negotiated() {
            return Err(format!(
                "connection {connection} has not negotiated multipath"
            ));
        }
        Ok(())
    }

    fn open(
        &mut self,
        now: Time,
        connection: usize,
        path: PathIndex,
        backup: bool,
    ) -> Result<(), String> {
        self.check(connection, path)?;
        if self.side == Side::Server {
            return Err("only the client opens paths (RFC 10069)".to_owned());
        }
        let slot = &mut self.sessions[connection].paths.slots[path.0];
        if slot.current.is_some() || slot.wanted.is_some() {
            return Err(format!("path {} is already open", slot.name));
        }
        slot.wanted = Some(Wanted::new(now, backup));
        self.changed = true;
        let detail = format!("as {}", priority(backup));
        self.event(now, EventKind::PathOpening, connection, Some(path), detail);
        Ok(())
    }

    /// Opens the paths that were asked for, as far as the peer has provided path ids and
    /// connection ids; the others are tried again later.
    pub(super) fn open_wanted_paths(&mut self, now: Time) {
        let instant = self.instant(now);
        let mut failed = Vec::new();
        for (index, session) in self.sessions.iter_mut().enumerate() {
            let Some(server) = session.server else {
                continue;
            };
            for (path, slot) in session.paths.slots.iter_mut().enumerate() {
                let Some(wanted) = slot.wanted.as_mut().filter(|w| w.retry_at <= now) else {
                    continue;
                };
                let backup = wanted.backup;
                let network_path = four_tuple(server, slot.client);
                let connection = &mut session.connection;
                match connection.open_path(network_path, status(backup), instant) {
                    Ok(id) => {
                        slot.wanted = None;
                        slot.adopt(connection, id, backup);
                    }
                    Err(PathError::MaxPathIdReached | PathError::RemoteCidsExhausted) => {
                        wanted.postpone(now);
                    }
                    Err(error) => {
                        slot.wanted = None;
                        failed.push((index, PathIndex(path), error));
                    }
                }
            }
        }
        for (session, path, error) in failed {
            let detail = format!("could not be opened: {error}");
            self.event(now, EventKind::PathClosed, session, Some(path), detail);
            self.changed = true;
        }
    }

    fn close_path(&mut self, now: Time, connection: usize, path: PathIndex) -> Result<(), String> {
        self.check(connection, path)?;
        let instant = self.instant(now);
        let session = &mut self.sessions[connection];
        let slot = &mut session.paths.slots[path.0];
        let name = slot.name.clone();
        if slot.wanted.take().is_some() {
            self.changed = true;
            let detail = "given up before it was opened";
            self.event(now, EventKind::PathClosed, connection, Some(path), detail);
            return Ok(());
        }
        let Some(id) = slot.current.as_ref().map(|live| live.id) else {
            return Err(format!("path {name} is not open"));
        };
        if !session.paths.other_established(path) {
            // noq would send PATH_ABANDON on the path itself, once: if that is dead, the peer
            // never learns of it and data in flight never moves.
            return Err(format!(
                "path {name} is the only established one; open another and wait until it is \
                 established"
            ));
        }
        session
            .connection
            .close_path(instant, id, CLOSED_BY_POLICY)
            .map_err(|error| format!("path {name} cannot be closed: {error}"))
    }

    fn set_backup(
        &mut self,
        now: Time,
        connection: usize,
        path: PathIndex,
        backup: bool,
    ) -> Result<(), String> {
        self.check(connection, path)?;
        let session = &mut self.sessions[connection];
        let slot = &mut session.paths.slots[path.0];
        if let Some(wanted) = &mut slot.wanted {
            wanted.backup = backup;
        } else if let Some(live) = &mut slot.current {
            let previous = session
                .connection
                .set_path_status(live.id, status(backup))
                .map_err(|error| format!("path {} keeps its priority: {error}", slot.name))?;
            live.backup = backup;
            let keep_alive = self.config.keep_alive.filter(|_| !backup);
            // The id is open: its status was set above.
            let _ = session
                .connection
                .set_path_keep_alive_interval(live.id, keep_alive);
            if (previous == PathStatus::Backup) == backup {
                return Ok(());
            }
        } else {
            return Err(format!("path {} is not open", slot.name));
        }
        self.changed = true;
        let detail = priority(backup);
        self.event(
            now,
            EventKind::PriorityChanged,
            connection,
            Some(path),
            detail,
        );
        Ok(())
    }
}
