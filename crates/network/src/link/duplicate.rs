//! Which packets are delivered twice.

use super::{Behaviour, Outlet, Packet};
use model::Time;
use model::units::Probability;
use rand::RngExt;
use rand_pcg::Pcg64;

/// Passes some packets on twice, the copy right behind its original and with its number.
#[derive(Clone, Debug)]
pub struct Duplicate {
    probability: Probability,
    random: Pcg64,
}

impl Duplicate {
    /// Its name in [`super::list::STAGES`].
    pub const NAME: &'static str = "duplicate";

    /// Duplicates with `probability`, drawing from `random`.
    pub fn new(probability: Probability, random: Pcg64) -> Duplicate {
        Duplicate {
            probability,
            random,
        }
    }
}

impl<P: Clone> Behaviour<P> for Duplicate {
    fn push(&mut self, _: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        if self.random.random::<f64>() < self.probability.get() {
            out.follow(packet.clone());
        }
        Some(packet)
    }
}
