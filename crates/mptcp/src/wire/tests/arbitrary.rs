//! Which segments can there be? All that fit, for property tests.

use crate::wire::mptcp::*;
use crate::wire::*;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

pub fn seq() -> impl Strategy<Value = Seq> {
    any::<u32>().prop_map(Seq)
}

pub fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<u64>().prop_map(Number::Wide),
        any::<u32>().prop_map(Number::Narrow)
    ]
}

/// With the fields that a segment with these flags has.
pub fn capable(syn: bool, ack: bool) -> impl Strategy<Value = MptcpOption> {
    let numbers = (
        any::<u64>(),
        any::<u64>(),
        of((any::<u16>(), of(any::<u16>()))),
    );
    (0..16u8, any::<[bool; 3]>(), numbers).prop_map(move |(version, flags, numbers)| {
        let [checksum, no_join, sha256] = flags;
        let (sender, receiver, data) = numbers;
        let data = data.filter(|_| !syn);
        MptcpOption::Capable(Capable {
            version,
            checksum,
            no_join,
            sha256,
            sender_key: (!syn || ack).then_some(sender),
            receiver_key: (!syn).then_some(receiver),
            data_length: data.map(|(length, _)| length),
            data_checksum: data.and_then(|(_, checksum)| checksum),
        })
    })
}

/// In the form that a segment with these flags has.
pub fn join(syn: bool, ack: bool) -> impl Strategy<Value = MptcpOption> {
    let numbers = (
        any::<bool>(),
        any::<u8>(),
        any::<u32>(),
        any::<u32>(),
        any::<[u8; 20]>(),
    );
    numbers.prop_map(move |(backup, address_id, token, nonce, hmac)| {
        MptcpOption::Join(match (syn, ack) {
            (true, false) => Join::Syn {
                backup,
                address_id,
                token,
                nonce,
            },
            (true, true) => Join::SynAck {
                backup,
                address_id,
                hmac: u64::from(token) << 32 | 7,
                nonce,
            },
            (false, _) => Join::Ack { hmac },
        })
    })
}

pub fn dss() -> impl Strategy<Value = MptcpOption> {
    let mapping = (number(), any::<u32>(), any::<u16>(), of(any::<u16>())).prop_map(
        |(dsn, subflow_seq, length, checksum)| Mapping {
            dsn,
            subflow_seq,
            length,
            checksum,
        },
    );
    (any::<[bool; 2]>(), of(number()), of(mapping)).prop_map(
        |([data_fin, idle], data_ack, mapping)| {
            MptcpOption::Dss(Dss {
                data_fin,
                idle,
                data_ack,
                mapping,
            })
        },
    )
}

pub fn add_addr() -> impl Strategy<Value = MptcpOption> {
    (
        any::<u8>(),
        any::<IpAddr>(),
        of(any::<u16>()),
        of(any::<u64>()),
    )
        .prop_map(|(id, address, port, hmac)| AddAddr {
            id,
            address,
            port,
            hmac,
        })
        .prop_map(MptcpOption::AddAddr)
}

fn private() -> impl Strategy<Value = MptcpOption> {
    (9..=15_u8, 0..16_u8, vec(any::<u8>(), 0..=37)).prop_map(|(subtype, low, body)| {
        MptcpOption::Private(Private {
            subtype,
            low,
            body: body.into_iter().collect(),
        })
    })
}

/// Any Multipath TCP option that a segment with these flags may have.
pub fn mptcp_option(syn: bool, ack: bool) -> impl Strategy<Value = MptcpOption> {
    prop_oneof![
        capable(syn, ack),
        join(syn, ack),
        dss(),
        add_addr(),
        vec(any::<u8>(), 1..=16).prop_map(|ids| MptcpOption::RemoveAddr(ids.into_iter().collect())),
        any::<bool>().prop_map(|backup| MptcpOption::Prio { backup }),
        any::<u64>().prop_map(|dsn| MptcpOption::Fail { dsn }),
        any::<u64>().prop_map(|key| MptcpOption::FastClose { key }),
        (any::<bool>(), any::<u8>())
            .prop_map(|(transient, reason)| MptcpOption::Reset { transient, reason }),
        private(),
    ]
}

/// Options that fit into a header.
pub fn options(syn: bool, ack: bool) -> impl Strategy<Value = Options> {
    let timestamps =
        (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    (
        of(1..=u16::MAX),
        of(0..=14u8),
        any::<bool>(),
        of(timestamps),
        vec((seq(), seq()), 0..=4),
        vec(mptcp_option(syn, ack), 0..=4),
    )
        .prop_map(
            |(mss, window_scale, sack_permitted, timestamps, sack, mptcp)| Options {
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                sack: sack.into_iter().collect(),
                mptcp: mptcp.into_iter().collect(),
            },
        )
        .prop_map(|mut options| {
            while options.len() > OPTION_SPACE {
                let dropped = options.mptcp.pop().is_some()
                    || options.sack.pop().is_some()
                    || options.timestamps.take().is_some();
                assert!(dropped, "the others fit");
            }
            options
        })
}

pub fn ecn() -> impl Strategy<Value = Ecn> {
    prop::sample::select(vec![Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])
}

pub fn flags() -> impl Strategy<Value = Flags> {
    any::<[bool; 8]>().prop_map(|[fin, syn, rst, psh, ack, urg, ece, cwr]| Flags {
        fin,
        syn,
        rst,
        psh,
        ack,
        urg,
        ece,
        cwr,
    })
}

/// Source and destination of one family.
pub fn addresses() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = any::<([u8; 4], u16, [u8; 4], u16)>().prop_map(|(source, from, destination, to)| {
        (
            SocketAddr::from((source, from)),
            SocketAddr::from((destination, to)),
        )
    });
    let v6 = any::<([u8; 16], u16, [u8; 16], u16)>().prop_map(|(source, from, destination, to)| {
        (
            SocketAddr::from((source, from)),
            SocketAddr::from((destination, to)),
        )
    });
    prop_oneof![v4, v6]
}

/// Any segment but for its payload.
pub fn header() -> impl Strategy<Value = Segment<'static>> {
    let numbers = (ecn(), seq(), seq(), any::<u16>());
    (addresses(), flags(), numbers).prop_flat_map(|((source, destination), flags, numbers)| {
        let (ecn, seq, ack, window) = numbers;
        options(flags.syn, flags.ack).prop_map(move |options| Segment {
            source,
            destination,
            ecn,
            flags,
            seq,
            ack: if flags.ack { ack } else { Seq(0) },
            window,
            options,
            payload: &[],
        })
    })
}
