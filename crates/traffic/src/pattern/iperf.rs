//! `iperf`: how much does the network take?
//!
//! The sender hands over blocks as fast as the transport takes them, for a fixed time (MultipathTester,
//! section II-A: 7 s); the peer's application acknowledges each block once it is complete. The blocks that
//! were acknowledged within a second are that second's throughput, and a block's delay shows how much
//! waited before it. A sender keeps less than 256 KiB waiting in user space.
//!
//! Channel 0 carries the blocks of the one direction, or those of the upload; channel 1 those of the
//! download when both ends send. It ends when its time is over and every block was acknowledged, at the
//! latest half a second after its time; what is unanswered then stays so.

use super::MIN_SIZE;
use super::answerer::Answerer;
use super::inbox::Inbox;
use super::timer::{Phase, Timer};
use crate::frame::{Kind, Writer};
use crate::{Channels, Half};
use model::record::Message;
use model::scenario::Iperf;
use model::units::ByteSize;
use model::{Direction, Side, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// Its part of a scenario.
pub const EXAMPLE: &str = r#"[traffic.iperf]
duration = "7 s"
direction = "up"
block_size = "16 kB"
"#;

/// A sender keeps less than this many bytes waiting for the transport, or one block: what waits here
/// counts as sent, and should not tell of the sender's own queue.
const MAX_QUEUED: usize = 256 * 1024;
/// How long until a sender looks again whether the transport took something, should nobody tell it.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Bytes of an acknowledgement.
const ACK_SIZE: ByteSize = MIN_SIZE;

/// The client's half.
pub fn client(parameters: &Iperf) -> impl Half + use<> {
    Ends::new(Side::Client, parameters)
}

/// The server's half.
pub fn server(parameters: &Iperf) -> impl Half + use<> {
    Ends::new(Side::Server, parameters)
}

/// What one side does on each channel.
struct Ends {
    side: Side,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
}

impl Ends {
    fn new(side: Side, parameters: &Iperf) -> Ends {
        let Iperf {
            duration,
            direction,
            block_size,
        } = *parameters;
        let mut ends = Ends {
            side,
            senders: Vec::new(),
            receivers: Vec::new(),
        };
        for (channel, &direction) in direction.directions().iter().enumerate() {
            let sender = match direction {
                Direction::Up => Side::Client,
                Direction::Down => Side::Server,
            };
            let timer = Timer::new(duration.get());
            if side == sender {
                let sender = Sender::new(channel, direction, block_size, timer);
                ends.senders.push(sender);
            } else {
                ends.receivers.push(Receiver {
                    answerer: Answerer::new(channel, block_size, ACK_SIZE),
                    timer,
                });
            }
        }
        ends
    }
}

impl Half for Ends {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        for receiver in &mut self.receivers {
            receiver.poll(now, channels);
        }
        for sender in &mut self.senders {
            sender.poll(now, channels, log);
        }
    }

    fn poll_at(&self) -> Option<Time> {
        let senders = self.senders.iter().filter_map(Sender::poll_at);
        let receivers = self.receivers.iter().filter_map(|r| r.timer.poll_at());
        senders.chain(receivers).min()
    }

    fn is_done(&self) -> bool {
        self.senders.iter().all(Sender::is_done)
            && self
                .receivers
                .iter()
                .all(|r| r.timer.phase() == Phase::Done)
    }

    fn finish(&mut self) {
        self.senders.iter_mut().for_each(|s| s.finished = true);
    }

    fn unanswered(&self) -> Vec<Message> {
        self.senders.iter().flat_map(Sender::unanswered).collect()
    }

    fn error(&self) -> Option<String> {
        let acks = self.senders.iter().map(|s| &s.acks);
        let blocks = self.receivers.iter().map(|r| r.answerer.inbox());
        let mut inboxes = acks.chain(blocks);
        match self.side {
            Side::Client if !self.is_done() => inboxes.find_map(Inbox::fault),
            Side::Client | Side::Server => inboxes.find_map(Inbox::corruption),
        }
    }
}

/// The end that answers. Only its clock tells it when the other one stops.
struct Receiver {
    answerer: Answerer,
    timer: Timer,
}

impl Receiver {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels) {
        self.answerer.poll(channels);
        self.timer.poll(now, self.answerer.inbox().is_open());
    }
}

/// The end that sends.
struct Sender {
    channel: usize,
    direction: Direction,
    blocks: Writer,
    acks: Inbox,
    timer: Timer,
    /// Whether no more blocks are to be sent, whatever the time.
    finished: bool,
    look_again: Option<Time>,
    /// When each block without an acknowledgement was sent, oldest first.
    waiting: VecDeque<Time>,
}

impl Sender {
    fn new(channel: usize, direction: Direction, block_size: ByteSize, timer: Timer) -> Sender {
        Sender {
            channel,
            direction,
            blocks: Writer::new(Kind::Chunk, block_size.bytes() as usize),
            acks: Inbox::new(channel, Kind::Ack, ACK_SIZE.bytes()),
            timer,
            finished: false,
            look_again: None,
            waiting: VecDeque::new(),
        }
    }

    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        for id in self.acks.poll(channels) {
            let Some(sent) = self.waiting.pop_front() else {
                self.acks
                    .reject(format!("block {id} was acknowledged before it was sent"));
                break;
            };
            log.push(self.message(id, sent, Some(now)));
        }
        self.timer.poll(now, self.acks.is_open());
        self.look_again = None;
        if self.finished || self.timer.phase() != Phase::Running || !self.acks.is_open() {
            return;
        }
        // A transport that takes everything at once gets no more than this in a turn.
        let mut turn = 0;
        let size = self.blocks.size() as usize;
        while turn == 0 || turn + size < MAX_QUEUED {
            let queued = channels.queued(self.channel);
            if queued > 0 && queued + size >= MAX_QUEUED {
                break;
            }
            let (_, block) = self.blocks.emit();
            channels.write(self.channel, block);
            self.waiting.push_back(now);
            turn += size;
        }
        self.look_again = Some(now + LOOK_AGAIN);
    }

    fn poll_at(&self) -> Option<Time> {
        let timer = self.timer.poll_at();
        self.look_again.into_iter().chain(timer).min()
    }

    fn is_done(&self) -> bool {
        match self.timer.phase() {
            Phase::Expected | Phase::Running => false,
            Phase::Over => self.waiting.is_empty(),
            Phase::Done => true,
        }
    }

    fn unanswered(&self) -> Vec<Message> {
        let first = self.blocks.emitted() - self.waiting.len() as u64;
        let ids = first..;
        ids.zip(&self.waiting)
            .map(|(id, &sent)| self.message(id, sent, None))
            .collect()
    }

    fn message(&self, id: u64, sent: Time, acked: Option<Time>) -> Message {
        let bytes = [self.blocks.size(), ACK_SIZE.bytes()];
        super::fetch::message(self.channel, id, self.direction, bytes, sent, acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::header;
    use crate::pattern::pipe::Pipe;
    use model::scenario::Flow;
    use model::units::Span;

    const MS: Duration = Duration::from_millis(1);
    /// Bytes per millisecond: 80 Mbit/s.
    const RATE: usize = 10_000;

    fn parameters(direction: Flow, seconds: u64) -> Iperf {
        Iperf {
            direction,
            duration: Span::from_millis(seconds * 1_000),
            ..Iperf::default()
        }
    }

    fn pipe(parameters: &Iperf) -> Pipe {
        let channels = parameters.direction.directions().len();
        let (client, server) = (client(parameters), server(parameters));
        Pipe::new(channels, Box::new(client), Box::new(server))
            .delay(7 * MS, 13 * MS)
            .rate(RATE)
    }

    /// Bytes acknowledged in each second.
    fn per_second(log: &[Message]) -> Vec<u64> {
        let mut seconds = Vec::new();
        for message in log {
            let second = (message.acked_us.expect("answered") / 1_000_000) as usize;
            seconds.resize(seconds.len().max(second + 1), 0);
            seconds[second] += message.size_bytes;
        }
        seconds
    }

    #[test]
    fn the_answered_blocks_of_a_second_are_the_rate_of_the_link() {
        for (flow, up, down) in [
            (Flow::Up, true, false),
            (Flow::Down, false, true),
            (Flow::Both, true, true),
        ] {
            let mut pipe = pipe(&parameters(flow, 3)).pieces(&[1_448, 65_536, 3]);
            pipe.run(Time::from_millis(10_000));
            assert!(pipe.client.is_done() && pipe.server.is_done(), "{flow:?}");
            for (log, sends, direction) in [
                (&pipe.client_log, up, Direction::Up),
                (&pipe.server_log, down, Direction::Down),
            ] {
                assert_eq!(!log.is_empty(), sends, "{flow:?}");
                if !sends {
                    continue;
                }
                let seconds = per_second(log);
                for bytes in &seconds[..3] {
                    // 10 MB a second, but for 20 ms at its beginning and its last block.
                    assert!(
                        (9_750_000..=10_016_000).contains(bytes),
                        "{flow:?} {seconds:?}"
                    );
                }
                let ids: Vec<u64> = log.iter().map(|m| m.id).collect();
                assert_eq!(ids, (0..log.len() as u64).collect::<Vec<_>>());
                assert!(log.iter().all(|m| m.direction == direction));
                assert!(log.iter().all(|m| m.sent_us < 3_000_000 + 20_000));
            }
            assert_eq!((pipe.client.error(), pipe.server.error()), (None, None));
            assert!(pipe.client.unanswered().is_empty() && pipe.server.unanswered().is_empty());
            assert!(pipe.most_queued < MAX_QUEUED, "{}", pipe.most_queued);
        }
    }

    #[test]
    fn it_ends_as_soon_as_the_last_block_is_answered_or_half_a_second_later() {
        let mut pipe = pipe(&parameters(Flow::Up, 1));
        while !pipe.client.is_done() {
            let next = pipe.now + MS;
            pipe.run(next + MS);
            assert!(pipe.now < Time::from_millis(1_100), "not done");
        }
        assert!(pipe.now >= Time::from_millis(1_000));

        let stalled = (Time::from_millis(600), Time::MAX);
        let mut pipe = self::pipe(&parameters(Flow::Both, 1)).stall(stalled.0, stalled.1);
        pipe.run(Time::from_millis(1_499));
        assert!(!pipe.client.is_done());
        pipe.run(Time::from_millis(1_600));
        assert!(pipe.client.is_done() && pipe.server.is_done());
        let lost = pipe.client.unanswered();
        assert_eq!(lost[0].id, pipe.client_log.len() as u64);
        // What waits is bounded however long the stall.
        let waiting: u64 = lost.iter().map(|m| m.size_bytes).sum();
        assert!(waiting < 2 * MAX_QUEUED as u64, "{waiting}");
        assert!(!pipe.server.unanswered().is_empty());
    }

    #[test]
    fn after_the_finish_no_block_is_sent() {
        let mut pipe = pipe(&parameters(Flow::Up, 3));
        pipe.run(Time::from_millis(500));
        pipe.client.finish();
        pipe.run(Time::from_millis(4_000));
        let last = pipe.client_log.last().expect("blocks").sent_us;
        assert!(last < 500_000 && pipe.client.unanswered().is_empty());
    }

    #[test]
    fn a_block_larger_than_the_queue_goes_alone() {
        let mut parameters = parameters(Flow::Down, 1);
        parameters.block_size = ByteSize::from_bytes(1 << 20);
        let mut pipe = pipe(&parameters);
        pipe.run(Time::from_millis(3_000));
        assert!((9..=12).contains(&pipe.server_log.len()));
        assert_eq!(pipe.most_queued, 1 << 20);
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let mut pipe = pipe(&parameters(Flow::Up, 1));
        pipe.run(Time::from_millis(5));
        for n in 0..100 {
            pipe.inject_to_client(0, &header(Kind::Ack, n));
        }
        pipe.run(Time::from_millis(10));
        let error = pipe.client.error().expect("an error");
        assert!(error.contains("acknowledged before it was sent"), "{error}");
        pipe.inject_to_server(0, &[99; 16_000]);
        pipe.run(Time::from_millis(1_000));
        assert!(pipe.server.error().expect("an error").contains("kind 99"));

        let mut pipe = self::pipe(&parameters(Flow::Down, 1));
        pipe.run(Time::from_millis(500));
        pipe.close(0);
        pipe.run(Time::from_millis(700));
        let error = pipe.client.error().expect("an error");
        assert!(error.starts_with("channel 0 closed after"), "{error}");
    }
}
