//! What happens to a packet in one direction of a path?

use std::time::Duration;

use model::Time;
use rand::RngExt;
use rand_pcg::Pcg64;

use super::middlebox::Strip;

/// One direction of a path. Everything may be changed while packets travel, which the link
/// stages of `network` cannot, as they follow timelines that are known in advance.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its name in the packet log.
    pub name: String,
    /// How long a packet propagates.
    pub delay: Duration,
    /// Bits a second; `None` without limit.
    pub rate: Option<u64>,
    /// Bytes that may wait in front of the rate; what does not fit is dropped.
    pub queue: usize,
    /// Whether packets arrive at all; if not they vanish silently.
    pub up: bool,
    /// The probability that a packet is lost.
    pub loss: f64,
    /// The probability that it arrives twice.
    pub duplicate: f64,
    /// The probability that it is held back for `hold`.
    pub reorder: f64,
    /// For how long.
    pub hold: Duration,
    /// The probability that a bit of its payload is flipped and the TCP checksum repaired, as a
    /// middlebox that rewrites data does.
    pub corrupt: f64,
    /// The probability that a bit is flipped and nothing repaired.
    pub garble: f64,
    /// The options of Multipath TCP that a middlebox takes out.
    pub strip: Strip,
    /// When the transmitter is free again.
    free_at: Time,
    /// Packets that entered.
    pub entered: u64,
    /// Bytes of the packets that left the transmitter.
    pub carried: u64,
    /// Packets dropped in front of the rate.
    pub overflowed: u64,
    /// Packets whose payload was changed behind a repaired checksum.
    pub corrupted: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives then, after that is done to it.
    Arrives {
        at: Time,
        /// Whether a second copy arrives right behind it.
        twice: bool,
        change: Change,
    },
    /// It does not; why.
    Dropped(&'static str),
}

/// What a packet goes through on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Nothing.
    Intact,
    /// A bit of the payload flips and the checksum is repaired.
    Corrupted,
    /// A bit flips.
    Garbled,
}

impl Lane {
    /// A lane without limit and faults.
    pub fn new(name: &str, delay: Duration) -> Lane {
        Lane {
            name: name.to_owned(),
            delay,
            rate: None,
            queue: usize::MAX,
            up: true,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            hold: Duration::from_millis(5),
            corrupt: 0.0,
            garble: 0.0,
            strip: Strip::Nothing,
            free_at: Time::ZERO,
            entered: 0,
            carried: 0,
            overflowed: 0,
            corrupted: 0,
        }
    }

    /// With a bottleneck of `rate` bits a second behind a drop-tail queue of `queue` bytes.
    pub fn with_rate(self, rate: u64, queue: usize) -> Lane {
        Lane {
            rate: Some(rate),
            queue,
            ..self
        }
    }

    /// Without any fault from now on; delay, rate and middlebox stay.
    pub fn heal(&mut self) {
        self.up = true;
        (self.loss, self.duplicate, self.reorder) = (0.0, 0.0, 0.0);
        (self.corrupt, self.garble) = (0.0, 0.0);
    }

    /// Bytes that wait for the transmitter at `now`, the packet in service included.
    pub fn waiting(&self, now: Time) -> usize {
        let rate = self.rate.unwrap_or(0);
        let wait = self.free_at.since(now).as_nanos();
        (wait * u128::from(rate) / 8_000_000_000) as usize
    }

    /// A packet of `size` bytes enters at `now`.
    pub fn enter(&mut self, now: Time, size: usize, random: &mut Pcg64) -> Fate {
        self.entered += 1;
        let mut at = now;
        if let Some(rate) = self.rate {
            if self.waiting(now) + size > self.queue {
                self.overflowed += 1;
                return Fate::Dropped("queue");
            }
            let serialisation = (size as u64 * 8_000_000_000).div_ceil(rate);
            self.free_at = self.free_at.max(now) + Duration::from_nanos(serialisation);
            at = self.free_at;
        }
        self.carried += size as u64;
        if !self.up {
            return Fate::Dropped("down");
        }
        let mut happens = |p: f64| p > 0.0 && random.random::<f64>() < p;
        if happens(self.loss) {
            return Fate::Dropped("loss");
        }
        let twice = happens(self.duplicate);
        let held = happens(self.reorder);
        let change = match (happens(self.corrupt), happens(self.garble)) {
            (true, _) => Change::Corrupted,
            (_, true) => Change::Garbled,
            _ => Change::Intact,
        };
        let hold = if held { self.hold } else { Duration::ZERO };
        Fate::Arrives {
            at: at + self.delay + hold,
            twice,
            change,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;

    /// 1,500 bytes at 12 Mbit/s take a millisecond; the third packet does not fit.
    #[test]
    fn a_rate_serialises_and_its_queue_overflows() {
        let mut random = Seed(1).stream("lane");
        let mut lane = Lane::new("lane", Duration::from_millis(10)).with_rate(12_000_000, 3_000);
        let mut enter = |at| match lane.enter(Time::from_millis(at), 1_500, &mut random) {
            Fate::Arrives { at, .. } => Ok(at.as_micros()),
            Fate::Dropped(reason) => Err(reason),
        };
        assert_eq!(
            [0, 0, 0, 1].map(&mut enter),
            [Ok(11_000), Ok(12_000), Err("queue"), Ok(13_000)]
        );
        assert_eq!((lane.entered, lane.overflowed), (4, 1));
    }
}
