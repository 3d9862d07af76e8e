//! What is a stage: something a packet passes through, which passes it on, holds or drops it.

use super::{
    Blackhole, BurstLoss, Delay, Duplicate, Exit, Line, LinkDown, LinkSnapshot, Packet, RandomLoss,
    Rate, Reorder,
};
use model::Time;
use std::collections::VecDeque;

/// What each stage does. Times never go back from call to call.
pub trait Behaviour<P> {
    /// Takes a packet that arrives at `now`; returns the packet that goes on at once, if one does.
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>>;

    /// When the next packet moves by itself; [`Time::MAX`] when none will.
    fn due(&self) -> Time {
        Time::MAX
    }

    /// Carries out the event that is due at `at`, which is what [`Behaviour::due`] said; returns
    /// the packet that goes on, if one does.
    fn poll(&mut self, at: Time, out: &mut Outlet<P>) -> Option<Packet<P>> {
        let _ = (at, out);
        None
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

/// Where a stage puts the packets that leave it otherwise than to the next stage.
#[derive(Clone, Debug)]
pub struct Outlet<P> {
    /// Goes on right behind the packet that the stage passes on.
    pub(super) copy: Option<Packet<P>>,
    /// Out of the link.
    pub(super) exits: VecDeque<Exit<P>>,
}

impl<P> Outlet<P> {
    /// Lets `copy` go on right behind the packet that the stage passes on.
    pub fn follow(&mut self, copy: Packet<P>) {
        self.copy = Some(copy);
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
    /// A rate and propagation in one.
    Line(Line<P>),
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
            Stage::Line($inner) => $call,
        }
    };
}

impl<P: Clone> Behaviour<P> for Stage<P> {
    #[inline]
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        each!(self, stage => stage.push(now, packet, out))
    }
    #[inline]
    fn due(&self) -> Time {
        each!(self, stage => Behaviour::<P>::due(stage))
    }
    #[inline]
    fn poll(&mut self, at: Time, out: &mut Outlet<P>) -> Option<Packet<P>> {
        each!(self, stage => stage.poll(at, out))
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
