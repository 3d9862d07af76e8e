//! Which packets are lost independently of each other.

use super::{Behaviour, LinkSnapshot, Outlet, Packet, Timeline};
use model::Time;
use model::units::Probability;
use rand::RngExt;
use rand_pcg::Pcg64;

/// Loses each packet with the probability in force when it passes.
#[derive(Clone, Debug)]
pub struct RandomLoss {
    probability: Timeline<Probability>,
    random: Pcg64,
}

impl RandomLoss {
    /// The reason of its drops.
    pub const NAME: &'static str = "random-loss";

    /// Loses with `probability`, drawing from `random`.
    pub fn new(probability: Timeline<Probability>, random: Pcg64) -> RandomLoss {
        RandomLoss {
            probability,
            random,
        }
    }
}

impl<P> Behaviour<P> for RandomLoss {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        // Drawn for every packet, so that a change does not shift the draws after it.
        let draw: f64 = self.random.random();
        if draw < self.probability.at(now).get() {
            out.drop(packet, now, Self::NAME);
            return None;
        }
        Some(packet)
    }

    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        state.add_loss(self.probability.at(now).get());
    }

    fn changes(&self) -> Vec<Time> {
        self.probability.changes().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Exit, Link, Stage};
    use model::Seed;

    #[test]
    fn loses_its_share() {
        let loss = Timeline::new(
            Probability::ZERO,
            [(Time::from_millis(1), Probability::new(0.2).unwrap())],
        );
        let mut link = Link::new(vec![Stage::RandomLoss(RandomLoss::new(
            loss,
            Seed(3).stream("loss"),
        ))]);
        for (at, expected) in [(0, 0.0), (1, 0.2)] {
            let at = Time::from_millis(at);
            for id in 0..20_000 {
                link.push(
                    at,
                    Packet {
                        id,
                        size: 100,
                        payload: (),
                    },
                );
            }
            let lost = std::iter::from_fn(|| link.poll(at))
                .filter(|exit| matches!(exit, Exit::Dropped { reason, .. } if *reason == RandomLoss::NAME))
                .count();
            // Four standard deviations of a binomial with p = 0.2.
            assert!((lost as f64 / 20_000.0 - expected).abs() < 0.0114);
            assert_eq!(link.state(at).loss, expected);
        }
    }
}
