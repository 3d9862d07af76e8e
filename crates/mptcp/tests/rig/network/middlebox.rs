//! What does a middlebox do to the bytes of a TCP segment?

/// Which segments lose their options of Multipath TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strip {
    /// None.
    Nothing,
    /// Those with the SYN flag, SYN/ACKs included.
    Syn,
    /// Those without the SYN flag.
    NotSyn,
    /// All.
    Everything,
}

/// TCP's option kind of Multipath TCP (RFC 8684, section 7.1).
const MULTIPATH: u8 = 30;
/// No operation (RFC 9293, section 3.1).
const NO_OPERATION: u8 = 1;
const SYN: u8 = 0x02;

/// The offset of the TCP header.
fn tcp(packet: &[u8]) -> usize {
    match packet[0] >> 4 {
        4 => usize::from(packet[0] & 15) * 4,
        // Neither stack sends extension headers.
        _ => 40,
    }
}

/// The offset of the payload.
fn payload(packet: &[u8]) -> usize {
    let tcp = tcp(packet);
    tcp + usize::from(packet[tcp + 12] >> 4) * 4
}

/// Takes the options out (no-operations stand in their place) and repairs the checksum; returns
/// whether there was one.
pub fn strip(packet: &mut [u8], strip: Strip) -> bool {
    let header = tcp(packet);
    let syn = packet[header + 13] & SYN != 0;
    let applies = match strip {
        Strip::Nothing => false,
        Strip::Syn => syn,
        Strip::NotSyn => !syn,
        Strip::Everything => true,
    };
    if !applies {
        return false;
    }
    let (mut at, end) = (header + 20, payload(packet));
    let mut found = false;
    while at < end {
        let length = match packet[at] {
            0 => break,
            NO_OPERATION => 1,
            _ => usize::from(packet[at + 1]).max(2),
        };
        if packet[at] == MULTIPATH {
            packet[at..at + length].fill(NO_OPERATION);
            found = true;
        }
        at += length;
    }
    if found {
        repair(packet);
    }
    found
}

/// Flips a bit of the payload and repairs the checksum; returns whether there was a payload.
pub fn corrupt(packet: &mut [u8], which: usize) -> bool {
    let begin = payload(packet);
    let length = packet.len() - begin;
    if length == 0 {
        return false;
    }
    packet[begin + which / 8 % length] ^= 1 << (which % 8);
    repair(packet);
    true
}

/// Flips any bit behind the IP header.
pub fn garble(packet: &mut [u8], which: usize) {
    let begin = tcp(packet);
    let length = packet.len() - begin;
    packet[begin + which / 8 % length] ^= 1 << (which % 8);
}

/// Sets the TCP checksum to what it has to be.
pub fn repair(packet: &mut [u8]) {
    let header = tcp(packet);
    let addresses = match packet[0] >> 4 {
        4 => 12..20,
        _ => 8..40,
    };
    packet[header + 16..header + 18].fill(0);
    let length = (packet.len() - header) as u32;
    // The pseudo-header (RFC 9293, section 3.1): addresses, protocol 6 and length.
    let mut sum = 6 + (length >> 16) + (length & 0xffff);
    for part in [&packet[addresses], &packet[header..]] {
        for pair in part.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            sum += u32::from(u16::from_be_bytes([pair[0], low]));
        }
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    packet[header + 16..header + 18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::address;
    use std::net::SocketAddr;
    use walkabout_mptcp::wire::mptcp::Dss;
    use walkabout_mptcp::wire::{Flags, MptcpOption, Options, ParseError, Segment, Seq};

    /// What a middlebox changed is a valid segment still; what a bad link changed is not.
    #[test]
    fn changes_are_behind_a_right_checksum_or_not() {
        for ipv6 in [false, true] {
            let end = |host| SocketAddr::new(address(ipv6, 1, host), 80);
            let segment = Segment {
                source: end(1),
                destination: end(2),
                ecn: Default::default(),
                flags: Flags {
                    ack: true,
                    ..Flags::default()
                },
                seq: Seq(1),
                ack: Seq(2),
                window: 3,
                options: Options {
                    mptcp: [MptcpOption::Dss(Dss::default())].into_iter().collect(),
                    ..Options::default()
                },
                payload: b"payload",
            };
            let mut packet = [0; 200];
            let length = segment.emit(&mut packet);
            let packet = &mut packet[..length];
            assert!(corrupt(packet, 9));
            let parsed = Segment::parse(packet).expect("valid");
            assert_eq!(
                (parsed.payload, parsed.options.mptcp.len()),
                (&b"pcyload"[..], 1)
            );
            assert!(!strip(packet, Strip::Syn) && strip(packet, Strip::NotSyn));
            let parsed = Segment::parse(packet).expect("valid");
            assert!(parsed.options.mptcp.is_empty());
            garble(packet, 900);
            assert_eq!(Segment::parse(packet), Err(ParseError::Checksum("TCP")));
        }
    }
}
