//! Which bytes of a packet are kept, and how much transport payload it carried.

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

    /// The same of a packet of `length` bytes at the beginning of `buffer`, whatever follows it there:
    /// a copy of fixed length is cheaper.
    pub(crate) fn of_buffer<const N: usize>(buffer: &[u8; N], length: usize) -> Head {
        const { assert!(N >= SNAP_LENGTH) };
        let mut bytes = [0; SNAP_LENGTH];
        bytes.copy_from_slice(&buffer[..SNAP_LENGTH]);
        Head {
            length: length.min(SNAP_LENGTH) as u8,
            bytes,
        }
    }

    /// Bytes after the TCP or UDP header of a packet of `size` bytes in all; 0 for packets of
    /// other protocols, fragments but the first, and what can't be parsed.
    pub fn payload_bytes(&self, size: u32) -> u64 {
        self.headers()
            .map_or(0, |headers| u64::from(size).saturating_sub(headers as u64))
    }

    /// Bytes of the IP and transport headers.
    fn headers(&self) -> Option<usize> {
        let (ip, protocol) = match self.first()? >> 4 {
            4 => {
                let fragment_offset = u16::from_be_bytes([*self.get(6)?, *self.get(7)?]) & 0x1fff;
                if fragment_offset != 0 {
                    return None;
                }
                (usize::from(self[0] & 0x0f) * 4, *self.get(9)?)
            }
            6 => (IPV6_HEADER, *self.get(6)?),
            _ => return None,
        };
        match protocol {
            // The data offset, in 32-bit words (RFC 9293, section 3.1).
            TCP => Some(ip + usize::from(self.get(ip + 12)? >> 4) * 4),
            UDP => Some(ip + UDP_HEADER),
            _ => None,
        }
    }
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
        assert_eq!(Head::new(&packet).payload_bytes(1_400), 1_400 - 24 - 32);
        assert_eq!(Head::new(&packet).payload_bytes(56), 0);
    }

    #[test]
    fn udp_in_both_versions_of_ip() {
        let mut packet = ipv4(UDP, 0);
        packet.extend([0; 8]);
        assert_eq!(Head::new(&packet).payload_bytes(128), 100);
        let mut packet = vec![0; 48];
        packet[0] = 0x60;
        packet[6] = UDP;
        assert_eq!(Head::new(&packet).payload_bytes(148), 100);
    }

    #[test]
    fn the_rest_counts_as_none() {
        assert_eq!(Head::new(&[]).payload_bytes(100), 0);
        assert_eq!(Head::new(&[0x45]).payload_bytes(100), 0);
        assert_eq!(Head::new(&ipv4(1, 0)).payload_bytes(100), 0);
        let mut later_fragment = ipv4(UDP, 0);
        later_fragment[7] = 1;
        assert_eq!(Head::new(&later_fragment).payload_bytes(100), 0);
        assert_eq!(Head::new(&ipv4(TCP, 0)).payload_bytes(100), 0);
    }

    #[test]
    fn keeps_160_bytes() {
        assert_eq!(Head::new(&[7; 1_500]).len(), SNAP_LENGTH);
        assert_eq!(&*Head::new(&[7; 3]), &[7; 3]);
    }
}
