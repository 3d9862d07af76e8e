//! How do data sequence numbers on the wire become offsets in a stream, and back?

use crate::wire::mptcp::Number;

/// All 64 bits of a number of which the wire may carry the lower 32: the one closest to `near`
/// (RFC 8684, section 3.3.4: as for sequence numbers that wrap).
pub(super) fn expand(number: Number, near: u64) -> u64 {
    match number {
        Number::Wide(number) => number,
        Number::Narrow(low) => {
            let distance = low.wrapping_sub(near as u32) as i32;
            near.wrapping_add_signed(i64::from(distance))
        }
    }
}

/// The data sequence numbers of one direction: those on the wire begin anywhere and wrap around;
/// offsets in the stream begin at 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataSequence {
    /// That of offset 0: the initial one plus 1.
    first: u64,
}

impl DataSequence {
    /// The numbers of the host whose key gives `initial`.
    pub(super) fn new(initial: u64) -> DataSequence {
        DataSequence {
            first: initial.wrapping_add(1),
        }
    }

    /// The number of an offset.
    pub(super) fn number(self, offset: u64) -> u64 {
        self.first.wrapping_add(offset)
    }

    /// How far the number on the wire is beyond `offset`; negative when before it.
    pub(super) fn beyond(self, number: Number, offset: u64) -> i64 {
        let near = self.number(offset);
        expand(number, near).wrapping_sub(near) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_numbers_are_the_closest_ones() {
        let near = 0x1_ffff_fff0;
        assert_eq!(expand(Number::Narrow(5), near), 0x2_0000_0005);
        assert_eq!(expand(Number::Narrow(0xffff_ff00), near), 0x1_ffff_ff00);
        assert_eq!(
            expand(Number::Narrow(0xffff_ff00), 0x2_0000_0005),
            0x1_ffff_ff00
        );
        assert_eq!(expand(Number::Wide(7), near), 7);
    }

    #[test]
    fn offsets_survive_the_wrap_of_64_bits() {
        let sequence = DataSequence::new(u64::MAX - 1);
        assert_eq!(sequence.number(0), u64::MAX);
        assert_eq!(sequence.number(3), 2);
        assert_eq!(sequence.beyond(Number::Wide(2), 1), 2);
        assert_eq!(sequence.beyond(Number::Wide(u64::MAX), 1), -1);
        assert_eq!(sequence.beyond(Number::Narrow(2), 1), 2);
    }
}
