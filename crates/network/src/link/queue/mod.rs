//! What waits in front of a rate, and what is dropped there: one file per discipline.

mod codel;
mod drop_tail;

pub use codel::Codel;
pub use drop_tail::DropTail;

use super::{Outlet, Packet};
use model::Time;

/// What each queue discipline does.
pub trait Discipline<P> {
    /// Takes a packet, or drops it.
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>);
    /// The next packet to serve; may drop others on the way.
    fn pop(&mut self, now: Time, out: &mut Outlet<P>) -> Option<Packet<P>>;
    /// The packets that wait.
    fn waiting<'q>(&'q self, packets: &mut Vec<&'q Packet<P>>);
    /// Bytes that wait.
    fn bytes(&self) -> usize;
    /// Drops everything for `reason`.
    fn clear(&mut self, now: Time, reason: &'static str, out: &mut Outlet<P>);
}

/// A queue of one of the disciplines.
#[derive(Clone, Debug)]
pub enum Queue<P> {
    /// First in, first out, drop what does not fit.
    DropTail(DropTail<P>),
    /// RFC 8289.
    Codel(Codel<P>),
}

impl<P> From<DropTail<P>> for Queue<P> {
    fn from(queue: DropTail<P>) -> Queue<P> {
        Queue::DropTail(queue)
    }
}

impl<P> From<Codel<P>> for Queue<P> {
    fn from(queue: Codel<P>) -> Queue<P> {
        Queue::Codel(queue)
    }
}

impl<P> Discipline<P> for Queue<P> {
    #[inline]
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) {
        match self {
            Queue::DropTail(queue) => queue.push(now, packet, out),
            Queue::Codel(queue) => queue.push(now, packet, out),
        }
    }
    #[inline]
    fn pop(&mut self, now: Time, out: &mut Outlet<P>) -> Option<Packet<P>> {
        match self {
            Queue::DropTail(queue) => queue.pop(now, out),
            Queue::Codel(queue) => queue.pop(now, out),
        }
    }
    fn waiting<'q>(&'q self, packets: &mut Vec<&'q Packet<P>>) {
        match self {
            Queue::DropTail(queue) => queue.waiting(packets),
            Queue::Codel(queue) => queue.waiting(packets),
        }
    }
    fn bytes(&self) -> usize {
        match self {
            Queue::DropTail(queue) => queue.bytes(),
            Queue::Codel(queue) => queue.bytes(),
        }
    }
    fn clear(&mut self, now: Time, reason: &'static str, out: &mut Outlet<P>) {
        match self {
            Queue::DropTail(queue) => queue.clear(now, reason, out),
            Queue::Codel(queue) => queue.clear(now, reason, out),
        }
    }
}
