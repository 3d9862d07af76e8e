//! What did a listener hear of a stream? By a play-out buffer, fed with the blocks as they arrived.
//!
//! It fills up to a threshold, plays from then on, stalls when nothing is left, and plays again at the same
//! threshold. Only arrivals matter, in the order of the stream; blocks that never came are not skipped.

use crate::folder::RunFolder;
use ::model::Direction;
use ::model::scenario::{Radio, Traffic};

/// How the buffer was filled over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playout {
    /// What was in the buffer when, as moment and playing time, both in us: it fell from each point on at
    /// the pace of time while it played. A block that arrived is two points at one moment.
    pub levels_us: Vec<(u64, u64)>,
    /// From the request until it played first; `None` if it never did.
    pub start_us: Option<u64>,
    /// When it stalled, and when it went on: the end of the run for the last one, perhaps.
    pub stalls_us: Vec<(u64, u64)>,
    /// Whether the last stall went on when the run ended.
    pub is_stalled: bool,
}

/// The play-out of a run of `radio`; `None` of other traffic, or when the stream was never asked for.
pub fn of(run: &RunFolder) -> Option<Playout> {
    let (Traffic::Radio(radio), _) = run.manifest.scenario.traffic.parts() else {
        return None;
    };
    let blocks = run.messages.iter();
    let blocks = blocks.filter(|m| m.direction == Direction::Down);
    let asked_us = blocks.clone().map(|m| m.sent_us).min()?;
    let mut arrivals: Vec<u64> = blocks.filter_map(|m| m.acked_us).collect();
    arrivals.sort_unstable();
    Some(Playout::of(radio, asked_us, &arrivals, run.end_us()))
}

impl Playout {
    /// Of a stream that was asked for at `asked_us`, whose blocks arrived at `arrivals_us`, in order.
    pub fn of(radio: &Radio, asked_us: u64, arrivals_us: &[u64], end_us: u64) -> Playout {
        let threshold = u64::try_from(radio.start_threshold.get().as_micros()).unwrap_or(u64::MAX);
        let mut buffer = Buffer {
            level_us: 0,
            since_us: asked_us,
            is_playing: false,
            stalled_us: None,
            played: Playout::default(),
        };
        buffer.note();
        let played_us = |blocks: u64| {
            let bits = u128::from(blocks) * u128::from(radio.block_size.bytes()) * 8_000_000;
            let us = bits / u128::from(radio.bitrate.bits_per_second().max(1));
            u64::try_from(us).unwrap_or(u64::MAX)
        };
        for (block, &arrival) in (0..).zip(arrivals_us.iter().take_while(|&&us| us <= end_us)) {
            buffer.advance(arrival);
            buffer.level_us += played_us(block + 1) - played_us(block);
            buffer.note();
            if !buffer.is_playing && buffer.level_us >= threshold {
                buffer.play(asked_us);
            }
        }
        buffer.advance(end_us);
        if let Some(since) = buffer.stalled_us {
            buffer.played.stalls_us.push((since, end_us));
            buffer.played.is_stalled = true;
        }
        buffer.played
    }

    /// How long it stalled in all, in us.
    pub fn stalled_us(&self) -> u64 {
        self.stalls_us.iter().map(|(from, to)| to - from).sum()
    }
}

/// The buffer at one moment.
struct Buffer {
    level_us: u64,
    since_us: u64,
    is_playing: bool,
    stalled_us: Option<u64>,
    played: Playout,
}

impl Buffer {
    /// Lets time go by.
    fn advance(&mut self, now_us: u64) {
        let passed = now_us.saturating_sub(self.since_us);
        if self.is_playing && passed > self.level_us {
            self.since_us += self.level_us;
            self.level_us = 0;
            self.is_playing = false;
            self.stalled_us = Some(self.since_us);
            self.note();
        }
        if self.is_playing {
            self.level_us -= passed;
        }
        self.since_us = self.since_us.max(now_us);
        self.note();
    }

    fn play(&mut self, asked_us: u64) {
        self.is_playing = true;
        match self.stalled_us.take() {
            Some(since) => self.played.stalls_us.push((since, self.since_us)),
            None => self.played.start_us = Some(self.since_us.saturating_sub(asked_us)),
        }
    }

    fn note(&mut self) {
        let point = (self.since_us, self.level_us);
        if self.played.levels_us.last() != Some(&point) {
            self.played.levels_us.push(point);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::model::units::{BitRate, ByteSize, Span};

    /// Blocks of 100 ms, played from 200 ms on.
    fn playout(arrivals_ms: &[u64], end_ms: u64) -> Playout {
        let radio = Radio {
            bitrate: BitRate::from_bits_per_second(80_000),
            block_size: ByteSize::from_bytes(1_000),
            burst_size: ByteSize::from_bytes(0),
            start_threshold: Span::from_millis(200),
        };
        let arrivals: Vec<u64> = arrivals_ms.iter().map(|ms| ms * 1_000).collect();
        Playout::of(&radio, 0, &arrivals, end_ms * 1_000)
    }

    #[test]
    fn a_stream_in_time_plays_on() {
        let arrivals: Vec<u64> = (0..20).map(|n| 20 + n * 100).collect();
        let played = playout(&arrivals, 2_000);
        assert_eq!(played.start_us, Some(120_000), "two blocks are there");
        assert_eq!((played.stalls_us.len(), played.is_stalled), (0, false));
        // Asked, a block, a second one, and played since: 20 ms later, 80 ms less, a third.
        let levels = [
            (0, 0),
            (20, 0),
            (20, 100),
            (120, 100),
            (120, 200),
            (220, 100),
            (220, 200),
        ];
        let levels: Vec<(u64, u64)> = levels
            .iter()
            .map(|(at, of)| (at * 1_000, of * 1_000))
            .collect();
        assert_eq!(played.levels_us[..7], levels);
    }

    #[test]
    fn a_silence_is_a_stall_until_the_threshold_is_there_again() {
        // 200 ms at 120 ms: empty at 320 ms. Two blocks again at 1,010 ms.
        let played = playout(&[20, 120, 1_000, 1_010, 1_020], 1_300);
        assert_eq!(played.stalls_us, [(320_000, 1_010_000)]);
        // Of the 290 ms at 1,020 ms, 10 ms are left.
        assert_eq!(played.levels_us.last(), Some(&(1_300_000, 10_000)));
        assert!(!played.is_stalled);

        let played = playout(&[20, 120, 1_000, 1_010, 1_020], 1_400);
        assert_eq!(
            played.stalls_us,
            [(320_000, 1_010_000), (1_310_000, 1_400_000)]
        );
        assert_eq!((played.is_stalled, played.stalled_us()), (true, 780_000));
    }

    #[test]
    fn what_never_began_has_no_start_and_no_stall() {
        let played = playout(&[20], 5_000);
        assert_eq!((played.start_us, played.stalls_us.len()), (None, 0));
    }

    #[test]
    fn a_buffer_that_empties_as_the_block_comes_goes_on() {
        let played = playout(&[0, 0, 200, 300, 400], 500);
        assert_eq!(played.stalls_us, []);
    }
}
