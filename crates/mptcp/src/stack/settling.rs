//! What does the stack look after once a connection may have changed?

use super::numbers::Numbers;
use super::{ConnectionId, Stack};
use crate::connection::{Connection, Context, Rejoin};
use crate::subflow::Tuple;
use model::Time;
use std::net::SocketAddr;

impl Stack {
    /// Calls a connection, and looks after what changed.
    pub(super) fn with<T>(
        &mut self,
        now: Time,
        id: ConnectionId,
        call: impl FnOnce(&mut Connection, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let slot = self.slots.find(id)?;
        let entry = self.slots.get_mut(slot)?;
        if entry.connection.released {
            return None;
        }
        let result = call(&mut entry.connection, &mut self.host.context(now));
        self.settle(now, slot);
        Some(result)
    }

    /// Looks after a connection that may have changed: its timer, whether it has something to
    /// send, whether it can be accepted, and whether it is gone.
    pub(super) fn settle(&mut self, now: Time, slot: usize) {
        let Some(entry) = self.slots.get_mut(slot) else {
            return;
        };
        if !entry.connection.freed.is_empty() || !entry.connection.rejoins.is_empty() {
            self.settle_tuples(now, slot);
            return self.settle(now, slot);
        }
        if !entry.queued && entry.connection.is_ready() {
            entry.queued = true;
            self.ready.push_back(slot);
        }
        if !entry.queued {
            // Else once it has transmitted all, which sets most of its timers anyway.
            let at = entry.connection.poll_at();
            self.timers.set(now, slot, &mut entry.timer, at);
        }
        if entry.half_open {
            if entry.connection.has_ended() && entry.connection.is_hidden() {
                entry.connection.released = true;
                entry.half_open = false;
                self.half_open -= 1;
            } else if entry.connection.is_connected() {
                entry.half_open = false;
                self.half_open -= 1;
                self.backlog.push_back(entry.id);
            }
        }
        if entry.connection.released && !entry.queued && entry.connection.is_empty() {
            self.timers.clear(slot, &mut entry.timer);
            if let Some(token) = entry.token {
                self.tokens.remove(&token);
            }
            self.slots.remove(slot);
        }
    }

    /// Forgets the tuples that are free, and opens with MP_JOIN what came to nothing otherwise.
    #[cold]
    fn settle_tuples(&mut self, now: Time, slot: usize) {
        let Some(entry) = self.slots.get_mut(slot) else {
            return;
        };
        while let Some(tuple) = entry.connection.freed.pop() {
            self.demux.remove(tuple);
        }
        let rejoins = std::mem::take(&mut entry.connection.rejoins);
        for Rejoin { tuple, backup } in rejoins {
            let local = SocketAddr::new(tuple.local.ip(), 0);
            let tuple = self.free_tuple(local, tuple.remote);
            let start = self.numbers.start(now, tuple);
            let Some(entry) = self.slots.get_mut(slot) else {
                return;
            };
            let ctx = &mut self.host.context(now);
            // A connection that is over by now wants no subflow.
            let opened = entry
                .connection
                .open_subflow(ctx, tuple, start, backup, false);
            if let Ok(id) = opened {
                self.demux.insert(tuple, slot, id);
            }
        }
    }

    /// Makes a connection known by its token.
    pub(super) fn register_token(&mut self, slot: usize) {
        if let Some(entry) = self.slots.get_mut(slot) {
            entry.token = entry.connection.token();
            if let Some(token) = entry.token {
                self.tokens.insert(token, slot);
            }
        }
    }

    /// A key whose token no connection has.
    pub(super) fn free_key(&mut self) -> u64 {
        loop {
            let key = Numbers::key(&mut self.host.random);
            if !self.tokens.contains_key(&crate::wire::key::token(key)) {
                return key;
            }
        }
    }

    /// The tuple from `local` to `remote`, with another port if it is 0 or taken.
    pub(super) fn free_tuple(&mut self, local: SocketAddr, remote: SocketAddr) -> Tuple {
        let tuple = Tuple { local, remote };
        if local.port() != 0 && self.demux.find(tuple).is_none() {
            return tuple;
        }
        let taken = |tuple| self.demux.find(tuple).is_some();
        Numbers::free_port(&mut self.host.random, tuple, taken)
    }
}
