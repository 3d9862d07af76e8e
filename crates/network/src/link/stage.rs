//! What is a stage: something a packet passes through, which passes it on, holds or drops it.

use super::{
    Blackhole, BurstLoss, Delay, Duplicate, Exit, LinkDown, LinkSnapshot, Packet, RandomLoss, Rate,
    Reorder,
};
use model::Time;
use std::collections::VecDeque;

/// What each stage does. Times never go back from call to call.
pub trait Behaviour<P> {
    /// Takes a packet that arrives at `now`.
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>);

    /// When the next packet moves by itself; `None` when none will.
    fn poll_at(&self) -> Option<Time> {
        None
    }

    /// Carries out the event that is due at `at`, which is what [`Behaviour::poll_at`] said.
    fn poll(&mut self, at: Time, out: &mut Outlet<P>) {
        let _ = (at, out);
    }

    /// The packets that it holds.
    fn inside<'s>(&'s self, packets: &mut Vec<&'s Packet<P>>) {
        let _ = packets;
    }

    /// Writes what the stage contributes to the link's state at `now`.
    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        let _ = (now, state);
    }

    /// When the stage's parameters change.
    fn changes(&self) -> Vec<Time> {
        Vec::new()
    }
}

/// Where a stage puts the packets it lets go.
#[derive(Clone, Debug)]
pub struct Outlet<P> {
    /// To the next stage, in order.
    pub(super) passed: Vec<Packet<P>>,
    /// Out of the link.
    pub(super) exits: VecDeque<Exit<P>>,
}

impl<P> Outlet<P> {
    /// Hands `packet` to the next stage.
    pub fn pass(&mut self, packet: Packet<P>) {
        self.passed.push(packet);
    }

    /// Lets out of the link what its last stage passed on.
    #[inline]
    pub(super) fn leave(&mut self, at: Time) {
        for packet in self.passed.drain(..) {
            self.exits.push_back(Exit::Delivered { packet, at });
        }
    }

    /// Drops `packet` at `at`; the reason is a name of [`super::list::STAGES`].
    pub fn drop(&mut self, packet: Packet<P>, at: Time, reason: &'static str) {
        self.exits.push_back(Exit::Dropped { packet, at, reason });
    }
}

/// One stage of a link.
#[derive(Clone, Debug)]
pub enum Stage<P> {
    /// Up or down.
    LinkDown(LinkDown),
    /// A queue and what serves it.
    Rate(Rate<P>),
    /// Silent loss of everything.
    Blackhole(Blackhole),
    /// Loss in bursts.
    BurstLoss(BurstLoss),
    /// Independent loss.
    RandomLoss(RandomLoss),
    /// Duplication.
    Duplicate(Duplicate),
    /// Reordering.
    Reorder(Reorder<P>),
    /// Propagation.
    Delay(Delay<P>),
}

macro_rules! each {
    ($stage:expr, $inner:ident => $call:expr) => {
        match $stage {
            Stage::LinkDown($inner) => $call,
            Stage::Rate($inner) => $call,
            Stage::Blackhole($inner) => $call,
            Stage::BurstLoss($inner) => $call,
            Stage::RandomLoss($inner) => $call,
            Stage::Duplicate($inner) => $call,
            Stage::Reorder($inner) => $call,
            Stage::Delay($inner) => $call,
        }
    };
}

impl<P: Clone> Behaviour<P> for Stage<P> {
    #[inline]
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) {
        each!(self, stage => stage.push(now, packet, out));
    }
    #[inline]
    fn poll_at(&self) -> Option<Time> {
        each!(self, stage => Behaviour::<P>::poll_at(stage))
    }
    #[inline]
    fn poll(&mut self, at: Time, out: &mut Outlet<P>) {
        each!(self, stage => stage.poll(at, out));
    }
    fn inside<'s>(&'s self, packets: &mut Vec<&'s Packet<P>>) {
        each!(self, stage => Behaviour::<P>::inside(stage, packets));
    }
    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        each!(self, stage => Behaviour::<P>::describe(stage, now, state));
    }
    fn changes(&self) -> Vec<Time> {
        each!(self, stage => Behaviour::<P>::changes(stage))
    }
}
