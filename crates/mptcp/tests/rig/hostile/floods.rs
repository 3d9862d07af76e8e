//! How much memory do many small things take?

use std::time::Duration;

use model::Seed;
use rand::RngExt;
use walkabout_mptcp::wire::{Segment, Seq};

use super::peer::{Peer, SYN, capable, only};
use super::{unharmed, victims};
use crate::memory::held;
use crate::network::middlebox::repair;
use crate::pair::{Pair, SERVER};

const MIB: i64 = 1 << 20;

/// A connection between honest hosts and one of a peer, whose answers are no longer kept.
fn scene() -> (Pair, Peer) {
    let mut pair = victims(false);
    let (peer, _) = Peer::connect(&mut pair, 1_000);
    pair.network.log = None;
    (pair, peer)
}

/// Half-open connections are few, and go away.
#[test]
fn thousands_of_syns() {
    let (mut pair, peer) = scene();
    let before = held();
    for option in [Some(capable(None, None)), Some(peer.join_syn(7)), None] {
        for port in 1_001..9_001 {
            let mut stranger = Peer::new(&pair, port);
            let segment = Segment {
                flags: SYN,
                options: only(option.as_slice()),
                ..stranger.segment()
            };
            stranger.send(&mut pair, &segment);
        }
        let more = held() - before;
        assert!(more < 16 * MIB, "{} bytes after {option:?}", more);
    }
    unharmed(&mut pair, 2);
    pair.pass(Duration::from_secs(400));
    let more = held() - before;
    assert!(more < MIB, "{more} bytes are left");
    unharmed(&mut pair, 2);
}

/// A window full of single bytes with gaps between them, in the subflow's numbers: what waits
/// takes at most a small multiple of the receive buffer.
#[test]
fn single_bytes_out_of_order_in_the_subflow() {
    let (mut pair, mut peer) = scene();
    let before = held();
    for n in 0..100_000_u32 {
        let ahead = 2 + 2 * n;
        let subflow_seq = peer.seq.since(peer.initial) + ahead;
        let segment = peer.mapped(u64::from(5 + ahead), subflow_seq, b"x");
        let segment = Segment {
            seq: peer.seq + ahead,
            ..segment
        };
        peer.send(&mut pair, &segment);
    }
    let more = held() - before;
    println!("{more} bytes for 100000 single bytes");
    assert!(more < 16 * MIB, "{more} bytes");
    unharmed(&mut pair, 2);
}

/// The same in the connection's numbers: in order on the subflow.
#[test]
fn single_bytes_out_of_order_in_the_connection() {
    let (mut pair, mut peer) = scene();
    let before = held();
    for n in 0..100_000_u64 {
        peer.data(&mut pair, 7 + 2 * n, b"x");
    }
    let more = held() - before;
    println!("{more} bytes for 100000 single bytes");
    assert!(more < 16 * MIB, "{more} bytes");
    unharmed(&mut pair, 2);
}

/// In descending order, which suits no list.
#[test]
fn single_bytes_backwards() {
    let (mut pair, mut peer) = scene();
    let before = held();
    for n in (0..50_000_u32).rev() {
        let ahead = 2 + 2 * n;
        let segment = Segment {
            seq: peer.seq + ahead,
            ..peer.mapped(
                u64::from(5 + ahead),
                peer.seq.since(peer.initial) + ahead,
                b"x",
            )
        };
        peer.send(&mut pair, &segment);
    }
    for n in (0..50_000_u64).rev() {
        peer.data(&mut pair, 500_000 + 2 * n, b"x");
    }
    let more = held() - before;
    println!("{more} bytes");
    assert!(more < 16 * MIB, "{more} bytes");
    unharmed(&mut pair, 2);
}

/// Headers full of options: all of them no-operations, many of a kind, of unknown kinds, and of
/// lengths that lie. The checksums are right.
#[test]
fn options_in_floods() {
    let (mut pair, peer) = scene();
    let before = held();
    let mut random = Seed(1).stream("options");
    for _ in 0..20_000 {
        let mut packet = [0; 256];
        let segment = Segment {
            payload: b"payload",
            ..peer.mapped(5, 6, b"")
        };
        let length = Segment {
            options: Default::default(),
            ..segment
        }
        .emit(&mut packet);
        // Makes room for 40 bytes of options behind the IPv4 and TCP headers.
        let mut flooded = [0; 256];
        flooded[..40].copy_from_slice(&packet[..40]);
        flooded[80..length + 40].copy_from_slice(&packet[40..length]);
        flooded[32] = 15 << 4;
        let total = (length + 40) as u16;
        flooded[2..4].copy_from_slice(&total.to_be_bytes());
        let kind = [1, 2, 3, 4, 5, 8, 30, 30, 30, 254][random.random_range(0..10)];
        let size = [2, 3, 4, 8, 12, 20, 0, 1, 255][random.random_range(0..9)];
        let mut at = 40;
        while at < 80 {
            flooded[at] = kind;
            if at + 1 < 80 {
                flooded[at + 1] = size;
            }
            if at + 2 < 80 {
                flooded[at + 2] = random.random();
            }
            at += usize::from(size).max(1);
        }
        address_checksum(&mut flooded);
        repair(&mut flooded[..length + 40]);
        pair.network.inject(SERVER, &flooded[..length + 40]);
    }
    assert!(held() - before < MIB, "{} bytes", held() - before);
    unharmed(&mut pair, 2);
}

/// The IPv4 header's checksum.
fn address_checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let mut sum = 0_u32;
    for pair in packet[..20].chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Noise, and packets cut short or with bits turned, some behind right checksums.
#[test]
fn truncated_and_random_bytes() {
    let (mut pair, peer) = scene();
    let before = held();
    let mut random = Seed(1).stream("noise");
    for n in 0..50_000 {
        let mut packet = [0; 256];
        let length = match n % 4 {
            0 => {
                random.fill(&mut packet[..]);
                packet[0] = [packet[0], 0x45, 0x60, 0x4f][random.random_range(0..4)];
                random.random_range(0..256)
            }
            _ => {
                let segment = Segment {
                    seq: Seq(random.random()),
                    ..peer.mapped(random.random_range(0..10_000), 6, b"some payload")
                };
                let length = segment.emit(&mut packet);
                for _ in 0..random.random_range(1..4) {
                    let at = random.random_range(20..length);
                    packet[at] ^= 1 << random.random_range(0..8);
                }
                if n % 4 == 1 {
                    random.random_range(0..=length)
                } else {
                    // Whatever the turned bits made of the data offset.
                    packet[32] = (packet[32] & 0x0f) | (5 + random.random_range(0..9_u8)) << 4;
                    repair(&mut packet[..length]);
                    length
                }
            }
        };
        pair.network.inject(SERVER, &packet[..length]);
    }
    assert!(held() - before < MIB, "{} bytes", held() - before);
    unharmed(&mut pair, 2);
}
