//! How does MP_CAPABLE open a connection (RFC 8684, section 3.1)?

use super::CAPABLE;
use bytes::{Buf, BufMut};

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

impl Capable {
    /// Each field is there only if the one before is.
    pub(super) fn len(&self) -> usize {
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

    pub(super) fn parse(version: u8, mut bytes: &[u8], syn: bool, ack: bool) -> Option<Capable> {
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

    pub(super) fn emit(&self, mut out: &mut [u8]) {
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
