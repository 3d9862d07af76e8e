//! What do all subflows of a connection have in common that options are made of?

use super::numbers::DataSequence;
use crate::wire::key;
use crate::wire::mptcp::{AddAddr, Features, Subtypes};
use std::collections::VecDeque;

/// Which side began the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Client,
    Server,
}

/// What is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    /// Plain TCP, from the start or after a fallback.
    Plain,
    /// The handshake of Multipath TCP is under way.
    Offered,
    /// Multipath TCP: both keys are known.
    Multipath,
}

/// A host's key and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) key: u64,
    pub(super) token: u32,
    pub(super) numbers: DataSequence,
}

impl Key {
    pub(super) fn new(key: u64) -> Key {
        Key {
            key,
            token: key::token(key),
            numbers: DataSequence::new(key::initial_dsn(key)),
        }
    }
}

/// What options are made of beside a subflow's own state.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) role: Role,
    pub(super) protocol: Protocol,
    pub(super) local: Key,
    pub(super) peer: Option<Key>,
    /// Whether this side demands checksums.
    pub(super) checksum_demanded: bool,
    /// Whether mappings have checksums.
    pub(super) checksum: bool,
    /// Whether the peer is known to have both keys: from then on subflows may be opened, and data
    /// needs no MP_CAPABLE (RFC 8684, section 3.1).
    pub(super) fully_established: bool,
    /// The peer does not want subflows to the first one's address and port (the flag C).
    pub(super) no_join: bool,
    /// What to acknowledge.
    pub(super) data_ack: Option<u64>,
    /// The DATA_FIN's data sequence number, while it waits for its acknowledgement.
    pub(super) data_fin: Option<u64>,
    /// Whether a segment carried it.
    pub(super) fin_told: bool,
    /// Resets carry MP_FASTCLOSE.
    pub(super) fast_close: bool,
    /// The next data for the first time has an infinite mapping that begins at this offset.
    pub(super) infinite: Option<u64>,
    /// ADD_ADDR to send, on any subflow.
    pub(super) announcements: VecDeque<AddAddr>,
    /// Resets sent.
    pub(super) resets: u64,
    /// Under which subtypes extensions go.
    pub(super) subtypes: Subtypes,
    /// The extensions that both ends have.
    pub(super) agreed: Features,
    /// The data sequence number after all that was written; `None` while the application waits to
    /// write more.
    pub(super) written_until: Option<u64>,
}

impl Shared {
    pub(super) fn new(role: Role, protocol: Protocol, key: u64, checksum: bool) -> Shared {
        Shared {
            role,
            protocol,
            local: Key::new(key),
            peer: None,
            checksum_demanded: checksum,
            checksum: false,
            fully_established: false,
            no_join: false,
            data_ack: None,
            data_fin: None,
            fin_told: false,
            fast_close: false,
            infinite: None,
            announcements: VecDeque::new(),
            resets: 0,
            subtypes: Subtypes::default(),
            agreed: Features::default(),
            written_until: None,
        }
    }

    /// Whether the `length` bytes from `dsn` on empty the send buffer, and the peer wants to know:
    /// nothing that was written follows them. Asked each time they are sent, so that the flag of
    /// data that is sent again is that of the moment.
    pub(super) fn is_last(&self, dsn: u64, length: usize) -> bool {
        let end = dsn.wrapping_add(length as u64);
        self.agreed.has(Features::IDLE_FLAG) && self.written_until == Some(end)
    }

    /// Whether Multipath TCP is spoken, or may be.
    pub(super) fn is_plain(&self) -> bool {
        self.protocol == Protocol::Plain
    }
}
