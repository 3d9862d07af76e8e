//! Where does data wait that arrived behind a gap?
//!
//! In one ring of bytes per connection, as long as what waits reaches beyond the next byte in
//! order, and in a sorted list of the ranges that are filled: nothing is allocated per segment,
//! and neighbours merge.

use std::collections::VecDeque;

/// More gaps than this are not kept: what would open another is dropped, as if lost. A window
/// of 6 MiB of which every other full segment is missing has about half as many.
const MAX_RANGES: usize = 4096;

/// The smallest ring.
const SMALLEST: usize = 16 * 1024;

/// Data behind a gap.
#[derive(Debug, Default)]
pub(super) struct OutOfOrder {
    /// Filled ranges by offset, not touching each other.
    ranges: VecDeque<(u64, u64)>,
    /// The byte with offset `o` is at `o & (ring.len() - 1)`; its length is a power of two.
    ring: Box<[u8]>,
}

/// What became of data that was inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inserted {
    /// It is now part of this range.
    New {
        /// The range that it is part of now.
        range: (u64, u64),
        /// The part of it that was there before, if any: the first.
        duplicate: Option<(u64, u64)>,
    },
    /// All of it was there, in this range.
    Duplicate((u64, u64)),
    /// There are too many gaps to keep it.
    Dropped,
}

impl OutOfOrder {
    /// Whether anything waits beyond `offset`.
    pub(super) fn reaches_beyond(&self, offset: u64) -> bool {
        self.ranges.back().is_some_and(|range| range.1 > offset)
    }

    /// The first range.
    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }

    /// Inserts `data` at `offset`, at most a window beyond `floor`, the first offset that is
    /// still of interest.
    pub(super) fn insert(&mut self, floor: u64, offset: u64, data: &[u8]) -> Inserted {
        let end = offset + data.len() as u64;
        // The first range that touches or follows: mostly the last one or none.
        let first = match self.ranges.back() {
            Some(last) if last.1 < offset => self.ranges.len(),
            Some(last) if last.0 <= offset => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|range| range.1 < offset),
        };
        let touching = self.ranges.range(first..).take_while(|r| r.0 <= end);
        let (mut low, mut high, mut count, mut duplicate) = (offset, end, 0, None);
        for &(start, stop) in touching {
            if start <= offset && end <= stop {
                return Inserted::Duplicate((start, stop));
            }
            let shared = (start.max(offset), stop.min(end));
            if shared.0 < shared.1 && duplicate.is_none() {
                duplicate = Some(shared);
            }
            low = low.min(start);
            high = high.max(stop);
            count += 1;
        }
        if count == 0 && self.ranges.len() >= MAX_RANGES {
            return Inserted::Dropped;
        }
        self.make_room((high - floor) as usize);
        self.write(offset, data);
        let range = (low, high);
        if count == 0 {
            self.ranges.insert(first, range);
        } else {
            self.ranges[first] = range;
            self.ranges.drain(first + 1..first + count);
        }
        Inserted::New { range, duplicate }
    }

    /// Takes everything before `end`, in order, with its offset.
    pub(super) fn take_until(&mut self, end: u64, take: &mut dyn FnMut(u64, &[u8])) {
        while let Some((start, stop)) = self.ranges.front_mut() {
            if *start >= end {
                break;
            }
            let (from, to) = (*start, (*stop).min(end));
            if to == *stop {
                self.ranges.pop_front();
            } else {
                *start = to;
            }
            let mask = self.ring.len() - 1;
            let (at, length) = (from as usize & mask, (to - from) as usize);
            let head = length.min(self.ring.len() - at);
            take(from, &self.ring[at..at + head]);
            if head < length {
                take(from + head as u64, &self.ring[..length - head]);
            }
        }
    }

    /// Forgets everything before `end`: it came again in order.
    pub(super) fn forget_until(&mut self, end: u64) {
        while let Some(range) = self.ranges.front_mut() {
            if range.1 > end {
                range.0 = range.0.max(end);
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// Forgets everything from `start` on: it is no part of the stream.
    pub(super) fn forget_from(&mut self, start: u64) {
        while let Some(range) = self.ranges.back_mut() {
            if range.0 < start {
                range.1 = range.1.min(start);
                break;
            }
            self.ranges.pop_back();
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        let at = offset as usize & (self.ring.len() - 1);
        let head = data.len().min(self.ring.len() - at);
        self.ring[at..at + head].copy_from_slice(&data[..head]);
        self.ring[..data.len() - head].copy_from_slice(&data[head..]);
    }

    fn make_room(&mut self, span: usize) {
        if span <= self.ring.len() {
            return;
        }
        let larger = vec![0; span.next_power_of_two().max(SMALLEST)].into_boxed_slice();
        let ranges = std::mem::take(&mut self.ranges);
        let mut old = OutOfOrder {
            ranges: ranges.clone(),
            ring: std::mem::replace(&mut self.ring, larger),
        };
        old.take_until(u64::MAX, &mut |offset, data| self.write(offset, data));
        self.ranges = ranges;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_merge_and_what_came_twice_is_told() {
        let mut store = OutOfOrder::default();
        assert_eq!(
            store.insert(0, 10, &[1; 10]),
            Inserted::New {
                range: (10, 20),
                duplicate: None
            }
        );
        assert_eq!(
            store.insert(0, 30, &[3; 10]),
            Inserted::New {
                range: (30, 40),
                duplicate: None
            }
        );
        assert_eq!(store.insert(0, 12, &[1; 5]), Inserted::Duplicate((10, 20)));
        assert_eq!(
            store.insert(0, 15, &[2; 20]),
            Inserted::New {
                range: (10, 40),
                duplicate: Some((15, 20))
            }
        );
        let mut taken = Vec::new();
        store.take_until(35, &mut |offset, data| taken.push((offset, data.len())));
        assert_eq!(taken, [(10, 25)]);
        assert_eq!(store.first(), Some((35, 40)));
    }

    #[test]
    fn what_is_no_part_of_the_stream_is_forgotten() {
        let mut store = OutOfOrder::default();
        for start in [10, 30, 50] {
            store.insert(0, start, &[1; 10]);
        }
        store.forget_from(60);
        assert!(store.reaches_beyond(59));
        store.forget_from(35);
        assert!(store.reaches_beyond(34) && !store.reaches_beyond(35));
        store.forget_from(30);
        assert!(store.reaches_beyond(19) && !store.reaches_beyond(20));
        store.forget_from(0);
        assert_eq!(store.first(), None);
    }

    #[test]
    fn gaps_are_bounded() {
        let mut store = OutOfOrder::default();
        for i in 0..2 * MAX_RANGES as u64 {
            store.insert(0, 1 + 2 * i, &[0]);
        }
        assert_eq!(store.ranges.len(), MAX_RANGES);
        assert_eq!(store.insert(0, 100_000, &[0]), Inserted::Dropped);
        // What merges is still taken.
        assert!(matches!(store.insert(0, 2, &[0]), Inserted::New { .. }));
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in(
            inserts in prop::collection::vec((1_u64..60_000, 1_usize..3_000), 1..60),
        ) {
            let byte = |offset: u64| (offset % 251) as u8;
            let mut store = OutOfOrder::default();
            let mut expected = vec![false; 70_000];
            for (offset, length) in inserts {
                let data: Vec<u8> = (offset..offset + length as u64).map(byte).collect();
                store.insert(0, offset, &data);
                expected[offset as usize..offset as usize + length].fill(true);
            }
            let mut seen = vec![false; 70_000];
            store.take_until(u64::MAX, &mut |offset, data| {
                for (i, got) in data.iter().enumerate() {
                    assert_eq!(*got, byte(offset + i as u64));
                    seen[offset as usize + i] = true;
                }
            });
            prop_assert_eq!(seen, expected);
        }
    }
}
