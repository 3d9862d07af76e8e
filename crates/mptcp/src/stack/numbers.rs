//! Where do keys, ports and initial sequence numbers come from?

use crate::connection::Start;
use crate::subflow::Tuple;
use crate::wire::Seq;
use model::Time;
use rand::RngExt;
use rand_pcg::Pcg64;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};

/// The ports to choose from: Linux's net.ipv4.ip_local_port_range.
const PORTS: std::ops::Range<u16> = 32_768..61_000;

/// Makes initial sequence numbers (RFC 6528): a clock plus a secret function of the tuple.
#[derive(Debug)]
pub(super) struct Numbers {
    secret: [u8; 16],
}

impl Numbers {
    pub(super) fn new(random: &mut Pcg64) -> Numbers {
        Numbers {
            secret: random.random(),
        }
    }

    /// What a subflow with this tuple begins with now.
    pub(super) fn start(&self, now: Time, tuple: Tuple) -> Start {
        let mut hash = Sha256::new();
        hash.update(self.secret);
        for end in [tuple.local, tuple.remote] {
            match end.ip() {
                IpAddr::V4(ip) => hash.update(ip.octets()),
                IpAddr::V6(ip) => hash.update(ip.octets()),
            }
            hash.update(end.port().to_be_bytes());
        }
        let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(hash.finalize());
        // The clock of RFC 9293, section 3.4.1, ticks every 4 us.
        let clock = (now.as_micros() / 4) as u32;
        Start {
            initial: Seq(u32::from_be_bytes([a, b, c, d]).wrapping_add(clock)),
            timestamp_offset: u32::from_be_bytes([e, f, g, h]),
        }
    }

    /// A key: any number but 0, which Linux takes for none.
    pub(super) fn key(random: &mut Pcg64) -> u64 {
        random.random_range(1..=u64::MAX)
    }

    /// The tuple with a port that is not taken: the next free one after a random one. When all
    /// are taken, a random one.
    pub(super) fn free_port(
        random: &mut Pcg64,
        tuple: Tuple,
        taken: impl Fn(Tuple) -> bool,
    ) -> Tuple {
        let first = random.random_range(PORTS);
        let with = |port| Tuple {
            local: SocketAddr::new(tuple.local.ip(), port),
            remote: tuple.remote,
        };
        let mut ports = (first..PORTS.end).chain(PORTS.start..first).map(with);
        ports.find(|t| !taken(*t)).unwrap_or(with(first))
    }
}
