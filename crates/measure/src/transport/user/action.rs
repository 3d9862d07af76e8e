//! How are a path manager's actions carried out on the stack?

use super::channel::Phase;
use super::packets::Packets;
use model::{PathIndex, Side, Time};
use mptcp::connection::SubflowInfo;
use policy::{Action, PathState};
use std::net::SocketAddr;

impl Packets {
    /// Carries out `action`; the error says why it could not.
    pub(super) fn carry_out(&mut self, now: Time, action: &Action) -> Result<(), String> {
        self.settle(now);
        self.acting = true;
        let done = self.act(now, action);
        self.settle(now);
        self.acting = false;
        done
    }

    fn act(&mut self, now: Time, action: &Action) -> Result<(), String> {
        let (connection, path) = action.target();
        if self.side == Side::Server {
            return Err("the server leaves paths to the client".to_owned());
        }
        if !self.config.multipath {
            return Err("TCP has one path; only Multipath TCP opens others".to_owned());
        }
        let channel = self.channels.get(connection);
        let Some(channel) = channel.filter(|channel| channel.phase == Phase::Open) else {
            return Err(format!("there is no open connection {connection}"));
        };
        let id = channel.id;
        let Some(local) = self.paths.get(path.0).map(|path| path.client) else {
            return Err(format!("there is no path {}", path.0));
        };
        let there = self.subflow_on(now, connection, path);
        let words = |error: mptcp::connection::SubflowError| error.to_string();
        match (*action, there) {
            (Action::Open { .. }, Some((_, PathState::Opening | PathState::Established))) => {
                Err("it has a subflow already".to_owned())
            }
            (Action::Open { backup, .. }, _) => {
                let local = SocketAddr::new(local, 0);
                let opened = self.stack.open_subflow(now, id, local, self.server, backup);
                opened.map(|_| ()).map_err(words)
            }
            (_, None) => Err("it has no subflow".to_owned()),
            (Action::Suspect { .. }, Some((subflow, _))) if self.heeds_suspicion => {
                self.stack.mark_failed(now, id, subflow.id).map_err(words)
            }
            // Where the scheduler is Linux's, nothing moves until the subflow is gone.
            // REMOVE_ADDR makes the peer drop its end even when the path carries nothing any more.
            (Action::Close { .. } | Action::Suspect { .. }, Some(_)) => {
                self.stack.withdraw(now, id, local).map_err(words)
            }
            (Action::SetBackup { backup, .. }, Some((subflow, _))) => self
                .stack
                .set_backup(now, id, subflow.id, backup)
                .map_err(words),
        }
    }

    /// The subflow on a path that counts, and how far it is.
    fn subflow_on(
        &mut self,
        now: Time,
        channel: usize,
        path: PathIndex,
    ) -> Option<(SubflowInfo, PathState)> {
        self.observe(now, channel);
        let found = self.observed.iter().find(|seen| seen.path == path)?;
        Some((found.subflow, found.state))
    }
}
