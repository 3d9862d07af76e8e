//! Is a segment that arrived acceptable, and who deals with it (RFC 9293, section 3.10.7;
//! RFC 5961; RFC 7323, section 5)?

use super::delayed_ack::MAX_QUICK;
use super::{Congestion, Failure, Received, State, Subflow};
use crate::wire::{Segment, Seq};
use model::Time;
use std::time::Duration;

/// Segments that are not acceptable are answered at most this often
/// (net.ipv4.tcp_invalid_ratelimit; RFC 5961, section 7).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);
/// A timestamp older than this is forgotten (RFC 7323, section 5.5).
const TIMESTAMP_LIFE: Duration = Duration::from_secs(24 * 24 * 3600);

impl Subflow {
    /// The receiver's offset of a sequence number; -1 is the peer's SYN.
    pub(super) fn receive_position(&self, seq: Seq) -> i64 {
        let next = self.receiver.initial + 1 + self.receiver.next as u32;
        self.receiver.next as i64 + i64::from(seq.0.wrapping_sub(next.0) as i32)
    }

    /// A segment for this connection arrived.
    pub fn receive(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        mut congestion: Congestion<'_>,
    ) -> Received {
        self.counters.received_segments += 1;
        self.counters.received_bytes += segment.payload.len() as u64;
        match self.state {
            State::Closed => Received::default(),
            State::SynSent => self.receive_syn_sent(now, segment, &mut congestion),
            _ => self.receive_synchronised(now, segment, &mut congestion),
        }
    }

    fn receive_synchronised(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        congestion: &mut Congestion<'_>,
    ) -> Received {
        let mut received = Received::default();
        if !self.validate(now, segment) {
            return received;
        }
        self.receiver.last_heard = now;
        self.sender.echo = self.echo(segment);
        if self.state == State::SynReceived {
            if !self.receive_syn_received(now, segment, congestion) {
                return received;
            }
            received.established = true;
        }
        let (heeded, acked) = self.acknowledge(now, segment, congestion);
        if received.established && !acked && self.handshake.open && self.handshake.sent > 1 {
            // What went before the last SYN/ACK came to a peer that could not take it.
            self.retransmission_timeout(now, congestion);
        }
        if !heeded {
            return received;
        }
        received.acceptable = true;
        received.acked = acked;
        self.remember_timestamp(now, segment);
        self.fin_acknowledged(now);
        if self.state == State::TimeWait && segment.sequence_length() > 0 {
            // The peer did not get our last acknowledgement.
            self.timers.time_wait = Some(now + self.config.time_wait);
        }
        if segment.sequence_length() > 0 && !segment.flags.syn {
            self.receive_data(now, segment, &mut received);
        }
        received
    }

    /// Whether a segment in a synchronised state (or SYN-RECEIVED) is acceptable; resets and
    /// what has to be answered are dealt with.
    fn validate(&mut self, now: Time, segment: &Segment<'_>) -> bool {
        let flags = segment.flags;
        let seq = self.receive_position(segment.seq);
        let end = seq + i64::from(segment.sequence_length());
        if self.is_old_duplicate(now, segment, seq) && !flags.rst {
            self.answer_unacceptable(now, segment, seq, end);
            return false;
        }
        if end < self.acks.acked as i64 || seq > self.receive_window.limit() as i64 {
            if !flags.rst {
                self.answer_unacceptable(now, segment, seq, end);
            } else if self.resets_after_fin(seq) {
                self.reset_by_peer();
            }
            return false;
        }
        if flags.rst {
            self.receive_reset(now, seq);
            return false;
        }
        if flags.syn {
            return self.receive_syn(now, segment, seq);
        }
        flags.ack
    }

    /// RFC 5961, section 3.2: the exact sequence number (or that after what was acknowledged
    /// selectively last) resets; another in the window is challenged.
    #[cold]
    fn receive_reset(&mut self, now: Time, seq: i64) {
        let rightmost = self.receiver.recent.iter().map(|block| block.1).max();
        let exact = seq == self.receiver.next as i64
            || self.resets_after_fin(seq)
            || (self.agreed.sack && rightmost.is_some_and(|end| seq == end as i64));
        if exact {
            self.reset_by_peer();
        } else {
            self.challenge(now);
        }
    }

    /// Some peers count their FIN out when they reset (Linux's tcp_reset_check).
    fn resets_after_fin(&self, seq: i64) -> bool {
        matches!(
            self.state,
            State::CloseWait | State::LastAck | State::Closing
        ) && seq == self.receiver.next as i64 - 1
    }

    fn reset_by_peer(&mut self) {
        let delivered = self.board.is_empty() && !self.has_unsent();
        let quiet = match self.state {
            State::TimeWait => true,
            State::Closing | State::LastAck => {
                delivered || (self.board.len() == 1 && self.board.get(0).bytes() == 0)
            }
            _ => false,
        };
        if quiet {
            self.close_at_once();
        } else {
            self.end(Failure::Reset);
        }
    }

    /// A SYN in a synchronised state: that of the peer once more, or one to challenge
    /// (RFC 5961, section 4.2). Whether it may be heeded: it completes a simultaneous open.
    #[cold]
    fn receive_syn(&mut self, now: Time, segment: &Segment<'_>, seq: i64) -> bool {
        let opening = self.state == State::SynReceived && seq == -1;
        if opening && segment.flags.ack {
            return segment.ack == self.sender.initial + 1;
        }
        if opening {
            if self.may_answer(now) {
                self.handshake.due = true;
            }
            return false;
        }
        self.challenge(now);
        false
    }

    /// PAWS (RFC 7323, section 5.3).
    fn is_old_duplicate(&self, now: Time, segment: &Segment<'_>, seq: i64) -> bool {
        let (Some(timestamps), Some((recent, at))) =
            (segment.options.timestamps, self.receiver.timestamp)
        else {
            return false;
        };
        let age = recent.wrapping_sub(timestamps.value) as i32;
        if !self.agreed.timestamps || age <= 0 || now.since(at) > TIMESTAMP_LIFE {
            return false;
        }
        // A pure acknowledgement that was overtaken is not worth an answer
        // (tcp_disordered_ack).
        let overtaken = segment.sequence_length() == 0
            && seq == self.receiver.next as i64
            && self.send_position(segment.ack) == self.sender.una as i64
            && self.scaled_window(segment) == self.sender.window
            && age as u128 <= self.rtt.rto().as_millis();
        !overtaken
    }

    /// RFC 7323, section 4.3: the timestamp of what was last acknowledged is echoed.
    fn remember_timestamp(&mut self, now: Time, segment: &Segment<'_>) {
        let Some(timestamps) = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)
        else {
            return;
        };
        let newer = self
            .receiver
            .timestamp
            .is_none_or(|(recent, _)| timestamps.value.wrapping_sub(recent) as i32 >= 0);
        if newer && self.receive_position(segment.seq) <= self.acks.acked as i64 {
            self.receiver.timestamp = Some((timestamps.value, now));
        }
    }

    /// Answers what is not acceptable with an acknowledgement (tcp_send_dupack).
    #[cold]
    fn answer_unacceptable(&mut self, now: Time, segment: &Segment<'_>, seq: i64, end: i64) {
        if segment.flags.syn {
            self.challenge(now);
            return;
        }
        if segment.sequence_length() == 0 && !self.may_answer(now) {
            return;
        }
        let next = self.receiver.next;
        if seq != end && seq < next as i64 {
            let window = self.receive_room();
            self.acks.enter_quick(MAX_QUICK, window);
            self.report_duplicate(seq, end.min(next as i64));
        }
        self.pending.ack = true;
    }

    /// A challenge ACK (RFC 5961), unless one was sent just before.
    #[cold]
    pub(super) fn challenge(&mut self, now: Time) {
        self.counters.challenges += 1;
        if self.may_answer(now) {
            self.pending.ack = true;
        }
    }

    fn may_answer(&mut self, now: Time) -> bool {
        let last = self.receiver.last_challenge;
        let may = last.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL);
        if may {
            self.receiver.last_challenge = Some(now);
        }
        may
    }

    /// Moves on when our FIN is acknowledged (RFC 9293, section 3.10.7.4).
    fn fin_acknowledged(&mut self, now: Time) {
        if !self.sender.fin_sent || self.sender.una != self.sender.next {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.close_at_once(),
            _ => {}
        }
    }

    pub(super) fn enter_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.timers.retransmission = None;
        self.timers.keep_alive = None;
        self.timers.time_wait = Some(now + self.config.time_wait);
    }

    /// Ends before its time.
    pub(super) fn end(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.close_at_once();
    }

    pub(super) fn close_at_once(&mut self) {
        self.state = State::Closed;
        self.timers = Default::default();
        self.acks.stop();
        self.pacer.waiting = None;
        self.handshake.due = false;
        self.pending = Default::default();
    }
}
