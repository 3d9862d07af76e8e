//! How does a client fetch objects one after the other, and a server serve them, on channel 0?
//! What `ping` (small objects, several) and `bulk` (one large one) share.

use super::MIN_SIZE;
use super::inbox::Inbox;
use crate::frame::{HEADER, Kind, Writer, header};
use crate::{Channels, Half};
use bytes::Bytes;
use model::record::Message;
use model::units::ByteSize;
use model::{Direction, Time};
use std::time::Duration;

const CHANNEL: usize = 0;
/// The server keeps less than this many bytes waiting for the transport: more than any path
/// takes in one wake-up, and little enough for memory.
pub(super) const MAX_QUEUED: usize = 1 << 20;
/// How much the server hands over at once.
const PIECE: usize = 64 * 1024;
/// What objects are made of, behind their headers.
static ZEROS: [u8; PIECE] = [0; PIECE];
/// How long until the server looks again whether the transport took something, should nobody
/// tell it: 1 MiB per 5 ms is 1.7 Gbit/s.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A row of the table of messages; `bytes` are those of the message and of its answer.
pub(super) fn message(
    channel: usize,
    id: u64,
    direction: Direction,
    bytes: [u64; 2],
    sent: Time,
    acked: Option<Time>,
) -> Message {
    let [size_bytes, answer_bytes] = bytes;
    let sent_us = sent.as_micros();
    let acked_us = acked.map(Time::as_micros);
    Message {
        channel: channel as u64,
        id,
        direction,
        size_bytes,
        answer_bytes,
        sent_us,
        acked_us,
        delay_us: acked_us.map(|acked| acked.saturating_sub(sent_us)),
        path: None,
    }
}

/// Asks for `count` objects, each once the one before is complete. The message is the request,
/// so its direction is up, its delay the object's completion time.
pub(super) struct Client {
    count: u64,
    requests: Writer,
    objects: Inbox,
    object_bytes: u64,
    /// When the request that waits for its object was sent.
    waiting: Option<Time>,
}

impl Client {
    pub fn new(count: u32, size: ByteSize) -> Client {
        let size = size.max(MIN_SIZE).bytes();
        Client {
            count: u64::from(count),
            requests: Writer::new(Kind::Request, HEADER),
            objects: Inbox::new(CHANNEL, Kind::Object, size),
            object_bytes: size,
            waiting: None,
        }
    }

    fn message(&self, id: u64, sent: Time, acked: Option<Time>) -> Message {
        let bytes = [self.requests.size(), self.object_bytes];
        message(CHANNEL, id, Direction::Up, bytes, sent, acked)
    }
}

impl Half for Client {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>) {
        for id in self.objects.poll(channels) {
            let Some(sent) = self.waiting.take() else {
                self.objects
                    .reject(format!("object {id} came before it was asked for"));
                return;
            };
            log.push(self.message(id, sent, Some(now)));
        }
        if self.objects.is_open() && self.waiting.is_none() && self.requests.emitted() < self.count
        {
            let (_, request) = self.requests.emit();
            channels.write(CHANNEL, request);
            self.waiting = Some(now);
        }
    }

    fn poll_at(&self) -> Option<Time> {
        None
    }

    fn is_done(&self) -> bool {
        self.waiting.is_none() && self.requests.emitted() == self.count
    }

    fn unanswered(&self) -> Vec<Message> {
        self.waiting
            .map(|sent| self.message(self.requests.emitted() - 1, sent, None))
            .into_iter()
            .collect()
    }

    fn error(&self) -> Option<String> {
        if self.is_done() {
            self.objects.corruption()
        } else {
            self.objects.fault()
        }
    }
}

/// Answers `count` requests with an object each.
pub(super) struct Server {
    count: u64,
    requests: Inbox,
    size: u64,
    asked: u64,
    served: u64,
    /// Bytes of the current object that were handed over.
    position: u64,
    look_again: Option<Time>,
}

impl Server {
    pub fn new(count: u32, size: ByteSize) -> Server {
        let size = size.max(MIN_SIZE).bytes();
        Server {
            count: u64::from(count),
            requests: Inbox::new(CHANNEL, Kind::Request, HEADER as u64),
            size,
            asked: 0,
            served: 0,
            position: 0,
            look_again: None,
        }
    }
}

impl Half for Server {
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, _: &mut Vec<Message>) {
        self.asked += self.requests.poll(channels).count() as u64;
        if self.asked > self.count {
            let (asked, count) = (self.asked, self.count);
            self.requests
                .reject(format!("{asked} requests, but the hello announced {count}"));
        }
        self.look_again = None;
        while self.requests.is_open() && self.served < self.asked {
            let left = self.size - self.position;
            let n = left.min(PIECE as u64) as usize;
            if channels.queued(CHANNEL) + n >= MAX_QUEUED {
                self.look_again = Some(now + LOOK_AGAIN);
                break;
            }
            let piece = match self.position {
                0 => {
                    let mut piece = header(Kind::Object, self.served).to_vec();
                    piece.resize(n, 0);
                    piece.into()
                }
                _ => Bytes::from_static(&ZEROS[..n]),
            };
            channels.write_bytes(CHANNEL, piece);
            self.position += n as u64;
            if self.position == self.size {
                self.position = 0;
                self.served += 1;
            }
        }
    }

    fn poll_at(&self) -> Option<Time> {
        self.look_again
    }

    fn is_done(&self) -> bool {
        self.served == self.count
    }

    fn unanswered(&self) -> Vec<Message> {
        Vec::new()
    }

    fn error(&self) -> Option<String> {
        self.requests.corruption()
    }
}
