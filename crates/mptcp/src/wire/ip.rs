//! Which IP packet carries a segment: its addresses, its congestion mark, its length?

use super::ParseError;
use super::checksum::{self, Sum};
use bytes::BufMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// TCP (RFC 9293, section 6), as a protocol and as a next header.
const TCP: u8 = 6;

// Extension headers that say nothing to the transport (RFC 8200, section 4.1).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION_OPTIONS: u8 = 60;

/// Time to live and hop limit: what RFC 1700 recommends and Linux sends.
const HOP_LIMIT: u8 = 64;
/// The IPv4 flag "don't fragment" (RFC 791, section 3.1).
const DONT_FRAGMENT: u16 = 0x4000;

const V4_LENGTH: usize = 20;
const V6_LENGTH: usize = 40;

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

impl Ecn {
    fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    fn to_bits(self) -> u8 {
        match self {
            Ecn::NotCapable => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }
}

/// What of an IP header concerns TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) ecn: Ecn,
}

impl Header {
    /// Reads a packet's headers; returns what the packet carries as well.
    #[inline(always)]
    pub(super) fn parse(packet: &[u8]) -> Result<(Header, &[u8]), ParseError> {
        match packet.first().ok_or(ParseError::Truncated)? >> 4 {
            4 => Header::parse_v4(packet),
            6 => Header::parse_v6(packet),
            _ => Err(ParseError::NotTcp),
        }
    }

    #[inline(always)]
    fn parse_v4(packet: &[u8]) -> Result<(Header, &[u8]), ParseError> {
        let fixed = packet
            .first_chunk::<V4_LENGTH>()
            .ok_or(ParseError::Truncated)?;
        let header = usize::from(fixed[0] & 0x0f) * 4;
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if header < V4_LENGTH {
            return Err(ParseError::Malformed("header length"));
        }
        if total < header {
            return Err(ParseError::Malformed("total length"));
        }
        let packet = packet.get(..total).ok_or(ParseError::Truncated)?;
        let (header, carried) = packet.split_at(header);
        let checksum = match header.len() {
            V4_LENGTH => checksum::of_header(fixed),
            _ => checksum::checksum(header),
        };
        if checksum != 0 {
            return Err(ParseError::Checksum("IPv4"));
        }
        // A fragment: more follow, or it is not the first.
        if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 || fixed[9] != TCP {
            return Err(ParseError::NotTcp);
        }
        let &[.., s0, s1, s2, s3, d0, d1, d2, d3] = fixed;
        let header = Header {
            source: Ipv4Addr::new(s0, s1, s2, s3).into(),
            destination: Ipv4Addr::new(d0, d1, d2, d3).into(),
            ecn: Ecn::from_bits(fixed[1]),
        };
        Ok((header, carried))
    }

    fn parse_v6(packet: &[u8]) -> Result<(Header, &[u8]), ParseError> {
        let (fixed, rest) = packet
            .split_first_chunk::<V6_LENGTH>()
            .ok_or(ParseError::Truncated)?;
        let length = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let mut carried = rest.get(..length).ok_or(ParseError::Truncated)?;
        let mut next = fixed[6];
        while next != TCP {
            let &[following, eights, _, segments_left, ..] = carried else {
                return Err(ParseError::Truncated);
            };
            match next {
                HOP_BY_HOP | DESTINATION_OPTIONS => {}
                // One that is not at its last stop has another destination in its checksum.
                ROUTING if segments_left == 0 => {}
                _ => return Err(ParseError::NotTcp),
            }
            carried = carried
                .get(8 + 8 * usize::from(eights)..)
                .ok_or(ParseError::Truncated)?;
            next = following;
        }
        let mut addresses = [[0; 16]; 2];
        addresses.as_flattened_mut().copy_from_slice(&fixed[8..]);
        let [source, destination] = addresses.map(|octets| Ipv6Addr::from_octets(octets).into());
        let ecn = Ecn::from_bits(fixed[1] >> 4);
        Ok((
            Header {
                source,
                destination,
                ecn,
            },
            carried,
        ))
    }

    /// The length of the header that [`Header::emit`] writes.
    pub(super) fn len(&self) -> usize {
        if self.source.is_ipv4() {
            V4_LENGTH
        } else {
            V6_LENGTH
        }
    }

    /// Writes the header of a packet that carries `length` bytes into `out`, which is as long as
    /// the header. Panics when the families differ or the packet would be too long.
    pub(super) fn emit(&self, mut out: &mut [u8], length: usize) {
        let field = |length: usize| {
            u16::try_from(length).unwrap_or_else(|_| panic!("an IP packet of {length} bytes"))
        };
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let mut header = [0; V4_LENGTH];
                header[0] = 0x45;
                header[1] = self.ecn.to_bits();
                header[2..4].copy_from_slice(&field(V4_LENGTH + length).to_be_bytes());
                // The identification stays 0: it is for fragments (RFC 6864, section 4.1).
                header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
                header[8] = HOP_LIMIT;
                header[9] = TCP;
                header[12..16].copy_from_slice(&source.octets());
                header[16..20].copy_from_slice(&destination.octets());
                let checksum = checksum::of_header(&header);
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                out.put_slice(&header);
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                out.put_u32(6 << 28 | u32::from(self.ecn.to_bits()) << 20);
                out.put_u16(field(length));
                out.put_u8(TCP);
                out.put_u8(HOP_LIMIT);
                out.put_slice(&source.octets());
                out.put_slice(&destination.octets());
            }
            (source, destination) => panic!("a packet from {source} to {destination}"),
        }
    }

    /// The sum of the pseudo-header of a segment of `length` bytes (RFC 9293, section 3.1;
    /// RFC 8200, section 8.1).
    pub(super) fn pseudo_header(&self, length: usize) -> Sum {
        let mut sum = Sum::default();
        for address in [self.source, self.destination] {
            match address {
                IpAddr::V4(address) => sum.add_four(address.octets()),
                IpAddr::V6(address) => {
                    for &four in address.octets().as_chunks::<4>().0 {
                        sum.add_four(four);
                    }
                }
            }
        }
        sum.add_four((length as u32).to_be_bytes());
        sum.add_four([0, 0, 0, TCP]);
        sum
    }
}
