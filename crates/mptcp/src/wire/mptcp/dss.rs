//! What does a data sequence signal say of a segment's data (RFC 8684, section 3.3)?

use super::{DSS, KIND};
use crate::wire::put;

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
    /// MP_IDLE: the data empties its sender's send buffer (De Coninck and Bonaventure, MultiMob,
    /// section III-B). A bit that RFC 8684 reserves; it says something only where both ends agreed
    /// on it.
    pub idle: bool,
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

/// The flags of a DSS (section 3.3): A and M say what there is, a and m that it has 64 bits.
mod flag {
    pub const ACK: u8 = 0x01;
    pub const WIDE_ACK: u8 = 0x02;
    pub const MAPPING: u8 = 0x04;
    pub const WIDE_DSN: u8 = 0x08;
    pub const DATA_FIN: u8 = 0x10;
    pub const IDLE: u8 = 0x20;
}

impl Number {
    fn len(self) -> usize {
        match self {
            Number::Wide(_) => 8,
            Number::Narrow(_) => 4,
        }
    }

    /// What the wire carries of it: all of it, or the lower 32 bits.
    pub fn on_the_wire(self) -> u64 {
        match self {
            Number::Wide(number) => number,
            Number::Narrow(number) => number.into(),
        }
    }

    /// Takes one off, if it is there.
    #[inline]
    fn parse(bytes: &mut &[u8], wide: bool) -> Option<Number> {
        Some(if wide {
            Number::Wide(u64::from_be_bytes(take(bytes)?))
        } else {
            Number::Narrow(u32::from_be_bytes(take(bytes)?))
        })
    }

    #[inline]
    fn emit(self, out: &mut &mut [u8]) {
        match self {
            Number::Wide(number) => put(out, number.to_be_bytes()),
            Number::Narrow(number) => put(out, number.to_be_bytes()),
        }
    }
}

/// Takes the first bytes off, if they are there.
#[inline]
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

impl Dss {
    #[inline]
    pub(super) fn len(&self) -> usize {
        let ack = self.data_ack.map_or(0, Number::len);
        let mapping = self.mapping.map_or(0, |m| {
            m.dsn.len() + 6 + if m.checksum.is_some() { 2 } else { 0 }
        });
        4 + ack + mapping
    }

    pub(super) fn parse(mut bytes: &[u8]) -> Option<Dss> {
        let [flags] = take(&mut bytes)?;
        let has = |flag| flags & flag != 0;
        let mut data_ack = None;
        if has(flag::ACK) {
            data_ack = Some(Number::parse(&mut bytes, has(flag::WIDE_ACK))?);
        }
        let mut mapping = None;
        if has(flag::MAPPING) {
            mapping = Some(Mapping {
                dsn: Number::parse(&mut bytes, has(flag::WIDE_DSN))?,
                subflow_seq: u32::from_be_bytes(take(&mut bytes)?),
                length: u16::from_be_bytes(take(&mut bytes)?),
                // Whether there is one only the length says.
                checksum: take(&mut bytes).map(u16::from_be_bytes),
            });
        }
        bytes.is_empty().then_some(Dss {
            data_fin: has(flag::DATA_FIN),
            idle: has(flag::IDLE),
            data_ack,
            mapping,
        })
    }

    /// Writes the whole option; returns its length.
    pub(super) fn emit(&self, mut out: &mut [u8]) -> usize {
        let length = self.len();
        let mut flags = if self.data_fin { flag::DATA_FIN } else { 0 };
        flags |= if self.idle { flag::IDLE } else { 0 };
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
        put(&mut out, [KIND, length as u8, DSS << 4, flags]);
        if let Some(ack) = self.data_ack {
            ack.emit(&mut out);
        }
        if let Some(mapping) = self.mapping {
            mapping.dsn.emit(&mut out);
            let [s0, s1, s2, s3] = mapping.subflow_seq.to_be_bytes();
            let [l0, l1] = mapping.length.to_be_bytes();
            put(&mut out, [s0, s1, s2, s3, l0, l1]);
            if let Some(checksum) = mapping.checksum {
                put(&mut out, checksum.to_be_bytes());
            }
        }
        length
    }
}
