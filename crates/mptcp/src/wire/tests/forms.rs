//! Which forms does each option have? One segment for each.

use crate::wire::mptcp::*;
use crate::wire::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub const CLIENT_KEY: u64 = 0x0123_4567_89ab_cdef;
pub const SERVER_KEY: u64 = 0xfedc_ba98_7654_3210;

pub const SYN: Flags = flags(true, false);
pub const SYN_ACK: Flags = flags(true, true);
pub const ACK: Flags = flags(false, true);

const fn flags(syn: bool, ack: bool) -> Flags {
    Flags {
        fin: false,
        syn,
        rst: false,
        psh: false,
        ack,
        urg: false,
        ece: false,
        cwr: false,
    }
}

/// A segment with one form of an option.
#[derive(Clone, Debug)]
pub struct Form {
    pub v6: bool,
    /// The client's port.
    pub port: u16,
    pub from_server: bool,
    pub flags: Flags,
    pub options: Options,
    pub payload: &'static [u8],
}

impl Form {
    pub fn packet(&self) -> Vec<u8> {
        let [client, server]: [IpAddr; 2] = match self.v6 {
            false => [
                Ipv4Addr::new(10, 0, 0, 1).into(),
                Ipv4Addr::new(10, 0, 0, 2).into(),
            ],
            true => [Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        };
        let ends = [
            SocketAddr::new(client, self.port),
            SocketAddr::new(server, 40_000),
        ];
        let [source, destination] = if self.from_server {
            [ends[1], ends[0]]
        } else {
            ends
        };
        let beginning = |server: bool| if server { Seq(2_000) } else { Seq(1_000) };
        let next = u32::from(!self.flags.syn);
        let segment = Segment {
            source,
            destination,
            ecn: Ecn::Ect0,
            flags: self.flags,
            seq: beginning(self.from_server) + next,
            ack: if self.flags.ack {
                beginning(!self.from_server) + 1
            } else {
                Seq(0)
            },
            window: 500,
            options: self.options.clone(),
            payload: self.payload,
        };
        let mut packet = vec![0; 200];
        let length = segment.emit(&mut packet);
        packet.truncate(length);
        assert_eq!(Segment::parse(&packet), Ok(segment));
        packet
    }
}

/// The handshake of a connection and first data on it, without and with a checksum.
pub fn handshake(v6: bool) -> Vec<Form> {
    let capable = Capable {
        version: 1,
        checksum: true,
        // tshark 4.0 takes the flag C for one of an algorithm that it doesn't know.
        no_join: false,
        sha256: true,
        sender_key: None,
        receiver_key: None,
        data_length: None,
        data_checksum: None,
    };
    let synack = Capable {
        sender_key: Some(SERVER_KEY),
        ..capable
    };
    let ack = Capable {
        sender_key: Some(CLIENT_KEY),
        receiver_key: Some(SERVER_KEY),
        ..capable
    };
    let data = Capable {
        data_length: Some(4),
        ..ack
    };
    let data_with_checksum = Capable {
        data_checksum: Some(5),
        ..data
    };
    let form = |flags: Flags, capable, payload| Form {
        v6,
        port: 9_999,
        from_server: flags == SYN_ACK,
        flags,
        options: Options {
            mss: flags.syn.then_some(1_440),
            mptcp: [MptcpOption::Capable(capable)].into_iter().collect(),
            ..Options::default()
        },
        payload,
    };
    vec![
        form(SYN, capable, b""),
        form(SYN_ACK, synack, b""),
        form(ACK, ack, b""),
        form(ACK, data, b"data"),
        form(ACK, data_with_checksum, b"data"),
    ]
}

/// Every form of every option, over IPv4 and IPv6; but for the handshake's, each in a connection
/// of its own.
pub fn all() -> Vec<Form> {
    let mut forms = Vec::new();
    for v6 in [false, true] {
        let number = 10_000..;
        let single = tcp().into_iter().chain(mptcp()).zip(number).map(
            |((flags, options, payload), port)| {
                let mss = options.mss.or(flags.syn.then_some(1_440));
                let options = Options { mss, ..options };
                Form {
                    v6,
                    port,
                    from_server: flags == SYN_ACK,
                    flags,
                    options,
                    payload,
                }
            },
        );
        forms.extend(single);
        forms.extend(handshake(v6));
    }
    forms
}

type Parts = (Flags, Options, &'static [u8]);

fn tcp() -> Vec<Parts> {
    let none = Options::default();
    let timestamps = Some(Timestamps {
        value: 77,
        echo: 66,
    });
    let mut forms = vec![
        (
            SYN,
            Options {
                mss: Some(1_460),
                ..none.clone()
            },
        ),
        (
            SYN,
            Options {
                window_scale: Some(14),
                ..none.clone()
            },
        ),
        (
            SYN,
            Options {
                sack_permitted: true,
                ..none.clone()
            },
        ),
        (
            SYN,
            Options {
                sack_permitted: true,
                timestamps,
                ..none.clone()
            },
        ),
        (
            ACK,
            Options {
                timestamps,
                ..none.clone()
            },
        ),
    ];
    for blocks in 1..=4 {
        let sack = (0..blocks)
            .map(|n| (Seq(3_000 + 900 * n), Seq(3_500 + 900 * n)))
            .collect();
        forms.push((
            ACK,
            Options {
                sack,
                ..none.clone()
            },
        ));
    }
    forms
        .into_iter()
        .map(|(flags, options)| (flags, options, b"".as_slice()))
        .collect()
}

fn mptcp() -> Vec<Parts> {
    let mut forms: Vec<(Flags, MptcpOption, &[u8])> = Vec::new();

    let (backup, address_id, nonce) = (true, 3, 4);
    forms.push((
        SYN,
        MptcpOption::Join(Join::Syn {
            backup,
            address_id,
            token: 5,
            nonce,
        }),
        b"",
    ));
    let join = Join::SynAck {
        backup,
        address_id,
        hmac: 6,
        nonce,
    };
    forms.push((SYN_ACK, MptcpOption::Join(join), b""));
    forms.push((ACK, MptcpOption::Join(Join::Ack { hmac: [7; 20] }), b""));

    let numbers = [None, Some(Number::Narrow(8)), Some(Number::Wide(u64::MAX))];
    for data_ack in numbers {
        forms.push((
            ACK,
            MptcpOption::Dss(Dss {
                data_ack,
                ..Dss::default()
            }),
            b"",
        ));
        for dsn in numbers.into_iter().flatten() {
            for checksum in [None, Some(10)] {
                let mapping = Mapping {
                    dsn,
                    subflow_seq: 1,
                    length: 4,
                    checksum,
                };
                let data = Dss {
                    data_ack,
                    mapping: Some(mapping),
                    data_fin: false,
                    idle: false,
                };
                forms.push((ACK, MptcpOption::Dss(data), b"data"));
                let mapping = Mapping {
                    dsn,
                    subflow_seq: 0,
                    length: 1,
                    checksum,
                };
                let fin = Dss {
                    data_ack,
                    mapping: Some(mapping),
                    data_fin: true,
                    idle: false,
                };
                forms.push((ACK, MptcpOption::Dss(fin), b""));
            }
        }
    }

    for address in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ] {
        for port in [None, Some(443)] {
            for hmac in [None, Some(11)] {
                let add = AddAddr {
                    id: 12,
                    address,
                    port,
                    hmac,
                };
                forms.push((ACK, MptcpOption::AddAddr(add), b""));
            }
        }
    }
    for count in [1, 2, 8, 16] {
        forms.push((ACK, MptcpOption::RemoveAddr((1..=count).collect()), b""));
    }
    for backup in [false, true] {
        forms.push((ACK, MptcpOption::Prio { backup }, b""));
    }
    forms.push((ACK, MptcpOption::Fail { dsn: 13 }, b""));
    forms.push((ACK, MptcpOption::FastClose { key: 14 }, b""));
    let reset = Flags { rst: true, ..ACK };
    for transient in [false, true] {
        forms.push((
            reset,
            MptcpOption::Reset {
                transient,
                reason: 3,
            },
            b"",
        ));
    }

    forms.extend(extensions());

    let options = |option: MptcpOption| {
        let mptcp = [option].into_iter().collect();
        let mut options = Options {
            mptcp,
            ..Options::default()
        };
        // An ADD_ADDR of IPv6 with a port leaves no room for them, nor does a fast join beside the
        // MSS.
        if options.len() + 12 + 4 <= OPTION_SPACE {
            options.timestamps = Some(Timestamps {
                value: 77,
                echo: 66,
            });
        }
        options
    };
    forms
        .into_iter()
        .map(|(flags, option, data)| (flags, options(option), data))
        .collect()
}

/// Each form of each extension, under the experimental subtype and under subtypes of their own,
/// and the flag of a data sequence signal.
fn extensions() -> Vec<(Flags, MptcpOption, &'static [u8])> {
    let own = Subtypes::Own {
        offer: 9,
        rto: 10,
        fast_join_out: 11,
        fast_join_in: 14,
    };
    let mapping = Mapping {
        dsn: Number::Wide(9),
        subflow_seq: 1,
        length: 4,
        checksum: None,
    };
    let idle = Dss {
        data_fin: false,
        idle: true,
        data_ack: Some(Number::Wide(8)),
        mapping: Some(mapping),
    };
    let mut forms: Vec<(Flags, MptcpOption, &'static [u8])> =
        vec![(ACK, MptcpOption::Dss(idle), b"data")];
    for subtypes in [Subtypes::default(), own] {
        for (flags, extension, data) in each_extension() {
            let option = MptcpOption::Private(subtypes.write(&extension));
            forms.push((flags, option, data));
        }
    }
    forms
}

/// Each form of each extension, with the flags and data of its segment.
pub fn each_extension() -> Vec<(Flags, Extension, &'static [u8])> {
    let mut all: Vec<(Flags, Extension, &'static [u8])> = Vec::new();
    for answer in [false, true] {
        let features = Features(0x07);
        all.push((ACK, Extension::Offer { answer, features }, b""));
    }
    all.push((ACK, Extension::RtoRequest, b""));
    let rto = std::time::Duration::from_micros(0x0102_0304);
    all.push((ACK, Extension::RtoAnswer(rto), b""));
    for (form, data) in [
        (FastJoinForm::Out, b"data".as_slice()),
        (FastJoinForm::In, b""),
    ] {
        for checksum in [None, Some(10)] {
            let join = FastJoin::Syn {
                form,
                backup: checksum.is_some(),
                address_id: 3,
                token: 0x1112_1314,
                number: 0x2122_2324_2526_2728,
                hmac: 0x3132_3334_3536_3738,
                checksum,
            };
            all.push((SYN, Extension::FastJoin(join), data));
        }
        let answer = FastJoin::SynAck {
            form,
            backup: false,
            address_id: 4,
            hmac: 0x4142_4344_4546_4748,
        };
        all.push((SYN_ACK, Extension::FastJoin(answer), b""));
    }
    all
}
