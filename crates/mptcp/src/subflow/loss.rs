//! What happens when the retransmission timer fires, and until it is repaired (RFC 6298,
//! section 5; F-RTO, RFC 5682)?

use super::ack::Changes;
use super::rack::DUPLICATE_THRESHOLD;
use super::recovery::Phase;
use super::{Congestion, Failure, Subflow};
use model::Time;
use policy::congestion::Signal;
use std::time::Duration;

impl Subflow {
    /// The retransmission timer fired.
    #[cold]
    pub(super) fn retransmission_timeout(&mut self, now: Time, congestion: &mut Congestion<'_>) {
        if self.board.is_empty() {
            return;
        }
        // A window shrunk to nothing makes retransmissions its probes: they prove no failure as
        // long as the peer answers.
        let closed = self.sender.window == 0;
        let silent = now.since(self.receiver.last_heard);
        let over = match closed {
            true => silent > 2 * self.config.max_rto && self.gave_up(now),
            false => self.recovery.timeouts > 0 && self.gave_up(now),
        };
        if over {
            self.end(Failure::TimedOut);
            return;
        }
        self.enter_loss(now, congestion);
        if !closed {
            self.recovery.timeouts += 1;
        }
        self.pending.head = true;
        self.rtt.back_off();
        self.timers.set_retransmission(now + self.rtt.rto());
    }

    /// Whether it was tried for as long as `Config.retries` timeouts take that begin with the
    /// smallest one (retransmits_timed_out: 924.6 s by default).
    fn gave_up(&self, now: Time) -> bool {
        let mut timeout = self.config.min_rto;
        let mut patience = Duration::ZERO;
        for _ in 0..=self.config.retries {
            patience += timeout.min(self.config.max_rto);
            timeout *= 2;
            if timeout > self.config.max_rto {
                timeout = self.config.max_rto;
            }
        }
        self.recovery
            .first_resent
            .is_some_and(|first| now.since(first) >= patience)
    }

    fn enter_loss(&mut self, now: Time, congestion: &mut Congestion<'_>) {
        let in_flight = self.in_flight();
        let phase = self.recovery.phase;
        let disordered = self.board.sacked.segments.max(self.sender.duplicate_acks);
        if self.board.front().is_some_and(|sent| sent.sacked) {
            self.board.forget_sacked();
        }
        self.sender.duplicate_acks = 0;
        for index in 0..self.board.len() {
            // What was sent within the last round trip is not overdue.
            let sent_at = self.board.get(index).sent_at;
            let overdue =
                !self.agreed.sack || self.rack.remaining(now, sent_at, Duration::ZERO).is_none();
            if index == 0 || overdue {
                self.mark_lost(index);
            }
        }
        let first = phase <= Phase::Disorder
            || self.recovery.high <= self.sender.una
            || (phase == Phase::Loss && self.recovery.timeouts == 0);
        if first {
            self.recovery.undoable = true;
            self.begin_undo();
        }
        let tell = first || congestion.controller.has_own_recovery();
        if tell {
            congestion
                .controller
                .on_congestion(congestion.id, now, Signal::Timeout, in_flight);
        }
        // Where the threshold was reduced before, only the window falls.
        self.recovery.loss_window = (!tell).then_some(self.agreed.payload as u64);
        if phase <= Phase::Disorder && disordered >= DUPLICATE_THRESHOLD {
            self.recovery.reordering = self.recovery.reordering.min(DUPLICATE_THRESHOLD);
        }
        self.recovery.probe_end = None;
        self.recovery.phase = Phase::Loss;
        self.recovery.high = self.sender.next;
        self.sender.reduced = self.agreed.ecn;
        self.recovery.frto = phase < Phase::Recovery || self.recovery.timeouts > 0;
    }

    /// An acknowledgement came after the timer fired.
    pub(super) fn process_loss(
        &mut self,
        now: Time,
        changes: &Changes,
        congestion: &mut Congestion<'_>,
    ) {
        let recovered = self.sender.una >= self.recovery.high;
        if changes.advanced && self.undo_timeout(false, now, congestion) {
            return;
        }
        if self.recovery.frto {
            // RFC 5682, section 3.1, step 3.b: what was never sent again arrived.
            if changes.original_arrived && self.undo_timeout(true, now, congestion) {
                return;
            }
            if self.sender.next > self.recovery.high {
                if changes.sacked || changes.duplicate {
                    // Step 3.a: the loss was real.
                    self.recovery.frto = false;
                }
            } else if changes.advanced && !recovered {
                self.recovery.high = self.sender.next;
                if self.has_unsent() && self.window_end() > self.sender.next {
                    // Step 2.b: new data tells.
                    self.recovery.new_first = true;
                    return;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.leave_recovery(now, congestion);
            return;
        }
        if changes.advanced {
            self.sender.duplicate_acks = 0;
        }
    }
}
