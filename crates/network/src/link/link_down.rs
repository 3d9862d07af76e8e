//! Which packets a link that is down refuses: all that enter.
//!
//! What already waits in the queue when the link goes down is dropped by [`super::Rate`] at
//! that moment, as Linux resets the queueing discipline when a device is deactivated
//! (`dev_deactivate_many` in net/sched/sch_generic.c). What already propagates arrives.

use super::{Behaviour, LinkSnapshot, Outlet, Packet, Timeline};
use model::Time;

/// Drops what enters while the link is down.
#[derive(Clone, Debug)]
pub struct LinkDown {
    up: Timeline<bool>,
}

impl LinkDown {
    /// The reason of its drops.
    pub const NAME: &'static str = "link-down";

    /// Down whenever `up` is false.
    pub fn new(up: Timeline<bool>) -> LinkDown {
        LinkDown { up }
    }
}

impl<P> Behaviour<P> for LinkDown {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        if self.up.at(now) {
            return Some(packet);
        }
        out.drop(packet, now, Self::NAME);
        None
    }

    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        state.up = self.up.at(now);
    }

    fn changes(&self) -> Vec<Time> {
        self.up.changes().collect()
    }
}
