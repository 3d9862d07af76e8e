//! Where randomness comes from: one seed per run, a named stream per component, so that
//! adding a component does not reshuffle the others.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

/// The seed of a run.
///
/// ```
/// use rand::RngExt;
/// use walkabout_model::Seed;
/// let mut a = Seed(7).stream("wifi.up.loss");
/// let mut b = Seed(7).stream("wifi.up.loss");
/// assert_eq!(a.random::<u64>(), b.random::<u64>());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The random stream of the component called `name`, such as `wifi.up.loss`.
    pub fn stream(self, name: &str) -> Pcg64 {
        // FNV-1a (64 bit): stable across versions and machines, unlike std's hashers.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Pcg64::seed_from_u64(self.0 ^ hash.rotate_left(17))
    }

    /// The seed of the `n`th repetition of a run; the 0th is the seed itself, so that each can be
    /// run again alone: three repetitions of seed 7 are the seeds 7, 8 and 9.
    pub fn repetition(self, n: u64) -> Seed {
        Seed(self.0.wrapping_add(n))
    }
}
