//! Does any sequence of segments of a peer that made a connection do harm?

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use walkabout_mptcp::wire::mptcp::{AddAddr, Dss, Mapping, Number};
use walkabout_mptcp::wire::{Flags, MptcpOption, Segment, Timestamps};

use super::peer::{Peer, only, read};
use super::{unharmed, victims};
use crate::memory::held;
use crate::pair::SERVER;

/// Near where decisions change, or far from it.
fn near() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3..4_i64,
        2 => -3_000..3_000_i64,
        1 => any::<i64>(),
    ]
}

/// What a segment has beside what is usual.
#[derive(Clone, Debug)]
struct Oddity {
    subflow: usize,
    seq: i64,
    ack: i64,
    flags: [bool; 5],
    window: u16,
    payload: usize,
    options: Vec<Odd>,
    wait_ms: u64,
    write: usize,
}

#[derive(Clone, Debug)]
enum Odd {
    Mapping {
        dsn: i64,
        seq: i64,
        length: i64,
        narrow: bool,
        fin: bool,
        ack: Option<i64>,
    },
    Ack {
        data_ack: i64,
        narrow: bool,
        fin: bool,
    },
    Fail(i64),
    FastClose,
    Prio(bool),
    Remove(u8),
    Add(u8),
    Reset(u8),
    Timestamps(i64),
}

fn odd() -> impl Strategy<Value = Odd> {
    prop_oneof![
        6 => (near(), near(), near(), any::<bool>(), prop::bool::weighted(0.1), prop::option::of(near()))
            .prop_map(|(dsn, seq, length, narrow, fin, ack)| Odd::Mapping { dsn, seq, length, narrow, fin, ack }),
        2 => (near(), any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(data_ack, narrow, fin)| Odd::Ack { data_ack, narrow, fin }),
        1 => near().prop_map(Odd::Fail),
        1 => Just(Odd::FastClose),
        1 => any::<bool>().prop_map(Odd::Prio),
        1 => any::<u8>().prop_map(Odd::Remove),
        1 => any::<u8>().prop_map(Odd::Add),
        1 => any::<u8>().prop_map(Odd::Reset),
        1 => near().prop_map(Odd::Timestamps),
    ]
}

fn oddity() -> impl Strategy<Value = Oddity> {
    let rarely = || prop::bool::weighted(0.05);
    let flags = (
        rarely(),
        rarely(),
        rarely(),
        any::<bool>(),
        prop::bool::weighted(0.97),
    );
    (
        0..3_usize,
        prop_oneof![3 => Just(0_i64), 1 => near()],
        prop_oneof![3 => Just(0_i64), 1 => near()],
        flags,
        prop_oneof![2 => Just(u16::MAX), 1 => Just(0_u16), 1 => any::<u16>()],
        prop_oneof![2 => Just(0_usize), 2 => 1..20_usize, 1 => 20..1_400_usize],
        prop::collection::vec(odd(), 0..3),
        prop_oneof![3 => Just(0_u64), 1 => 1..3_000_u64],
        prop_oneof![3 => Just(0_usize), 1 => 1..5_000_usize],
    )
        .prop_map(
            |(subflow, seq, ack, flags, window, payload, options, wait_ms, write)| Oddity {
                subflow,
                seq,
                ack,
                flags: [flags.0, flags.1, flags.2, flags.3, flags.4],
                window,
                payload,
                options,
                wait_ms,
                write,
            },
        )
}

static PAYLOAD: [u8; 2_000] = [b'p'; 2_000];

fn option(odd: &Odd, peer: &Peer, payload: usize, next: u64) -> Option<MptcpOption> {
    let server = walkabout_mptcp::wire::key::initial_dsn(peer.server_key).wrapping_add(1);
    let number = |n: u64, narrow: bool| match narrow {
        true => Number::Narrow(n as u32),
        false => Number::Wide(n),
    };
    Some(match *odd {
        Odd::Mapping {
            dsn,
            seq,
            length,
            narrow,
            fin,
            ack,
        } => MptcpOption::Dss(Dss {
            data_fin: fin,
            idle: false,
            data_ack: ack.map(|a| number(server.wrapping_add_signed(a), narrow)),
            mapping: Some(Mapping {
                dsn: number(peer.dsn(next).wrapping_add_signed(dsn), narrow),
                subflow_seq: peer.seq.since(peer.initial).wrapping_add_signed(seq as i32),
                length: (payload as i64).wrapping_add(length) as u16,
                checksum: None,
            }),
        }),
        Odd::Ack {
            data_ack,
            narrow,
            fin,
        } => MptcpOption::Dss(Dss {
            data_fin: fin,
            idle: false,
            data_ack: Some(number(server.wrapping_add_signed(data_ack), narrow)),
            mapping: None,
        }),
        Odd::Fail(dsn) => MptcpOption::Fail {
            dsn: server.wrapping_add_signed(dsn),
        },
        Odd::FastClose => MptcpOption::FastClose { key: peer.key },
        Odd::Prio(backup) => MptcpOption::Prio { backup },
        Odd::Remove(id) => MptcpOption::RemoveAddr([id].into_iter().collect()),
        Odd::Add(id) => MptcpOption::AddAddr(AddAddr {
            id,
            address: [9, 9, 9, id].into(),
            port: None,
            hmac: (id % 2 == 0).then_some(u64::from(id)),
        }),
        Odd::Reset(reason) => MptcpOption::Reset {
            transient: reason % 2 == 0,
            reason,
        },
        Odd::Timestamps(_) => return None,
    })
}

/// How many: an eighth of PROPTEST_CASES, as each makes several connections.
fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(1_024_u32) / 8
}

fn attack(oddities: &[Oddity]) -> Result<(), TestCaseError> {
    let mut pair = victims(false);
    let (peer, connection) = Peer::connect(&mut pair, 1_000);
    let others = [peer.join(&mut pair, 1_001), peer.join(&mut pair, 1_002)];
    let mut next = read(&mut pair, connection).len() as u64;
    pair.network.log = None;
    let mut subflows: Vec<Peer> = std::iter::once(peer).chain(others).collect();
    let before = held();
    let mut sent = 0;
    for oddity in oddities {
        let peer = &mut subflows[oddity.subflow];
        let mut options = only(&[]);
        for odd in &oddity.options {
            if let Odd::Timestamps(ahead) = odd {
                options.timestamps = Some(Timestamps {
                    value: *ahead as u32,
                    echo: 0,
                });
            } else if let Some(option) = option(odd, peer, oddity.payload, next)
                && options.mptcp.iter().map(MptcpOption::len).sum::<usize>() + option.len() <= 28
            {
                options.mptcp.push(option);
            }
        }
        let [fin, syn, rst, psh, ack] = oddity.flags;
        let usual = peer.segment();
        let segment = Segment {
            seq: usual.seq + oddity.seq as u32,
            ack: if ack {
                usual.ack + oddity.ack as u32
            } else {
                Default::default()
            },
            flags: Flags {
                fin,
                syn,
                rst,
                psh,
                ack,
                ..Flags::default()
            },
            window: oddity.window,
            options,
            payload: &PAYLOAD[..oddity.payload],
            ..usual
        };
        sent += oddity.payload;
        peer.send(&mut pair, &segment);
        let now = pair.network.now;
        pair.stack(SERVER)
            .write(now, connection, &PAYLOAD[..oddity.write.min(2_000)]);
        pair.network.settle(SERVER);
        let stream = read(&mut pair, connection);
        prop_assert!(stream.iter().all(|b| *b == b'p'));
        next += stream.len() as u64;
        prop_assert!(next <= 5 + sent as u64, "more was read than sent");
        pair.pass(Duration::from_millis(oddity.wait_ms));
    }
    prop_assert!(held() - before < 1 << 20, "{} bytes", held() - before);
    unharmed(&mut pair, 2);
    Ok(())
}

/// Without the macro, which would let PROPTEST_CASES have the last word.
#[test]
fn odd_segments_do_no_harm() {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    });
    let attacks = prop::collection::vec(oddity(), 1..40);
    let outcome = runner.run(&attacks, |oddities| attack(&oddities));
    outcome.expect("the server withstands");
}
