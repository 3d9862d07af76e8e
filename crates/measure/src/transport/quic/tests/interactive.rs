//! The interactive traffic that shows how long a connection stalls.

use super::pipe::{Joined, ms};
use crate::transport::quic::Core;
use model::Time;
use std::time::Duration;
use traffic::Channels;

/// A chunk of 2,000 bytes every 100 ms each way, answered by 9 bytes.
const CHUNK: usize = 2_000;
const ANSWER: usize = 9;
const PERIOD: Duration = Duration::from_millis(100);

/// One direction of the interactive traffic over one channel.
struct Stream {
    channel: usize,
    sent: Vec<Time>,
    answered: Vec<Time>,
    received: usize,
    answer_bytes: usize,
}

/// That traffic over channel 0 (up) and channel 1 (down).
pub struct Interactive {
    up: Stream,
    down: Stream,
    next: Time,
}

/// The longest application delay of chunks sent after a moment, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    pub up_ms: f64,
    pub down_ms: f64,
    pub unanswered: usize,
}

impl Interactive {
    pub fn new(start: Time) -> Interactive {
        let stream = |channel| Stream {
            channel,
            sent: Vec::new(),
            answered: Vec::new(),
            received: 0,
            answer_bytes: 0,
        };
        Interactive {
            up: stream(0),
            down: stream(1),
            next: start,
        }
    }

    /// Runs the traffic for `duration`, calling `manage` every `period` of a path manager.
    pub fn run(
        &mut self,
        joined: &mut Joined,
        duration: Duration,
        period: Duration,
        mut manage: impl FnMut(&mut Joined),
    ) {
        let end = joined.now + duration;
        let mut next_decision = joined.now;
        while joined.now < end {
            // 1 ms is fine enough against round trips of 20 ms.
            joined.run_for(ms(1));
            if joined.now >= self.next {
                self.next += PERIOD;
                joined.client.write(self.up.channel, &[1; CHUNK]);
                self.up.sent.push(joined.now);
                // The first byte on channel 1 opens it for the server.
                if self.down.sent.is_empty() {
                    joined.client.write(self.down.channel, &[0; ANSWER]);
                    self.down.sent.push(joined.now);
                } else {
                    joined.server.write(self.down.channel, &[2; CHUNK]);
                    self.down.sent.push(joined.now);
                }
            }
            exchange(
                &mut self.up,
                &mut joined.client,
                &mut joined.server,
                joined.now,
            );
            exchange(
                &mut self.down,
                &mut joined.server,
                &mut joined.client,
                joined.now,
            );
            if joined.now >= next_decision {
                next_decision += period;
                manage(joined);
            }
        }
    }

    /// A chunk that was never answered counts with its age at `now`.
    pub fn delays(&self, since: Time, now: Time) -> Delays {
        Delays {
            up_ms: self.up.worst(since, now),
            down_ms: self.down.worst(since, now),
            unanswered: self.up.unanswered() + self.down.unanswered(),
        }
    }
}

fn exchange(stream: &mut Stream, sender: &mut Core, receiver: &mut Core, now: Time) {
    let mut buffer = [0; 4096];
    loop {
        let n = receiver.read(stream.channel, &mut buffer);
        if n == 0 {
            break;
        }
        let before = stream.received / CHUNK;
        stream.received += n;
        for _ in before..stream.received / CHUNK {
            receiver.write(stream.channel, &[3; ANSWER]);
        }
    }
    loop {
        let n = sender.read(stream.channel, &mut buffer);
        if n == 0 {
            break;
        }
        stream.answer_bytes += n;
        while stream.answered.len() < stream.answer_bytes / ANSWER {
            stream.answered.push(now);
        }
    }
}

impl Stream {
    fn worst(&self, since: Time, now: Time) -> f64 {
        let delays = self.sent.iter().enumerate().filter(|(_, at)| **at >= since);
        delays
            .map(|(n, at)| self.answered.get(n).copied().unwrap_or(now).since(*at))
            .map(|delay| delay.as_secs_f64() * 1e3)
            .fold(0.0, f64::max)
    }

    fn unanswered(&self) -> usize {
        self.sent.len() - self.answered.len()
    }
}
