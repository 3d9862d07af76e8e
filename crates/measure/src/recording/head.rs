//! Which bytes of a packet are kept, and what do they say of what it carried?

use mptcp::wire::Options;
use mptcp::wire::mptcp::Dss;
use std::fmt;
use std::ops::Deref;

/// Bytes kept of each packet: the IP and TCP headers at their longest (60 + 60), or the
/// IP, UDP and first QUIC bytes, and some payload.
pub const SNAP_LENGTH: usize = 160;

/// IANA protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// RFC 8200, section 3; extension headers count as payload of an unknown protocol.
const IPV6_HEADER: usize = 40;
/// RFC 768.
const UDP_HEADER: usize = 8;
/// RFC 9293, section 3.1.
const TCP_HEADER: usize = 20;

/// Where the transport's header is.
#[derive(Clone, Copy)]
struct Transport {
    protocol: u8,
    /// Its first byte.
    start: usize,
    /// The first byte behind it.
    end: usize,
}

/// The first bytes of an IP packet, inline.
#[derive(Clone, Copy)]
pub struct Head {
    length: u8,
    bytes: [u8; SNAP_LENGTH],
}

impl Head {
    /// The first [`SNAP_LENGTH`] bytes of `packet`, which begins with the IP header.
    pub fn new(packet: &[u8]) -> Head {
        let length = packet.len().min(SNAP_LENGTH);
        let mut bytes = [0; SNAP_LENGTH];
        bytes[..length].copy_from_slice(&packet[..length]);
        Head {
            length: length as u8,
            bytes,
        }
    }
}

/// What the first bytes of a packet say of what it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    /// Bytes after the TCP or UDP header; 0 for packets of other protocols, fragments but the
    /// first, and what can't be parsed.
    pub(super) payload_bytes: u64,
    /// The data sequence signal of a packet of Multipath TCP, if it has one.
    pub(super) signal: Option<Dss>,
}

impl Contents {
    /// Of a packet of `size` bytes in all that begins with `head`.
    pub(super) fn of(head: &[u8], size: u32) -> Contents {
        let Some(header) = transport(head) else {
            return Contents {
                payload_bytes: 0,
                signal: None,
            };
        };
        let options = match header.protocol {
            TCP => head.get(header.start + TCP_HEADER..header.end),
            _ => None,
        };
        Contents {
            payload_bytes: u64::from(size).saturating_sub(header.end as u64),
            signal: options.and_then(Options::data_sequence_signal),
        }
    }
}

/// The TCP or UDP header of the packet that begins with `head`; it may reach beyond that.
fn transport(head: &[u8]) -> Option<Transport> {
    let (start, protocol) = match head.first()? >> 4 {
        4 => {
            let fragment_offset = u16::from_be_bytes([*head.get(6)?, *head.get(7)?]) & 0x1fff;
            if fragment_offset != 0 {
                return None;
            }
            (usize::from(head[0] & 0x0f) * 4, *head.get(9)?)
        }
        6 => (IPV6_HEADER, *head.get(6)?),
        _ => return None,
    };
    let length = match protocol {
        // The data offset, in 32-bit words (RFC 9293, section 3.1).
        TCP => usize::from(head.get(start + 12)? >> 4) * 4,
        UDP => UDP_HEADER,
        _ => return None,
    };
    Some(Transport {
        protocol,
        start,
        end: start + length,
    })
}

impl Deref for Head {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Head({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, options: usize) -> Vec<u8> {
        let mut packet = vec![0; 20 + options];
        packet[0] = 0x40 | (5 + options / 4) as u8;
        packet[9] = protocol;
        packet
    }

    #[test]
    fn tcp_options_are_no_payload() {
        let mut packet = ipv4(TCP, 4);
        packet.extend([0; 32]);
        packet[24 + 12] = 8 << 4;
        assert_eq!(Contents::of(&packet, 1_400).payload_bytes, 1_400 - 24 - 32);
        assert_eq!(Contents::of(&packet, 56).payload_bytes, 0);
    }

    #[test]
    fn udp_in_both_versions_of_ip() {
        let mut packet = ipv4(UDP, 0);
        packet.extend([0; 8]);
        assert_eq!(Contents::of(&packet, 128).payload_bytes, 100);
        let mut packet = vec![0; 48];
        packet[0] = 0x60;
        packet[6] = UDP;
        assert_eq!(Contents::of(&packet, 148).payload_bytes, 100);
    }

    /// A TCP packet with these options, padded with zeros.
    fn with_options(options: &[u8]) -> Vec<u8> {
        let mut packet = ipv4(TCP, 0);
        packet.extend([0; 20]);
        packet[20 + 12] = (5 + options.len().div_ceil(4) as u8) << 4;
        packet.extend(options);
        packet.resize(packet.len().next_multiple_of(4), 0);
        packet
    }

    #[test]
    fn data_sequence_numbers_are_found_behind_other_options() {
        let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        // A Data ACK of 32 bits, a data sequence number of 64, without a checksum.
        let flags = 0x01 | 0x04 | 0x08;
        let mut options = timestamps.to_vec();
        options.extend([30, 22, 2 << 4, flags, 0, 0, 0, 9]);
        options.extend([0x80, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 100]);
        let found = |packet: &[u8]| {
            let signal = Contents::of(packet, packet.len() as u32).signal?;
            let dsn = signal.mapping.map(|m| m.dsn.on_the_wire());
            Some((dsn, signal.data_ack.map(|ack| ack.on_the_wire())))
        };
        let packet = with_options(&options);
        assert_eq!(found(&packet), Some((Some(0x8000_0000_0000_0007), Some(9))));
        // Behind the header it is payload.
        let mut behind = with_options(&timestamps);
        behind.extend(&options);
        assert_eq!(found(&behind), None);
        assert_eq!(found(&packet[..packet.len() - 1]), None);
        let priority = [30, 3, 5 << 4, 1];
        assert_eq!(found(&with_options(&priority)), None);
        let mut both = priority.to_vec();
        both.extend([30, 8, 2 << 4, 0x01, 0, 0, 0, 5]);
        assert_eq!(found(&with_options(&both)), Some((None, Some(5))));
        assert_eq!(found(&with_options(&[])), None);
        let mut short = with_options(&options);
        short[20 + 12] = 4 << 4;
        assert_eq!(found(&short), None);
        let mut udp = packet;
        udp[9] = UDP;
        assert_eq!(found(&udp), None);
    }

    #[test]
    fn the_rest_counts_as_none() {
        assert_eq!(Contents::of(&[], 100).payload_bytes, 0);
        assert_eq!(Contents::of(&[0x45], 100).payload_bytes, 0);
        assert_eq!(Contents::of(&ipv4(1, 0), 100).payload_bytes, 0);
        let mut later_fragment = ipv4(UDP, 0);
        later_fragment[7] = 1;
        assert_eq!(Contents::of(&later_fragment, 100).payload_bytes, 0);
        assert_eq!(Contents::of(&ipv4(TCP, 0), 100).payload_bytes, 0);
    }

    #[test]
    fn keeps_160_bytes() {
        assert_eq!(Head::new(&[7; 1_500]).len(), SNAP_LENGTH);
        assert_eq!(&*Head::new(&[7; 3]), &[7; 3]);
    }
}
