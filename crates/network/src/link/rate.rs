//! When a packet leaves the transmitter: one after another out of a queue, as fast as a bit
//! rate, a trace or a radio lets them.

use super::queue::{Discipline, Queue};
use super::{Behaviour, LinkDown, LinkSnapshot, Outlet, Packet, Timeline};
use crate::trace::Opportunities;
use crate::walk::Radio;
use model::Time;
use model::units::BitRate;

/// A queue and what serves it.
#[derive(Clone, Debug)]
pub struct Rate<P> {
    queue: Queue<P>,
    service: Service,
    serving: Option<Serving<P>>,
    up: Timeline<bool>,
    /// When the link next goes down; known while a packet waits or is in service.
    closes: Option<Time>,
}

#[derive(Clone, Debug)]
enum Service {
    Constant(Timeline<Option<BitRate>>),
    Trace(Opportunities),
    Radio(Box<Radio>),
}

/// What becomes of a packet in service: decided when its service begins, from timelines that
/// are known in advance, so that nothing depends on when the driver looks.
#[derive(Clone, Debug)]
struct Serving<P> {
    packet: Packet<P>,
    /// `None`: never, the rate stays zero.
    leaves: Option<Time>,
    lost: bool,
}

impl<P> Rate<P> {
    /// Its name in [`super::list::STAGES`].
    pub const NAME: &'static str = "rate";

    fn new(queue: Queue<P>, service: Service) -> Rate<P> {
        Rate {
            queue,
            service,
            serving: None,
            up: Timeline::constant(true),
            closes: None,
        }
    }

    /// Serves at a bit rate that changes over time; `None` is without limit, and at rate zero
    /// packets wait for the next change. What is in service at a change finishes its
    /// remaining bits at the new rate.
    pub fn constant(queue: impl Into<Queue<P>>, rate: Timeline<Option<BitRate>>) -> Rate<P> {
        Rate::new(queue.into(), Service::Constant(rate))
    }

    /// Serves at the opportunities of a trace.
    pub fn trace(queue: impl Into<Queue<P>>, opportunities: Opportunities) -> Rate<P> {
        Rate::new(queue.into(), Service::Trace(opportunities))
    }

    /// Serves as a walk's radio does, which may also lose packets.
    pub fn radio(queue: impl Into<Queue<P>>, radio: Radio) -> Rate<P> {
        Rate::new(queue.into(), Service::Radio(Box::new(radio)))
    }

    /// Drops what waits and what is in service whenever `up` becomes false.
    pub fn emptied_when_down(self, up: Timeline<bool>) -> Rate<P> {
        Rate { up, ..self }
    }

    /// Whether the event at `at` passes a packet on, and nothing that comes after it can drop one
    /// but that the link goes down ([`Rate::closes`]).
    #[inline]
    pub(super) fn lets_go_at(&self, at: Time) -> bool {
        let quiet = matches!(self.queue, Queue::DropTail(_))
            && matches!(self.service, Service::Constant(_));
        quiet && self.serving.as_ref().is_some_and(|s| s.leaves == Some(at))
    }

    /// When the link next goes down, if a packet is here.
    #[inline]
    pub(super) fn closes(&self) -> Option<Time> {
        self.closes
    }

    fn start(&mut self, now: Time, out: &mut Outlet<P>) {
        let Some(packet) = self.queue.pop(now, out) else {
            self.rest();
            return;
        };
        let (leaves, lost) = match &mut self.service {
            Service::Constant(rate) => (finish(rate, now, packet.size as u128 * 8), false),
            Service::Trace(opportunities) => (Some(opportunities.serve(now, packet.size)), false),
            Service::Radio(radio) => radio.serve(now, packet.size),
        };
        self.serving = Some(Serving {
            packet,
            leaves,
            lost,
        });
    }

    /// The stage is empty.
    fn rest(&mut self) {
        self.closes = None;
        if let Service::Trace(opportunities) = &mut self.service {
            opportunities.rest();
        }
    }
}

impl<P> Behaviour<P> for Rate<P> {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) {
        self.queue.push(now, packet, out);
        if self.serving.is_none() {
            self.closes = next_false(&self.up, now);
            self.start(now, out);
        }
    }

    #[inline]
    fn poll_at(&self) -> Option<Time> {
        let leaves = self.serving.as_ref().and_then(|s| s.leaves);
        match (leaves, self.closes) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn poll(&mut self, at: Time, out: &mut Outlet<P>) {
        match self.serving.take() {
            Some(served) if served.leaves == Some(at) => {
                if served.lost {
                    out.drop(served.packet, at, Radio::NAME);
                } else {
                    out.pass(served.packet);
                }
                self.start(at, out);
            }
            interrupted => {
                if let Some(served) = interrupted {
                    out.drop(served.packet, at, LinkDown::NAME);
                }
                self.queue.clear(at, LinkDown::NAME, out);
                self.rest();
            }
        }
    }

    fn inside<'s>(&'s self, packets: &mut Vec<&'s Packet<P>>) {
        packets.extend(self.serving.iter().map(|serving| &serving.packet));
        self.queue.waiting(packets);
    }

    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        state.queue_bytes += self.queue.bytes();
        match &mut self.service {
            Service::Constant(rate) => state.rate = rate.at(now),
            Service::Trace(opportunities) => state.rate = Some(opportunities.rate(now)),
            Service::Radio(radio) => radio.describe(now, state),
        }
    }

    fn changes(&self) -> Vec<Time> {
        match &self.service {
            Service::Constant(rate) => rate.changes().collect(),
            Service::Trace(_) => Vec::new(),
            Service::Radio(radio) => radio.changes(),
        }
    }
}

fn next_false(up: &Timeline<bool>, mut now: Time) -> Option<Time> {
    loop {
        let (at, value) = up.next(now)?;
        if !value {
            return Some(at);
        }
        now = at;
    }
}

/// When `bits` that start at `start` are through, at a rate that changes over time; `None`
/// when the rate stays zero. Rounded up to the nanosecond, so that the rate is not exceeded.
pub(crate) fn finish(
    rate: &Timeline<Option<BitRate>>,
    mut start: Time,
    bits: u128,
) -> Option<Time> {
    // In bits times nanoseconds per second, so that nothing is rounded on the way.
    let mut work = bits * 1_000_000_000;
    loop {
        let (now, until) = rate.span(start);
        let Some(now) = now else {
            return Some(start);
        };
        let bps = now.bits_per_second();
        let nanos = match bps {
            0 => None,
            bps => quotient(work, bps),
        };
        let end = nanos.map(|n| start + std::time::Duration::from_nanos(n));
        match (end, until) {
            (Some(end), None) => return Some(end),
            (Some(end), Some(until)) if end <= until => return Some(end),
            (_, Some(until)) => {
                work -= (u128::from(bps) * (until - start).as_nanos()).min(work);
                start = until;
            }
            (None, None) => return None,
        }
    }
}

/// `work / bps`, rounded up. A packet's work fits in 64 bits, whose division is much cheaper.
fn quotient(work: u128, bps: u64) -> Option<u64> {
    match u64::try_from(work) {
        Ok(work) => Some(work.div_ceil(bps)),
        Err(_) => u64::try_from(work.div_ceil(bps.into())).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::queue::DropTail;
    use crate::link::{Exit, Link, Stage};

    fn rate(mbps: f64) -> Option<BitRate> {
        Some(BitRate::from_bits_per_second((mbps * 1e6) as u64))
    }

    fn packet(id: u64) -> Packet<()> {
        Packet {
            id,
            size: 1500,
            payload: (),
        }
    }

    #[test]
    fn a_change_in_service_holds_for_the_remaining_bits() {
        // 12,000 bits: 6,000 in 1 ms at 6 Mbit/s, nothing for 4 ms, 6,000 in 0.5 ms at 12.
        let line = Timeline::new(
            rate(6.0),
            [
                (Time::from_millis(1), rate(0.0)),
                (Time::from_millis(5), rate(12.0)),
            ],
        );
        assert_eq!(
            finish(&line, Time::ZERO, 12_000),
            Some(Time::from_micros(5_500))
        );
        let dead = Timeline::new(rate(6.0), [(Time::from_millis(1), rate(0.0))]);
        assert_eq!(finish(&dead, Time::ZERO, 12_000), None);
        let free = Timeline::new(rate(6.0), [(Time::from_millis(1), None)]);
        assert_eq!(
            finish(&free, Time::ZERO, 12_000),
            Some(Time::from_millis(1))
        );
    }

    #[test]
    fn rate_zero_holds_packets_until_the_queue_is_full() {
        let zero = Rate::constant(DropTail::new(3000), Timeline::constant(rate(0.0)));
        let mut link = Link::new(vec![Stage::Rate(zero)]);
        for id in 0..4 {
            link.push(Time::ZERO, packet(id));
        }
        // One is in service for ever, two wait, the last does not fit.
        let exit = link.poll(Time::MAX);
        assert!(
            matches!(exit, Some(Exit::Dropped { packet, reason: "drop-tail", .. }) if packet.id == 3)
        );
        assert_eq!(link.poll(Time::MAX), None);
        assert_eq!(link.poll_at(), None);
    }

    #[test]
    fn going_down_empties_the_queue() {
        let up = Timeline::new(
            true,
            [
                (Time::from_micros(2_500), false),
                (Time::from_millis(9), true),
            ],
        );
        let stage = Rate::constant(DropTail::new(64_000), Timeline::constant(rate(12.0)));
        let mut link = Link::new(vec![
            Stage::LinkDown(LinkDown::new(up.clone())),
            Stage::Rate(stage.emptied_when_down(up)),
        ]);
        for id in 0..4 {
            link.push(Time::ZERO, packet(id));
        }
        link.push(Time::from_millis(5), packet(4));
        link.push(Time::from_millis(9), packet(5));
        let exits: Vec<_> = std::iter::from_fn(|| link.poll(Time::MAX))
            .map(|exit| match exit {
                Exit::Delivered { packet, at } => (packet.id, at.as_micros(), "delivered"),
                Exit::Dropped { packet, at, reason } => (packet.id, at.as_micros(), reason),
            })
            .collect();
        assert_eq!(
            exits,
            [
                (0, 1_000, "delivered"),
                (1, 2_000, "delivered"),
                (2, 2_500, "link-down"),
                (3, 2_500, "link-down"),
                (4, 5_000, "link-down"),
                (5, 10_000, "delivered"),
            ]
        );
    }
}
