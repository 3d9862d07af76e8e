//! What follows from the keys of a connection: tokens, initial data sequence numbers, HMACs and
//! checksums (RFC 8684, sections 3.1, 3.2, 3.3.1, 3.4.1).

use std::net::IpAddr;

/// The token of a key: the most significant 32 bits of its SHA-256.
pub fn token(key: u64) -> u32 {
    let _ = key;
    todo!()
}

/// The initial data sequence number of a key's owner: the least significant 64 bits of its
/// SHA-256.
pub fn initial_dsn(key: u64) -> u64 {
    let _ = key;
    todo!()
}

/// The HMAC of a join, by the host with `own_key` and `own_nonce` (section 3.2): the key is
/// both keys, the sender's first; the message both nonces, the sender's first.
pub fn join_hmac(own_key: u64, peer_key: u64, own_nonce: u32, peer_nonce: u32) -> [u8; 32] {
    let _ = (own_key, peer_key, own_nonce, peer_nonce);
    todo!()
}

/// The truncated HMAC of an ADD_ADDR by the host with `own_key` (section 3.4.1); `port` is 0
/// when the option has none.
pub fn add_addr_hmac(own_key: u64, peer_key: u64, id: u8, address: IpAddr, port: u16) -> u64 {
    let _ = (own_key, peer_key, id, address, port);
    todo!()
}

/// The checksum of a data sequence mapping (section 3.3.1): over its pseudo-header and `data`.
/// Over what was received, with the checksum received as `checksum`, a correct one gives 0.
pub fn dss_checksum(dsn: u64, subflow_seq: u32, length: u16, checksum: u16, data: &[u8]) -> u16 {
    let _ = (dsn, subflow_seq, length, checksum, data);
    todo!()
}
