//! The options of Multipath TCP (RFC 8684, section 3), parsed and emitted in pairs.

mod add_addr;
mod capable;
mod dss;
mod extension;
mod join;
mod private;

pub use add_addr::AddAddr;
pub use capable::Capable;
pub use dss::{Dss, Mapping, Number};
pub use extension::{Extension, FastJoin, FastJoinForm, Features, NotRead, Subtypes};
pub use join::Join;
pub use private::Private;

use arrayvec::ArrayVec;
use bytes::BufMut;

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
    /// One of a subtype that has no meaning of its own.
    Private(Private),
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
            MptcpOption::Private(private) => 3 + private.body.len(),
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
            subtype if Private::SUBTYPES.contains(&subtype) => {
                Private::parse(subtype, low, rest).map(MptcpOption::Private)
            }
            _ => None,
        }
    }

    /// Reads one option of Multipath TCP and of a legal length, if it is a data sequence signal.
    pub(super) fn data_sequence_signal(bytes: &[u8]) -> Option<Dss> {
        let (&[.., first], rest) = bytes.split_first_chunk::<3>()?;
        (first >> 4 == DSS).then(|| Dss::parse(rest)).flatten()
    }

    /// Writes it; returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than that.
    pub fn emit(&self, mut out: &mut [u8]) -> usize {
        if let MptcpOption::Dss(dss) = self {
            return dss.emit(out);
        }
        let length = self.len();
        out.put_u8(KIND);
        out.put_u8(length as u8);
        match self {
            MptcpOption::Capable(capable) => capable.emit(out),
            MptcpOption::Join(join) => join.emit(out),
            MptcpOption::Dss(_) => {}
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
            MptcpOption::Private(private) => private.emit(out),
        }
        length
    }
}
