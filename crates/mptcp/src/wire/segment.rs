//! What is in a TCP segment, and how does it become an IP packet and back?

use super::{MptcpOptions, Seq};
use arrayvec::ArrayVec;
use std::net::SocketAddr;

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECN-capable, ECT(1).
    Ect1,
    /// ECN-capable, ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// The flags of a TCP header (RFC 9293, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "the names are the RFC's")]
pub struct Flags {
    pub fin: bool,
    pub syn: bool,
    pub rst: bool,
    pub psh: bool,
    pub ack: bool,
    pub urg: bool,
    pub ece: bool,
    pub cwr: bool,
}

/// Selective acknowledgements (RFC 2018): beginnings and ends.
pub type SackBlocks = ArrayVec<(Seq, Seq), 4>;

/// The timestamps option (RFC 7323).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo: u32,
}

/// The options of a TCP header. What is unknown or malformed is left out when parsed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale (RFC 7323); at most 14.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// Multipath TCP's.
    pub mptcp: MptcpOptions,
}

/// A TCP segment in an IP packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment<'a> {
    /// From where; of the same family as `destination`.
    pub source: SocketAddr,
    /// To where.
    pub destination: SocketAddr,
    /// The IP header's congestion mark.
    pub ecn: Ecn,
    /// Flags.
    pub flags: Flags,
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgement number; 0 without the ACK flag.
    pub ack: Seq,
    /// The window as it is on the wire, not scaled.
    pub window: u16,
    /// Options.
    pub options: Options,
    /// The data.
    pub payload: &'a [u8],
}

/// Why bytes are no segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// Shorter than its headers, or than they say.
    #[error("truncated")]
    Truncated,
    /// Neither IPv4 nor IPv6, or not TCP, or a fragment.
    #[error("not a TCP segment")]
    NotTcp,
    /// A field contradicts another.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A checksum is wrong.
    #[error("wrong {0} checksum")]
    Checksum(&'static str),
}

impl Options {
    /// The bytes they take in a header, padding to a multiple of four included.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Segment<'a> {
    /// Reads an IP packet and checks its checksums. What follows the IP packet's own length is
    /// ignored.
    pub fn parse(packet: &'a [u8]) -> Result<Segment<'a>, ParseError> {
        let _ = packet;
        todo!()
    }

    /// Writes the IP packet with its checksums into `packet`; returns its length.
    ///
    /// # Panics
    /// When the options take more than [`super::OPTION_SPACE`], or `packet` is too small.
    pub fn emit(&self, packet: &mut [u8]) -> usize {
        let _ = packet;
        todo!()
    }

    /// The sequence numbers it takes: its payload, and one each for SYN and FIN.
    pub fn sequence_length(&self) -> u32 {
        self.payload.len() as u32 + u32::from(self.flags.syn) + u32::from(self.flags.fin)
    }
}
