//! How does MP_JOIN open a subflow (RFC 8684, section 3.2)?

use super::JOIN;
use bytes::{Buf, BufMut};

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

impl Join {
    pub(super) fn parse(low: u8, mut bytes: &[u8], syn: bool, ack: bool) -> Option<Join> {
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

    pub(super) fn emit(&self, mut out: &mut [u8]) {
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
