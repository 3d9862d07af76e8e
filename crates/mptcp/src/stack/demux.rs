//! Which connection and subflow is a segment for?

use crate::subflow::Tuple;
use policy::SubflowId;
use rand::RngExt;
use rand_pcg::Pcg64;
use std::net::{IpAddr, SocketAddr};

/// So many tuples are compared sooner than one is hashed.
const FEW: usize = 4;

/// Where segments of a tuple go.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    tuple: Tuple,
    slot: usize,
    subflow: SubflowId,
}

/// All tuples of a host, by a hash that its peers don't know.
#[derive(Debug)]
pub(super) struct Demux {
    secret: u64,
    /// By their hashes.
    entries: Vec<Entry>,
}

impl Demux {
    pub(super) fn new(random: &mut Pcg64) -> Demux {
        Demux {
            secret: random.random::<u64>() | 1,
            entries: Vec::new(),
        }
    }

    fn hash(&self, tuple: Tuple) -> u64 {
        let mut hash = self.secret;
        let mut mix = |word: u64| {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        };
        let mut address = |socket: SocketAddr| {
            match socket.ip() {
                IpAddr::V4(ip) => mix(u64::from(ip.to_bits())),
                IpAddr::V6(ip) => {
                    mix((ip.to_bits() >> 64) as u64);
                    mix(ip.to_bits() as u64);
                }
            }
            mix(u64::from(socket.port()));
        };
        address(tuple.local);
        address(tuple.remote);
        hash
    }

    fn position(&self, tuple: Tuple) -> Result<usize, usize> {
        let hash = self.hash(tuple);
        let mut at = self.entries.partition_point(|e| e.hash < hash);
        while let Some(entry) = self.entries.get(at)
            && entry.hash == hash
        {
            if entry.tuple == tuple {
                return Ok(at);
            }
            at += 1;
        }
        Err(at)
    }

    /// Whose segments with this tuple are.
    pub(super) fn find(&self, tuple: Tuple) -> Option<(usize, SubflowId)> {
        let entry = match self.entries.len() <= FEW {
            true => self.entries.iter().find(|e| e.tuple == tuple)?,
            false => &self.entries[self.position(tuple).ok()?],
        };
        Some((entry.slot, entry.subflow))
    }

    /// Segments with this tuple are for this subflow.
    pub(super) fn insert(&mut self, tuple: Tuple, slot: usize, subflow: SubflowId) {
        let entry = Entry {
            hash: self.hash(tuple),
            tuple,
            slot,
            subflow,
        };
        match self.position(tuple) {
            Ok(at) => self.entries[at] = entry,
            Err(at) => self.entries.insert(at, entry),
        }
    }

    /// The tuple is free.
    pub(super) fn remove(&mut self, tuple: Tuple) {
        if let Ok(at) = self.position(tuple) {
            self.entries.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;

    #[test]
    fn tuples_are_found_until_they_are_removed() {
        let mut demux = Demux::new(&mut Seed(1).stream("demux"));
        let tuple = |port| Tuple {
            local: SocketAddr::from(([10, 0, 0, 1], 80)),
            remote: SocketAddr::from(([10, 0, 0, 2], port)),
        };
        for port in 0..500 {
            demux.insert(tuple(port), usize::from(port), SubflowId::new(0));
        }
        demux.remove(tuple(77));
        for port in 0..500 {
            let found = demux.find(tuple(port)).map(|f| f.0);
            assert_eq!(found, (port != 77).then_some(usize::from(port)));
        }
    }
}
