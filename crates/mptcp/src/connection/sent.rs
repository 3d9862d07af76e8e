//! What was sent, waits for its Data ACK, and on which subflows is it?

use bytes::Bytes;
use model::Time;
use policy::{SubflowId, SubflowSet};
use std::collections::VecDeque;

/// Linux collects what is written in fragments of this size and sends one of them again when the
/// connection's retransmission timer fires (SKB_FRAG_PAGE_ORDER: 32 KiB).
const UNIT: u64 = 32_768;

/// A piece of data as it was given to subflows.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Where it begins in the stream.
    pub(super) offset: u64,
    /// The data.
    pub(super) data: Bytes,
    /// Whether the end of the stream was signalled with it.
    pub(super) fin: bool,
    /// The subflows it was given to and that exist.
    pub(super) carriers: SubflowSet,
    /// When it was first given to one.
    pub(super) first_sent: Time,
}

impl Sent {
    /// Where it ends.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.data.len() as u64
    }
}

/// All that was sent and is not acknowledged, in order and without gaps.
#[derive(Default, Debug)]
pub(super) struct Unacknowledged {
    pieces: VecDeque<Sent>,
    /// The first offset not acknowledged.
    first: u64,
    /// The first offset not sent.
    next: u64,
    /// Where what was written as a unit begins: see [`UNIT`].
    units: VecDeque<u64>,
    /// Pieces that no subflow carries.
    orphans: usize,
}

impl Unacknowledged {
    /// The first offset that is not acknowledged.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The first offset that was never sent.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes sent and not acknowledged.
    pub(super) fn bytes(&self) -> u64 {
        self.next - self.first
    }

    /// How many pieces no subflow carries.
    pub(super) fn orphans(&self) -> usize {
        self.orphans
    }

    /// The pieces.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The `index`th piece.
    pub(super) fn get(&self, index: usize) -> Option<&Sent> {
        self.pieces.get(index)
    }

    /// The first piece that ends after `offset`.
    pub(super) fn index_of(&self, offset: u64) -> usize {
        match self.pieces.front() {
            Some(first) if first.end() > offset => 0,
            _ => self.pieces.partition_point(|p| p.end() <= offset),
        }
    }

    /// Something was written at `offset` while `unsent` bytes waited before it.
    pub(super) fn written(&mut self, offset: u64, unsent: u64) {
        let begins = match self.units.back() {
            Some(&unit) => unsent == 0 || offset >= unit + UNIT,
            None => true,
        };
        if begins {
            self.units.push_back(offset);
        }
    }

    /// Data that is sent for the first time.
    pub(super) fn push(&mut self, data: Bytes, fin: bool, carriers: SubflowSet, now: Time) {
        let offset = self.next;
        self.next += data.len() as u64;
        self.pieces.push_back(Sent {
            offset,
            data,
            fin,
            carriers,
            first_sent: now,
        });
    }

    /// Notes `bytes` that plain TCP keeps itself.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.next += bytes;
    }

    /// All before `offset` is acknowledged.
    pub(super) fn acknowledge(&mut self, offset: u64) {
        let offset = offset.min(self.next);
        if offset <= self.first {
            return;
        }
        self.first = offset;
        while let Some(piece) = self.pieces.front_mut() {
            if piece.end() > offset {
                if piece.offset < offset {
                    let cut = (offset - piece.offset) as usize;
                    piece.data = piece.data.slice(cut..);
                    piece.offset = offset;
                }
                break;
            }
            if piece.carriers.is_empty() {
                self.orphans -= 1;
            }
            self.pieces.pop_front();
        }
        while self.units.len() > 1 && self.units[1] <= offset {
            self.units.pop_front();
        }
    }

    /// The `index`th piece is carried by `subflows` as well.
    pub(super) fn add_carriers(&mut self, index: usize, subflows: SubflowSet) {
        if let Some(piece) = self.pieces.get_mut(index)
            && !subflows.is_empty()
        {
            if piece.carriers.is_empty() {
                self.orphans -= 1;
            }
            subflows.iter().for_each(|id| piece.carriers.insert(id));
        }
    }

    /// `subflow` is gone.
    pub(super) fn remove_carrier(&mut self, subflow: SubflowId) {
        for piece in &mut self.pieces {
            if piece.carriers.contains(subflow) {
                piece.carriers.remove(subflow);
                if piece.carriers.is_empty() {
                    self.orphans += 1;
                }
            }
        }
    }

    /// How many pieces from the first on are retransmitted together: those of the same unit
    /// with the same carriers.
    pub(super) fn first_unit(&self) -> usize {
        let Some(first) = self.pieces.front() else {
            return 0;
        };
        let begun = self.units.iter().take_while(|u| **u <= first.offset).last();
        let begun = begun.copied().unwrap_or(first.offset);
        let end = begun + ((first.offset - begun) / UNIT + 1) * UNIT;
        let next = self.units.iter().find(|u| **u > first.offset);
        let end = next.map_or(end, |u| end.min(*u));
        let same = |p: &&Sent| p.offset < end && p.carriers == first.carriers;
        self.pieces.iter().take_while(same).count()
    }

    /// Forgets everything: nothing is sent again.
    pub(super) fn clear(&mut self) {
        self.pieces = VecDeque::new();
        self.units = VecDeque::new();
        self.orphans = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(index: usize) -> SubflowSet {
        SubflowSet::only(SubflowId::new(index))
    }

    fn sent() -> Unacknowledged {
        let mut sent = Unacknowledged::default();
        sent.written(0, 0);
        for (i, letter) in [b"aaaa", b"bbbb", b"cccc"].into_iter().enumerate() {
            let data = Bytes::from_static(letter);
            sent.push(data, false, set(i.min(1)), Time::ZERO);
        }
        sent
    }

    #[test]
    fn a_data_ack_may_cover_half_a_piece() {
        let mut sent = sent();
        sent.acknowledge(6);
        assert_eq!((sent.first(), sent.next(), sent.bytes()), (6, 12, 6));
        assert_eq!(sent.get(0).map(|p| (p.offset, p.data.len())), Some((6, 2)));
        assert_eq!(sent.index_of(8), 1);
        sent.acknowledge(100);
        assert_eq!((sent.first(), sent.len()), (12, 0));
    }

    #[test]
    fn pieces_without_a_carrier_are_counted() {
        let mut sent = sent();
        sent.remove_carrier(SubflowId::new(1));
        assert_eq!(sent.orphans(), 2);
        sent.add_carriers(1, set(0));
        assert_eq!(sent.orphans(), 1);
        sent.acknowledge(12);
        assert_eq!(sent.orphans(), 0);
    }

    #[test]
    fn what_was_written_apart_is_retransmitted_apart() {
        let mut sent = sent();
        assert_eq!(sent.first_unit(), 1, "the second has another carrier");
        sent.acknowledge(4);
        assert_eq!(sent.first_unit(), 2);
        sent.written(12, 0);
        sent.push(Bytes::from_static(b"dd"), false, set(1), Time::ZERO);
        assert_eq!(sent.first_unit(), 2, "a later message");
    }
}
