//! How does one end send a message every period and wait for their answers? What `interactive`, `request`
//! and a background share.

use super::inbox::Inbox;
use super::{MIN_PERIOD, MIN_SIZE};
use crate::Channels;
use crate::frame::{Kind, Writer};
use model::record::Message;
use model::units::{ByteSize, Span};
use model::{Direction, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// What is sent, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// Of a message.
    pub size: ByteSize,
    /// Of the peer's answer to it.
    pub answer_size: ByteSize,
    /// From one message to the next.
    pub period: Span,
}

/// Sends the messages of one direction and waits for their answers.
pub(super) struct Sender {
    channel: usize,
    direction: Direction,
    period: Duration,
    chunks: Writer,
    acks: Inbox,
    ack_bytes: u64,
    /// When the next message is due; the first is when the channel is first seen open.
    due: Option<Time>,
    /// Whether no more messages are to be sent.
    finished: bool,
    /// When each message without an answer was sent, oldest first. Answers come in order: the
    /// first one belongs to the next answer.
    waiting: VecDeque<Time>,
}

impl Sender {
    /// A sender on `channel`, which is this end's to write to.
    pub fn new(channel: usize, direction: Direction, schedule: Schedule) -> Sender {
        let Schedule {
            size,
            answer_size,
            period,
        } = schedule;
        let ack_size = answer_size.max(MIN_SIZE).bytes();
        Sender {
            channel,
            direction,
            period: period.max(MIN_PERIOD).get(),
            chunks: Writer::new(Kind::Chunk, size.bytes() as usize),
            acks: Inbox::new(channel, Kind::Ack, ack_size),
            ack_bytes: ack_size,
            due: None,
            finished: false,
            waiting: VecDeque::new(),
        }
    }

    /// Reads answers and sends what is due.
    pub fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        for id in self.acks.poll(channels) {
            let Some(sent) = self.waiting.pop_front() else {
                self.acks
                    .reject(format!("chunk {id} was acknowledged before it was sent"));
                return;
            };
            log.push(self.message(id, sent, Some(now)));
        }
        if self.finished || !self.acks.is_open() {
            return;
        }
        let mut due = self.due.unwrap_or(now);
        // After a late wake-up every missed message goes out, and keeps its place in the period.
        while due <= now {
            let (_, chunk) = self.chunks.emit();
            channels.write(self.channel, chunk);
            self.waiting.push_back(now);
            due += self.period;
        }
        self.due = Some(due);
    }

    /// When the next message is due.
    pub fn poll_at(&self) -> Option<Time> {
        self.due.filter(|_| self.acks.is_open() && !self.finished)
    }

    /// No more messages are sent.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The direction of the answers.
    pub fn inbox(&self) -> &Inbox {
        &self.acks
    }

    /// What was sent and not answered.
    pub fn unanswered(&self) -> Vec<Message> {
        let first = self.chunks.emitted() - self.waiting.len() as u64;
        let ids = first..;
        ids.zip(&self.waiting)
            .map(|(id, &sent)| self.message(id, sent, None))
            .collect()
    }

    fn message(&self, id: u64, sent: Time, acked: Option<Time>) -> Message {
        super::fetch::message(
            self.channel,
            id,
            self.direction,
            [self.chunks.size(), self.ack_bytes],
            sent,
            acked,
        )
    }
}
