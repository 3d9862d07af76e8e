//! `radio`: does a stream at a fixed bit rate arrive in time?
//!
//! The client asks once; the server then pushes blocks at the stream's rate, as Icecast does (MultiMob,
//! section V-A), after a burst of what it has already. A message is a block, so its direction is down. It is
//! *due* when the server would have it if the request had taken no time: its delay runs from there, on the
//! client's clock alone, to receiving its last byte, and has the request's way in it. The client answers
//! nothing. What its play-out buffer holds follows from when the blocks arrived; the analysis works it out.
//!
//! A server keeps less than 512 KiB waiting for the transport; what it had to hold back it sends when there
//! is room. Channel 0 carries both. It never ends by itself.

use super::MIN_SIZE;
use super::inbox::Inbox;
use crate::frame::{HEADER, Kind, Writer};
use crate::{Channels, Half};
use model::record::Message;
use model::scenario::Radio;
use model::units::BitRate;
use model::{Direction, Time};
use std::time::Duration;

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.radio]
bitrate = "128 kbit/s"
block_size = "1400 B"
burst_size = "64 KiB"
start_threshold = "1 s"
"#;

const CHANNEL: usize = 0;
/// Icecast's `queue-size`: 512 KiB, or one block.
const MAX_QUEUED: usize = 512 * 1024;
/// How long until a server looks again whether the transport took something.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The client's half.
pub fn client(parameters: &Radio) -> impl Half + use<> {
    let stream = Stream::of(parameters);
    Client {
        request: Writer::new(Kind::Request, HEADER),
        blocks: Inbox::new(CHANNEL, Kind::Object, stream.block),
        stream,
        asked: None,
        first_late: None,
        received: 0,
        now: Time::ZERO,
        finished: false,
    }
}

/// The server's half.
pub fn server(parameters: &Radio) -> impl Half + use<> {
    let stream = Stream::of(parameters);
    Server {
        requests: Inbox::new(CHANNEL, Kind::Request, HEADER as u64),
        blocks: Writer::new(Kind::Object, stream.block as usize),
        stream,
        asked: 0,
        started: None,
        next: None,
        finished: false,
    }
}

/// When each block of a stream is there.
#[derive(Clone, Copy)]
struct Stream {
    bitrate: BitRate,
    block: u64,
    burst: u64,
}

impl Stream {
    fn of(parameters: &Radio) -> Stream {
        let Radio {
            bitrate,
            block_size,
            burst_size,
            start_threshold: _,
        } = *parameters;
        Stream {
            bitrate: bitrate.max(super::MIN_RATE),
            block: block_size.max(MIN_SIZE).bytes(),
            burst: burst_size.bytes(),
        }
    }

    /// How long after the start block `id` is complete: at once, if it is of the burst.
    fn after(&self, id: u64) -> Duration {
        let end = (u128::from(id) + 1) * u128::from(self.block);
        let fresh = end.saturating_sub(u128::from(self.burst));
        let nanos = fresh * 8_000_000_000 / u128::from(self.bitrate.bits_per_second());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

struct Client {
    request: Writer,
    blocks: Inbox,
    stream: Stream,
    /// When the stream was asked for.
    asked: Option<Time>,
    /// How long after it was due the first block was there.
    first_late: Option<Duration>,
    received: u64,
    /// When it was polled last; the end of its time once it is finished.
    now: Time,
    finished: bool,
}

impl Client {
    fn message(&self, id: u64, asked: Time, arrived: Option<Time>) -> Message {
        let due = asked + self.stream.after(id);
        let bytes = [self.stream.block, 0];
        super::fetch::message(CHANNEL, id, Direction::Down, bytes, due, arrived)
    }

    /// When block `id` should be there, if all goes on as with the first one.
    fn expected(&self, id: u64) -> Option<Time> {
        Some(self.asked? + self.first_late? + self.stream.after(id))
    }
}

impl Half for Client {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        if !self.finished {
            self.now = now;
        }
        for id in self.blocks.poll(channels) {
            let Some(asked) = self.asked else {
                let reason = format!("block {id} came before the stream was asked for");
                return self.blocks.reject(reason);
            };
            self.received = id + 1;
            let late = now.since(asked).saturating_sub(self.stream.after(id));
            self.first_late.get_or_insert(late);
            log.push(self.message(id, asked, Some(now)));
        }
        if self.asked.is_none() && self.blocks.is_open() && !self.finished {
            let (_, request) = self.request.emit();
            channels.write(CHANNEL, request);
            self.asked = Some(now);
        }
    }

    fn poll_at(&self) -> Option<Time> {
        None
    }

    fn is_done(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.finished = true;
    }

    fn unanswered(&self) -> Vec<Message> {
        let Some(asked) = self.asked else {
            return Vec::new();
        };
        if self.first_late.is_none() {
            return vec![self.message(0, asked, None)];
        }
        (self.received..)
            .take_while(|&id| self.expected(id).is_some_and(|at| at <= self.now))
            .map(|id| self.message(id, asked, None))
            .collect()
    }

    fn error(&self) -> Option<String> {
        self.blocks.fault()
    }
}

struct Server {
    requests: Inbox,
    blocks: Writer,
    stream: Stream,
    asked: u64,
    /// When it was asked.
    started: Option<Time>,
    next: Option<Time>,
    finished: bool,
}

impl Half for Server {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, _: &mut Vec<Message>) {
        self.asked += self.requests.poll(channels).count() as u64;
        if self.asked > 1 {
            let asked = self.asked;
            self.requests
                .reject(format!("{asked} requests for one stream"));
        }
        self.next = None;
        if self.asked == 0 || self.finished || !self.requests.is_open() {
            return;
        }
        let started = *self.started.get_or_insert(now);
        let size = self.blocks.size() as usize;
        // A transport that takes everything at once gets no more than this in a turn.
        let mut turn = 0;
        loop {
            let due = started + self.stream.after(self.blocks.emitted());
            if due > now {
                self.next = Some(due);
                break;
            }
            let queued = channels.queued(CHANNEL).max(turn);
            if queued > 0 && queued + size >= MAX_QUEUED {
                self.next = Some(now + LOOK_AGAIN);
                break;
            }
            let (_, block) = self.blocks.emit();
            channels.write(CHANNEL, block);
            turn += size;
        }
    }

    fn poll_at(&self) -> Option<Time> {
        self.next.filter(|_| !self.finished)
    }

    fn is_done(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        self.finished = true;
    }

    fn unanswered(&self) -> Vec<Message> {
        Vec::new()
    }

    fn error(&self) -> Option<String> {
        self.requests.corruption()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::header;
    use crate::pattern::pipe::Pipe;
    use model::units::ByteSize;

    const MS: Duration = Duration::from_millis(1);

    fn pipe(burst: u64) -> Pipe {
        let parameters = Radio {
            // 10 blocks per second.
            bitrate: BitRate::from_bits_per_second(80_000),
            block_size: ByteSize::from_bytes(1_000),
            burst_size: ByteSize::from_bytes(burst),
            ..Radio::default()
        };
        let (client, server) = (client(&parameters), server(&parameters));
        Pipe::new(1, Box::new(client), Box::new(server)).delay(7 * MS, 13 * MS)
    }

    #[test]
    fn blocks_come_at_the_streams_rate_after_the_burst() {
        let mut pipe = pipe(3_000).pieces(&[700, 1]);
        pipe.run(Time::from_millis(1_100));
        let due: Vec<u64> = pipe.client_log.iter().map(|m| m.sent_us / 1_000).collect();
        assert_eq!(
            due,
            [0, 0, 0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]
        );
        for (m, id) in pipe.client_log.iter().zip(0..) {
            assert_eq!((m.id, m.channel, m.direction), (id, 0, Direction::Down));
            assert_eq!((m.size_bytes, m.answer_bytes), (1_000, 0));
            assert_eq!(m.delay_us, Some(20_000), "a round trip, as with the first");
        }
        assert_eq!(
            (pipe.server_log.len(), pipe.client.unanswered().len()),
            (0, 0)
        );
        assert_eq!((pipe.client.error(), pipe.server.error()), (None, None));
    }

    #[test]
    fn what_a_stall_holds_back_comes_late_and_what_it_swallows_is_missing() {
        let mut pipe = pipe(0).stall(Time::from_millis(450), Time::from_millis(950));
        pipe.run(Time::from_millis(1_100));
        let delays: Vec<u64> = pipe.client_log.iter().filter_map(|m| m.delay_us).collect();
        // Due at the server at 507 ... 907 ms, taken by the network at 950 ms.
        let stalled = [463_000, 363_000, 263_000, 163_000, 63_000];
        assert_eq!(delays[..4], [20_000; 4]);
        assert_eq!(delays[4..9], stalled);

        let mut pipe = self::pipe(0).stall(Time::from_millis(450), Time::MAX);
        pipe.run(Time::from_millis(1_100));
        pipe.poll_client(Time::from_millis(1_100));
        pipe.client.finish();
        pipe.poll_client(Time::from_millis(1_500));
        let missing: Vec<u64> = pipe.client.unanswered().iter().map(|m| m.id).collect();
        assert_eq!(
            missing,
            [4, 5, 6, 7, 8, 9],
            "due so that they are there by the end"
        );
    }

    #[test]
    fn a_stream_that_never_came_is_one_message() {
        let mut pipe = pipe(0).stall(Time::ZERO, Time::MAX);
        pipe.run(Time::from_millis(1_000));
        let open = pipe.client.unanswered();
        assert_eq!((open.len(), open[0].id, open[0].acked_us), (1, 0, None));
    }

    #[test]
    fn a_server_holds_little_and_catches_up() {
        let parameters = Radio {
            bitrate: BitRate::from_bits_per_second(80_000_000),
            ..Radio::default()
        };
        let (client, server) = (client(&parameters), server(&parameters));
        let mut pipe = Pipe::new(1, Box::new(client), Box::new(server))
            .rate(20_000)
            .stall(Time::from_millis(100), Time::from_millis(400));
        pipe.run(Time::from_millis(2_000));
        assert!(pipe.most_queued < MAX_QUEUED, "{}", pipe.most_queued);
        let last = pipe.client_log.last().expect("blocks");
        assert!(last.sent_us > 1_990_000, "it caught up: {last:?}");
        assert!(last.delay_us < Some(2_000), "{last:?}");
    }

    #[test]
    fn a_second_request_is_refused_and_nothing_follows_the_finish() {
        let mut pipe = pipe(0);
        pipe.run(Time::from_millis(150));
        pipe.server.finish();
        assert_eq!(pipe.server.poll_at(), None);
        pipe.run(Time::from_millis(1_000));
        assert_eq!(pipe.client_log.len(), 1);

        let mut pipe = self::pipe(0);
        pipe.run(Time::from_millis(150));
        pipe.inject_to_server(0, &header(Kind::Request, 1));
        pipe.run(Time::from_millis(500));
        let error = pipe.server.error().expect("an error");
        assert_eq!(error, "channel 0: 2 requests for one stream");
        assert!(pipe.client_log.len() <= 2);
    }
}
