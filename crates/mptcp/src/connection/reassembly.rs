//! How does data that several subflows bring become one stream again?
//!
//! One ring of bytes holds all that arrived and was not read: each byte is copied into its place
//! when it arrives, and out of it when it is read. Its size follows what waits, not what might.

use std::collections::VecDeque;

/// Ranges behind gaps that are kept at most; what would need more is dropped, as if lost. A
/// window of 6 MiB over two paths in turn needs about 2,200.
const MAX_RANGES: usize = 4096;
/// The smallest ring, bytes.
const MIN_RING: usize = 4096;

/// The stream as it arrives. Positions are offsets in the stream.
#[derive(Default, Debug)]
pub(super) struct Reassembly {
    /// Byte `p` is at `p - base` modulo the length, which is a power of two or 0.
    ring: Vec<u8>,
    /// Where the ring began anew: whenever it is empty it does, so that a stream that is read as it
    /// arrives stays in the same few kilobytes, however much waited once.
    base: u64,
    /// Up to here it was read.
    read: u64,
    /// Up to here nothing is missing.
    next: u64,
    /// What arrived beyond `next`: apart from each other, in order.
    ranges: VecDeque<(u64, u64)>,
    /// Bytes that had arrived before.
    duplicates: u64,
}

impl Reassembly {
    /// Up to here it was read.
    pub(super) fn read_offset(&self) -> u64 {
        self.read
    }

    /// Up to here nothing is missing.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes that can be read.
    pub(super) fn readable(&self) -> u64 {
        self.next - self.read
    }

    /// Whether nothing waits behind a gap.
    pub(super) fn is_contiguous(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Where what arrived ends.
    pub(super) fn end(&self) -> u64 {
        self.ranges.back().map_or(self.next, |last| last.1)
    }

    /// Bytes that arrived more than once.
    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Counts bytes that came again.
    pub(super) fn count_duplicates(&mut self, bytes: u64) {
        self.duplicates += bytes;
    }

    /// Takes `bytes` at `at`; false when there were too many gaps to keep them. The caller bounds
    /// how far beyond what was read they reach.
    pub(super) fn insert(&mut self, at: u64, bytes: &[u8]) -> bool {
        let end = at + bytes.len() as u64;
        if end <= self.next {
            self.duplicates += bytes.len() as u64;
            return true;
        }
        let skipped = self.next.saturating_sub(at);
        self.duplicates += skipped;
        let (at, bytes) = (at + skipped, &bytes[skipped as usize..]);
        if self.ranges.is_empty() && at == self.next {
            self.put(at, bytes);
            self.next = end;
            return true;
        }
        if !self.add_range(at, end) {
            return false;
        }
        self.put(at, bytes);
        if let Some(&(first, until)) = self.ranges.front()
            && first <= self.next
        {
            self.next = until;
            self.ranges.pop_front();
        }
        true
    }

    /// Notes that `at..end` arrived; counts what had before.
    fn add_range(&mut self, at: u64, end: u64) -> bool {
        // Each path brings its data in order: mostly the last or the first range grows.
        if let Some(last) = self.ranges.back_mut()
            && last.1 == at
        {
            last.1 = end;
            return true;
        }
        let from = self.ranges.partition_point(|r| r.1 < at);
        let (mut first, mut until, mut merged) = (at, end, 0);
        while let Some(&(a, b)) = self.ranges.get(from + merged)
            && a <= end
        {
            self.duplicates += b.min(end).saturating_sub(a.max(at));
            first = first.min(a);
            until = until.max(b);
            merged += 1;
        }
        match merged {
            0 if self.ranges.len() >= MAX_RANGES && at > self.next => return false,
            0 => self.ranges.insert(from, (first, until)),
            _ => {
                self.ranges[from] = (first, until);
                if merged > 1 {
                    self.ranges.drain(from + 1..from + merged);
                }
            }
        }
        true
    }

    /// Copies into the ring.
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let needed = (at + bytes.len() as u64 - self.read) as usize;
        if needed > self.ring.len() {
            self.grow(needed);
        }
        let place = self.place(at, self.ring.len());
        let straight = bytes.len().min(self.ring.len() - place);
        self.ring[place..place + straight].copy_from_slice(&bytes[..straight]);
        if straight < bytes.len() {
            self.ring[..bytes.len() - straight].copy_from_slice(&bytes[straight..]);
        }
    }

    /// Where byte `at` is in a ring of this length.
    fn place(&self, at: u64, length: usize) -> usize {
        (at - self.base) as usize & (length - 1)
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let length = needed.next_power_of_two().max(MIN_RING);
        let mut ring = vec![0; length];
        let end = self.end();
        if self.ring.len() > 1 {
            let mut at = self.read;
            while at < end {
                let (from, to) = (self.place(at, self.ring.len()), self.place(at, length));
                let count = (self.ring.len() - from)
                    .min(length - to)
                    .min((end - at) as usize);
                ring[to..to + count].copy_from_slice(&self.ring[from..from + count]);
                at += count as u64;
            }
        }
        self.ring = ring;
    }

    /// Gives at most `most` bytes of what is in order to `take`, in one or two pieces.
    pub(super) fn read(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let count = most.min(self.readable() as usize);
        if count > 0 {
            let place = self.place(self.read, self.ring.len());
            let straight = count.min(self.ring.len() - place);
            take(&self.ring[place..place + straight]);
            if straight < count {
                take(&self.ring[..count - straight]);
            }
            self.read += count as u64;
            if self.readable() == 0 && self.ranges.is_empty() {
                self.base = self.read;
            }
        }
        count
    }

    /// Gives back what waits behind gaps, and the ring where nothing is to be read: nothing more
    /// will come.
    pub(super) fn finish(&mut self) {
        self.ranges = VecDeque::new();
        if self.readable() == 0 {
            self.ring = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_are_filled_and_duplicates_counted() {
        let mut stream = Reassembly::default();
        assert!(stream.insert(3, b"def"));
        assert!(stream.insert(8, b"ij"));
        assert_eq!((stream.next(), stream.readable(), stream.end()), (0, 0, 10));
        assert!(stream.insert(0, b"abc"));
        assert_eq!(stream.next(), 6);
        assert!(stream.insert(4, b"efghij"));
        assert_eq!((stream.next(), stream.duplicates()), (10, 4));
        assert!(stream.is_contiguous());
        let mut got = Vec::new();
        assert_eq!(stream.read(16, &mut |b| got.extend_from_slice(b)), 10);
        assert_eq!(got, b"abcdefghij");
    }

    #[test]
    fn too_many_gaps_are_refused_but_the_next_byte_never() {
        let mut stream = Reassembly::default();
        for i in 0..MAX_RANGES as u64 {
            assert!(stream.insert(2 + 2 * i, b"x"));
        }
        assert!(!stream.insert(4 * MAX_RANGES as u64, b"x"));
        assert!(stream.insert(1, b"x"));
        assert!(stream.insert(0, b"x"));
        assert_eq!(stream.next(), 3);
    }

    proptest! {
        #[test]
        fn any_order_gives_the_stream(
            pieces in proptest::collection::vec((0_usize..3000, 1_usize..400, 0_usize..200), 1..80),
        ) {
            let data: Vec<u8> = (0..3400_u32).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut stream = Reassembly::default();
            let mut got = Vec::new();
            let rest = (0..34).map(|i| (i * 100, 100, 150));
            for (at, length, read) in pieces.into_iter().chain(rest) {
                prop_assert!(stream.insert(at as u64, &data[at..at + length]));
                stream.read(read, &mut |b| got.extend_from_slice(b));
            }
            while stream.read(200, &mut |b| got.extend_from_slice(b)) > 0 {}
            prop_assert_eq!(got, data);
            prop_assert!(stream.is_contiguous());
        }
    }
}
