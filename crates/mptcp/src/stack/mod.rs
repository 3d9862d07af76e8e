//! A host's transport layer: which connection is a packet for, and who is listening?

use crate::connection::{Config, Event, Info, SubflowError, SubflowInfo};
use model::{Seed, Time};
use policy::SubflowId;
use std::net::{IpAddr, SocketAddr};

/// A connection of a stack; never given twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The packet's length.
    pub length: usize,
    /// Its source address.
    pub source: IpAddr,
    /// Its destination.
    pub destination: IpAddr,
}

/// What a stack counted; the names follow Linux's MIB where it has the same.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets that were no valid segment.
    pub malformed: u64,
    /// Segments that belonged to no connection.
    pub stray: u64,
    /// Resets sent.
    pub resets_sent: u64,
    /// Segments answered with a challenge ACK, or ignored over its limit.
    pub challenges: u64,
    /// Joins refused for an unknown token.
    pub join_no_token: u64,
    /// Joins refused for a wrong HMAC.
    pub join_bad_hmac: u64,
    /// ADD_ADDR with a wrong HMAC.
    pub add_addr_bad_hmac: u64,
    /// Joins that completed.
    pub joins: u64,
    /// Connections that fell back to plain TCP.
    pub fallbacks: u64,
    /// DSS checksums that were wrong.
    pub checksum_errors: u64,
    /// Mappings that contradicted others or were out of bounds.
    pub bad_mappings: u64,
    /// MP_FASTCLOSE received.
    pub fast_closes: u64,
}

/// A host's transport layer.
pub struct Stack {}

#[expect(unused_variables, reason = "to be written")]
impl Stack {
    /// A stack that draws keys, nonces, ports and sequence numbers from the seed's stream `name`.
    pub fn new(config: Config, seed: Seed, name: &str) -> Stack {
        todo!()
    }

    /// Accepts connections at `address` from now on.
    pub fn listen(&mut self, address: SocketAddr) {
        todo!()
    }

    /// A connection that a peer made and that can carry data, each once.
    pub fn accept(&mut self) -> Option<ConnectionId> {
        todo!()
    }

    /// Begins to connect from `local` (port 0: one is chosen) to `remote`.
    pub fn connect(&mut self, now: Time, local: SocketAddr, remote: SocketAddr) -> ConnectionId {
        todo!()
    }

    /// Takes as much of `data` as the send buffer has room for; returns how much.
    pub fn write(&mut self, now: Time, connection: ConnectionId, data: &[u8]) -> usize {
        todo!()
    }

    /// Reads what has arrived; returns how much, 0 when nothing waits.
    pub fn read(&mut self, now: Time, connection: ConnectionId, buffer: &mut [u8]) -> usize {
        todo!()
    }

    /// Nothing more will be written: DATA_FIN (or FIN) follows.
    pub fn finish(&mut self, now: Time, connection: ConnectionId) {
        todo!()
    }

    /// Ends the connection at once: MP_FASTCLOSE (or a reset).
    pub fn abort(&mut self, now: Time, connection: ConnectionId) {
        todo!()
    }

    /// Forgets a connection, aborting it if it is not over.
    pub fn release(&mut self, now: Time, connection: ConnectionId) {
        todo!()
    }

    /// Opens a subflow from `local` (port 0: one is chosen) to `remote`.
    pub fn open_subflow(
        &mut self,
        now: Time,
        connection: ConnectionId,
        local: SocketAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> Result<SubflowId, SubflowError> {
        todo!()
    }

    /// Closes a subflow, with a FIN or (`reset`) at once; what it carried is sent elsewhere. The
    /// connection goes on without any for [`Config::close_timeout`].
    pub fn close_subflow(
        &mut self,
        now: Time,
        connection: ConnectionId,
        subflow: SubflowId,
        reset: bool,
    ) -> Result<(), SubflowError> {
        todo!()
    }

    /// Makes a subflow a backup or regular, and tells the peer (MP_PRIO).
    pub fn set_backup(
        &mut self,
        now: Time,
        connection: ConnectionId,
        subflow: SubflowId,
        backup: bool,
    ) -> Result<(), SubflowError> {
        todo!()
    }

    /// Marks a subflow potentially failed until something new is acknowledged on it.
    pub fn mark_failed(
        &mut self,
        now: Time,
        connection: ConnectionId,
        subflow: SubflowId,
    ) -> Result<(), SubflowError> {
        todo!()
    }

    /// Announces an address of this host to the peer (ADD_ADDR); `port` 0 for the connection's.
    pub fn announce(
        &mut self,
        now: Time,
        connection: ConnectionId,
        address: SocketAddr,
    ) -> Result<u8, SubflowError> {
        todo!()
    }

    /// Withdraws an address of this host (REMOVE_ADDR) and resets the subflows from it.
    pub fn withdraw(
        &mut self,
        now: Time,
        connection: ConnectionId,
        address: IpAddr,
    ) -> Result<(), SubflowError> {
        todo!()
    }

    /// An IP packet arrived; what is not a valid segment is counted and dropped.
    pub fn receive(&mut self, now: Time, packet: &[u8]) {
        todo!()
    }

    /// The next IP packet to send now. Call it after every other call until there is none.
    pub fn transmit(&mut self, now: Time, packet: &mut [u8]) -> Option<Transmit> {
        todo!()
    }

    /// When to call [`Stack::poll`] next.
    pub fn poll_at(&self) -> Option<Time> {
        todo!()
    }

    /// Timers that are due.
    pub fn poll(&mut self, now: Time) {
        todo!()
    }

    /// What happened since the last call, in order.
    pub fn next_event(&mut self) -> Option<(ConnectionId, Event)> {
        todo!()
    }

    /// What is known of a connection; `None` when it was released.
    pub fn info(&self, connection: ConnectionId) -> Option<Info> {
        todo!()
    }

    /// Its subflows, by their numbers.
    pub fn subflows(&self, now: Time, connection: ConnectionId, subflows: &mut Vec<SubflowInfo>) {
        todo!()
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        todo!()
    }
}
