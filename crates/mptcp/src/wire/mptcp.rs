//! The options of Multipath TCP (RFC 8684, section 3), parsed and emitted in pairs.

use arrayvec::ArrayVec;
use std::net::IpAddr;

/// The Multipath TCP options of one segment, in their order.
pub type MptcpOptions = ArrayVec<MptcpOption, 4>;

/// A Multipath TCP option (TCP option kind 30).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MptcpOption {
    /// MP_CAPABLE (section 3.1).
    Capable(Capable),
    /// MP_JOIN (section 3.2).
    Join(Join),
    /// Data sequence signal (section 3.3).
    Dss(Dss),
    /// ADD_ADDR (section 3.4.1).
    AddAddr(AddAddr),
    /// REMOVE_ADDR (section 3.4.2): the addresses' identifiers, at least one.
    RemoveAddr(ArrayVec<u8, 16>),
    /// MP_PRIO (section 3.3.8): whether the subflow it comes on becomes a backup.
    Prio {
        /// Backup (`true`) or regular.
        backup: bool,
    },
    /// MP_FAIL (section 3.7): the data sequence number of the failed checksum's mapping.
    Fail {
        /// Always 64 bits.
        dsn: u64,
    },
    /// MP_FASTCLOSE (section 3.5): the receiver's key.
    FastClose {
        /// The key of the host it is sent to.
        key: u64,
    },
    /// MP_TCPRST (section 3.6).
    Reset {
        /// Whether the reason is transient (the T flag).
        transient: bool,
        /// The reason's code.
        reason: u8,
    },
}

/// MP_CAPABLE. The flag C, "do not open subflows to this address", is `no_join`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capable {
    /// The version; 1 here.
    pub version: u8,
    /// Flag A: DSS checksums are required.
    pub checksum: bool,
    /// Flag C: the peer must not open subflows to this source address and port.
    pub no_join: bool,
    /// Flag H: HMAC-SHA256.
    pub sha256: bool,
    /// The sender's key: absent in the SYN.
    pub sender_key: Option<u64>,
    /// The receiver's key: in the third ACK and the first data.
    pub receiver_key: Option<u64>,
    /// The length of the first data, when it comes along.
    pub data_length: Option<u16>,
    /// Its checksum, when required.
    pub data_checksum: Option<u16>,
}

/// MP_JOIN in its three forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// In the SYN.
    Syn {
        /// The B flag.
        backup: bool,
        /// The source address's identifier.
        address_id: u8,
        /// The receiver's token.
        token: u32,
        /// The sender's random number.
        nonce: u32,
    },
    /// In the SYN/ACK.
    SynAck {
        /// The B flag.
        backup: bool,
        /// The source address's identifier.
        address_id: u8,
        /// The leftmost 64 bits of the sender's HMAC.
        hmac: u64,
        /// The sender's random number.
        nonce: u32,
    },
    /// In the third ACK.
    Ack {
        /// The leftmost 160 bits of the sender's HMAC.
        hmac: [u8; 20],
    },
}

/// A number of 64 bits of which the wire carries all or the lower 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// All 64 bits.
    Wide(u64),
    /// The lower 32 bits.
    Narrow(u32),
}

/// Data sequence signal.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dss {
    /// DATA_FIN: the mapping covers one more than its data, or, with length 1 and subflow
    /// sequence number 0, nothing else.
    pub data_fin: bool,
    /// Data ACK.
    pub data_ack: Option<Number>,
    /// Data sequence mapping.
    pub mapping: Option<Mapping>,
}

/// A data sequence mapping as it is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Data sequence number of the first byte.
    pub dsn: Number,
    /// Subflow sequence number of the first byte, relative to the subflow's initial one: the
    /// first byte of data has 1.
    pub subflow_seq: u32,
    /// Data-level length; 0 is the infinite mapping.
    pub length: u16,
    /// Checksum, where negotiated.
    pub checksum: Option<u16>,
}

/// ADD_ADDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddAddr {
    /// The address's identifier.
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// The port, if another than the connection's.
    pub port: Option<u16>,
    /// The rightmost 64 bits of the HMAC; absent in an echo.
    pub hmac: Option<u64>,
}

impl MptcpOption {
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    /// The bytes it takes in a header, without padding.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Reads one option: `bytes` is all of it, kind and length included. `None` when it is
    /// malformed, unknown, or too short for its form.
    pub fn parse(bytes: &[u8], syn: bool, ack: bool) -> Option<MptcpOption> {
        let _ = (bytes, syn, ack);
        todo!()
    }

    /// Writes it; returns its length.
    pub fn emit(&self, out: &mut [u8]) -> usize {
        let _ = out;
        todo!()
    }
}
