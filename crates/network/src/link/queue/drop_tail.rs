//! What a first-in-first-out queue with a limit in bytes drops: the packet that does not fit.

use super::Discipline;
use crate::link::{Outlet, Packet};
use model::Time;
use std::collections::VecDeque;

/// A first-in-first-out queue with a limit.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    limit: usize,
    bytes: usize,
    packets: VecDeque<Packet<P>>,
}

impl<P> DropTail<P> {
    /// The reason of its drops.
    pub const NAME: &'static str = "drop-tail";

    /// Holds at most `limit` bytes; a packet in service no longer counts.
    pub fn new(limit: usize) -> DropTail<P> {
        DropTail {
            limit,
            bytes: 0,
            packets: VecDeque::new(),
        }
    }

    pub(in super::super) fn limit(&self) -> usize {
        self.limit
    }
}

impl<P> Discipline<P> for DropTail<P> {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) {
        if self.bytes + packet.size > self.limit {
            return out.drop(packet, now, Self::NAME);
        }
        self.bytes += packet.size;
        self.packets.push_back(packet);
    }

    fn pop(&mut self, _: Time, _: &mut Outlet<P>) -> Option<Packet<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    fn waiting<'q>(&'q self, packets: &mut Vec<&'q Packet<P>>) {
        packets.extend(&self.packets);
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn clear(&mut self, now: Time, reason: &'static str, out: &mut Outlet<P>) {
        self.bytes = 0;
        for packet in self.packets.drain(..) {
            out.drop(packet, now, reason);
        }
    }
}
