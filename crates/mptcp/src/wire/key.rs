//! What follows from the keys of a connection: tokens, initial data sequence numbers, HMACs and
//! checksums (RFC 8684, sections 3.1, 3.2, 3.3.1, 3.4.1)?

use super::checksum::Sum;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// The token of a key: the most significant 32 bits of its SHA-256.
pub fn token(key: u64) -> u32 {
    let [a, b, c, d, ..] = hash(key);
    u32::from_be_bytes([a, b, c, d])
}

/// The initial data sequence number of a key's owner: the least significant 64 bits of its
/// SHA-256.
pub fn initial_dsn(key: u64) -> u64 {
    low_64_bits(hash(key))
}

/// The HMAC of a join, by the host with `own_key` and `own_nonce` (section 3.2): the key is
/// both keys, the sender's first; the message both nonces, the sender's first.
pub fn join_hmac(own_key: u64, peer_key: u64, own_nonce: u32, peer_nonce: u32) -> [u8; 32] {
    let mut hmac = keyed(own_key, peer_key);
    hmac.update(&own_nonce.to_be_bytes());
    hmac.update(&peer_nonce.to_be_bytes());
    hmac.finalize().into_bytes().into()
}

/// The truncated HMAC of a FAST_JOIN by the host with `own_key` (De Coninck and Bonaventure,
/// MultiMob, section III-C; the key as in section 3.2 of RFC 8684): the most significant 64 bits
/// over the token of the host that it is for, and the number, the data sequence number or Data
/// ACK of the SYN.
pub fn fast_join_hmac(own_key: u64, peer_key: u64, token: u32, number: u64) -> u64 {
    let mut hmac = keyed(own_key, peer_key);
    hmac.update(&token.to_be_bytes());
    hmac.update(&number.to_be_bytes());
    let hash: [u8; 32] = hmac.finalize().into_bytes().into();
    let [a, b, c, d, e, f, g, h, ..] = hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The truncated HMAC of an ADD_ADDR by the host with `own_key` (section 3.4.1); `port` is 0
/// when the option has none.
pub fn add_addr_hmac(own_key: u64, peer_key: u64, id: u8, address: IpAddr, port: u16) -> u64 {
    let mut hmac = keyed(own_key, peer_key);
    hmac.update(&[id]);
    match address {
        IpAddr::V4(address) => hmac.update(&address.octets()),
        IpAddr::V6(address) => hmac.update(&address.octets()),
    }
    hmac.update(&port.to_be_bytes());
    low_64_bits(hmac.finalize().into_bytes().into())
}

/// The checksum of a data sequence mapping (section 3.3.1): over its pseudo-header and `data`.
/// Over what was received, with the checksum received as `checksum`, a correct one gives 0.
pub fn dss_checksum(dsn: u64, subflow_seq: u32, length: u16, checksum: u16, data: &[u8]) -> u16 {
    let mut sum = DssChecksum::default();
    sum.add(data);
    sum.finish(dsn, subflow_seq, length, checksum)
}

/// [`dss_checksum`] of a mapping whose data comes in several pieces.
#[derive(Clone, Copy, Default, Debug)]
pub struct DssChecksum {
    data: Sum,
}

impl DssChecksum {
    /// Adds data that follows what was added before.
    pub fn add(&mut self, data: &[u8]) {
        self.data.add(data);
    }

    /// The checksum of the mapping with this pseudo-header and the data added; as for
    /// [`dss_checksum`], 0 when `checksum` is the right one.
    pub fn finish(self, dsn: u64, subflow_seq: u32, length: u16, checksum: u16) -> u16 {
        let mut sum = Sum::default();
        sum.add_four(((dsn >> 32) as u32).to_be_bytes());
        sum.add_four((dsn as u32).to_be_bytes());
        sum.add_four(subflow_seq.to_be_bytes());
        sum.add_four((u32::from(length) << 16 | u32::from(checksum)).to_be_bytes());
        sum.join(self.data);
        sum.checksum()
    }
}

fn hash(key: u64) -> [u8; 32] {
    Sha256::digest(key.to_be_bytes()).into()
}

fn keyed(own_key: u64, peer_key: u64) -> Hmac<Sha256> {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&own_key.to_be_bytes());
    key[8..].copy_from_slice(&peer_key.to_be_bytes());
    Hmac::new_from_slice(&key).expect("HMAC takes a key of any length")
}

fn low_64_bits(hash: [u8; 32]) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = hash;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
