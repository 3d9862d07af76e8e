//! What was sent and is not cumulatively acknowledged, and in which state is it?
//!
//! Segments are in a queue by offset. Those that may still be found lost are also in a list by
//! the time of their last transmission, for RACK. Sums are kept, so that nothing walks the
//! window for an acknowledgement.

use super::kind::DataMapping;
use super::rate::AtSend;
use arrayvec::ArrayVec;
use bytes::Bytes;
use model::Time;
use std::collections::VecDeque;

/// No segment, in the list.
const NONE: u64 = u64::MAX;

/// A segment that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) payload: Bytes,
    pub(super) mapping: Option<DataMapping>,
    pub(super) offset: u64,
    /// Whether a FIN follows the payload.
    pub(super) fin: bool,
    /// When it was last sent.
    pub(super) sent_at: Time,
    pub(super) first_sent: Time,
    pub(super) at_send: AtSend,
    /// Selectively acknowledged.
    pub(super) sacked: bool,
    /// Declared lost, its original at least.
    pub(super) lost: bool,
    /// A retransmission of it is in flight.
    pub(super) resent: bool,
    /// It was ever sent again, as a probe or a retransmission.
    pub(super) ever_resent: bool,
    /// The number of its last transmission: later ones have higher numbers.
    pub(super) order: u64,
    earlier: u64,
    later: u64,
    listed: bool,
}

impl Sent {
    /// Its payload's length.
    pub(super) fn bytes(&self) -> u64 {
        self.payload.len() as u64
    }
    /// The offset after it; a FIN takes one.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.bytes() + u64::from(self.fin)
    }
}

/// Segments and their bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    pub(super) segments: u64,
    pub(super) bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: u64) {
        self.segments += 1;
        self.bytes += bytes;
    }
    fn remove(&mut self, bytes: u64) {
        self.segments -= 1;
        self.bytes -= bytes;
    }
}

/// The queue of what was sent.
#[derive(Debug)]
pub(super) struct Scoreboard {
    queue: VecDeque<Sent>,
    /// The number of the first segment in the queue; numbers are never given twice.
    first: u64,
    oldest: u64,
    newest: u64,
    transmissions: u64,
    pub(super) out: Tally,
    pub(super) sacked: Tally,
    pub(super) lost: Tally,
    pub(super) resent: Tally,
    /// The end of the highest segment selectively acknowledged.
    pub(super) highest_sacked: u64,
    /// Selective acknowledgements of the last segment that had some, by offset.
    pub(super) known: ArrayVec<(u64, u64), 4>,
    /// No segment with a lower number is lost and not sent again.
    lost_hint: u64,
}

impl Scoreboard {
    pub(super) fn new() -> Scoreboard {
        Scoreboard {
            queue: VecDeque::new(),
            first: 0,
            oldest: NONE,
            newest: NONE,
            transmissions: 0,
            out: Tally::default(),
            sacked: Tally::default(),
            lost: Tally::default(),
            resent: Tally::default(),
            highest_sacked: 0,
            known: ArrayVec::new(),
            lost_hint: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
    pub(super) fn get(&self, index: usize) -> &Sent {
        &self.queue[index]
    }
    /// Takes a segment's payload out, to write it; put it back with
    /// [`Scoreboard::put_payload`].
    pub(super) fn take_payload(&mut self, index: usize) -> Bytes {
        std::mem::take(&mut self.queue[index].payload)
    }
    pub(super) fn put_payload(&mut self, index: usize, payload: Bytes) {
        self.queue[index].payload = payload;
    }
    pub(super) fn front(&self) -> Option<&Sent> {
        self.queue.front()
    }

    /// Bytes in flight: sent, less what arrived or is lost, plus what of it was sent again.
    pub(super) fn in_flight(&self) -> u64 {
        (self.out.bytes + self.resent.bytes).saturating_sub(self.sacked.bytes + self.lost.bytes)
    }

    /// Segments that left the network without a cumulative acknowledgement.
    pub(super) fn left(&self) -> u64 {
        self.sacked.segments + self.lost.segments
    }

    /// The end of what arrived for sure: the highest selective acknowledgement, or `una`.
    pub(super) fn furthest(&self, una: u64) -> u64 {
        if self.sacked.segments == 0 {
            una
        } else {
            self.highest_sacked
        }
    }

    /// The segment that holds `offset`, or the first after it.
    pub(super) fn find(&self, offset: u64) -> usize {
        match self.queue.back() {
            Some(back) if back.offset <= offset && offset < back.end() => self.queue.len() - 1,
            _ => self.queue.partition_point(|sent| sent.end() <= offset),
        }
    }

    /// Appends a segment sent for the first time.
    pub(super) fn push(
        &mut self,
        now: Time,
        offset: u64,
        payload: Bytes,
        mapping: Option<DataMapping>,
        fin: bool,
        at_send: AtSend,
    ) -> usize {
        self.out.add(payload.len() as u64);
        self.queue.push_back(Sent {
            payload,
            mapping,
            offset,
            fin,
            sent_at: now,
            first_sent: now,
            at_send,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
            order: self.transmissions + 1,
            earlier: NONE,
            later: NONE,
            listed: false,
        });
        self.transmissions += 1;
        let index = self.queue.len() - 1;
        self.append(index);
        index
    }

    /// Takes the first segment away: it is acknowledged.
    pub(super) fn pop(&mut self) -> Option<Sent> {
        self.unlist(0);
        let sent = self.queue.pop_front()?;
        self.first += 1;
        let bytes = sent.bytes();
        self.out.remove(bytes);
        if sent.sacked {
            self.sacked.remove(bytes);
        }
        if sent.lost {
            self.lost.remove(bytes);
        }
        if sent.resent {
            self.resent.remove(bytes);
        }
        Some(sent)
    }

    /// Marks a segment as selectively acknowledged.
    pub(super) fn mark_sacked(&mut self, index: usize) {
        self.unlist(index);
        let sent = &mut self.queue[index];
        let bytes = sent.bytes();
        sent.sacked = true;
        self.highest_sacked = if self.sacked.segments == 0 {
            sent.end()
        } else {
            self.highest_sacked.max(sent.end())
        };
        self.sacked.add(bytes);
        // A retransmission of what was not declared lost is believed to be in flight still.
        if sent.lost {
            sent.lost = false;
            self.lost.remove(bytes);
            if std::mem::take(&mut sent.resent) {
                self.resent.remove(bytes);
            }
        }
    }

    /// Marks a segment as lost, its retransmission if one was in flight. Whether that is new.
    pub(super) fn mark_lost(&mut self, index: usize) -> bool {
        let sent = &mut self.queue[index];
        let bytes = sent.bytes();
        if sent.sacked || (sent.lost && !sent.resent) {
            return false;
        }
        if std::mem::take(&mut sent.resent) {
            self.resent.remove(bytes);
        }
        if !sent.lost {
            sent.lost = true;
            self.lost.add(bytes);
        }
        self.unlist(index);
        self.lost_hint = self.lost_hint.min(self.first + index as u64);
        true
    }

    /// A duplicate arrived: its retransmission is no longer in flight.
    pub(super) fn retransmission_arrived(&mut self, index: usize) {
        let sent = &mut self.queue[index];
        let bytes = sent.bytes();
        if std::mem::take(&mut sent.resent) {
            self.resent.remove(bytes);
        }
    }

    /// A segment was sent again; a probe for the tail is not counted as in flight twice.
    pub(super) fn sent_again(&mut self, index: usize, now: Time, at_send: AtSend, probe: bool) {
        self.unlist(index);
        self.append(index);
        self.transmissions += 1;
        let sent = &mut self.queue[index];
        sent.order = self.transmissions;
        sent.sent_at = now;
        sent.at_send = at_send;
        sent.ever_resent = true;
        let bytes = sent.bytes();
        if !probe && !sent.resent {
            sent.resent = true;
            self.resent.add(bytes);
        }
    }

    /// The first segment that is lost and was not sent again since.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.resent.segments >= self.lost.segments {
            return None;
        }
        let mut index = self.lost_hint.saturating_sub(self.first) as usize;
        while let Some(sent) = self.queue.get(index) {
            if sent.lost && !sent.resent {
                self.lost_hint = self.first + index as u64;
                return Some(index);
            }
            index += 1;
        }
        self.lost_hint = self.first + index as u64;
        None
    }

    /// The segment sent longest ago that may still be found lost.
    pub(super) fn oldest(&self) -> Option<usize> {
        (self.oldest != NONE).then(|| (self.oldest - self.first) as usize)
    }

    /// The one sent next after that at `index`.
    pub(super) fn later(&self, index: usize) -> Option<usize> {
        let later = self.queue[index].later;
        (later != NONE).then(|| (later - self.first) as usize)
    }

    /// Takes back that anything was lost: it was a mistake.
    pub(super) fn unmark_lost(&mut self) {
        for sent in &mut self.queue {
            sent.lost = false;
        }
        self.lost = Tally::default();
        self.relist();
    }

    /// Forgets all selective acknowledgements: the receiver dropped what it had (RFC 2018,
    /// section 8).
    pub(super) fn forget_sacked(&mut self) {
        for sent in &mut self.queue {
            sent.sacked = false;
        }
        self.sacked = Tally::default();
        self.known.clear();
        self.relist();
    }

    /// Makes the list anew.
    fn relist(&mut self) {
        let mut order: Vec<usize> = (0..self.queue.len()).collect();
        order.sort_by_key(|index| self.queue[*index].order);
        self.oldest = NONE;
        self.newest = NONE;
        for sent in &mut self.queue {
            sent.listed = false;
        }
        for index in order {
            let sent = &self.queue[index];
            if !sent.sacked && (!sent.lost || sent.resent) {
                self.append(index);
            }
        }
        self.lost_hint = self.first;
    }

    fn append(&mut self, index: usize) {
        let number = self.first + index as u64;
        let newest = std::mem::replace(&mut self.newest, number);
        if newest == NONE {
            self.oldest = number;
        } else {
            self.queue[(newest - self.first) as usize].later = number;
        }
        let sent = &mut self.queue[index];
        sent.earlier = newest;
        sent.later = NONE;
        sent.listed = true;
    }

    fn unlist(&mut self, index: usize) {
        let Some(sent) = self.queue.get_mut(index) else {
            return;
        };
        if !std::mem::take(&mut sent.listed) {
            return;
        }
        let (earlier, later) = (sent.earlier, sent.later);
        if earlier == NONE {
            self.oldest = later;
        } else {
            self.queue[(earlier - self.first) as usize].later = later;
        }
        if later == NONE {
            self.newest = earlier;
        } else {
            self.queue[(later - self.first) as usize].earlier = earlier;
        }
    }
}
