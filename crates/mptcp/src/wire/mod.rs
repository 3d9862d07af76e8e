//! Bytes become types here, once, and types become bytes: IPv4, IPv6, TCP and the options of
//! Multipath TCP.

mod checksum;
mod ip;
pub mod key;
pub mod mptcp;
mod options;
mod segment;
mod seq;

pub use ip::Ecn;
pub use mptcp::{MptcpOption, MptcpOptions};
pub use options::{Options, SackBlocks, Timestamps};
pub use segment::{Flags, ParseError, Segment};
pub use seq::Seq;

/// Room for options in a TCP header (RFC 9293, section 3.1).
pub const OPTION_SPACE: usize = 40;

/// Writes `bytes` to the front of `out`, which begins behind them then.
///
/// # Panics
/// When there is no room: which options fit is the caller's matter.
#[inline(always)]
fn put<const N: usize>(out: &mut &mut [u8], bytes: [u8; N]) {
    let whole = std::mem::take(out);
    let (front, rest) = whole
        .split_first_chunk_mut()
        .expect("the TCP options fit into a header");
    *front = bytes;
    *out = rest;
}

#[cfg(test)]
mod tests;
