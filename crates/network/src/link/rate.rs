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
    /// When the link next goes down, if a packet waits or is in service; [`Time::MAX`] for never.
    closes: Time,
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
    /// [`Time::MAX`]: never, the rate stays zero.
    leaves: Time,
    lost: bool,
}

/// See [`Rate::foreseeable`].
pub(super) type Foreseeable<'r> = (usize, &'r Timeline<Option<BitRate>>, &'r Timeline<bool>);

impl<P> Rate<P> {
    /// Its name in [`super::list::STAGES`].
    pub const NAME: &'static str = "rate";

    fn new(queue: Queue<P>, service: Service) -> Rate<P> {
        Rate {
            queue,
            service,
            serving: None,
            up: Timeline::constant(true),
            closes: Time::MAX,
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

    /// The limit of the queue in bytes, the rate, and when the link is up, where the fate of a
    /// packet is known when it enters.
    pub(super) fn foreseeable(&self) -> Option<Foreseeable<'_>> {
        match (&self.queue, &self.service) {
            (Queue::DropTail(queue), Service::Constant(rate)) => {
                Some((queue.limit(), rate, &self.up))
            }
            _ => None,
        }
    }

    fn start(&mut self, now: Time, out: &mut Outlet<P>) {
        let Some(packet) = self.queue.pop(now, out) else {
            self.rest();
            return;
        };
        let (leaves, lost) = match &mut self.service {
            Service::Constant(rate) => (finish(rate, now, packet.size as u64 * 8), false),
            Service::Trace(opportunities) => (Some(opportunities.serve(now, packet.size)), false),
            Service::Radio(radio) => radio.serve(now, packet.size),
        };
        self.serving = Some(Serving {
            packet,
            leaves: leaves.unwrap_or(Time::MAX),
            lost,
        });
    }

    /// The stage is empty.
    fn rest(&mut self) {
        self.closes = Time::MAX;
        if let Service::Trace(opportunities) = &mut self.service {
            opportunities.rest();
        }
    }
}

impl<P> Behaviour<P> for Rate<P> {
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        self.queue.push(now, packet, out);
        if self.serving.is_none() {
            self.closes = next_false(&self.up, now);
            self.start(now, out);
        }
        None
    }

    #[inline]
    fn due(&self) -> Time {
        let leaves = self.serving.as_ref().map_or(Time::MAX, |s| s.leaves);
        leaves.min(self.closes)
    }

    fn poll(&mut self, at: Time, out: &mut Outlet<P>) -> Option<Packet<P>> {
        match self.serving.take() {
            Some(served) if served.leaves == at => {
                let passed = if served.lost {
                    out.drop(served.packet, at, Radio::NAME);
                    None
                } else {
                    Some(served.packet)
                };
                self.start(at, out);
                passed
            }
            interrupted => {
                if let Some(served) = interrupted {
                    out.drop(served.packet, at, LinkDown::NAME);
                }
                self.queue.clear(at, LinkDown::NAME, out);
                self.rest();
                None
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

/// When `up` next becomes false after `now`; [`Time::MAX`] for never.
#[inline]
pub(super) fn next_false(up: &Timeline<bool>, now: Time) -> Time {
    match up.unchanging() {
        Some(_) => Time::MAX,
        None => next_false_change(up, now),
    }
}

fn next_false_change(up: &Timeline<bool>, mut now: Time) -> Time {
    while let Some((at, value)) = up.next(now) {
        if !value {
            return at;
        }
        now = at;
    }
    Time::MAX
}

/// When `bits` that start at `start` are through, at a rate that changes over time; `None`
/// when the rate stays zero. Rounded up to the nanosecond, so that the rate is not exceeded.
#[inline]
pub(crate) fn finish(rate: &Timeline<Option<BitRate>>, start: Time, bits: u64) -> Option<Time> {
    // Mostly the rate never changes, and a packet's work fits in 64 bits, whose division is much
    // cheaper.
    let Some(Some(bps)) = rate.unchanging() else {
        return finish_over_changes(rate, start, bits);
    };
    match bits.checked_mul(NANOS) {
        Some(work) if bps.bits_per_second() > 0 => {
            let nanos = work.div_ceil(bps.bits_per_second());
            Some(Time::from_nanos(start.as_nanos().saturating_add(nanos)))
        }
        _ => finish_over_changes(rate, start, bits),
    }
}

/// Nanoseconds per second.
const NANOS: u64 = 1_000_000_000;

fn finish_over_changes(
    rate: &Timeline<Option<BitRate>>,
    mut start: Time,
    bits: u64,
) -> Option<Time> {
    // In bits times nanoseconds per second, so that nothing is rounded on the way.
    let mut work = u128::from(bits) * u128::from(NANOS);
    loop {
        let (now, until) = rate.span(start);
        let Some(now) = now else {
            return Some(start);
        };
        let bps = u128::from(now.bits_per_second());
        let nanos = match bps {
            0 => None,
            bps => u64::try_from(work.div_ceil(bps)).ok(),
        };
        let end = nanos.map(|n| start + std::time::Duration::from_nanos(n));
        match (end, until) {
            (Some(end), None) => return Some(end),
            (Some(end), Some(until)) if end <= until => return Some(end),
            (_, Some(until)) => {
                work -= (bps * (until - start).as_nanos()).min(work);
                start = until;
            }
            (None, None) => return None,
        }
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
