//! How long a packet propagates: a delay, with a jitter that keeps the packets' order.

use super::{Behaviour, LinkSnapshot, Outlet, Packet, Timeline};
use crate::normal;
use model::Time;
use rand_pcg::Pcg64;
use std::collections::VecDeque;
use std::time::Duration;

/// Holds each packet for the delay in force when it arrives.
///
/// No packet overtakes another: after the delay shrank, or when a jitter is small after a
/// large one, a packet arrives together with the one before it. Therefore jitter that is
/// large against the packets' spacing raises the mean delay above the configured one.
#[derive(Clone, Debug)]
pub struct Delay<P> {
    delay: Timeline<Duration>,
    jitter: Option<Jitter>,
    travelling: VecDeque<(Time, Packet<P>)>,
    last: Time,
}

/// A normal deviation of the delay.
#[derive(Clone, Debug)]
struct Jitter {
    deviation: Duration,
    random: Pcg64,
}

impl Jitter {
    /// `delay` and a normal deviation, not below zero.
    fn apply(&mut self, delay: Duration) -> Duration {
        let deviation = self.deviation.as_nanos() as f64 * normal::draw(&mut self.random);
        let nanos = (delay.as_nanos() as f64 + deviation).max(0.0);
        Duration::from_nanos(nanos.round() as u64)
    }
}

impl<P> Delay<P> {
    /// Its name in [`super::list::STAGES`].
    pub const NAME: &'static str = "delay";

    /// A delay that changes over time.
    pub fn new(delay: Timeline<Duration>) -> Delay<P> {
        Delay {
            delay,
            jitter: None,
            travelling: VecDeque::new(),
            last: Time::ZERO,
        }
    }

    /// The same delay for every packet.
    pub fn constant(delay: Duration) -> Delay<P> {
        Delay::new(Timeline::constant(delay))
    }

    /// Adds a normal deviation of this standard deviation to each packet's delay.
    pub fn with_jitter(self, deviation: Duration, random: Pcg64) -> Delay<P> {
        Delay {
            jitter: Some(Jitter { deviation, random }),
            ..self
        }
    }
}

impl<P> Delay<P> {
    /// Takes a packet that begins to propagate at `now`, which may be ahead of the link's time.
    #[inline(always)]
    pub(super) fn hold(&mut self, now: Time, packet: Packet<P>) {
        let mut delay = self.delay.at(now);
        if let Some(jitter) = &mut self.jitter {
            delay = jitter.apply(delay);
        }
        self.last = self.last.max(now + delay);
        self.travelling.push_back((self.last, packet));
    }
}

impl<P> Behaviour<P> for Delay<P> {
    fn push(&mut self, now: Time, packet: Packet<P>, _: &mut Outlet<P>) -> Option<Packet<P>> {
        self.hold(now, packet);
        None
    }

    #[inline]
    fn due(&self) -> Time {
        self.travelling.front().map_or(Time::MAX, |&(at, _)| at)
    }

    #[inline]
    fn poll(&mut self, _: Time, _: &mut Outlet<P>) -> Option<Packet<P>> {
        self.travelling.pop_front().map(|(_, packet)| packet)
    }

    fn inside<'s>(&'s self, packets: &mut Vec<&'s Packet<P>>) {
        packets.extend(self.travelling.iter().map(|(_, packet)| packet));
    }

    fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        state.delay += self.delay.at(now);
    }

    fn changes(&self) -> Vec<Time> {
        self.delay.changes().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Link, Stage};
    use model::Seed;

    fn arrivals(delay: Delay<()>, sent: impl Iterator<Item = Time>) -> Vec<(u64, Duration)> {
        let mut link = Link::new(vec![Stage::Delay(delay)]);
        let sent: Vec<Time> = sent.collect();
        for (id, &at) in sent.iter().enumerate() {
            let packet = Packet {
                id: id as u64,
                size: 100,
                payload: (),
            };
            link.push(at, packet);
        }
        std::iter::from_fn(|| link.poll(Time::MAX))
            .map(|e| (e.packet().id, e.at() - sent[e.packet().id as usize]))
            .collect()
    }

    #[test]
    fn a_shrinking_delay_keeps_the_order() {
        let ms = Duration::from_millis;
        let delay = Timeline::new(ms(50), [(Time::from_millis(10), ms(10))]);
        let sent = [0, 9, 10, 45, 60].map(Time::from_millis);
        assert_eq!(
            arrivals(Delay::new(delay), sent.into_iter()),
            [
                (0, ms(50)),
                (1, ms(50)),
                (2, ms(49)),
                (3, ms(14)),
                (4, ms(10))
            ]
        );
    }

    #[test]
    fn jitter_has_its_deviation_when_packets_are_far_apart() {
        let delay = Delay::constant(Duration::from_millis(30))
            .with_jitter(Duration::from_millis(2), Seed(5).stream("jitter"));
        let delays = arrivals(delay, (0..10_000).map(|i| Time::from_millis(i * 100)));
        let ms: Vec<f64> = delays.iter().map(|d| d.1.as_secs_f64() * 1e3).collect();
        let mean = ms.iter().sum::<f64>() / ms.len() as f64;
        let variance = ms.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / ms.len() as f64;
        assert!((mean - 30.0).abs() < 0.1, "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 0.1, "{variance}");
    }
}
