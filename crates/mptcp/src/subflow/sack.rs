//! What do selective acknowledgements say of what is out (RFC 2018, RFC 2883, RFC 6675)?

use super::Subflow;
use super::ack::Changes;
use super::recovery::Phase;
use crate::wire::Segment;
use arrayvec::ArrayVec;
use model::Time;

/// Selective acknowledgements as offsets, in their order.
type Blocks = ArrayVec<(u64, u64), 4>;

impl Subflow {
    /// Applies the blocks of `segment`.
    pub(super) fn process_sack(&mut self, now: Time, segment: &Segment<'_>, changes: &mut Changes) {
        let blocks = &segment.options.sack;
        if blocks.is_empty() || !self.agreed.sack {
            return;
        }
        changes.lowest_sacked = self.sender.next;
        let duplicate = self.process_dsack(segment, changes);
        if self.board.is_empty() {
            return;
        }
        let mut valid = Blocks::new();
        for (i, &(start, end)) in blocks.iter().enumerate() {
            if i == 0 && duplicate.is_some_and(|(_, end)| end <= changes.prior_una) {
                continue;
            }
            let (start, end) = (self.send_position(start), self.send_position(end));
            let (una, next) = (self.sender.una as i64, self.sender.next as i64);
            if start < end && end <= next && start > una {
                valid.push((start as u64, end as u64));
            }
        }
        valid.sort_unstable();
        for &(start, end) in &valid {
            self.walk(now, start, end, changes);
        }
        self.board.known = valid;
        if let Some((start, end)) = duplicate
            && start >= self.sender.una
        {
            self.walk_duplicate(start, end, changes);
        }
        if self.recovery.phase != Phase::Loss || self.recovery.undo_from.is_some() {
            self.check_reordering(changes.lowest_sacked);
        }
    }

    /// Whether the first block reports a duplicate (RFC 2883, section 4), and which.
    fn process_dsack(
        &mut self,
        segment: &Segment<'_>,
        changes: &mut Changes,
    ) -> Option<(u64, u64)> {
        let blocks = &segment.options.sack;
        let (start, end) = blocks[0];
        let below = start.is_before(segment.ack);
        let inside = blocks
            .get(1)
            .is_some_and(|&(from, to)| !start.is_before(from) && !end.is_after(to));
        let (start, end) = (self.send_position(start), self.send_position(end));
        if !(below || inside) || start < 0 || start >= end || end > self.sender.next as i64 {
            return None;
        }
        let (start, end) = (start as u64, end as u64);
        let (segments, of_probe) = self.duplicates_reported(start, end);
        if segments == 0 {
            return None;
        }
        changes.duplicates_reported = true;
        changes.probe_duplicate |= of_probe;
        if end <= changes.prior_una {
            self.superfluous(segments, end);
        }
        Some((start, end))
    }

    /// Marks what is from `start` to `end`. What the last segment's blocks told already is
    /// skipped, so that a block that grows costs what it grew by.
    fn walk(&mut self, now: Time, start: u64, end: u64, changes: &mut Changes) {
        let mut index = self.board.find(start);
        while index < self.board.len() {
            let sent = self.board.get(index);
            let offset = sent.offset;
            if offset >= end {
                break;
            }
            let known = self
                .board
                .known
                .iter()
                .find(|k| k.0 <= offset && offset < k.1);
            if let Some(&(_, known_end)) = known {
                let beyond = self.board.find(known_end);
                if beyond > index {
                    index = beyond;
                    continue;
                }
            }
            if !sent.sacked && start <= offset && sent.end() <= end {
                self.arrived_out_of_order(now, index, changes);
            }
            index += 1;
        }
    }

    fn arrived_out_of_order(&mut self, now: Time, index: usize, changes: &mut Changes) {
        let sent = self.board.get(index);
        let (end, offset, bytes) = (sent.end(), sent.offset, sent.bytes());
        self.rack.arrived(now, sent, self.rtt.min());
        if !sent.ever_resent {
            if offset < self.board.furthest(self.sender.una) {
                changes.lowest_sacked = changes.lowest_sacked.min(offset);
            }
            changes.original_arrived |= end <= self.recovery.high;
            changes.first_sacked = changes.first_sacked.or(Some(sent.sent_at));
            changes.last_sacked = Some(sent.sent_at);
        }
        changes.sample.delivered(&mut self.delivery, sent);
        changes.sacked = true;
        changes.delivered += bytes;
        self.delivery.delivered += bytes;
        self.board.mark_sacked(index);
    }

    /// What is out and was reported to have arrived twice: a retransmission of it did.
    fn walk_duplicate(&mut self, start: u64, end: u64, changes: &mut Changes) {
        let mut index = self.board.find(start);
        while index < self.board.len() {
            let sent = self.board.get(index);
            let (offset, sent_end) = (sent.offset, sent.end());
            if offset >= end {
                break;
            }
            if start <= offset && sent_end <= end && sent.ever_resent {
                if sent.sacked {
                    changes.lowest_sacked = changes.lowest_sacked.min(offset);
                }
                self.superfluous(1, sent_end);
                self.board.retransmission_arrived(index);
            }
            index += 1;
        }
    }
}
