//! How does ADD_ADDR announce an address (RFC 8684, section 3.4.1)?

use super::ADD_ADDR;
use bytes::{Buf, BufMut};
use std::net::IpAddr;

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

impl AddAddr {
    pub(super) fn len(&self) -> usize {
        let address = if self.address.is_ipv4() { 4 } else { 16 };
        let port = if self.port.is_some() { 2 } else { 0 };
        let hmac = if self.hmac.is_some() { 8 } else { 0 };
        4 + address + port + hmac
    }

    pub(super) fn parse(echo: bool, mut bytes: &[u8]) -> Option<AddAddr> {
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

    pub(super) fn emit(&self, mut out: &mut [u8]) {
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
