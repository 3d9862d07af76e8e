//! The options of Multipath TCP (RFC 8684, section 3), parsed and emitted in pairs.

use arrayvec::ArrayVec;
use bytes::{Buf, BufMut};
use std::net::IpAddr;

/// The kind of a TCP option of Multipath TCP (section 3).
pub(super) const KIND: u8 = 30;

// The subtypes (section 7.2).
const CAPABLE: u8 = 0;
const JOIN: u8 = 1;
const DSS: u8 = 2;
const ADD_ADDR: u8 = 3;
const REMOVE_ADDR: u8 = 4;
const PRIO: u8 = 5;
const FAIL: u8 = 6;
const FASTCLOSE: u8 = 7;
const TCPRST: u8 = 8;

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
        match self {
            MptcpOption::Capable(capable) => capable.len(),
            MptcpOption::Join(Join::Syn { .. }) => 12,
            MptcpOption::Join(Join::SynAck { .. }) => 16,
            MptcpOption::Join(Join::Ack { .. }) => 24,
            MptcpOption::Dss(dss) => dss.len(),
            MptcpOption::AddAddr(add) => add.len(),
            MptcpOption::RemoveAddr(ids) => 3 + ids.len(),
            MptcpOption::Prio { .. } => 3,
            MptcpOption::Fail { .. } | MptcpOption::FastClose { .. } => 12,
            MptcpOption::Reset { .. } => 4,
        }
    }

    /// Reads one option: `bytes` is all of it, kind and length included. `None` when it is
    /// malformed, unknown, or not of a form that a segment with these flags may have.
    pub fn parse(bytes: &[u8], syn: bool, ack: bool) -> Option<MptcpOption> {
        let (&[kind, length, first], rest) = bytes.split_first_chunk()?;
        if kind != KIND || usize::from(length) != bytes.len() {
            return None;
        }
        let low = first & 0x0f;
        match first >> 4 {
            CAPABLE => Capable::parse(low, rest, syn, ack).map(MptcpOption::Capable),
            JOIN => Join::parse(low, rest, syn, ack).map(MptcpOption::Join),
            DSS => Dss::parse(rest).map(MptcpOption::Dss),
            ADD_ADDR => AddAddr::parse(low & 1 != 0, rest).map(MptcpOption::AddAddr),
            REMOVE_ADDR if !rest.is_empty() => {
                ArrayVec::try_from(rest).ok().map(MptcpOption::RemoveAddr)
            }
            // RFC 6824 had an address identifier behind it.
            PRIO if rest.len() <= 1 => Some(MptcpOption::Prio {
                backup: low & 1 != 0,
            }),
            FAIL => {
                let &[_, dsn @ ..]: &[u8; 9] = rest.try_into().ok()?;
                Some(MptcpOption::Fail {
                    dsn: u64::from_be_bytes(dsn),
                })
            }
            FASTCLOSE => {
                let &[_, key @ ..]: &[u8; 9] = rest.try_into().ok()?;
                Some(MptcpOption::FastClose {
                    key: u64::from_be_bytes(key),
                })
            }
            TCPRST => {
                let &[reason] = rest.try_into().ok()?;
                Some(MptcpOption::Reset {
                    transient: low & 1 != 0,
                    reason,
                })
            }
            _ => None,
        }
    }

    /// Writes it; returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than that.
    pub fn emit(&self, mut out: &mut [u8]) -> usize {
        let length = self.len();
        out.put_u8(KIND);
        out.put_u8(length as u8);
        match self {
            MptcpOption::Capable(capable) => capable.emit(out),
            MptcpOption::Join(join) => join.emit(out),
            MptcpOption::Dss(dss) => dss.emit(out),
            MptcpOption::AddAddr(add) => add.emit(out),
            MptcpOption::RemoveAddr(ids) => {
                out.put_u8(REMOVE_ADDR << 4);
                out.put_slice(ids);
            }
            MptcpOption::Prio { backup } => out.put_u8(PRIO << 4 | u8::from(*backup)),
            MptcpOption::Fail { dsn } => {
                out.put_u16(u16::from(FAIL) << 12);
                out.put_u64(*dsn);
            }
            MptcpOption::FastClose { key } => {
                out.put_u16(u16::from(FASTCLOSE) << 12);
                out.put_u64(*key);
            }
            MptcpOption::Reset { transient, reason } => {
                out.put_u8(TCPRST << 4 | u8::from(*transient));
                out.put_u8(*reason);
            }
        }
        length
    }
}

impl Capable {
    /// Each field is there only if the one before is.
    fn len(&self) -> usize {
        if self.sender_key.is_none() {
            4
        } else if self.receiver_key.is_none() {
            12
        } else if self.data_length.is_none() {
            20
        } else if self.data_checksum.is_none() {
            22
        } else {
            24
        }
    }

    fn parse(version: u8, mut bytes: &[u8], syn: bool, ack: bool) -> Option<Capable> {
        let form = match (bytes.len() + 3, syn, ack) {
            (4, true, false) | (12, true, true) | (20 | 22 | 24, false, _) => bytes.len() + 3,
            _ => return None,
        };
        let flags = bytes.get_u8();
        // Flag B: what it will mean is unknown, and the option is to be ignored (section 3.1).
        if flags & 0x40 != 0 {
            return None;
        }
        Some(Capable {
            version,
            checksum: flags & 0x80 != 0,
            no_join: flags & 0x20 != 0,
            sha256: flags & 0x01 != 0,
            sender_key: (form >= 12).then(|| bytes.get_u64()),
            receiver_key: (form >= 20).then(|| bytes.get_u64()),
            data_length: (form >= 22).then(|| bytes.get_u16()),
            data_checksum: (form >= 24).then(|| bytes.get_u16()),
        })
    }

    fn emit(&self, mut out: &mut [u8]) {
        out.put_u8(CAPABLE << 4 | self.version & 0x0f);
        out.put_u8(
            u8::from(self.checksum) << 7 | u8::from(self.no_join) << 5 | u8::from(self.sha256),
        );
        let Some(key) = self.sender_key else { return };
        out.put_u64(key);
        let Some(key) = self.receiver_key else { return };
        out.put_u64(key);
        let Some(length) = self.data_length else {
            return;
        };
        out.put_u16(length);
        let Some(checksum) = self.data_checksum else {
            return;
        };
        out.put_u16(checksum);
    }
}

impl Join {
    fn parse(low: u8, mut bytes: &[u8], syn: bool, ack: bool) -> Option<Join> {
        let backup = low & 1 != 0;
        match (bytes.len() + 3, syn, ack) {
            (12, true, false) => Some(Join::Syn {
                backup,
                address_id: bytes.get_u8(),
                token: bytes.get_u32(),
                nonce: bytes.get_u32(),
            }),
            (16, true, true) => Some(Join::SynAck {
                backup,
                address_id: bytes.get_u8(),
                hmac: bytes.get_u64(),
                nonce: bytes.get_u32(),
            }),
            (24, false, _) => {
                let &[_, hmac @ ..]: &[u8; 21] = bytes.try_into().ok()?;
                Some(Join::Ack { hmac })
            }
            _ => None,
        }
    }

    fn emit(&self, mut out: &mut [u8]) {
        match *self {
            Join::Syn {
                backup,
                address_id,
                token,
                nonce,
            } => {
                out.put_u8(JOIN << 4 | u8::from(backup));
                out.put_u8(address_id);
                out.put_u32(token);
                out.put_u32(nonce);
            }
            Join::SynAck {
                backup,
                address_id,
                hmac,
                nonce,
            } => {
                out.put_u8(JOIN << 4 | u8::from(backup));
                out.put_u8(address_id);
                out.put_u64(hmac);
                out.put_u32(nonce);
            }
            Join::Ack { hmac } => {
                out.put_u16(u16::from(JOIN) << 12);
                out.put_slice(&hmac);
            }
        }
    }
}

impl Number {
    fn len(self) -> usize {
        match self {
            Number::Wide(_) => 8,
            Number::Narrow(_) => 4,
        }
    }

    /// Reads one; the caller has checked that it is there.
    fn parse(bytes: &mut &[u8], wide: bool) -> Number {
        if wide {
            Number::Wide(bytes.get_u64())
        } else {
            Number::Narrow(bytes.get_u32())
        }
    }

    fn emit(self, out: &mut &mut [u8]) {
        match self {
            Number::Wide(number) => out.put_u64(number),
            Number::Narrow(number) => out.put_u32(number),
        }
    }
}

/// The flags of a DSS (section 3.3): A and M say what there is, a and m that it has 64 bits.
mod flag {
    pub const ACK: u8 = 0x01;
    pub const WIDE_ACK: u8 = 0x02;
    pub const MAPPING: u8 = 0x04;
    pub const WIDE_DSN: u8 = 0x08;
    pub const DATA_FIN: u8 = 0x10;
}

impl Dss {
    fn len(&self) -> usize {
        let ack = self.data_ack.map_or(0, Number::len);
        let mapping = self.mapping.map_or(0, |m| {
            m.dsn.len() + 6 + if m.checksum.is_some() { 2 } else { 0 }
        });
        4 + ack + mapping
    }

    fn parse(mut bytes: &[u8]) -> Option<Dss> {
        let flags = bytes.try_get_u8().ok()?;
        let has = |flag| flags & flag != 0;
        let wide = |flag| if has(flag) { 8 } else { 4 };
        let ack = if has(flag::ACK) {
            wide(flag::WIDE_ACK)
        } else {
            0
        };
        let mapping = if has(flag::MAPPING) {
            wide(flag::WIDE_DSN) + 6
        } else {
            0
        };
        // Whether there is a checksum only the length says.
        let checksum = has(flag::MAPPING) && bytes.len() == ack + mapping + 2;
        if !checksum && bytes.len() != ack + mapping {
            return None;
        }
        Some(Dss {
            data_fin: has(flag::DATA_FIN),
            data_ack: has(flag::ACK).then(|| Number::parse(&mut bytes, has(flag::WIDE_ACK))),
            mapping: has(flag::MAPPING).then(|| Mapping {
                dsn: Number::parse(&mut bytes, has(flag::WIDE_DSN)),
                subflow_seq: bytes.get_u32(),
                length: bytes.get_u16(),
                checksum: checksum.then(|| bytes.get_u16()),
            }),
        })
    }

    fn emit(&self, mut out: &mut [u8]) {
        let mut flags = if self.data_fin { flag::DATA_FIN } else { 0 };
        flags |= match self.data_ack {
            Some(Number::Wide(_)) => flag::ACK | flag::WIDE_ACK,
            Some(Number::Narrow(_)) => flag::ACK,
            None => 0,
        };
        flags |= match self.mapping.map(|mapping| mapping.dsn) {
            Some(Number::Wide(_)) => flag::MAPPING | flag::WIDE_DSN,
            Some(Number::Narrow(_)) => flag::MAPPING,
            None => 0,
        };
        out.put_u8(DSS << 4);
        out.put_u8(flags);
        if let Some(ack) = self.data_ack {
            ack.emit(&mut out);
        }
        if let Some(mapping) = self.mapping {
            mapping.dsn.emit(&mut out);
            out.put_u32(mapping.subflow_seq);
            out.put_u16(mapping.length);
            if let Some(checksum) = mapping.checksum {
                out.put_u16(checksum);
            }
        }
    }
}

impl AddAddr {
    fn len(&self) -> usize {
        let address = if self.address.is_ipv4() { 4 } else { 16 };
        let port = if self.port.is_some() { 2 } else { 0 };
        let hmac = if self.hmac.is_some() { 8 } else { 0 };
        4 + address + port + hmac
    }

    fn parse(echo: bool, mut bytes: &[u8]) -> Option<AddAddr> {
        let id = bytes.try_get_u8().ok()?;
        let hmac = if echo { 0 } else { 8 };
        let (v4, port) = match bytes.len().checked_sub(hmac)? {
            4 => (true, false),
            6 => (true, true),
            16 => (false, false),
            18 => (false, true),
            _ => return None,
        };
        let address = if v4 {
            IpAddr::V4(bytes.get_u32().into())
        } else {
            IpAddr::V6(bytes.get_u128().into())
        };
        let port = port.then(|| bytes.get_u16());
        let hmac = (!echo).then(|| bytes.get_u64());
        Some(AddAddr {
            id,
            address,
            port,
            hmac,
        })
    }

    fn emit(&self, mut out: &mut [u8]) {
        out.put_u8(ADD_ADDR << 4 | u8::from(self.hmac.is_none()));
        out.put_u8(self.id);
        match self.address {
            IpAddr::V4(address) => out.put_slice(&address.octets()),
            IpAddr::V6(address) => out.put_slice(&address.octets()),
        }
        if let Some(port) = self.port {
            out.put_u16(port);
        }
        if let Some(hmac) = self.hmac {
            out.put_u64(hmac);
        }
    }
}
