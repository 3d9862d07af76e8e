//! What CoDel drops: packets at the head of a queue in which the wait has been too long for
//! too long (RFC 8289).

use super::{Discipline, DropTail};
use crate::link::{Outlet, Packet};
use model::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The acceptable standing delay (RFC 8289, section 4.3: 5 ms works well).
pub const TARGET: Duration = Duration::from_millis(5);
/// The time a bad queue gets to become good: a worst-case round trip (RFC 8289, section 4.2).
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Controlled delay. Beyond the limit in bytes it drops like [`DropTail`] and under its name,
/// so that the two causes can be told apart.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    limit: usize,
    bytes: usize,
    packets: VecDeque<(Time, Packet<P>)>,
    /// The largest packet so far: a queue of at most this much is never bad.
    largest: usize,
    /// When the wait will have been above the target for an interval; `None` while below.
    bad_from: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since the dropping state was entered.
    count: u32,
    last_count: u32,
}

impl<P> Codel<P> {
    /// The reason of its drops.
    pub const NAME: &'static str = "codel";

    /// Holds at most `limit` bytes.
    pub fn new(limit: usize) -> Codel<P> {
        Codel {
            limit,
            bytes: 0,
            packets: VecDeque::new(),
            largest: 0,
            bad_from: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// The head of the queue, and whether it may be dropped (section 5, `dodequeue`).
    fn take(&mut self, now: Time) -> Option<(Packet<P>, bool)> {
        let Some((entered, packet)) = self.packets.pop_front() else {
            self.bad_from = None;
            return None;
        };
        self.bytes -= packet.size;
        if now - entered < TARGET || self.bytes <= self.largest {
            self.bad_from = None;
            return Some((packet, false));
        }
        let bad_from = *self.bad_from.get_or_insert(now + INTERVAL);
        Some((packet, now >= bad_from))
    }

    /// When to drop next: ever sooner, so that the flow's rate falls linearly (section 5, `control_law`).
    fn after(&self, t: Time) -> Time {
        t + INTERVAL.div_f64(f64::from(self.count).sqrt())
    }
}

impl<P> Discipline<P> for Codel<P> {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) {
        if self.bytes + packet.size > self.limit {
            return out.drop(packet, now, DropTail::<P>::NAME);
        }
        self.bytes += packet.size;
        self.largest = self.largest.max(packet.size);
        self.packets.push_back((now, packet));
    }

    /// Section 5, `deque`.
    fn pop(&mut self, now: Time, out: &mut Outlet<P>) -> Option<Packet<P>> {
        let mut head = self.take(now);
        let may_drop = |head: &Option<(Packet<P>, bool)>| matches!(head, Some((_, true)));
        if self.dropping {
            self.dropping = may_drop(&head);
            while self.dropping && now >= self.drop_next {
                if let Some((packet, _)) = head.take() {
                    out.drop(packet, now, Self::NAME);
                }
                self.count += 1;
                head = self.take(now);
                if may_drop(&head) {
                    self.drop_next = self.after(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if let Some((packet, true)) = head {
            out.drop(packet, now, Self::NAME);
            head = self.take(now);
            self.dropping = true;
            // Soon after the last dropping state, start from the drop rate that was found there.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now.since(self.drop_next) < 16 * INTERVAL;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.after(now);
            self.last_count = self.count;
        }
        head.map(|(packet, _)| packet)
    }

    fn waiting<'q>(&'q self, packets: &mut Vec<&'q Packet<P>>) {
        packets.extend(self.packets.iter().map(|(_, packet)| packet));
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn clear(&mut self, now: Time, reason: &'static str, out: &mut Outlet<P>) {
        self.bytes = 0;
        self.bad_from = None;
        self.dropping = false;
        for (_, packet) in self.packets.drain(..) {
            out.drop(packet, now, reason);
        }
    }
}
