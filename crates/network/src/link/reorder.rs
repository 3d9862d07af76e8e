//! Which packets are overtaken: those that are held back for a while.

use super::{Behaviour, Outlet, Packet};
use model::Time;
use model::units::Probability;
use rand::RngExt;
use rand_pcg::Pcg64;
use std::collections::VecDeque;
use std::time::Duration;

/// Holds some packets back; the others pass at once.
#[derive(Clone, Debug)]
pub struct Reorder<P> {
    probability: Probability,
    hold: Duration,
    random: Pcg64,
    /// In the order of release, as all are held equally long.
    held: VecDeque<(Time, Packet<P>)>,
}

impl<P> Reorder<P> {
    /// Its name in [`super::list::STAGES`].
    pub const NAME: &'static str = "reorder";

    /// Holds a packet back for `hold` with `probability`, drawing from `random`.
    pub fn new(probability: Probability, hold: Duration, random: Pcg64) -> Reorder<P> {
        Reorder {
            probability,
            hold,
            random,
            held: VecDeque::new(),
        }
    }
}

impl<P> Behaviour<P> for Reorder<P> {
    fn push(&mut self, now: Time, packet: Packet<P>, _: &mut Outlet<P>) -> Option<Packet<P>> {
        if self.random.random::<f64>() < self.probability.get() {
            self.held.push_back((now + self.hold, packet));
            return None;
        }
        Some(packet)
    }

    fn due(&self) -> Time {
        self.held.front().map_or(Time::MAX, |&(at, _)| at)
    }

    fn poll(&mut self, _: Time, _: &mut Outlet<P>) -> Option<Packet<P>> {
        self.held.pop_front().map(|(_, packet)| packet)
    }

    fn inside<'s>(&'s self, packets: &mut Vec<&'s Packet<P>>) {
        packets.extend(self.held.iter().map(|(_, packet)| packet));
    }
}
