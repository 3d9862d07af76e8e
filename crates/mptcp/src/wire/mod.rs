//! Bytes become types here, once, and types become bytes: IPv4, IPv6, TCP and the options of
//! Multipath TCP.

pub mod key;
pub mod mptcp;
mod segment;
mod seq;

pub use mptcp::{MptcpOption, MptcpOptions};
pub use segment::{Ecn, Flags, Options, ParseError, SackBlocks, Segment, Timestamps};
pub use seq::Seq;

/// Room for options in a TCP header (RFC 9293, section 3.1).
pub const OPTION_SPACE: usize = 40;
