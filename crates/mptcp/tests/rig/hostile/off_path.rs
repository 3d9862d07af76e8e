//! What do segments change that somebody else forges into a connection (RFC 5961)?

use std::net::IpAddr;
use std::time::Duration;

use walkabout_mptcp::wire::{Flags, Options, Segment, Seq, Timestamps};

use super::{unharmed, victims};
use crate::network::log::Log;
use crate::pair::{CLIENT, Pair, SERVER};

/// The acknowledgement that a side would send next to the client's or from the client's `address`:
/// what somebody knows who sees all packets.
pub fn next_of(log: &Log, side: usize, address: IpAddr) -> Segment<'static> {
    let mut next: Option<Segment<'static>> = None;
    for entry in log.entries.iter().filter(|e| e.host == side) {
        let segment = entry.segment();
        if segment.source.ip() != address && segment.destination.ip() != address {
            continue;
        }
        let end = segment.seq + segment.sequence_length();
        next = Some(Segment {
            source: segment.source,
            destination: segment.destination,
            ecn: segment.ecn,
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            seq: next.as_ref().map_or(end, |n| {
                if segment.flags.syn {
                    end
                } else {
                    n.seq.max(end)
                }
            }),
            ack: segment.ack,
            window: segment.window,
            options: Options {
                timestamps: segment.options.timestamps,
                ..Options::default()
            },
            payload: &[],
        });
    }
    next.expect("the side sent something")
}

/// Injects what `change` makes of the next acknowledgement of a side on a path.
fn forge(pair: &mut Pair, side: usize, path: u8, change: impl FnOnce(&mut Segment<'_>)) {
    let address = pair.client_address(path);
    let log = pair.network.log.as_ref().expect("logged");
    let mut segment = next_of(log, side, address);
    change(&mut segment);
    let mut packet = [0; 2048];
    let length = segment.emit(&mut packet);
    pair.network.inject(1 - side, &packet[..length]);
}

fn reset(segment: &mut Segment<'_>, ahead: i32) {
    segment.flags = Flags {
        rst: true,
        ..Flags::default()
    };
    segment.ack = Seq(0);
    segment.options = Options::default();
    segment.seq = Seq(segment.seq.0.wrapping_add(ahead as u32));
}

/// RFC 5961, section 3: only a reset at exactly the next sequence number counts; one elsewhere in
/// the window is answered, one outside ignored.
#[test]
fn a_reset_that_is_not_exact_changes_nothing() {
    for side in [CLIENT, SERVER] {
        for ahead in [1, 1_000, 60_000, -1, -1_000, 1 << 30, -(1 << 30)] {
            let mut pair = victims(false);
            forge(&mut pair, side, 0, |s| reset(s, ahead));
            unharmed(&mut pair, 2);
        }
    }
}

/// The other subflow carries on alone (RFC 8684, section 3.6), and a new one may come.
#[test]
fn an_exact_reset_takes_one_subflow() {
    for side in [CLIENT, SERVER] {
        let mut pair = victims(false);
        forge(&mut pair, side, 0, |s| reset(s, 0));
        unharmed(&mut pair, 1);
        pair.open(0, 0, false).expect("a subflow can be opened");
        unharmed(&mut pair, 2);
    }
}

/// RFC 5961, section 4: whatever its sequence number, it is answered with a challenge.
#[test]
fn a_syn_in_an_established_connection_changes_nothing() {
    for ahead in [0, 1, 5_000, 0x4000_0000, -5_000_i32 as u32] {
        for ack in [false, true] {
            let mut pair = victims(false);
            forge(&mut pair, CLIENT, 0, |s| {
                s.flags.syn = true;
                s.flags.ack = ack;
                s.ack = if ack { s.ack } else { Seq(0) };
                s.seq += ahead;
            });
            let challenges = pair.stack(SERVER).counters().challenges;
            assert_eq!(challenges, 1, "sequence number {ahead} ahead");
            unharmed(&mut pair, 2);
        }
    }
}

/// RFC 9293, section 3.10.7.4, first step.
#[test]
fn data_outside_the_window_is_not_kept() {
    for ahead in [8 << 20, 1 << 30, 0x8000_0000, -2_000_i32 as u32] {
        let mut pair = victims(false);
        let read = pair.ends[SERVER].read;
        forge(&mut pair, CLIENT, 1, |s| {
            s.seq += ahead;
            s.payload = &[0x55; 1_000];
        });
        pair.drain(SERVER);
        assert_eq!(pair.ends[SERVER].read, read);
        unharmed(&mut pair, 2);
    }
}

/// RFC 5961, section 5: an acknowledgement of what was never sent, or of long ago, is no
/// acknowledgement.
#[test]
fn an_acknowledgement_of_data_never_sent_changes_nothing() {
    for ahead in [1, 10_000, 1 << 30, -(1_i32 << 30) as u32] {
        let mut pair = victims(false);
        let sent = pair.subflows(SERVER)[0].tcp.acked_offset;
        forge(&mut pair, CLIENT, 0, |s| s.ack += ahead);
        assert_eq!(pair.subflows(SERVER)[0].tcp.acked_offset, sent);
        unharmed(&mut pair, 2);
    }
}

/// A FIN that nobody sent is one in order; without DATA_FIN it closes only the subflow.
#[test]
fn a_forged_fin_does_not_end_the_stream() {
    let mut pair = victims(false);
    forge(&mut pair, CLIENT, 0, |s| s.flags.fin = true);
    pair.pass(Duration::from_secs(1));
    let info = pair.info(SERVER).expect("not released");
    assert!(!info.at_end && info.failure.is_none(), "{info:?}");
    pair.exchange(50_000, 50_000);
}

/// RFC 7323, section 5.3: PAWS.
#[test]
fn an_old_timestamp_does_not_count() {
    let mut pair = victims(false);
    forge(&mut pair, CLIENT, 0, |s| {
        if let Some(Timestamps { value, .. }) = &mut s.options.timestamps {
            *value = value.wrapping_sub(1_000_000);
        }
        s.payload = &[0x55; 1_000];
    });
    unharmed(&mut pair, 2);
}

/// An acknowledgement with a giant window makes nobody hold or send more than its own buffer.
#[test]
fn a_giant_window_moves_no_bound() {
    let mut pair = victims(false);
    for path in [0, 1] {
        forge(&mut pair, CLIENT, path, |s| s.window = u16::MAX);
    }
    // Nobody reads at the client.
    while pair.write(SERVER, 64 << 10) > 0 {
        pair.pass(Duration::from_millis(50));
    }
    pair.pass(Duration::from_secs(5));
    let (client, server) = (pair.info(CLIENT), pair.info(SERVER));
    let (client, server) = (client.expect("there"), server.expect("there"));
    assert!(client.readable <= 6 << 20, "{client:?}");
    assert!(server.unsent + server.unacked <= 4 << 20, "{server:?}");
    pair.wait_for("the rest", |pair| {
        pair.drain(CLIENT);
        pair.ends[CLIENT].read == pair.ends[SERVER].written
    });
}

/// A peer that never reads is asked now and then for as long as the connection lasts, and gets
/// the rest when it reads (RFC 9293, section 3.8.6.1).
#[test]
fn a_window_of_zero_for_ten_minutes() {
    let mut pair = victims(false);
    while pair.write(CLIENT, 64 << 10) > 0 {
        pair.pass(Duration::from_millis(50));
    }
    pair.pass(Duration::from_secs(10));
    let sent = pair.network.hosts[CLIENT].sent;
    pair.pass(Duration::from_secs(600));
    let probes = pair.network.hosts[CLIENT].sent - sent;
    assert!((4..200).contains(&probes), "{probes} probes in ten minutes");
    let until = pair.network.now + Duration::from_secs(200);
    while pair.ends[SERVER].read < pair.ends[CLIENT].written {
        pair.drain(SERVER);
        assert!(pair.network.step(until), "the rest does not come");
    }
    unharmed(&mut pair, 2);
}
