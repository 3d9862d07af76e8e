//! Where are the connections of a host, by their identifiers?

use super::ConnectionId;
use crate::connection::Connection;
use model::Time;

/// Low bits of an identifier that say where the connection is; those above are never repeated.
const SLOT_BITS: u32 = 20;

/// A connection and what its stack keeps of it.
pub(super) struct Slot {
    pub(super) id: ConnectionId,
    pub(super) connection: Box<Connection>,
    /// Whether it waits for its turn to transmit.
    pub(super) queued: bool,
    /// For when its timer is set.
    pub(super) timer: Option<Time>,
    /// Its token, while it is known.
    pub(super) token: Option<u32>,
    /// Whether a peer began it and it is not connected.
    pub(super) half_open: bool,
}

/// All connections.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Connections made so far.
    made: u64,
}

impl Slots {
    /// The identifier of the connection to insert next.
    pub(super) fn next_id(&self) -> ConnectionId {
        let slot = self.free.last().copied().unwrap_or(self.slots.len());
        ConnectionId(self.made << SLOT_BITS | slot as u64)
    }

    /// Takes a connection in that has [`Slots::next_id`].
    pub(super) fn insert(&mut self, connection: Connection) -> usize {
        let id = self.next_id();
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.made += 1;
        self.slots[slot] = Some(Slot {
            id,
            connection: Box::new(connection),
            queued: false,
            timer: None,
            token: None,
            half_open: false,
        });
        slot
    }

    /// Whether there is room for another.
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < 1 << SLOT_BITS
    }

    pub(super) fn find(&self, id: ConnectionId) -> Option<usize> {
        let slot = (id.0 & ((1 << SLOT_BITS) - 1)) as usize;
        self.get(slot).filter(|s| s.id == id).map(|_| slot)
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Slot> {
        self.slots.get(slot)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Slot> {
        self.slots.get_mut(slot)?.as_mut()
    }

    pub(super) fn remove(&mut self, slot: usize) {
        self.slots[slot] = None;
        self.free.push(slot);
    }
}
