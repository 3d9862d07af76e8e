//! How does a pattern's half meet streams that wake a task? What it writes waits here until the stream
//! takes it; what it reads is counted against the budget.

use super::gate::Permit;
use super::reasons::Refusal;
use super::stream::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use traffic::Channels;

/// A channel of the session.
pub(super) struct Lane {
    pub stream: Stream,
    open: bool,
    outgoing: VecDeque<u8>,
    /// A TCP connection's right to exist; a QUIC connection holds its own.
    _permit: Option<Permit>,
}

/// A session's channels by the pattern's numbers, and what they may still carry.
pub(super) struct Lanes {
    lanes: Vec<Option<Lane>>,
    budget: u64,
    queue_limit: usize,
    received: u64,
    sent: u64,
    overflowed: bool,
}

impl Lanes {
    /// Room for `channels`, which may carry `budget` bytes; at most `queue_limit` may wait.
    pub(super) fn new(channels: usize, budget: u64, queue_limit: usize) -> Lanes {
        Lanes {
            lanes: (0..channels).map(|_| None).collect(),
            budget,
            queue_limit,
            received: 0,
            sent: 0,
            overflowed: false,
        }
    }

    /// A channel joins.
    pub(super) fn join(
        &mut self,
        channel: usize,
        stream: Stream,
        permit: Option<Permit>,
    ) -> Result<(), Refusal> {
        match self.lanes.get_mut(channel) {
            Some(slot @ None) => {
                *slot = Some(Lane {
                    stream,
                    open: true,
                    outgoing: VecDeque::new(),
                    _permit: permit,
                });
                Ok(())
            }
            _ => Err(Refusal::Taken),
        }
    }

    /// The channels for the half, while `cx` is being woken.
    pub(super) fn polled<'l, 'c, 'w>(&'l mut self, cx: &'c mut Context<'w>) -> Polled<'l, 'c, 'w> {
        Polled { lanes: self, cx }
    }

    /// Hands the streams as much as they take.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        for lane in self.lanes.iter_mut().flatten() {
            while lane.open && !lane.outgoing.is_empty() && self.budget > self.received + self.sent
            {
                let left = self.budget - self.received - self.sent;
                let (front, _) = lane.outgoing.as_slices();
                let piece = &front[..front.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                match Pin::new(&mut lane.stream).poll_write(cx, piece) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(n)) if n > 0 => {
                        lane.outgoing.drain(..n);
                        self.sent += n as u64;
                    }
                    Poll::Ready(_) => {
                        // Nobody will read the rest.
                        lane.open = false;
                        lane.outgoing = VecDeque::new();
                    }
                }
            }
        }
    }

    /// Bytes the client sent, and those its streams took.
    pub(super) fn moved(&self) -> (u64, u64) {
        (self.received, self.sent)
    }

    /// Whether the budget is used up.
    pub(super) fn is_spent(&self) -> bool {
        self.received + self.sent >= self.budget
    }

    /// Whether more waits than may.
    pub(super) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.iter().map(|(_, lane)| lane.outgoing.len()).sum()
    }

    /// Bytes that wait on one channel.
    pub(super) fn waiting_on(&self, channel: usize) -> usize {
        let lane = self.lanes.get(channel).and_then(Option::as_ref);
        lane.map_or(0, |lane| lane.outgoing.len())
    }

    /// The channels that joined, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Lane)> {
        let numbered = self.lanes.iter().enumerate();
        numbered.filter_map(|(number, lane)| Some((number, lane.as_ref()?)))
    }

    /// Whether every channel of the pattern joined.
    pub(super) fn is_complete(&self) -> bool {
        self.lanes.iter().all(Option::is_some)
    }

    /// Whether no channel that joined can be used any more.
    pub(super) fn are_closed(&self) -> bool {
        self.iter().all(|(_, lane)| !lane.open)
    }

    /// Ends every channel; what waits is dropped.
    pub(super) fn abort(self) {
        let lanes = self.lanes.into_iter().flatten();
        lanes.for_each(|lane| lane.stream.abort());
    }
}

/// The channels during one wake-up.
pub(super) struct Polled<'l, 'c, 'w> {
    lanes: &'l mut Lanes,
    cx: &'c mut Context<'w>,
}

impl Polled<'_, '_, '_> {
    fn lane(&self, channel: usize) -> Option<&Lane> {
        self.lanes.lanes.get(channel)?.as_ref()
    }
}

impl Channels for Polled<'_, '_, '_> {
    fn write(&mut self, channel: usize, data: &[u8]) {
        let waiting = self.lanes.waiting();
        let Some(Some(lane)) = self.lanes.lanes.get_mut(channel) else {
            return;
        };
        if !lane.open {
            return;
        }
        if waiting + data.len() > self.lanes.queue_limit {
            self.lanes.overflowed = true;
            return;
        }
        lane.outgoing.extend(data);
    }

    fn queued(&self, channel: usize) -> usize {
        self.lanes.waiting_on(channel)
    }

    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let left = self.lanes.budget - self.lanes.received - self.lanes.sent;
        let room = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(Some(lane)) = self.lanes.lanes.get_mut(channel) else {
            return 0;
        };
        if !lane.open || room == 0 {
            return 0;
        }
        let mut buffer = ReadBuf::new(&mut buffer[..room]);
        match Pin::new(&mut lane.stream).poll_read(self.cx, &mut buffer) {
            Poll::Pending => 0,
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                let n = buffer.filled().len();
                self.lanes.received += n as u64;
                n
            }
            // The client closed it, or it broke.
            Poll::Ready(_) => {
                lane.open = false;
                0
            }
        }
    }

    fn is_open(&self, channel: usize) -> bool {
        self.lane(channel).is_some_and(|lane| lane.open)
    }
}
