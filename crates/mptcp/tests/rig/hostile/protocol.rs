//! What do options of Multipath TCP change that contradict, repeat or lie?

use std::net::IpAddr;
use std::time::Duration;

use walkabout_mptcp::connection::Failure;
use walkabout_mptcp::wire::mptcp::{AddAddr, Dss, Join, Mapping, Number};
use walkabout_mptcp::wire::{MptcpOption, Segment, key};

use super::peer::{Peer, join_ack, only, read};
use super::{unharmed, victims};
use crate::memory::held;
use crate::pair::{Pair, SERVER};

/// What a hostile connection may hold of the server's memory: its buffers and some records.
const BOUND: i64 = 20 << 20;

/// Lets an attack happen on a connection of its own, beside an honest one, and sees that the
/// honest one is unharmed and memory bounded.
fn attack(attack: impl FnOnce(&mut Pair, &mut Peer, walkabout_mptcp::stack::ConnectionId)) {
    let mut pair = victims(false);
    let (mut peer, connection) = Peer::connect(&mut pair, 1_000);
    assert_eq!(read(&mut pair, connection), b"first");
    let before = held();
    attack(&mut pair, &mut peer, connection);
    assert!(held() - before < BOUND, "{} bytes", held() - before);
    unharmed(&mut pair, 2);
    pair.pass(Duration::from_secs(100));
    unharmed(&mut pair, 2);
}

#[test]
fn a_peer_of_the_rig_is_understood() {
    attack(|pair, peer, connection| {
        peer.data(pair, 5, b" and second");
        let mut other = peer.join(pair, 1_001);
        other.data(pair, 16, b" and third");
        assert_eq!(read(pair, connection), b" and second and third");
        assert_eq!(pair.stack(SERVER).counters().joins, 2);
    });
}

/// The first data that came for a number stays (RFC 8684, section 3.3.4: content at the same
/// number is expected to be the same).
#[test]
fn mappings_that_overlap_deliver_each_number_once() {
    attack(|pair, peer, connection| {
        peer.data(pair, 5, &[b'a'; 100]);
        peer.data(pair, 55, &[b'b'; 100]);
        peer.data(pair, 0, &[b'c'; 100]);
        let stream = read(pair, connection);
        assert_eq!(stream, [[b'a'; 100].as_slice(), &[b'b'; 50]].concat());
    });
}

#[test]
fn out_of_order_mappings_that_overlap_deliver_each_number_once() {
    attack(|pair, peer, connection| {
        for offset in [105, 55, 205, 155, 95] {
            peer.data(pair, offset, &[b'x'; 100]);
        }
        assert_eq!(read(pair, connection), b"");
        peer.data(pair, 5, &[b'x'; 100]);
        assert_eq!(read(pair, connection).len(), 300);
    });
}

/// Bytes that were mapped cannot be mapped otherwise: at most what the first mapping said comes.
#[test]
fn a_mapping_that_contradicts_the_one_before_delivers_nothing_twice() {
    attack(|pair, peer, connection| {
        let begin = peer.seq.since(peer.initial);
        let first = Segment {
            options: only(&[peer.mapping(5, begin, 200)]),
            payload: &[b'a'; 100],
            ..peer.segment()
        };
        peer.send(pair, &first);
        let second = peer.mapped(5_000, begin + 100, &[b'b'; 100]);
        peer.send(pair, &second);
        let stream = read(pair, connection);
        assert!(stream.len() <= 200 && stream.starts_with(&[b'a'; 100][..stream.len().min(100)]));
    });
}

#[test]
fn a_huge_mapping_waits_for_its_data() {
    attack(|pair, peer, connection| {
        let begin = peer.seq.since(peer.initial);
        for (index, payload) in [[b'a'; 10], [b'b'; 10]].iter().enumerate() {
            let options = match index {
                0 => only(&[peer.mapping(5, begin, u16::MAX)]),
                _ => only(&[]),
            };
            let segment = Segment {
                options,
                payload,
                ..peer.segment()
            };
            peer.send(pair, &segment);
        }
        assert_eq!(read(pair, connection), b"aaaaaaaaaabbbbbbbbbb");
    });
}

#[test]
fn data_outside_the_window_of_the_connection_is_not_kept() {
    attack(|pair, peer, connection| {
        for offset in [100 << 20, 1 << 40, u64::MAX - 5_000, 1 << 63, (1 << 32) + 5] {
            peer.data(pair, offset, &[b'x'; 1_000]);
        }
        let stream = read(pair, connection);
        assert!(stream.is_empty(), "{} bytes", stream.len());
    });
}

#[test]
fn data_without_a_mapping_is_not_delivered_as_something_else() {
    attack(|pair, peer, connection| {
        let mut other = peer.join(pair, 1_001);
        let begin = other.seq.since(other.initial);
        for subflow_seq in [begin + 5_000, begin.wrapping_sub(5_000), 0x8000_0000] {
            let segment = other.mapped(5, subflow_seq, &[b'x'; 100]);
            other.send(pair, &segment);
        }
        let segment = Segment {
            payload: &[b'y'; 100],
            ..other.segment()
        };
        other.send(pair, &segment);
        assert_eq!(read(pair, connection), b"");
    });
}

#[test]
fn infinite_mappings_and_mp_fail_at_wrong_times() {
    attack(|pair, peer, connection| {
        let mut other = peer.join(pair, 1_001);
        other.say(
            pair,
            &[MptcpOption::Fail {
                dsn: peer.dsn(1 << 40),
            }],
        );
        let begin = other.seq.since(other.initial);
        let infinite = Segment {
            options: only(&[other.mapping(5, begin, 0)]),
            payload: &[b'i'; 100],
            ..other.segment()
        };
        other.send(pair, &infinite);
        peer.say(
            pair,
            &[MptcpOption::Fail { dsn: 7 }, MptcpOption::Fail { dsn: 8 }],
        );
        peer.data(pair, 5, b"data");
        let stream = read(pair, connection);
        assert!(stream.len() <= 104, "{} bytes", stream.len());
    });
}

/// RFC 8684, section 3.5: only with the receiver's key.
#[test]
fn a_fast_close_needs_the_key() {
    attack(|pair, peer, connection| {
        for key in [0, peer.key, peer.server_key ^ 1] {
            peer.say(pair, &[MptcpOption::FastClose { key }]);
            let info = pair.stack(SERVER).info(connection).expect("there");
            assert_eq!(info.failure, None, "key {key:x}");
        }
        peer.say(
            pair,
            &[MptcpOption::FastClose {
                key: peer.server_key,
            }],
        );
        let info = pair.stack(SERVER).info(connection).expect("there");
        assert_eq!(info.failure, Some(Failure::Reset));
    });
}

#[test]
fn data_fins_that_contradict() {
    attack(|pair, peer, connection| {
        for offset in [1_000, 500, 5, 1 << 40] {
            let begin = peer.seq.since(peer.initial);
            let fin = MptcpOption::Dss(Dss {
                data_fin: true,
                idle: false,
                data_ack: None,
                mapping: Some(Mapping {
                    dsn: Number::Wide(peer.dsn(offset)),
                    subflow_seq: if offset == 500 { begin } else { 0 },
                    length: 1,
                    checksum: None,
                }),
            });
            peer.say(pair, &[fin]);
            peer.data(pair, 5, &[b'x'; 100]);
        }
        let stream = read(pair, connection);
        assert!(stream.len() <= 100, "{} bytes", stream.len());
    });
}

#[test]
fn data_acks_of_what_was_never_sent() {
    attack(|pair, peer, connection| {
        let now = pair.network.now;
        pair.stack(SERVER).write(now, connection, &[1; 3_000]);
        pair.network.settle(SERVER);
        let origin = key::initial_dsn(peer.server_key);
        for ahead in [1 << 20, 1 << 33, u64::MAX / 2, u64::MAX] {
            for number in [
                Number::Wide(origin.wrapping_add(ahead)),
                Number::Narrow(origin.wrapping_add(ahead) as u32),
            ] {
                peer.say(
                    pair,
                    &[MptcpOption::Dss(Dss {
                        data_fin: false,
                        idle: false,
                        data_ack: Some(number),
                        mapping: None,
                    })],
                );
            }
        }
        let info = pair.stack(SERVER).info(connection).expect("there");
        assert_eq!(info.unsent + info.unacked, 3_000, "{info:?}");
    });
}

#[test]
fn joins_with_a_wrong_token_or_hmac() {
    attack(|pair, peer, _| {
        let before = pair.stack(SERVER).counters();
        let mut stranger = Peer::new(pair, 1_001);
        stranger.syn(
            pair,
            &[MptcpOption::Join(Join::Syn {
                backup: false,
                address_id: 1,
                token: key::token(peer.server_key) ^ 1,
                nonce: 5,
            })],
        );
        let answer = stranger.answer(pair).expect("an answer");
        assert!(answer.flags.rst, "{answer:?}");
        let after = pair.stack(SERVER).counters();
        assert_eq!(after.join_no_token - before.join_no_token, 1);

        // An HMAC of this very connection, but of another join's numbers.
        for (port, hmac) in [
            (1_002, key::join_hmac(peer.key, peer.server_key, 1, 2)),
            (1_003, [0; 32]),
        ] {
            let mut stranger = Peer::new(pair, port);
            stranger.syn(pair, &[peer.join_syn(u32::from(port))]);
            stranger.say(pair, &[join_ack(&hmac)]);
            let answer = stranger.answer(pair).expect("an answer");
            assert!(answer.flags.rst, "{answer:?}");
        }
        let after = pair.stack(SERVER).counters();
        assert_eq!(after.join_bad_hmac - before.join_bad_hmac, 2);
        assert_eq!(after.joins, before.joins);
    });
}

/// A join that completed, word for word once more from another port: the server's number is
/// another, so the HMAC does not fit.
#[test]
fn a_replayed_join() {
    attack(|pair, peer, _| {
        peer.join(pair, 1_001);
        let log = pair.network.log.as_ref().expect("logged");
        let answer = log.entries.iter().find_map(|entry| {
            entry
                .segment()
                .options
                .mptcp
                .iter()
                .find_map(|option| match option {
                    MptcpOption::Join(Join::SynAck { nonce, .. }) => Some(*nonce),
                    _ => None,
                })
        });
        let old = key::join_hmac(peer.key, peer.server_key, 1_001, answer.expect("a nonce"));
        let mut replay = Peer::new(pair, 1_002);
        replay.syn(pair, &[peer.join_syn(1_001)]);
        replay.say(pair, &[join_ack(&old)]);
        assert_eq!(pair.stack(SERVER).counters().join_bad_hmac, 1);
    });
}

#[test]
fn remove_addr_of_everything_leaves_a_connection_that_can_be_joined() {
    attack(|pair, peer, connection| {
        for first in (0..=255_u8).step_by(16) {
            let ids = (first..=first + 15).collect();
            peer.say(pair, &[MptcpOption::RemoveAddr(ids)]);
        }
        let info = pair.stack(SERVER).info(connection).expect("there");
        assert_eq!(info.failure, None);
        let mut other = peer.join(pair, 1_001);
        other.data(pair, 5, b"again");
        assert_eq!(read(pair, connection), b"again");
    });
}

#[test]
fn add_addr_in_floods() {
    attack(|pair, peer, _| {
        for round in 0..40_u32 {
            for id in 0..=255_u8 {
                let address =
                    IpAddr::from((0x0b00_0000 + (round << 8) + u32::from(id)).to_be_bytes());
                let port = (round % 2 == 1).then_some(1_000 + round as u16);
                let right =
                    key::add_addr_hmac(peer.key, peer.server_key, id, address, port.unwrap_or(0));
                let hmac = if id % 3 == 0 { right ^ 1 } else { right };
                peer.say(
                    pair,
                    &[MptcpOption::AddAddr(AddAddr {
                        id,
                        address,
                        port,
                        hmac: Some(hmac),
                    })],
                );
            }
        }
        let wrong = pair.stack(SERVER).counters().add_addr_bad_hmac;
        assert_eq!(wrong, 40 * 86);
    });
}

/// A peer that cannot be pleased: it opens as many subflows as it may, and more.
#[test]
fn more_joins_than_there_may_be() {
    attack(|pair, peer, _| {
        for port in 1_001..1_200 {
            let mut other = Peer::new(pair, port);
            other.syn(pair, &[peer.join_syn(u32::from(port))]);
        }
    });
}
