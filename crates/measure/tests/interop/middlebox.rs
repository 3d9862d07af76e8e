//! What does a middlebox between our stack and the network do to packets?

use mptcp::wire::Segment;
use std::net::IpAddr;

/// The way of a packet, from our stack's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Out,
    In,
}

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Middlebox {
    /// It is not there.
    Absent,
    /// It takes the options of Multipath TCP from SYN segments without ACK.
    StripsSyn,
    /// From SYN segments with ACK.
    StripsSynAck,
    /// From every segment with payload.
    StripsData,
    /// From every segment but those with SYN.
    StripsAllButSyn,
    /// It changes the payload of every segment that goes this way and comes from or goes to this
    /// address.
    Alters(Way, IpAddr),
}

/// TCP's option kinds (RFC 9293, section 3.1; RFC 8684, section 3).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MULTIPATH: u8 = 30;

impl Middlebox {
    /// Does to a packet what it does.
    pub fn pass(self, way: Way, packet: &mut [u8]) {
        if self == Middlebox::Absent {
            return;
        }
        let Ok(segment) = Segment::parse(packet) else {
            return;
        };
        let (flags, payload) = (segment.flags, segment.payload.len());
        let ends = [segment.source.ip(), segment.destination.ip()];
        let (strips, alters) = match self {
            Middlebox::Absent => (false, false),
            Middlebox::StripsSyn => (flags.syn && !flags.ack, false),
            Middlebox::StripsSynAck => (flags.syn && flags.ack, false),
            Middlebox::StripsData => (payload > 0, false),
            Middlebox::StripsAllButSyn => (!flags.syn, false),
            Middlebox::Alters(which, at) => {
                (false, way == which && payload > 0 && ends.contains(&at))
            }
        };
        if strips {
            change(packet, |tcp, _| strip(tcp));
        }
        if alters {
            change(packet, |tcp, payload| tcp[payload] ^= 0xff);
        }
    }
}

/// Changes a TCP segment (with where its payload begins) and makes its checksum right.
fn change(packet: &mut [u8], change: impl FnOnce(&mut [u8], usize)) {
    // RFC 791, section 3.1, and RFC 8200, section 3.
    let (header, end, addresses) = match packet[0] >> 4 {
        4 => {
            let end = u16::from_be_bytes([packet[2], packet[3]]);
            (usize::from(packet[0] & 0x0f) * 4, usize::from(end), 12..20)
        }
        _ => {
            let length = u16::from_be_bytes([packet[4], packet[5]]);
            (40, 40 + usize::from(length), 8..40)
        }
    };
    let (ip, tcp) = packet[..end].split_at_mut(header);
    let payload = usize::from(tcp[12] >> 4) * 4;
    change(tcp, payload);
    tcp[16..18].fill(0);
    // RFC 9293, section 3.1: the checksum covers a pseudo-header, 6 being TCP.
    let sum = sum(&ip[addresses]) + sum(tcp) + 6 + tcp.len() as u64;
    tcp[16..18].copy_from_slice(&(!fold(sum)).to_be_bytes());
}

/// Puts no-operations in the place of every option of Multipath TCP.
fn strip(tcp: &mut [u8]) {
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
