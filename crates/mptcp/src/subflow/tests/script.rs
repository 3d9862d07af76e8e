//! A connection whose peer is the test: each segment by hand.

use super::rig::{Reno, at, tuples};
use crate::subflow::{Config, Congestion, PlainTcp, Received, Subflow};
use crate::wire::{Ecn, Flags, Options, Segment, Seq, Timestamps};
use bytes::Bytes;
use model::Time;
use policy::SubflowId;
use std::time::Duration;

/// The initial sequence numbers of ours and of the peer: both wrap soon.
pub const OURS: u32 = u32::MAX - 3_000;
pub const PEERS: u32 = u32::MAX - 2_000;

/// What was sent, without what the tests don't look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Offsets, the first byte of data being 0.
    pub seq: i64,
    pub ack: i64,
    pub length: usize,
    pub flags: Flags,
    pub window: u16,
    pub options: Options,
    pub ecn: Ecn,
}

pub struct Script {
    pub tcp: Subflow,
    pub reno: Reno,
    pub now: Time,
    /// How many bytes of the peer's stream were taken: each once, in order.
    pub taken: u64,
}

/// A segment from the peer; offsets as in [`Sent`].
#[derive(Clone, Debug)]
pub struct Peer {
    pub seq: i64,
    pub ack: i64,
    pub flags: Flags,
    pub window: u16,
    pub data: Vec<u8>,
    pub options: Options,
    pub ecn: Ecn,
}

pub fn ack(ack: i64) -> Peer {
    Peer {
        seq: 0,
        ack,
        flags: Flags {
            ack: true,
            ..Flags::default()
        },
        window: u16::MAX,
        data: Vec::new(),
        options: Options::default(),
        ecn: Ecn::NotCapable,
    }
}

pub fn data(seq: i64, length: usize) -> Peer {
    Peer {
        seq,
        data: vec![7; length],
        ..ack(0)
    }
}

pub fn syn() -> Options {
    Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: None,
        ..Options::default()
    }
}

impl Peer {
    pub fn from(mut self, seq: i64) -> Peer {
        self.seq = seq;
        self
    }
    pub fn acking(mut self, ack: i64) -> Peer {
        self.ack = ack;
        self
    }
    pub fn window(mut self, window: u16) -> Peer {
        self.window = window;
        self
    }
    pub fn sack(mut self, start: i64, end: i64) -> Peer {
        self.options.sack.push((ours(start), ours(end)));
        self
    }
    pub fn stamped(mut self, value: u32, echo: u32) -> Peer {
        self.options.timestamps = Some(Timestamps { value, echo });
        self
    }
    pub fn rst(mut self) -> Peer {
        self.flags.rst = true;
        self
    }
    pub fn syn(mut self) -> Peer {
        self.flags.syn = true;
        self
    }
    pub fn fin(mut self) -> Peer {
        self.flags.fin = true;
        self
    }
    pub fn ece(mut self) -> Peer {
        self.flags.ece = true;
        self
    }
    pub fn cwr(mut self) -> Peer {
        self.flags.cwr = true;
        self
    }
    pub fn ecn(mut self, ecn: Ecn) -> Peer {
        self.ecn = ecn;
        self
    }
}

fn ours(offset: i64) -> Seq {
    Seq(OURS.wrapping_add(1).wrapping_add(offset as u32))
}

impl Script {
    /// A client that has sent its SYN at time zero.
    pub fn connecting(config: &Config) -> Script {
        let mut tcp = Subflow::connect(config, Time::ZERO, tuples()[0], Seq(OURS), 0);
        tcp.set_receive_window(1 << 20);
        let mut script = Script {
            tcp,
            reno: Reno::default(),
            now: Time::ZERO,
            taken: 0,
        };
        assert!(script.take().iter().all(|s| s.flags.syn));
        script
    }

    /// An established connection; the round trip measured is 20 ms, and the time is that.
    pub fn established(config: &Config) -> Script {
        let mut script = Script::connecting(config);
        script.now = at(20);
        let mut options = syn();
        if config.timestamps {
            options.timestamps = Some(Timestamps { value: 1, echo: 0 });
        }
        let answer = Peer {
            options,
            ..ack(0).from(-1).syn()
        };
        let answer = if config.ecn { answer.ece() } else { answer };
        assert!(script.give(answer).established);
        assert_eq!(script.take().len(), 1);
        script
    }

    /// The peer's segment arrives now.
    pub fn give(&mut self, peer: Peer) -> Received {
        let tuple = tuples()[0];
        let segment = Segment {
            source: tuple.remote,
            destination: tuple.local,
            ecn: peer.ecn,
            flags: peer.flags,
            seq: Seq(PEERS.wrapping_add(1).wrapping_add(peer.seq as u32)),
            ack: ours(peer.ack),
            window: peer.window,
            options: peer.options,
            payload: &peer.data,
        };
        let congestion = Congestion {
            controller: &mut self.reno,
            id: SubflowId::new(0),
        };
        let received = self.tcp.receive(self.now, &segment, congestion);
        if let Some(new) = received.in_order {
            assert_eq!(new.offset, self.taken, "in order");
            self.taken += new.length as u64;
        }
        if received.buffered {
            self.tcp.take_buffered(&mut |offset, bytes| {
                assert_eq!(offset, self.taken, "buffered in order");
                self.taken += bytes.len() as u64;
            });
        }
        received
    }

    /// What is sent now.
    pub fn take(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        let mut packet = [0; 2048];
        loop {
            let congestion = Congestion {
                controller: &mut self.reno,
                id: SubflowId::new(0),
            };
            let length = self
                .tcp
                .transmit(self.now, congestion, &mut PlainTcp, &mut packet);
            let Some(length) = length else {
                return sent;
            };
            let segment = Segment::parse(&packet[..length]).expect("well-formed");
            sent.push(Sent {
                seq: i64::from(segment.seq.since(ours(0)) as i32),
                ack: i64::from(segment.ack.since(Seq(PEERS + 1)) as i32),
                length: segment.payload.len(),
                flags: segment.flags,
                window: segment.window,
                options: segment.options,
                ecn: segment.ecn,
            });
        }
    }

    /// Gives and takes.
    pub fn answer(&mut self, peer: Peer) -> Vec<Sent> {
        self.give(peer);
        self.take()
    }

    /// Writes `segments` full ones; returns what is sent of them now.
    pub fn write(&mut self, segments: usize) -> Vec<Sent> {
        let size = self.tcp.segment_payload();
        for _ in 0..segments {
            self.tcp.enqueue(self.now, Bytes::from(vec![1; size]), None);
        }
        self.take()
    }

    pub fn poll(&mut self) -> Vec<Sent> {
        let congestion = Congestion {
            controller: &mut self.reno,
            id: SubflowId::new(0),
        };
        self.tcp.poll(self.now, congestion);
        self.take()
    }

    /// Lets time pass; returns what the timers send, and when.
    pub fn wait(&mut self, duration: Duration) -> Vec<(Duration, Sent)> {
        let (start, end) = (self.now, self.now + duration);
        let mut sent = Vec::new();
        while let Some(at) = self.tcp.poll_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let now = self.now;
            sent.extend(self.poll().into_iter().map(|s| (now - start, s)));
        }
        self.now = end;
        sent
    }
}

/// The sequence of offsets and lengths of what has data.
pub fn payloads(sent: &[Sent]) -> Vec<(i64, usize)> {
    sent.iter()
        .filter(|s| s.length > 0)
        .map(|s| (s.seq, s.length))
        .collect()
}

/// When something was sent, in milliseconds.
pub fn times(sent: &[(Duration, Sent)]) -> Vec<u128> {
    sent.iter().map(|(at, _)| at.as_millis()).collect()
}

/// A configuration without timestamps, so that a full segment has 1460 bytes.
pub fn plain() -> Config {
    Config {
        timestamps: false,
        ..Config::default()
    }
}
