//! Which data of the connection is at an offset of a subflow, as the peer said?

use super::numbers::DataSequence;
use crate::wire::mptcp;
use std::collections::VecDeque;

/// Mappings of data that has not arrived in order, of one subflow: a window of 6 MiB in segments
/// of 536 bytes needs about 12,000. What would need more is refused.
const MAX_MAPPINGS: usize = 16_384;

/// A data sequence mapping, its DATA_FIN taken off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mapping {
    /// Offset in the subflow of its first byte.
    pub(super) start: u64,
    /// Bytes of data.
    pub(super) length: u16,
    /// Whether a DATA_FIN follows.
    pub(super) data_fin: bool,
    /// As on the wire.
    pub(super) wire: mptcp::Mapping,
}

impl Mapping {
    /// Offset in the subflow after its last byte.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// What a new mapping is to those known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    /// New, or known already.
    Taken,
    /// It says something else of data that another speaks of.
    Contradicts,
    /// There are too many.
    Full,
}

/// The mappings of a subflow for data that is not in order yet, or in part.
#[derive(Default, Debug)]
pub(super) struct Mappings {
    /// In order, without overlap.
    known: VecDeque<Mapping>,
}

impl Mappings {
    /// Learns one. The caller bounds how far from what is in order it lies.
    pub(super) fn add(&mut self, new: Mapping, numbers: Option<DataSequence>) -> Added {
        let at = match self.known.back() {
            None => 0,
            Some(last) if last.end() <= new.start => self.known.len(),
            Some(_) => self.known.partition_point(|m| m.end() <= new.start),
        };
        if let Some(old) = self.known.get(at)
            && old.start < new.end()
        {
            // The kernel repeats a mapping on each segment it covers.
            if *old == new {
                return Added::Taken;
            }
            return self.add_overlapping(at, new, numbers);
        }
        if self.known.len() >= MAX_MAPPINGS {
            return Added::Full;
        }
        // Mostly the last: an insertion has more to look at.
        if at == self.known.len() {
            self.known.push_back(new);
        } else {
            self.known.insert(at, new);
        }
        Added::Taken
    }

    /// The same data may be mapped once more in other portions, if it maps to the same: the first
    /// mapping holds, and without checksums the new one where that says nothing.
    #[cold]
    fn add_overlapping(
        &mut self,
        mut at: usize,
        new: Mapping,
        numbers: Option<DataSequence>,
    ) -> Added {
        let mut from = new.start;
        let mut pieces = [None; 8];
        let mut count = 0;
        let first = at;
        while let Some(old) = self.known.get(at)
            && old.start < new.end()
        {
            if !agree(old, &new, numbers) {
                return Added::Contradicts;
            }
            if from < old.start {
                let Some(place) = pieces.get_mut(count) else {
                    return Added::Full;
                };
                *place = Some((at, from, old.start));
                count += 1;
            }
            from = from.max(old.end());
            at += 1;
        }
        if new.wire.checksum.is_some() {
            return Added::Taken;
        }
        if from < new.end() {
            let Some(place) = pieces.get_mut(count) else {
                return Added::Full;
            };
            *place = Some((at, from, new.end()));
            count += 1;
        }
        if self.known.len() + count > MAX_MAPPINGS {
            return Added::Full;
        }
        debug_assert!(first <= at);
        for &(index, from, to) in pieces[..count].iter().rev().flatten() {
            self.known.insert(index, part(&new, from, to));
        }
        Added::Taken
    }

    /// Those that speak of data from `offset` of the subflow on.
    pub(super) fn after(&self, offset: u64) -> impl Iterator<Item = &Mapping> {
        self.known.iter().filter(move |m| m.end() > offset)
    }

    /// The mapping of the byte at `offset`; forgets those before.
    pub(super) fn at(&mut self, offset: u64) -> Option<Mapping> {
        while self.known.front().is_some_and(|m| m.end() <= offset) {
            self.known.pop_front();
        }
        self.known.front().filter(|m| m.start <= offset).copied()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.known = VecDeque::new();
    }
}

/// Whether both give the same data sequence numbers to the same bytes.
fn agree(old: &Mapping, new: &Mapping, numbers: Option<DataSequence>) -> bool {
    let Some(numbers) = numbers else {
        return old == new;
    };
    let near = numbers
        .beyond(old.wire.dsn, 0)
        .wrapping_sub(old.start as i64);
    let other = numbers
        .beyond(new.wire.dsn, 0)
        .wrapping_sub(new.start as i64);
    // Of numbers with 32 bits only so many are known.
    near == other || near as u32 == other as u32 && narrow(old) != narrow(new)
}

fn narrow(mapping: &Mapping) -> bool {
    matches!(mapping.wire.dsn, mptcp::Number::Narrow(_))
}

/// The part of a mapping from `from` to `to`.
fn part(whole: &Mapping, from: u64, to: u64) -> Mapping {
    let skip = from - whole.start;
    let mut wire = whole.wire;
    wire.dsn = match wire.dsn {
        mptcp::Number::Wide(dsn) => mptcp::Number::Wide(dsn.wrapping_add(skip)),
        mptcp::Number::Narrow(dsn) => mptcp::Number::Narrow(dsn.wrapping_add(skip as u32)),
    };
    wire.subflow_seq = wire.subflow_seq.wrapping_add(skip as u32);
    wire.length = (to - from) as u16;
    Mapping {
        start: from,
        length: (to - from) as u16,
        data_fin: whole.data_fin && to == whole.end(),
        wire,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::mptcp::Number;

    fn mapping(start: u64, length: u16, dsn: u64) -> Mapping {
        Mapping {
            start,
            length,
            data_fin: false,
            wire: mptcp::Mapping {
                dsn: Number::Wide(dsn),
                subflow_seq: start as u32 + 1,
                length,
                checksum: None,
            },
        }
    }

    fn numbers() -> Option<DataSequence> {
        Some(DataSequence::new(0))
    }

    #[test]
    fn repeated_and_disjoint_mappings_are_taken() {
        let mut mappings = Mappings::default();
        for new in [(20, 10, 21), (0, 10, 1), (20, 10, 21), (10, 10, 500)] {
            let new = mapping(new.0, new.1, new.2);
            assert_eq!(mappings.add(new, numbers()), Added::Taken);
        }
        assert_eq!(mappings.at(5), Some(mapping(0, 10, 1)));
        assert_eq!(mappings.at(10), Some(mapping(10, 10, 500)));
        assert_eq!(mappings.at(29), Some(mapping(20, 10, 21)));
        assert_eq!(mappings.at(30), None);
        assert!(mappings.known.is_empty());
    }

    #[test]
    fn a_contradiction_is_seen_and_an_agreement_fills_the_gaps() {
        let mut mappings = Mappings::default();
        assert_eq!(mappings.add(mapping(10, 10, 11), numbers()), Added::Taken);
        assert_eq!(
            mappings.add(mapping(15, 10, 99), numbers()),
            Added::Contradicts
        );
        assert_eq!(mappings.add(mapping(0, 30, 1), numbers()), Added::Taken);
        assert_eq!(mappings.at(0), Some(mapping(0, 10, 1)));
        assert_eq!(mappings.at(12), Some(mapping(10, 10, 11)));
        assert_eq!(mappings.at(25), Some(mapping(20, 10, 21)));
    }

    #[test]
    fn there_is_a_bound() {
        let mut mappings = Mappings::default();
        for i in 0..MAX_MAPPINGS as u64 {
            assert_eq!(mappings.add(mapping(2 * i, 1, i), numbers()), Added::Taken);
        }
        let more = mapping(1_000_000, 1, 0);
        assert_eq!(mappings.add(more, numbers()), Added::Full);
    }
}
