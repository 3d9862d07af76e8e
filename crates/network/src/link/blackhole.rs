//! Which packets vanish in a silent failure: all that leave the transmitter during it.

use super::{Behaviour, LinkSnapshot, Outlet, Packet, Timeline};
use model::Time;

/// Loses everything while it is active; neither host is told.
#[derive(Clone, Debug)]
pub struct Blackhole {
    active: Timeline<bool>,
}

impl Blackhole {
    /// The reason of its drops.
    pub const NAME: &'static str = "blackhole";

    /// Loses everything whenever `active` is true.
    pub fn new(active: Timeline<bool>) -> Blackhole {
        Blackhole { active }
    }
}

impl<P> Behaviour<P> for Blackhole {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        if self.active.at(now) {
            out.drop(packet, now, Self::NAME);
            return None;
        }
        Some(packet)
    }

    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        if self.active.at(now) {
            state.add_loss(1.0);
        }
    }

    fn changes(&self) -> Vec<Time> {
        self.active.changes().collect()
    }
}
