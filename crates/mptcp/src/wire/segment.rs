//! What is in a TCP segment, and how does it become an IP packet and back?

use super::{Ecn, Options, Seq, ip};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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

impl Flags {
    fn from_byte(byte: u8) -> Flags {
        Flags {
            fin: byte & 0x01 != 0,
            syn: byte & 0x02 != 0,
            rst: byte & 0x04 != 0,
            psh: byte & 0x08 != 0,
            ack: byte & 0x10 != 0,
            urg: byte & 0x20 != 0,
            ece: byte & 0x40 != 0,
            cwr: byte & 0x80 != 0,
        }
    }

    fn to_byte(self) -> u8 {
        let Flags {
            fin,
            syn,
            rst,
            psh,
            ack,
            urg,
            ece,
            cwr,
        } = self;
        u8::from(fin)
            | u8::from(syn) << 1
            | u8::from(rst) << 2
            | u8::from(psh) << 3
            | u8::from(ack) << 4
            | u8::from(urg) << 5
            | u8::from(ece) << 6
            | u8::from(cwr) << 7
    }
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

/// The length of a TCP header without options (RFC 9293, section 3.1).
const FIXED_HEADER: usize = 20;

impl<'a> Segment<'a> {
    /// Reads an IP packet and checks its checksums. What follows the IP packet's own length is
    /// ignored, and so are the urgent pointer and the reserved bits.
    pub fn parse(packet: &'a [u8]) -> Result<Segment<'a>, ParseError> {
        let mut segment = Segment::unread();
        segment.read(packet, true)?;
        Ok(segment)
    }

    /// What [`Segment::read`] fills.
    #[inline]
    pub(crate) fn unread() -> Segment<'a> {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Segment {
            source: nowhere,
            destination: nowhere,
            ecn: Ecn::NotCapable,
            flags: Flags::default(),
            seq: Seq(0),
            ack: Seq(0),
            window: 0,
            options: Options::default(),
            payload: &[],
        }
    }

    /// [`Segment::parse`] to where it is to be, as it is large; checks TCP's checksum only if
    /// `verify`.
    #[inline]
    pub(crate) fn read(&mut self, packet: &'a [u8], verify: bool) -> Result<(), ParseError> {
        let (header, bytes) = ip::Header::parse(packet)?;
        let (fixed, rest) = bytes
            .split_first_chunk::<FIXED_HEADER>()
            .ok_or(ParseError::Truncated)?;
        let options = (usize::from(fixed[12] >> 4) * 4)
            .checked_sub(FIXED_HEADER)
            .ok_or(ParseError::Malformed("data offset"))?;
        let (options, payload) = rest
            .split_at_checked(options)
            .ok_or(ParseError::Truncated)?;
        if verify {
            let mut sum = header.pseudo_header(bytes.len());
            sum.add(bytes);
            if sum.checksum() != 0 {
                return Err(ParseError::Checksum("TCP"));
            }
        }
        let u16_at = |at| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let seq_at = |at| Seq(u32::from(u16_at(at)) << 16 | u32::from(u16_at(at + 2)));
        let flags = Flags::from_byte(fixed[13]);
        self.source = SocketAddr::new(header.source, u16_at(0));
        self.destination = SocketAddr::new(header.destination, u16_at(2));
        self.ecn = header.ecn;
        self.flags = flags;
        self.seq = seq_at(4);
        self.ack = if flags.ack { seq_at(8) } else { Seq(0) };
        self.window = u16_at(14);
        self.options.read(options, flags.syn, flags.ack);
        self.payload = payload;
        Ok(())
    }

    /// Writes the IP packet with its checksums into `packet`; returns its length.
    ///
    /// # Panics
    /// When the options take more than [`super::OPTION_SPACE`], the addresses are of different
    /// families, the payload takes the packet beyond 65,535 bytes, or `packet` is too small.
    pub fn emit(&self, packet: &mut [u8]) -> usize {
        self.write(packet, true)
    }

    /// [`Segment::emit`] that leaves TCP's checksum at 0 unless `sum`.
    #[inline]
    pub(crate) fn write(&self, packet: &mut [u8], sum: bool) -> usize {
        let header = ip::Header {
            source: self.source.ip(),
            destination: self.destination.ip(),
            ecn: self.ecn,
        };
        let (ip_header, packet) = packet.split_at_mut(header.len());
        let (tcp_header, rest) = packet.split_at_mut(FIXED_HEADER);
        let options = self.options.emit(rest);
        let length = FIXED_HEADER + options + self.payload.len();
        rest[options..][..self.payload.len()].copy_from_slice(self.payload);
        header.emit(ip_header, length);

        let mut fixed = [0; FIXED_HEADER];
        fixed[0..2].copy_from_slice(&self.source.port().to_be_bytes());
        fixed[2..4].copy_from_slice(&self.destination.port().to_be_bytes());
        fixed[4..8].copy_from_slice(&self.seq.0.to_be_bytes());
        let ack = if self.flags.ack { self.ack.0 } else { 0 };
        fixed[8..12].copy_from_slice(&ack.to_be_bytes());
        fixed[12] = ((FIXED_HEADER + options) / 4) as u8 * 0x10;
        fixed[13] = self.flags.to_byte();
        fixed[14..16].copy_from_slice(&self.window.to_be_bytes());
        // Checksum and urgent pointer stay 0.
        tcp_header.copy_from_slice(&fixed);
        let segment = &mut packet[..length];
        if sum {
            let mut sum = header.pseudo_header(length);
            sum.add(segment);
            segment[16..18].copy_from_slice(&sum.checksum().to_be_bytes());
        }
        header.len() + length
    }

    /// The sequence numbers it takes: its payload, and one each for SYN and FIN.
    pub fn sequence_length(&self) -> u32 {
        self.payload.len() as u32 + u32::from(self.flags.syn) + u32::from(self.flags.fin)
    }
}
