//! Does the Linux kernel write the same bytes, and derive the same numbers from its keys?
//!
//! `linux/*.pcap` are connections between two Linux 6.18 kernels over two paths: bulk both ways,
//! a backup subflow and its MP_PRIO, ADD_ADDR (in `v4-checksum` with a port) and its echo,
//! REMOVE_ADDR, and at the end DATA_FIN or MP_FASTCLOSE. The client has 10.0.x.1 and fd0x::1.

use super::capture;
use crate::wire::key::{self, DssChecksum};
use crate::wire::mptcp::*;
use crate::wire::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

const CAPTURES: [(&str, &[u8]); 5] = [
    ("v4", include_bytes!("linux/v4.pcap")),
    ("v4-checksum", include_bytes!("linux/v4-checksum.pcap")),
    ("v4-first-data", include_bytes!("linux/v4-first-data.pcap")),
    ("v6", include_bytes!("linux/v6.pcap")),
    (
        "v6-first-data-checksum",
        include_bytes!("linux/v6-first-data-checksum.pcap"),
    ),
];

#[test]
fn what_the_kernel_wrote_is_written_the_same() {
    for (name, bytes) in CAPTURES {
        for (number, packet) in capture::read(bytes).into_iter().enumerate() {
            let segment = Segment::parse(packet).unwrap_or_else(|e| panic!("{name} {number}: {e}"));
            let mut emitted = vec![0; packet.len()];
            assert_eq!(
                segment.emit(&mut emitted),
                packet.len(),
                "{name} {number}: {segment:?}"
            );
            let mut packet = packet.to_vec();
            for packet in [&mut packet, &mut emitted] {
                // What says nothing to the other end differs: IPv4's identification (and with it
                // the checksum, which has been checked), IPv6's flow label.
                let ignored: &[usize] = if packet[0] >> 4 == 4 {
                    &[4, 5, 10, 11]
                } else {
                    &[2, 3]
                };
                for &at in ignored {
                    packet[at] = 0;
                }
                if packet[0] >> 4 == 6 {
                    packet[1] &= 0xf0;
                }
            }
            assert_eq!(emitted, packet, "{name} {number}: {segment:?}");
        }
    }
}

/// What was compared, and how often.
type Compared = BTreeMap<&'static str, u32>;

/// What is known of a connection while its capture is read.
struct Connection {
    client_key: u64,
    server_key: u64,
    /// Nonces of the joins, by the one who sent them and to whom.
    nonces: BTreeMap<(SocketAddr, SocketAddr), u32>,
    /// Mappings of which not all data was seen: their sums and how much is missing.
    mappings: BTreeMap<(SocketAddr, u32), (DssChecksum, usize)>,
    /// Whether data of the client's (`true`) or the server's was seen.
    seen_data: BTreeMap<bool, ()>,
    compared: Compared,
}

impl Connection {
    fn new(segments: &[Segment<'_>]) -> Connection {
        let keys = segments
            .iter()
            .find_map(|segment| match segment.options.mptcp.first() {
                Some(MptcpOption::Capable(capable)) => {
                    Some((capable.sender_key?, capable.receiver_key?))
                }
                _ => None,
            });
        let (client_key, server_key) = keys.expect("a third ACK");
        Connection {
            client_key,
            server_key,
            nonces: BTreeMap::new(),
            mappings: BTreeMap::new(),
            seen_data: BTreeMap::new(),
            compared: Compared::new(),
        }
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &'static str, captured: T, own: T) {
        assert_eq!(captured, own, "{what}");
        *self.compared.entry(what).or_default() += 1;
    }

    fn segment(&mut self, segment: &Segment<'_>) {
        let (from, to) = (segment.source, segment.destination);
        let by_client = match from.ip() {
            IpAddr::V4(address) => address.octets()[3] == 1,
            IpAddr::V6(address) => address.octets()[15] == 1,
        };
        let (own, peer) = match by_client {
            true => (self.client_key, self.server_key),
            false => (self.server_key, self.client_key),
        };
        for option in &segment.options.mptcp {
            match *option {
                MptcpOption::Join(Join::Syn { token, nonce, .. }) => {
                    self.nonces.insert((from, to), nonce);
                    self.same("token", token, key::token(peer));
                }
                MptcpOption::Join(Join::SynAck { hmac, nonce, .. }) => {
                    self.nonces.insert((from, to), nonce);
                    let full = key::join_hmac(own, peer, nonce, self.nonces[&(to, from)]);
                    self.same(
                        "hmac of a SYN/ACK",
                        hmac.to_be_bytes().as_slice(),
                        &full[..8],
                    );
                }
                MptcpOption::Join(Join::Ack { hmac }) => {
                    let (nonce, theirs) = (self.nonces[&(from, to)], self.nonces[&(to, from)]);
                    let full = key::join_hmac(own, peer, nonce, theirs);
                    self.same("hmac of an ACK", hmac.as_slice(), &full[..20]);
                }
                MptcpOption::AddAddr(AddAddr {
                    id,
                    address,
                    port,
                    hmac: Some(hmac),
                }) => {
                    let what = if port.is_some() {
                        "hmac of a port"
                    } else {
                        "hmac of an address"
                    };
                    let full = key::add_addr_hmac(own, peer, id, address, port.unwrap_or(0));
                    self.same(what, hmac, full);
                }
                MptcpOption::FastClose { key } => self.same("key of a fast close", key, peer),
                MptcpOption::Capable(Capable {
                    data_length: Some(length),
                    data_checksum,
                    ..
                }) => {
                    let dsn = Number::Wide(key::initial_dsn(own).wrapping_add(1));
                    let mapping = Mapping {
                        dsn,
                        subflow_seq: 1,
                        length,
                        checksum: data_checksum,
                    };
                    self.mapping(segment, by_client, own, mapping, false);
                }
                MptcpOption::Dss(Dss {
                    mapping: Some(mapping),
                    data_fin,
                    ..
                }) => {
                    self.mapping(segment, by_client, own, mapping, data_fin);
                }
                _ => {}
            }
        }
    }

    fn mapping(
        &mut self,
        segment: &Segment<'_>,
        by_client: bool,
        own: u64,
        mapping: Mapping,
        data_fin: bool,
    ) {
        let Number::Wide(dsn) = mapping.dsn else {
            panic!("Linux sends all 64 bits")
        };
        if self.seen_data.insert(by_client, ()).is_none() {
            self.same(
                "first data sequence number",
                dsn,
                key::initial_dsn(own).wrapping_add(1),
            );
        }
        let Some(checksum) = mapping.checksum else {
            return;
        };
        let expected = usize::from(mapping.length) - usize::from(data_fin);
        let at = (segment.source, mapping.subflow_seq);
        let (mut sum, mut missing) = self
            .mappings
            .remove(&at)
            .unwrap_or((DssChecksum::default(), expected));
        sum.add(segment.payload);
        missing -= segment.payload.len();
        if missing > 0 {
            self.mappings.insert(at, (sum, missing));
        } else {
            let rest = sum.finish(dsn, mapping.subflow_seq, mapping.length, checksum);
            self.same("checksum of a mapping", 0, rest);
            let own = sum.finish(dsn, mapping.subflow_seq, mapping.length, 0);
            self.same("checksum of a mapping", checksum, own);
        }
    }
}

#[test]
fn what_the_kernel_derived_from_its_keys_is_derived_here() {
    let mut compared = Compared::new();
    for (_, bytes) in CAPTURES {
        let segments: Vec<_> = capture::read(bytes)
            .into_iter()
            .flat_map(Segment::parse)
            .collect();
        let mut connection = Connection::new(&segments);
        for segment in &segments {
            connection.segment(segment);
        }
        assert!(
            connection.mappings.is_empty(),
            "mappings without all of their data"
        );
        for (what, count) in connection.compared {
            *compared.entry(what).or_default() += count;
        }
    }
    insta::assert_debug_snapshot!(compared, @r#"
    {
        "checksum of a mapping": 26,
        "first data sequence number": 10,
        "hmac of a SYN/ACK": 4,
        "hmac of a port": 1,
        "hmac of an ACK": 4,
        "hmac of an address": 2,
        "key of a fast close": 3,
        "token": 6,
    }
    "#);
}
