//! What is the Internet checksum of these bytes (RFC 1071)?

/// A sum of 16-bit words in ones' complement, of bytes that come in any number of pieces.
///
/// The words are summed in the machine's byte order, eight bytes at a time, and swapped once at
/// the end (RFC 1071, section 2 (B)).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sum {
    /// Sums of 32-bit words: room for 2^32 of them.
    total: u64,
    /// Whether an odd number of bytes was added.
    odd: bool,
}

impl Sum {
    /// Adds bytes that follow those added before.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let sum = words(bytes);
        // A word that begins at an odd offset counts with its bytes swapped.
        let sum = if self.odd {
            u64::from(fold(sum).swap_bytes())
        } else {
            sum
        };
        self.total = u64::from(fold(self.total)) + sum;
        self.odd ^= bytes.len() % 2 == 1;
    }

    /// Adds four bytes, at an even offset.
    pub(crate) fn add_four(&mut self, bytes: [u8; 4]) {
        debug_assert!(!self.odd);
        self.total += u64::from(u32::from_ne_bytes(bytes));
    }

    /// Adds what another sum holds, as if its bytes followed here.
    pub(crate) fn join(&mut self, other: Sum) {
        let sum = fold(other.total);
        let sum = if self.odd { sum.swap_bytes() } else { sum };
        self.total = u64::from(fold(self.total)) + u64::from(sum);
        self.odd ^= other.odd;
    }

    /// The checksum: the sum's complement. Over bytes that contain their own checksum, 0.
    pub(crate) fn checksum(self) -> u16 {
        u16::from_be(!fold(self.total))
    }
}

/// The checksum of bytes in one piece.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    u16::from_be(!fold(words(bytes)))
}

/// The same of an IPv4 header without options, which every packet has.
pub(crate) fn of_header(bytes: &[u8; 20]) -> u16 {
    let words = bytes.as_chunks::<4>().0.iter();
    u16::from_be(!fold(
        words.map(|word| u64::from(u32::from_ne_bytes(*word))).sum(),
    ))
}

/// The sum of all 32-bit words in the machine's order, with some carries added at the low end already;
/// what is missing at the end counts as 0.
fn words(bytes: &[u8]) -> u64 {
    // Eight bytes and the carry of those before at a time, which the processor adds in one step.
    let (mut sum, mut carries) = (0, 0);
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        let mut carry = false;
        for &eight in block.as_chunks::<8>().0 {
            (sum, carry) = add(sum, u64::from_ne_bytes(eight), carry);
        }
        carries += u64::from(carry);
    }
    let mut carry = false;
    let (eights, rest) = rest.as_chunks::<8>();
    for &eight in eights {
        (sum, carry) = add(sum, u64::from_ne_bytes(eight), carry);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    (sum, carry) = add(sum, u64::from_ne_bytes(last), carry);
    (sum & 0xffff_ffff) + (sum >> 32) + carries + u64::from(carry)
}

/// A sum with a carry in and out.
#[inline(always)]
fn add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

/// A sum of 32-bit words as one of 16-bit words, carries added at the low end.
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As RFC 1071, section 1, says it.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0u64;
        for pair in bytes.chunks(2) {
            sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| u64::from(b));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_rfcs_example() {
        // RFC 1071, section 3: the sum is ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn carries_are_kept() {
        for length in [1, 2, 3, 31, 32, 33, 63, 64, 65, 65_535] {
            let bytes = vec![0xff; length];
            assert_eq!(checksum(&bytes), plain(&bytes), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn as_the_rfc_says(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(checksum(&bytes), plain(&bytes));
        }

        #[test]
        fn of_a_header_as_well(bytes in any::<[u8; 20]>()) {
            prop_assert_eq!(of_header(&bytes), plain(&bytes));
        }

        #[test]
        fn pieces_make_no_difference(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
        ) {
            let mut sum = Sum::default();
            for piece in &pieces {
                sum.add(piece);
            }
            prop_assert_eq!(sum.checksum(), plain(&pieces.concat()));
        }
    }
}
