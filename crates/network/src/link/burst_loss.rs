//! Which packets are lost in bursts: the Gilbert-Elliott model.
//!
//! Gilbert, "Capacity of a burst-noise channel" (1960); Elliott, "Estimates of error rates for
//! codes on burst-noise channels" (1963). Nothing is lost in the good state.

use super::{Behaviour, LinkSnapshot, Outlet, Packet};
use model::Time;
use model::scenario::Burst;
use rand::RngExt;
use rand_pcg::Pcg64;

/// A good and a bad state, with a transition before each packet.
#[derive(Clone, Debug)]
pub struct BurstLoss {
    burst: Burst,
    bad: bool,
    random: Pcg64,
}

impl BurstLoss {
    /// The reason of its drops.
    pub const NAME: &'static str = "burst-loss";

    /// Starts in the good state, drawing from `random`.
    pub fn new(burst: Burst, random: Pcg64) -> BurstLoss {
        BurstLoss {
            burst,
            bad: false,
            random,
        }
    }

    /// The loss in the long run: the share of packets that meet the bad state, times its loss.
    fn stationary_loss(&self) -> f64 {
        let Burst { enter, leave, loss } = self.burst;
        let total = enter.get() + leave.get();
        if total == 0.0 {
            return 0.0; // Never leaves the good state.
        }
        enter.get() / total * loss.get()
    }
}

impl<P> Behaviour<P> for BurstLoss {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        let Burst { enter, leave, loss } = self.burst;
        let (step, fate): (f64, f64) = (self.random.random(), self.random.random());
        self.bad = match self.bad {
            false => step < enter.get(),
            true => step >= leave.get(),
        };
        if self.bad && fate < loss.get() {
            out.drop(packet, now, Self::NAME);
            return None;
        }
        Some(packet)
    }

    fn describe(&mut self, _: Time, state: &mut LinkSnapshot) {
        state.add_loss(self.stationary_loss());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Exit, Link, Stage};
    use model::Seed;
    use model::units::Probability;

    #[test]
    fn bursts_have_their_length_and_share() {
        let p = |p| Probability::new(p).unwrap();
        let burst = Burst {
            enter: p(0.02),
            leave: p(0.25),
            loss: p(1.0),
        };
        let stage = BurstLoss::new(burst, Seed(1).stream("burst"));
        let mut link = Link::new(vec![Stage::BurstLoss(stage)]);
        for id in 0..200_000 {
            let packet = Packet {
                id,
                size: 1,
                payload: (),
            };
            link.push(Time::ZERO, packet);
        }
        let lost: Vec<bool> = std::iter::from_fn(|| link.poll(Time::ZERO))
            .map(|exit| matches!(exit, Exit::Dropped { .. }))
            .collect();
        let total = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // 0.02 / (0.02 + 0.25), and 1 / 0.25 packets a burst.
        assert!((total / 200_000.0 - 0.0741).abs() < 0.005, "{total}");
        assert!((total / bursts - 4.0).abs() < 0.2, "{}", total / bursts);
        assert!((link.state(Time::ZERO).loss - 0.0741).abs() < 0.0001);
    }
}
