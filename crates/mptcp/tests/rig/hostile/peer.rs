//! A peer that says whatever it likes: how does it make a connection, and send on it?

use std::net::SocketAddr;

use walkabout_mptcp::stack::ConnectionId;
use walkabout_mptcp::wire::mptcp::{Capable, Dss, Join, Mapping, Number};
use walkabout_mptcp::wire::{Flags, MptcpOption, Options, Segment, Seq, key};

use crate::network::log::Entry;
use crate::pair::{PORT, Pair, SERVER};

/// One TCP connection of the peer to the server; what the server answers has no route and is only
/// in the packet log.
pub struct Peer {
    /// Its own address.
    pub local: SocketAddr,
    /// The server's.
    pub remote: SocketAddr,
    /// Its key.
    pub key: u64,
    /// The server's key.
    pub server_key: u64,
    /// The initial sequence number.
    pub initial: Seq,
    /// The next sequence number.
    pub seq: Seq,
    /// The next sequence number of the server.
    pub ack: Seq,
}

/// The flag ACK alone.
pub const ACK: Flags = Flags {
    fin: false,
    syn: false,
    rst: false,
    psh: false,
    ack: true,
    urg: false,
    ece: false,
    cwr: false,
};
/// The flag SYN alone.
pub const SYN: Flags = Flags {
    syn: true,
    ack: false,
    ..ACK
};

/// These options of Multipath TCP and no others.
pub fn only(options: &[MptcpOption]) -> Options {
    Options {
        mptcp: options.iter().cloned().collect(),
        ..Options::default()
    }
}

/// MP_CAPABLE of version 1 with these keys.
pub fn capable(sender_key: Option<u64>, receiver_key: Option<u64>) -> MptcpOption {
    MptcpOption::Capable(Capable {
        version: 1,
        checksum: false,
        no_join: false,
        sha256: true,
        sender_key,
        receiver_key,
        data_length: None,
        data_checksum: None,
    })
}

impl Peer {
    /// A peer at a port, that has sent nothing.
    pub fn new(pair: &Pair, port: u16) -> Peer {
        let initial = Seq(0xffff_f000) + u32::from(port);
        Peer {
            local: SocketAddr::from(([10, 66, (port >> 8) as u8, 1], port)),
            remote: SocketAddr::new(pair.server_address(0), PORT),
            key: 0x1234_5678_9abc_0000 + u64::from(port),
            server_key: 0,
            initial,
            seq: initial,
            ack: Seq(0),
        }
    }

    /// A segment with its next numbers.
    pub fn segment(&self) -> Segment<'static> {
        Segment {
            source: self.local,
            destination: self.remote,
            ecn: Default::default(),
            flags: ACK,
            seq: self.seq,
            ack: self.ack,
            window: 0xffff,
            options: Options::default(),
            payload: &[],
        }
    }

    /// Sends a segment; its own next sequence number moves behind it if it was the next.
    pub fn send(&mut self, pair: &mut Pair, segment: &Segment<'_>) {
        let mut packet = [0; 2048];
        let length = segment.emit(&mut packet);
        pair.network.inject(SERVER, &packet[..length]);
        if segment.seq == self.seq {
            self.seq += segment.sequence_length();
        }
    }

    /// The server's last answer.
    pub fn answer<'a>(&self, pair: &'a Pair) -> Option<Segment<'a>> {
        let log = pair.network.log.as_ref().expect("logged");
        let to_it = |entry: &&Entry| {
            let segment = entry.segment();
            entry.host == SERVER && segment.destination == self.local
        };
        log.entries.iter().rev().find(to_it).map(Entry::segment)
    }

    /// Sends a SYN with these options and takes the SYN/ACK's numbers.
    pub fn syn(&mut self, pair: &mut Pair, options: &[MptcpOption]) {
        let segment = Segment {
            flags: SYN,
            ack: Seq(0),
            options: only(options),
            ..self.segment()
        };
        self.send(pair, &segment);
        if let Some(answer) = self.answer(pair) {
            self.ack = answer.seq + 1;
        }
    }

    /// Connects with Multipath TCP.
    pub fn connect(pair: &mut Pair, port: u16) -> (Peer, ConnectionId) {
        let mut peer = Peer::new(pair, port);
        peer.syn(pair, &[capable(None, None)]);
        let answer = peer.answer(pair).expect("an answer to the SYN");
        let key = answer.options.mptcp.iter().find_map(|option| match option {
            MptcpOption::Capable(capable) => capable.sender_key,
            _ => None,
        });
        peer.server_key = key.expect("the server's key");
        let third = Segment {
            options: only(&[capable(Some(peer.key), Some(peer.server_key))]),
            ..peer.segment()
        };
        peer.send(pair, &third);
        // Data with a DSS makes it fully established.
        let first = peer.mapped(0, 1, b"first");
        peer.send(pair, &first);
        let connection = pair.stack(SERVER).accept();
        (peer, connection.expect("the server has a connection"))
    }

    /// A further subflow; the server's nonce is in its answer.
    pub fn join(&self, pair: &mut Pair, port: u16) -> Peer {
        let mut peer = Peer::new(pair, port);
        (peer.key, peer.server_key) = (self.key, self.server_key);
        let nonce = u32::from(port);
        peer.syn(pair, &[self.join_syn(nonce)]);
        let answer = peer.answer(pair).expect("an answer to the join");
        let server_nonce = answer.options.mptcp.iter().find_map(|option| match option {
            MptcpOption::Join(Join::SynAck { nonce, .. }) => Some(*nonce),
            _ => None,
        });
        let server_nonce = server_nonce.expect("the server's nonce");
        let hmac = key::join_hmac(self.key, self.server_key, nonce, server_nonce);
        let third = Segment {
            options: only(&[join_ack(&hmac)]),
            ..peer.segment()
        };
        peer.send(pair, &third);
        peer
    }

    /// The option of a join's SYN.
    pub fn join_syn(&self, nonce: u32) -> MptcpOption {
        MptcpOption::Join(Join::Syn {
            backup: false,
            address_id: 1,
            token: key::token(self.server_key),
            nonce,
        })
    }

    /// The data sequence number of its stream's byte at `offset`.
    pub fn dsn(&self, offset: u64) -> u64 {
        key::initial_dsn(self.key)
            .wrapping_add(1)
            .wrapping_add(offset)
    }

    /// A mapping of `length` bytes from `offset` of its stream on, for the subflow's byte
    /// `subflow_seq`, the first being 1.
    pub fn mapping(&self, offset: u64, subflow_seq: u32, length: u16) -> MptcpOption {
        MptcpOption::Dss(Dss {
            data_fin: false,
            idle: false,
            data_ack: Some(Number::Wide(
                key::initial_dsn(self.server_key).wrapping_add(1),
            )),
            mapping: Some(Mapping {
                dsn: Number::Wide(self.dsn(offset)),
                subflow_seq,
                length,
                checksum: None,
            }),
        })
    }

    /// A segment with data that is mapped to `offset`.
    pub fn mapped<'a>(&self, offset: u64, subflow_seq: u32, payload: &'a [u8]) -> Segment<'a> {
        Segment {
            options: only(&[self.mapping(offset, subflow_seq, payload.len() as u16)]),
            payload,
            ..self.segment()
        }
    }

    /// Sends data that is next in its subflow, mapped to `offset`.
    pub fn data(&mut self, pair: &mut Pair, offset: u64, payload: &[u8]) {
        let subflow_seq = self.seq.since(self.initial);
        let segment = self.mapped(offset, subflow_seq, payload);
        self.send(pair, &segment);
    }

    /// Sends an acknowledgement with these options.
    pub fn say(&mut self, pair: &mut Pair, options: &[MptcpOption]) {
        let segment = Segment {
            options: only(options),
            ..self.segment()
        };
        self.send(pair, &segment);
    }
}

/// The option of a join's third segment.
pub fn join_ack(hmac: &[u8; 32]) -> MptcpOption {
    let mut short = [0; 20];
    short.copy_from_slice(&hmac[..20]);
    MptcpOption::Join(Join::Ack { hmac: short })
}

/// What the server's application can read of a connection.
pub fn read(pair: &mut Pair, connection: ConnectionId) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 20];
    let now = pair.network.now;
    let read = pair.stack(SERVER).read(now, connection, &mut buffer);
    pair.network.settle(SERVER);
    buffer.truncate(read);
    buffer
}
