//! When does a packet come out of a transmitter and the propagation behind it? Where a drop-tail
//! queue waits for a bit rate that is known in advance, that is known when the packet enters.

use super::queue::DropTail;
use super::rate::{finish, next_false};
use super::{Behaviour, Delay, LinkDown, LinkSnapshot, Outlet, Packet, Rate, Stage, Timeline};
use model::Time;
use model::units::BitRate;
use std::collections::VecDeque;

/// A [`Rate`] and the [`Delay`] behind it: what comes out of them and when, with one event for each
/// packet instead of two.
#[derive(Clone, Debug)]
pub struct Line<P> {
    rate: Timeline<Option<BitRate>>,
    up: Timeline<bool>,
    /// Bytes that may wait.
    limit: usize,
    /// Bytes that wait, but for what `waiting` has yet to give back.
    bytes: usize,
    /// Until when each packet waits, and its size.
    waiting: VecDeque<(Time, usize)>,
    /// When the transmitter is through with all that has entered.
    free: Time,
    delay: Delay<P>,
    /// Packets that are still here when the link goes down.
    doomed: VecDeque<Packet<P>>,
    /// When that is; [`Time::MAX`] without any.
    closes: Time,
}

/// The stages of a link, with a line in the place of the last two where they are one.
pub(super) fn join<P: Clone>(mut stages: Vec<Stage<P>>) -> Vec<Stage<P>> {
    if let [.., Stage::Rate(rate), Stage::Delay(delay)] = &stages[..]
        && let Some(line) = Line::of(rate, delay)
    {
        stages.truncate(stages.len() - 2);
        stages.push(Stage::Line(line));
    }
    stages
}

impl<P: Clone> Line<P> {
    /// `rate` and `delay` in one, both empty so far; `None` where the queue drops what waits, and
    /// where a trace or a radio serves it.
    fn of(rate: &Rate<P>, delay: &Delay<P>) -> Option<Line<P>> {
        let (limit, rate, up) = rate.foreseeable()?;
        Some(Line {
            rate: rate.clone(),
            up: up.clone(),
            limit,
            bytes: 0,
            waiting: VecDeque::new(),
            free: Time::ZERO,
            delay: delay.clone(),
            doomed: VecDeque::new(),
            closes: Time::MAX,
        })
    }
}

impl<P> Line<P> {
    /// Gives back the bytes of the packets that wait no longer.
    #[inline]
    fn settle(&mut self, now: Time) {
        while let Some((_, size)) = self.waiting.pop_front_if(|(until, _)| *until <= now) {
            self.bytes -= size;
        }
    }

    #[cold]
    fn go_down(&mut self, at: Time, out: &mut Outlet<P>) {
        for packet in self.doomed.drain(..) {
            out.drop(packet, at, LinkDown::NAME);
        }
        (self.free, self.closes) = (at, Time::MAX);
    }
}

impl<P> Behaviour<P> for Line<P> {
    #[inline]
    fn push(&mut self, now: Time, packet: Packet<P>, out: &mut Outlet<P>) -> Option<Packet<P>> {
        self.settle(now);
        if self.bytes + packet.size > self.limit {
            out.drop(packet, now, DropTail::<P>::NAME);
            return None;
        }
        let begins = self.free.max(now);
        let leaves = finish(&self.rate, begins, packet.size as u64 * 8).unwrap_or(Time::MAX);
        let closes = next_false(&self.up, now);
        self.free = leaves;
        let waits = begins.min(closes);
        if waits > now {
            self.bytes += packet.size;
            self.waiting.push_back((waits, packet.size));
        }
        if leaves > closes {
            self.closes = closes;
            self.doomed.push_back(packet);
        } else {
            self.delay.hold(leaves, packet);
        }
        None
    }

    #[inline]
    fn due(&self) -> Time {
        Behaviour::<P>::due(&self.delay).min(self.closes)
    }

    #[inline]
    fn poll(&mut self, at: Time, out: &mut Outlet<P>) -> Option<Packet<P>> {
        if Behaviour::<P>::due(&self.delay) <= at {
            return self.delay.poll(at, out);
        }
        self.go_down(at, out);
        None
    }

    fn inside<'s>(&'s self, packets: &mut Vec<&'s Packet<P>>) {
        self.delay.inside(packets);
        packets.extend(&self.doomed);
    }

    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        self.settle(now);
        state.queue_bytes += self.bytes;
        state.rate = self.rate.at(now);
        Behaviour::<P>::describe(&mut self.delay, now, state);
    }

    fn changes(&self) -> Vec<Time> {
        let delays = Behaviour::<P>::changes(&self.delay);
        self.rate.changes().chain(delays).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Exit, Link};
    use model::Seed;
    use proptest::prelude::*;
    use std::time::Duration;

    /// A link whose rate, delay and being up change, its queue of 6,000 bytes in front.
    fn stages(
        rates: Vec<(u64, Option<u64>)>,
        delays: Vec<(u64, u64)>,
        ups: Vec<(u64, bool)>,
        jitter_us: u64,
    ) -> Vec<Stage<()>> {
        let at = Time::from_micros;
        let mbps = |mbps: Option<u64>| mbps.map(|m| BitRate::from_bits_per_second(m * 1_000_000));
        let micros = Duration::from_micros;
        let rates = rates.into_iter().map(|(t, rate)| (at(t), mbps(rate)));
        let delays = delays.into_iter().map(|(t, delay)| (at(t), micros(delay)));
        let ups = ups.into_iter().map(|(t, up)| (at(t), up));
        let up = Timeline::new(true, ups);
        let rate = Rate::constant(DropTail::new(6_000), Timeline::new(mbps(Some(12)), rates));
        let mut delay = Delay::new(Timeline::new(micros(2_000), delays));
        if jitter_us > 0 {
            delay = delay.with_jitter(micros(jitter_us), Seed(1).stream("jitter"));
        }
        vec![
            Stage::LinkDown(LinkDown::new(up.clone())),
            Stage::Rate(rate.emptied_when_down(up)),
            Stage::Delay(delay),
        ]
    }

    /// What comes out at which call, and the state seen between.
    fn run(mut link: Link<()>, steps: &[(u64, usize, bool)]) -> Vec<(Option<Exit<()>>, usize)> {
        let mut seen = Vec::new();
        let mut now = 0;
        for (id, &(gap, size, looks)) in (0..).zip(steps) {
            now += gap;
            let at = Time::from_micros(now);
            let payload = ();
            link.push(at, Packet { id, size, payload });
            seen.push((None, link.inside().len()));
            if looks {
                seen.push((None, link.state(at).queue_bytes));
                while let Some(exit) = link.poll(at) {
                    seen.push((Some(exit), 0));
                }
            }
        }
        while let Some(exit) = link.poll(Time::MAX) {
            seen.push((Some(exit), 0));
        }
        seen.push((None, link.inside().len()));
        seen
    }

    proptest! {
        #[test]
        fn it_does_what_its_two_stages_do(
            // On a grid of 500 us, so that much happens at the same moment.
            rates in prop::collection::vec((0..40_u64, prop::option::of(0..30_u64)), 0..4),
            delays in prop::collection::vec((0..40_u64, 0..8_u64), 0..3),
            ups in prop::collection::vec((0..40_u64, prop::bool::ANY), 0..5),
            jitter_us in prop_oneof![Just(0), 1..3_000_u64],
            steps in prop::collection::vec((0..4_u64, 1..5_usize, prop::bool::ANY), 1..60),
        ) {
            let rates = rates.into_iter().map(|(t, rate)| (t * 500, rate)).collect();
            let delays = delays.into_iter().map(|(t, delay)| (t * 500, delay * 500)).collect();
            let ups = ups.into_iter().map(|(t, up)| (t * 500, up)).collect();
            let steps: Vec<_> = steps.into_iter().map(|(t, n, l)| (t * 500, n * 750, l)).collect();
            let stages = stages(rates, delays, ups, jitter_us);
            let joined = Link::new(stages.clone());
            prop_assert!(matches!(joined.stages[..], [Stage::LinkDown(_), Stage::Line(_)]));
            prop_assert_eq!(joined.changes(), Link::of(stages.clone()).changes());
            prop_assert_eq!(run(joined, &steps), run(Link::of(stages), &steps));
        }
    }

    #[test]
    fn a_queue_that_drops_by_the_wait_is_no_line() {
        let rate = Timeline::constant(Some(BitRate::from_bits_per_second(1)));
        let rate = Rate::constant(super::super::queue::Codel::new(1), rate);
        let delay = Delay::<()>::constant(Duration::from_millis(1));
        let stages = join(vec![Stage::Rate(rate), Stage::Delay(delay)]);
        assert_eq!(stages.len(), 2);
    }
}
