//! `bursts`: how long does a voice-activated application wait for its answers?
//!
//! A simplified model of Siri (MultiMob, section IV a): the client sends a burst in writes of random sizes,
//! waits a little, sends the next; after so many bursts the user pauses. The server answers each burst,
//! once complete. The delay runs from handing the burst's first byte to the transport to receiving the last
//! byte of the response. It goes on until the run ends.
//!
//! Each write is handed over in a turn of its own, all at the same moment, so that a transport which sends
//! at once sends a packet for each. A burst that is due while the one before is being written waits for it.
//!
//! Channel 0 carries both.

use super::answerer::Answerer;
use super::inbox::Inbox;
use super::request::Server;
use super::{MIN_PERIOD, MIN_SIZE};
use crate::frame::{Kind, Writer};
use crate::{Channels, Half};
use model::record::Message;
use model::scenario::Bursts;
use model::units::Span;
use model::{Direction, Seed, Time};
use rand::{Rng, RngExt};
use std::collections::VecDeque;
use std::time::Duration;

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.bursts]
burst_size = "2500 B"
write_min = "50 B"
write_max = "500 B"
interval = "333.333 ms"
count = 9
pause = "5 s"
response_size = "750 B"
"#;

const CHANNEL: usize = 0;

/// The client's half; the sizes of its writes come from `seed`.
pub fn client(parameters: &Bursts, seed: Seed) -> impl Half + use<> {
    let Bursts {
        burst_size,
        write_min,
        write_max,
        interval,
        count,
        pause,
        response_size,
    } = *parameters;
    let response_size = response_size.max(MIN_SIZE).bytes();
    let at_least = |span: Span| span.max(MIN_PERIOD).get();
    let write_min = (write_min.bytes() as usize).max(1);
    Client {
        interval: at_least(interval),
        count: count.max(1),
        pause: at_least(pause),
        sizes: Sizes {
            min: write_min,
            max: (write_max.bytes() as usize).max(write_min),
            random: seed.stream("traffic.bursts"),
        },
        bursts: Writer::new(Kind::Chunk, burst_size.bytes() as usize),
        responses: Inbox::new(CHANNEL, Kind::Ack, response_size),
        response_bytes: response_size,
        due: None,
        in_series: 0,
        burst: Vec::new(),
        written: 0,
        now: Time::ZERO,
        finished: false,
        waiting: VecDeque::new(),
    }
}

/// The server's half.
pub fn server(parameters: &Bursts) -> impl Half + use<> {
    let Bursts {
        burst_size,
        response_size,
        ..
    } = *parameters;
    Server(Answerer::new(CHANNEL, burst_size, response_size))
}

/// How large the writes are.
struct Sizes<R> {
    min: usize,
    max: usize,
    random: R,
}

impl<R: Rng> Sizes<R> {
    /// The next write's size, of the `left` bytes of a burst: within the bounds, unless less is left.
    fn draw(&mut self, left: usize) -> usize {
        let drawn = self.random.random_range(self.min..=self.max).min(left);
        // What remains should not be too small for a write of its own.
        match left - drawn {
            rest if rest == 0 || rest >= self.min => drawn,
            _ if left <= self.max => left,
            _ => left.saturating_sub(self.min).max(1),
        }
    }
}

struct Client<R> {
    interval: Duration,
    count: u32,
    pause: Duration,
    sizes: Sizes<R>,
    bursts: Writer,
    responses: Inbox,
    response_bytes: u64,
    /// When the next burst is due; the first is when the channel is first seen open.
    due: Option<Time>,
    /// Bursts of the current series so far.
    in_series: u32,
    /// The current burst, and how much of it was handed over.
    burst: Vec<u8>,
    written: usize,
    /// When it was polled last.
    now: Time,
    finished: bool,
    /// When each burst without a response began, oldest first.
    waiting: VecDeque<Time>,
}

impl<R> Client<R> {
    fn is_writing(&self) -> bool {
        self.written < self.burst.len()
    }

    fn begin(&mut self, now: Time, due: Time) {
        let (_, burst) = self.bursts.emit();
        self.burst.clear();
        self.burst.extend_from_slice(burst);
        self.written = 0;
        self.waiting.push_back(now);
        self.in_series += 1;
        let is_last = self.in_series >= self.count;
        self.due = Some(due + if is_last { self.pause } else { self.interval });
        if is_last {
            self.in_series = 0;
        }
    }

    fn message(&self, id: u64, sent: Time, acked: Option<Time>) -> Message {
        let bytes = [self.bursts.size(), self.response_bytes];
        super::fetch::message(CHANNEL, id, Direction::Up, bytes, sent, acked)
    }
}

impl<R: Rng + Send> Half for Client<R> {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        self.now = now;
        for id in self.responses.poll(channels) {
            let Some(sent) = self.waiting.pop_front() else {
                self.responses
                    .reject(format!("burst {id} was answered before it was sent"));
                return;
            };
            log.push(self.message(id, sent, Some(now)));
        }
        if !self.responses.is_open() {
            return;
        }
        let due = self.due.unwrap_or(now);
        if !self.is_writing() && !self.finished && due <= now {
            self.begin(now, due);
        }
        if self.is_writing() {
            let size = self.sizes.draw(self.burst.len() - self.written);
            let end = self.written + size;
            channels.write(CHANNEL, &self.burst[self.written..end]);
            self.written = end;
        }
    }

    fn poll_at(&self) -> Option<Time> {
        match self.responses.is_open() {
            false => None,
            true if self.is_writing() => Some(self.now),
            true => self.due.filter(|_| !self.finished),
        }
    }

    fn is_done(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.finished = true;
    }

    fn unanswered(&self) -> Vec<Message> {
        let first = self.bursts.emitted() - self.waiting.len() as u64;
        let ids = first..;
        ids.zip(&self.waiting)
            .map(|(id, &sent)| self.message(id, sent, None))
            .collect()
    }

    fn error(&self) -> Option<String> {
        self.responses.fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::pipe::Pipe;

    const MS: Duration = Duration::from_millis(1);

    fn pipe(parameters: &Bursts, seed: u64) -> Pipe {
        let (client, server) = (client(parameters, Seed(seed)), server(parameters));
        Pipe::new(1, Box::new(client), Box::new(server)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn nine_bursts_a_third_of_a_second_apart_and_a_pause_of_five_seconds() {
        let mut pipe = pipe(&Bursts::default(), 1);
        pipe.run(Time::from_millis(80_000));
        let sent: Vec<u64> = pipe.client_log.iter().map(|m| m.sent_us).collect();
        let series = 8 * 333_333 + 5_000_000;
        let expected: Vec<u64> = (0..)
            .map(|n| n / 9 * series + n % 9 * 333_333)
            .take(99)
            .collect();
        // "Our test phones send 100 requests during our 80 s walk" (section V-A).
        assert_eq!(sent, expected);
        for (m, id) in pipe.client_log.iter().zip(0..) {
            assert_eq!((m.id, m.channel, m.direction), (id, 0, Direction::Up));
            assert_eq!((m.size_bytes, m.answer_bytes), (2_500, 750));
            assert_eq!(m.delay_us, Some(20_000));
        }
        assert_eq!((pipe.server_log.len(), pipe.client.error()), (0, None));
    }

    #[test]
    fn writes_are_within_their_bounds_add_up_and_follow_the_seed() {
        let writes = |seed| {
            let mut pipe = pipe(&Bursts::default(), seed);
            pipe.run(Time::from_millis(20_000));
            pipe.writes
        };
        let sizes = writes(3);
        assert!(
            sizes.iter().all(|size| (50..=500).contains(size)),
            "{sizes:?}"
        );
        assert_eq!(sizes.iter().sum::<usize>(), 27 * 2_500);
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!((200.0..350.0).contains(&mean), "{mean}");
        assert_eq!(sizes, writes(3));
        assert_ne!(sizes, writes(4));
    }

    #[test]
    fn a_burst_that_was_cut_off_by_the_end_is_unanswered_and_none_begins_after_the_finish() {
        let mut pipe = pipe(&Bursts::default(), 1).stall(Time::from_millis(300), Time::MAX);
        pipe.run(Time::from_millis(1_100));
        pipe.client.finish();
        pipe.run(Time::from_millis(20_000));
        let open: Vec<u64> = pipe.client.unanswered().iter().map(|m| m.sent_us).collect();
        assert_eq!(open, [333_333, 666_666, 999_999]);
        assert_eq!((pipe.client_log.len(), pipe.client.poll_at()), (1, None));
    }

    #[test]
    fn odd_sizes_do_not_hang() {
        for (burst, min, max) in [
            (9, 50, 500),
            (2_500, 1, 1),
            (100, 60, 70),
            (10_000, 9_999, 9_999),
        ] {
            let of = model::units::ByteSize::from_bytes;
            let parameters = Bursts {
                burst_size: of(burst),
                write_min: of(min),
                write_max: of(max),
                ..Bursts::default()
            };
            let mut pipe = pipe(&parameters, 7);
            pipe.run(Time::from_millis(500));
            assert_eq!(pipe.client_log.len(), 2, "{burst} {min} {max}");
            assert_eq!(pipe.client_log[0].delay_us, Some(20_000));
        }
    }

    #[test]
    fn an_answer_out_of_nowhere_is_an_error() {
        let mut pipe = pipe(&Bursts::default(), 1);
        pipe.run(Time::from_millis(100));
        let mut early = crate::frame::header(Kind::Ack, 1).to_vec();
        early.resize(750, 0);
        pipe.inject_to_client(0, &early);
        pipe.run(Time::from_millis(200));
        let error = pipe.client.error().expect("an error");
        assert_eq!(error, "channel 0: burst 1 was answered before it was sent");
    }
}
