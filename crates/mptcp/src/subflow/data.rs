//! What becomes of the data of a segment (RFC 9293, section 3.10.7.4; tcp_data_queue)?

use super::delayed_ack::{MAX_QUICK, QUICK_AFTER_MARK};
use super::out_of_order::Inserted;
use super::{InOrder, Received, State, Subflow};
use crate::wire::{Ecn, Segment, Seq};
use model::Time;

impl Subflow {
    /// Takes payload and FIN of an acceptable segment.
    pub(super) fn receive_data(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        received: &mut Received,
    ) {
        if self.agreed.ecn && segment.flags.cwr {
            self.receiver.echo_mark = false;
            self.acks.now |= !segment.payload.is_empty();
        }
        let seq = self.receive_position(segment.seq);
        let end = seq + i64::from(segment.sequence_length());
        let next = self.receiver.next;
        let window = self.receive_room();
        if end <= next as i64 {
            // All of it came before.
            self.report_duplicate(seq, end);
            self.acks.enter_quick(MAX_QUICK, window);
            self.acks.schedule();
        } else if window == 0 && !segment.payload.is_empty() {
            self.acks.enter_quick(MAX_QUICK, window);
            self.acks.schedule();
        } else if seq > next as i64 {
            self.receive_out_of_order(segment, seq as u64);
        } else {
            self.receive_in_order(now, segment, seq, received);
        }
        let gap = self.store.reaches_beyond(self.receiver.next);
        self.acks.decide(
            now,
            self.receiver.next,
            gap,
            self.agreed.sack,
            self.rtt.smoothed(),
        );
    }

    /// What the peer may still send.
    pub(super) fn receive_room(&self) -> u64 {
        let limit = self.receive_window.limit();
        limit.saturating_sub(self.receiver.next)
    }

    /// Where the data ends that may be taken: at the window's edge, or at the peer's FIN.
    fn clip(&self, end: u64) -> u64 {
        let end = end.min(self.receive_window.limit());
        self.receiver.fin.map_or(end, |fin| end.min(fin))
    }

    fn receive_in_order(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        seq: i64,
        received: &mut Received,
    ) {
        let next = self.receiver.next;
        let window = self.receive_room();
        let start = (next as i64 - seq) as usize;
        if start > 0 {
            self.report_duplicate(seq, next as i64);
        }
        let payload_end = (seq + segment.payload.len() as i64) as u64;
        let end = self.clip(payload_end).max(next);
        let had_gap = self.store.reaches_beyond(next);
        self.note_fin(segment, payload_end, end);
        if end > next {
            received.in_order = Some(InOrder {
                offset: next,
                start,
                length: (end - next) as usize,
            });
            self.acks.data_received(
                now,
                segment.payload.len() as u64,
                segment.flags.psh || segment.flags.fin,
                window,
                self.rtt.rto(),
            );
            self.check_mark(segment, window);
        }
        self.advance(end, received);
        if had_gap && !self.store.reaches_beyond(self.receiver.next) {
            // RFC 5681, section 4.2: the gap is filled.
            self.acks.now = true;
        }
        if self.receiver.fin == Some(self.receiver.next) {
            self.receive_fin(now, received);
        }
    }

    /// Everything before `end` is there; so may be what follows.
    fn advance(&mut self, end: u64, received: &mut Received) {
        self.receiver.next = end;
        if self.receiver.recent.is_empty() && !self.store.reaches_beyond(0) {
            return;
        }
        self.store.forget_until(end);
        if let Some((start, stop)) = self.store.first()
            && start == end
        {
            self.receiver.next = stop;
            received.buffered = true;
        }
        let next = self.receiver.next;
        self.receiver.recent.retain(|block| block.1 > next);
    }

    #[cold]
    fn receive_out_of_order(&mut self, segment: &Segment<'_>, seq: u64) {
        let payload_end = seq + segment.payload.len() as u64;
        let end = self.clip(payload_end);
        self.note_fin(segment, payload_end, end);
        self.acks.schedule();
        let window = self.receive_room();
        self.check_mark(segment, window);
        if end <= seq {
            return;
        }
        let data = &segment.payload[..(end - seq) as usize];
        let range = match self.store.insert(self.receiver.next, seq, data) {
            Inserted::New { range, duplicate } => {
                if let Some((start, end)) = duplicate {
                    self.report_duplicate(start as i64, end as i64);
                }
                range
            }
            Inserted::Duplicate(range) => {
                self.report_duplicate(seq as i64, end as i64);
                range
            }
            Inserted::Dropped => return,
        };
        // The newest first (RFC 2018, section 4).
        let recent = &mut self.receiver.recent;
        recent.retain(|block| block.1 < range.0 || range.1 < block.0);
        if recent.is_full() {
            recent.pop();
        }
        recent.insert(0, range);
    }

    /// Remembers where the peer's FIN is, if it is within the window.
    ///
    /// Nothing can follow a FIN (RFC 9293, section 3.10.7.4: text that does is ignored). The
    /// first FIN counts, and what came before it from beyond it is dropped, as in Linux
    /// (tcp_fin); what comes later is cut by [`Subflow::clip`].
    fn note_fin(&mut self, segment: &Segment<'_>, payload_end: u64, end: u64) {
        if !segment.flags.fin || payload_end != end || self.receiver.fin.is_some() {
            return;
        }
        let fin = payload_end;
        self.receiver.fin = Some(fin);
        self.acks.schedule();
        if self.store.reaches_beyond(fin) {
            self.store.forget_from(fin);
            let recent = &mut self.receiver.recent;
            recent.retain(|block| block.0 < fin);
            for block in recent {
                block.1 = block.1.min(fin);
            }
        }
    }

    #[cold]
    fn receive_fin(&mut self, now: Time, received: &mut Received) {
        self.receiver.next += 1;
        received.fin = true;
        self.acks.schedule();
        match self.state {
            State::Established | State::SynReceived => {
                self.state = State::CloseWait;
                // The answer may carry the acknowledgement.
                self.acks.converse();
            }
            State::FinWait1 => {
                self.state = State::Closing;
                self.acks.now = true;
            }
            State::FinWait2 => {
                self.enter_time_wait(now);
                self.acks.now = true;
            }
            _ => {}
        }
    }

    /// RFC 3168, section 6.1.3, and Linux's quick acknowledgements after a mark, and after a
    /// segment that is not capable of marks, which is a retransmission.
    fn check_mark(&mut self, segment: &Segment<'_>, window: u64) {
        if !self.agreed.ecn {
            return;
        }
        match segment.ecn {
            Ecn::NotCapable => {
                if self.receiver.capable_seen {
                    self.acks.enter_quick(QUICK_AFTER_MARK, window);
                }
            }
            Ecn::Ce => {
                self.receiver.capable_seen = true;
                if !self.receiver.echo_mark {
                    self.receiver.echo_mark = true;
                    self.acks.enter_quick(QUICK_AFTER_MARK, window);
                }
            }
            Ecn::Ect0 | Ecn::Ect1 => self.receiver.capable_seen = true,
        }
    }

    /// Data came twice: the next acknowledgement says so (RFC 2883).
    pub(super) fn report_duplicate(&mut self, start: i64, end: i64) {
        if self.agreed.sack && start < end {
            self.receiver.duplicate = Some((self.receive_seq(start), self.receive_seq(end)));
        }
    }

    /// The peer's sequence number of an offset.
    pub(super) fn receive_seq(&self, position: i64) -> Seq {
        self.receiver.initial + 1 + position as u32
    }

    /// Gives what waited behind a gap and is in order now to `take`, with its offset.
    pub fn take_buffered(&mut self, take: &mut dyn FnMut(u64, &[u8])) {
        let fin = u64::from(
            self.receiver
                .fin
                .is_some_and(|fin| fin < self.receiver.next),
        );
        self.store.take_until(self.receiver.next - fin, take);
    }
}
