//! How is something found quickly by its number? Those of sockets, tokens and connections are given out by
//! the kernel and by this process: nobody outside can choose them so that many collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Things by their numbers.
pub type ByNumber<N, T> = HashMap<N, T, BuildHasherDefault<Scatter>>;

/// Hashes one number by a multiplication.
#[derive(Debug, Default)]
pub struct Scatter(u64);

/// The golden ratio's fraction in 64 bits, which spreads numbers in a row (Knuth, The Art of Computer
/// Programming, volume 3, section 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Scatter {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * u128::from(GOLDEN);
        // The table takes a place from the low bits and a mark from the high ones: both have to differ.
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    #[test]
    fn numbers_in_a_row_and_in_steps_are_spread() {
        let hash = |n: u64| BuildHasherDefault::<Scatter>::default().hash_one(n);
        for step in [1, 2, 64, 4096, 1 << 20, 1 << 32] {
            let hashes: Vec<u64> = (0..1024).map(|n| hash(n * step)).collect();
            for part in [0, 57] {
                let of = |h: &u64| (h >> part) & 0x7f;
                let mut counts = [0; 128];
                hashes.iter().for_each(|h| counts[of(h) as usize] += 1);
                assert!(
                    counts.iter().all(|c| *c <= 32),
                    "step {step}, from bit {part}"
                );
            }
            assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 1024);
        }
        let mut bytes = Scatter::default();
        "two".hash(&mut bytes);
        assert_ne!(bytes.finish(), 0);
    }
}
