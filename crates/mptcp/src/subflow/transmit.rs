//! Which segment is sent next (RFC 9293, section 3.8; tcp_write_xmit,
//! tcp_xmit_retransmit_queue)?

use super::segments::Draft;
use super::timers::Waiting;
use super::{Congestion, Kind, OptionSource, State, Subflow};
use crate::wire::{Ecn, Flags};
use model::Time;

/// What admits a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Admission {
    /// The congestion window, the peer's, and pacing.
    Windows,
    /// The peer's window only: a tail loss probe.
    Probe,
}

impl Subflow {
    /// The next segment to send now, written into `packet` as an IP packet: its length.
    pub fn transmit(
        &mut self,
        now: Time,
        mut congestion: Congestion<'_>,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> Option<usize> {
        self.pacer.waiting = None;
        self.pending.nothing = false;
        if let Some((seq, ack)) = self.pending.reset.take() {
            return Some(self.write_reset(seq, ack, options, packet));
        }
        match self.state {
            State::Closed => return None,
            State::SynSent | State::SynReceived => {
                if !self.handshake.due {
                    return match self.handshake.open {
                        true => {
                            let windows = Admission::Windows;
                            self.send_new(now, windows, &mut congestion, options, packet)
                        }
                        false => None,
                    };
                }
                let length = self.write_syn(now, options, packet);
                let at = now + self.handshake.timeout;
                self.timers.retransmission = Some((Waiting::Handshake, at));
                return Some(length);
            }
            _ => {}
        }
        let congestion = &mut congestion;
        self.retransmit(now, congestion, options, packet)
            .or_else(|| self.send_new(now, Admission::Windows, congestion, options, packet))
            .or_else(|| self.send_bare(now, options, packet))
    }

    /// Bytes or a FIN wait to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        !self.sender.unsent.is_empty() || (self.sender.fin && !self.sender.fin_sent)
    }

    /// The right edge of the peer's window.
    pub(super) fn window_end(&self) -> u64 {
        self.sender.una + self.sender.window
    }

    /// Whether the peer's window admits the next segment.
    pub(super) fn next_fits(&self) -> bool {
        let length = match self.sender.unsent.front() {
            Some((payload, _)) => payload.len() as u64,
            None => 1,
        };
        self.sender.next + length <= self.window_end()
    }

    fn retransmit(
        &mut self,
        now: Time,
        congestion: &mut Congestion<'_>,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> Option<usize> {
        if std::mem::take(&mut self.pending.head) && !self.board.is_empty() {
            return Some(self.send_again(now, 0, false, options, packet));
        }
        if std::mem::take(&mut self.pending.tail_probe) && !self.board.is_empty() {
            self.recovery.probe_again = false;
            let new = self.send_new(now, Admission::Probe, congestion, options, packet);
            let length = new.unwrap_or_else(|| {
                self.recovery.probe_again = true;
                let last = self.board.len() - 1;
                self.send_again(now, last, true, options, packet)
            });
            self.recovery.probe_end = Some(self.sender.next);
            self.timers.retransmission = None;
            self.rearm(now);
            return Some(length);
        }
        if self.recovery.new_first {
            let new = self.send_new(now, Admission::Windows, congestion, options, packet);
            if new.is_some() || self.sender.next > self.recovery.high {
                return new;
            }
            self.recovery.new_first = false;
            self.recovery.frto = false;
        }
        let index = self.board.next_lost()?;
        let sent = self.board.get(index);
        let (in_flight, length) = (self.in_flight(), sent.bytes());
        // A window that shrank: only the first segment is sent again, as a probe.
        if index > 0 && sent.offset >= self.window_end() {
            return None;
        }
        if in_flight > 0 && in_flight + length > self.window(congestion) {
            return None;
        }
        if !self.admits_pace(now, congestion) {
            return None;
        }
        let length = self.send_again(now, index, false, options, packet);
        if index == 0 && !self.timers.waits_for(Waiting::Reordering) {
            self.timers.set_retransmission(now + self.rtt.rto());
        }
        self.paced(now, congestion);
        Some(length)
    }

    #[cold]
    fn send_again(
        &mut self,
        now: Time,
        index: usize,
        probe: bool,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> usize {
        let at_send = self.delivery.at_send(now, false);
        self.board.sent_again(index, now, at_send, probe);
        let bytes = self.board.get(index).bytes();
        self.counters.retransmitted_segments += 1;
        if !probe {
            self.recovery.first_resent = self.recovery.first_resent.or(Some(now));
            self.recovery.undo_resent = Some(self.recovery.undo_resent.unwrap_or(0) + 1);
            if self.recovery.reducing() {
                self.recovery.reduction.sent(bytes);
            }
        }
        self.sender.last_sent = now;
        if bytes > 0 {
            self.acks.data_sent(now);
        }
        // RFC 3168, section 6.1.5: retransmissions are not capable of marks.
        self.write_queued(now, index, true, false, Ecn::NotCapable, options, packet)
    }

    /// Writes what is in the queue at `index`.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them differ between its two callers"
    )]
    fn write_queued(
        &mut self,
        now: Time,
        index: usize,
        again: bool,
        reduced: bool,
        ecn: Ecn,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> usize {
        let payload = self.board.take_payload(index);
        let sent = self.board.get(index);
        let kind = if payload.is_empty() {
            Kind::Fin
        } else {
            Kind::Data {
                offset: sent.offset,
                mapping: sent.mapping,
                again,
            }
        };
        let flags = Flags {
            psh: !payload.is_empty() && self.sender.unsent.is_empty(),
            fin: sent.fin,
            cwr: reduced,
            ..Flags::default()
        };
        let draft = Draft {
            kind,
            seq: self.send_seq(sent.offset),
            flags,
            ecn,
            payload: &payload,
        };
        self.counters.sent_bytes += payload.len() as u64;
        let length = self.write(now, draft, options, packet);
        self.board.put_payload(index, payload);
        length
    }

    /// Sends what waits for the first time, data or a FIN.
    fn send_new(
        &mut self,
        now: Time,
        admission: Admission,
        congestion: &mut Congestion<'_>,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> Option<usize> {
        if !self.has_unsent() {
            self.nothing_waits(congestion);
            return None;
        }
        // It may have been enqueued before the peer said what it takes.
        self.split_next(self.agreed.payload);
        if !self.next_fits() {
            if !self.board.is_empty() || !self.split_for_probe() {
                self.persist(now);
                return None;
            }
        } else if admission == Admission::Windows {
            self.restart_after_idle(now, congestion);
            if !self.window_admits(congestion) {
                self.validate_window(true);
                return None;
            }
            if !self.admits_pace(now, congestion) {
                return None;
            }
        }
        Some(self.send_first(now, congestion, options, packet))
    }

    /// Whether the congestion window admits the next segment. The last FIN is not held back
    /// (tcp_cwnd_test), nor is anything when nothing is in flight.
    fn window_admits(&self, congestion: &Congestion<'_>) -> bool {
        let Some((payload, _)) = self.sender.unsent.front() else {
            return true;
        };
        if self.board.lost.segments > self.board.resent.segments && !self.recovery.new_first {
            // A retransmission waits for the window; nothing overtakes it.
            return false;
        }
        let in_flight = self.in_flight();
        in_flight == 0 || in_flight + payload.len() as u64 <= self.window(congestion)
    }

    fn send_first(
        &mut self,
        now: Time,
        congestion: &mut Congestion<'_>,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> usize {
        let idle = self.board.is_empty();
        let at_send = self.delivery.at_send(now, idle);
        let offset = self.sender.next;
        let (payload, mapping) = self.sender.unsent.pop_front().unwrap_or_default();
        let length = payload.len() as u64;
        self.sender.unsent_bytes -= length;
        let last = self.sender.unsent.is_empty() && self.sender.fin;
        // Data that fills the peer's window goes without the FIN.
        let fin = last && (length == 0 || offset + length < self.window_end());
        self.sender.fin_sent |= fin;
        self.sender.next = offset + length + u64::from(fin);
        let index = self.board.push(now, offset, payload, mapping, fin, at_send);
        if self.recovery.reducing() {
            self.recovery.reduction.sent(length);
        }
        if idle || self.timers.waits_for(Waiting::TailProbe) {
            self.rearm(now);
        }
        self.sender.last_sent = now;
        if length > 0 {
            self.acks.data_sent(now);
        }
        let in_flight = self.in_flight();
        self.validate_window(in_flight + self.agreed.payload as u64 > self.window(congestion));
        self.schedule_tail_probe(now, false);
        let ecn = if self.agreed.ecn && length > 0 {
            Ecn::Ect0
        } else {
            Ecn::NotCapable
        };
        let reduced = length > 0 && std::mem::take(&mut self.sender.reduced);
        let written = self.write_queued(now, index, false, reduced, ecn, options, packet);
        self.paced(now, congestion);
        written
    }

    /// There is nothing to send: the application limits the rate, unless something else does.
    fn nothing_waits(&mut self, congestion: &Congestion<'_>) {
        let in_flight = self.in_flight();
        if self.board.lost.segments <= self.board.resent.segments
            && in_flight + self.agreed.payload as u64 <= self.window(congestion)
        {
            self.delivery.mark_app_limited(in_flight);
        }
    }

    /// Remembers whether the window is the limit (tcp_cwnd_validate, RFC 7661).
    fn validate_window(&mut self, limited: bool) {
        let out = self.board.out.bytes;
        let sender = &mut self.sender;
        if sender.una >= sender.limited_until
            || limited
            || (!sender.window_limited && out > sender.most_out)
        {
            sender.window_limited = limited;
            sender.most_out = out;
            sender.limited_until = sender.next;
        }
    }

    /// A window that was not used for longer than a timeout is outdated (RFC 5681, section 4.1).
    fn restart_after_idle(&mut self, now: Time, congestion: &mut Congestion<'_>) {
        if !self.config.slow_start_after_idle || !self.board.is_empty() {
            return;
        }
        let idle = now.since(self.sender.last_sent);
        let rto = self.rtt.rto();
        if idle > rto {
            congestion
                .controller
                .on_idle_restart(congestion.id, now, idle, rto);
            self.update_pacing_rate(congestion);
            // Once for this idle time, though the segment may have to wait.
            self.sender.last_sent = now;
        }
    }

    /// A window probe is due, and the peer's window is open for less than a segment: makes the
    /// next segment as small.
    #[cold]
    fn split_for_probe(&mut self) -> bool {
        let room = self.window_end().saturating_sub(self.sender.next) as usize;
        if !self.pending.probe || room == 0 {
            return false;
        }
        self.pending.probe = false;
        self.split_next(room);
        true
    }

    /// Makes the next segment `length` long if it is longer.
    pub(super) fn split_next(&mut self, length: usize) {
        let Some((payload, mapping)) = self.sender.unsent.front_mut() else {
            return;
        };
        if payload.len() <= length {
            return;
        }
        let head = payload.split_to(length);
        let mut first = *mapping;
        if let (Some(first), Some(rest)) = (&mut first, mapping) {
            first.data_fin = false;
            rest.dsn += length as u64;
        }
        self.sender.unsent.push_front((head, first));
    }

    /// Sends an acknowledgement or a probe.
    fn send_bare(
        &mut self,
        now: Time,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> Option<usize> {
        let probe = std::mem::take(&mut self.pending.probe);
        if !(probe || self.acks.now || self.pending.ack) {
            return None;
        }
        // A probe's sequence number was acknowledged: the answer tells of the window.
        let seq = match probe {
            true => self.send_seq(self.sender.una) - 1,
            false => self.next_seq(),
        };
        let draft = Draft {
            kind: Kind::Ack,
            seq,
            flags: Flags::default(),
            ecn: Ecn::NotCapable,
            payload: &[],
        };
        self.pending.nothing = true;
        Some(self.write(now, draft, options, packet))
    }

    /// Whether [`Subflow::transmit`] has nothing to send, for one look instead of many; then all is
    /// done that it would do. Where it is false, there may be nothing either.
    #[inline]
    pub fn rests(&mut self, congestion: &Congestion<'_>) -> bool {
        let synchronised = !matches!(
            self.state,
            State::Closed | State::SynSent | State::SynReceived
        );
        let pending = &self.pending;
        let signals = pending.head | pending.tail_probe | pending.probe | pending.ack;
        let again =
            self.recovery.new_first || self.board.resent.segments < self.board.lost.segments;
        if !synchronised || signals || again || self.acks.now || pending.reset.is_some() {
            return false;
        }
        if !self.has_unsent() {
            self.nothing_waits(congestion);
        } else if self.is_held_by_window(congestion) {
            self.validate_window(true);
        } else {
            return false;
        }
        self.pacer.waiting = None;
        self.pending.nothing = false;
        true
    }

    /// Whether the next segment, as it is, waits for acknowledgements only.
    fn is_held_by_window(&self, congestion: &Congestion<'_>) -> bool {
        let next = self.sender.unsent.front();
        let whole = next.is_none_or(|(payload, _)| payload.len() <= self.agreed.payload);
        whole && !self.board.is_empty() && self.next_fits() && !self.window_admits(congestion)
    }

    /// Whether another [`Subflow::transmit`], right after the last one and nothing else, would have
    /// nothing to send; where it is false, it may.
    pub fn has_sent_all(&self) -> bool {
        self.pending.nothing && !self.pending.ack
    }

    fn paces(&self, congestion: &Congestion<'_>) -> bool {
        self.config.pacing || congestion.controller.pacing_rate(congestion.id).is_some()
    }

    fn admits_pace(&mut self, now: Time, congestion: &Congestion<'_>) -> bool {
        !self.paces(congestion) || self.pacer.admits(now)
    }

    fn paced(&mut self, now: Time, congestion: &Congestion<'_>) {
        if self.paces(congestion) {
            let bytes = self.agreed.payload as u64;
            self.pacer.sent(now, bytes, self.sender.pacing_rate);
        }
    }
}
