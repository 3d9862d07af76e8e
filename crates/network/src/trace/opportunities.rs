//! When a packet leaves under a trace: with the last byte that the opportunities carry.
//!
//! As Mahimahi does it: an opportunity carries up to 1504 bytes, of several packets or of a
//! part of one; what it can't use, because the queue is empty, is gone; and a packet that
//! arrives at the instant of an opportunity has missed it.

use super::{OPPORTUNITY, Trace};
use model::Time;
use model::units::BitRate;
use std::time::Duration;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A walk through a trace that begins again after its end.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Trace,
    /// Counted over all repetitions; meaningful while `busy`.
    next: u64,
    /// Bytes left of the opportunity before `next`, usable at its own instant.
    left: usize,
    /// Whether the packet to serve was waiting when the one before it left.
    busy: bool,
}

impl Opportunities {
    /// The name of a link's service by a trace in [`crate::link::list::STAGES`].
    pub const NAME: &'static str = "trace";

    /// The opportunities of `trace`, which starts at time zero.
    pub fn new(trace: Trace) -> Opportunities {
        Opportunities {
            trace,
            next: 0,
            left: 0,
            busy: false,
        }
    }

    /// When `size` bytes that are next in line at `now` have left.
    pub(crate) fn serve(&mut self, now: Time, size: usize) -> Time {
        if !self.busy {
            self.busy = true;
            self.left = 0;
            self.next = self.first_after(now);
        }
        let (mut at, mut missing) = (now, size);
        while missing > self.left {
            missing -= self.left;
            at = self.instant(self.next);
            self.next += 1;
            self.left = OPPORTUNITY;
        }
        self.left -= missing;
        at
    }

    /// Nothing waits: the rest of the current opportunity is gone.
    pub(crate) fn rest(&mut self) {
        self.busy = false;
    }

    /// What the second after `now` can carry.
    pub(crate) fn rate(&self, now: Time) -> BitRate {
        let count = self.first_after(now + Duration::from_secs(1)) - self.first_after(now);
        BitRate::from_bits_per_second(count * OPPORTUNITY as u64 * 8)
    }

    /// The time of the opportunity with this number.
    fn instant(&self, number: u64) -> Time {
        let count = self.trace.millis.len() as u64;
        let millis = self.trace.millis[(number % count) as usize];
        Time::from_nanos(
            (number / count)
                .saturating_mul(self.trace.length_ms())
                .saturating_add(millis)
                .saturating_mul(NANOS_PER_MILLI),
        )
    }

    /// The number of the first opportunity later than `now`.
    fn first_after(&self, now: Time) -> u64 {
        let length = self.trace.length_ms() * NANOS_PER_MILLI;
        let (repetition, rest) = (now.as_nanos() / length, now.as_nanos() % length);
        let passed = self
            .trace
            .millis
            .partition_point(|ms| ms * NANOS_PER_MILLI <= rest);
        repetition * self.trace.millis.len() as u64 + passed as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::link::queue::DropTail;
    use crate::link::{Link, Packet, Rate, Stage};
    use crate::trace::{Opportunities, Trace};
    use model::Time;

    /// When packets of `(ms of arrival, bytes)` leave, in ms.
    fn departures(trace: &str, packets: &[(u64, usize)]) -> Vec<u64> {
        let trace = Opportunities::new(Trace::parse(trace).unwrap());
        let mut link = Link::new(vec![Stage::Rate(Rate::trace(
            DropTail::new(1 << 20),
            trace,
        ))]);
        for (id, &(at, size)) in packets.iter().enumerate() {
            let packet = Packet {
                id: id as u64,
                size,
                payload: (),
            };
            link.push(Time::from_millis(at), packet);
        }
        std::iter::from_fn(|| link.poll(Time::from_millis(100_000)))
            .map(|exit| exit.at().as_micros() / 1000)
            .collect()
    }

    #[test]
    fn small_packets_share_an_opportunity() {
        assert_eq!(departures("5\n", &[(0, 500); 4]), [5, 5, 5, 10]);
    }

    #[test]
    fn a_large_packet_takes_several() {
        assert_eq!(departures("5\n", &[(0, 4000), (0, 512)]), [15, 15]);
        assert_eq!(departures("5\n5\n7\n", &[(0, 4000)]), [7]);
    }

    #[test]
    fn what_is_not_used_is_gone() {
        // The second packet comes after the first has left, at the same instant.
        assert_eq!(departures("5\n", &[(0, 500), (5, 500)]), [5, 10]);
        assert_eq!(departures("5\n5\n", &[(0, 500), (5, 500)]), [5, 10]);
        assert_eq!(departures("1\n2\n9\n", &[(2, 1504)]), [9]);
    }

    #[test]
    fn the_trace_repeats_after_its_last_time() {
        assert_eq!(
            departures("0\n3\n", &[(0, 1504); 5]),
            [3, 3, 6, 6, 9],
            "the opportunity at 0 of each repetition is at the end of the one before"
        );
    }
}
