//! What does a middlebox between our stack and the network do to packets?

use model::Family;
use mptcp::wire::Segment;

/// The way of a packet, from our stack's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Out,
    In,
}

/// From which segments it takes the options of Multipath TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strips {
    /// None: it is not there.
    Nothing,
    /// From SYN segments without ACK.
    Syn,
    /// From SYN segments with ACK.
    SynAck,
    /// From every segment with payload.
    Data,
    /// From every segment but those with SYN.
    AllButSyn,
}

/// TCP's option kinds (RFC 9293, section 3.1; RFC 8684, section 3).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MULTIPATH: u8 = 30;

/// Changes a packet as the middlebox does; whether it passes at all is not its matter.
pub fn pass(strips: Strips, _way: Way, packet: &mut [u8]) {
    if strips == Strips::Nothing {
        return;
    }
    let Ok(segment) = Segment::parse(packet) else {
        return;
    };
    let (flags, payload) = (segment.flags, segment.payload.len());
    let family = Family::of(segment.source.ip());
    let concerned = match strips {
        Strips::Nothing => false,
        Strips::Syn => flags.syn && !flags.ack,
        Strips::SynAck => flags.syn && flags.ack,
        Strips::Data => payload > 0,
        Strips::AllButSyn => !flags.syn,
    };
    if concerned {
        strip(family, packet);
    }
}

/// Puts no-operations in the place of every option of Multipath TCP.
fn strip(family: Family, packet: &mut [u8]) {
    let header = match family {
        Family::Ipv4 => usize::from(packet[0] & 0x0f) * 4,
        Family::Ipv6 => 40,
    };
    let end = match family {
        Family::Ipv4 => usize::from(u16::from_be_bytes([packet[2], packet[3]])),
        Family::Ipv6 => 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])),
    };
    let (ip, tcp) = packet[..end].split_at_mut(header);
    let options = usize::from(tcp[12] >> 4) * 4;
    let mut at = 20;
    while at < options {
        let length = match tcp[at] {
            END => break,
            NO_OPERATION => 1,
            _ => usize::from(tcp[at + 1]).max(2),
        };
        if tcp[at] == MULTIPATH {
            tcp[at..at + length].fill(NO_OPERATION);
        }
        at += length;
    }
    tcp[16..18].fill(0);
    let addresses = match family {
        Family::Ipv4 => &ip[12..20],
        Family::Ipv6 => &ip[8..40],
    };
    // RFC 9293, section 3.1: the checksum covers a pseudo-header, 6 being TCP.
    let sum = sum(addresses) + sum(tcp) + 6 + tcp.len() as u64;
    let checksum = !fold(sum);
    tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
}

fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u64::from(*b));
    bytes.chunks(2).map(word).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
