//! What does an acknowledgement change for the sender (RFC 9293, section 3.10.7.4; tcp_ack)?

use super::rate::Sample;
use super::recovery::Phase;
use super::{Congestion, Subflow};
use crate::wire::{Segment, Seq};
use model::Time;
use policy::congestion::{Ack, Signal};
use std::time::Duration;

/// A timestamp echoed after more milliseconds than this measures nothing: 36 minutes, as in
/// Linux's tcp_rtt_tsopt_us.
const LONGEST_ECHO: u64 = i32::MAX as u64 / 1000;

/// What an acknowledgement changed, gathered on the way.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// What was acknowledged before, and in flight, bytes.
    pub(super) prior_una: u64,
    pub(super) prior_in_flight: u64,
    /// The cumulative acknowledgement advanced.
    pub(super) advanced: bool,
    /// Something new was acknowledged selectively.
    pub(super) sacked: bool,
    /// What was never sent again was acknowledged, of what was out at the timeout.
    pub(super) original_arrived: bool,
    /// Some of what was acknowledged cumulatively had been sent again.
    resent_acked: bool,
    /// A credible report of duplicates came, of the tail loss probe.
    pub(super) duplicates_reported: bool,
    pub(super) probe_duplicate: bool,
    /// The segment had data, or told of a window.
    has_data: bool,
    window_told: bool,
    /// It was a duplicate acknowledgement.
    pub(super) duplicate: bool,
    /// It echoed a congestion mark.
    pub(super) echo: bool,
    /// What was acknowledged selectively before is first now: the receiver dropped it.
    pub(super) reneged: bool,
    /// A retransmission was found lost.
    pub(super) lost_again: bool,
    /// The timer is to be set anew.
    pub(super) set_timer: bool,
    /// Bytes that were delivered.
    pub(super) delivered: u64,
    /// When the first and the last segment was sent that was never sent again, of those
    /// acknowledged cumulatively and selectively.
    first_acked: Option<Time>,
    last_acked: Option<Time>,
    pub(super) first_sacked: Option<Time>,
    pub(super) last_sacked: Option<Time>,
    /// The lowest that arrived after later data.
    pub(super) lowest_sacked: u64,
    pub(super) sample: Sample,
    acked_segments: u64,
    /// The round trip of the newest segment.
    newest: Option<Duration>,
    /// Segments declared lost before.
    prior_lost: u64,
}

impl Subflow {
    /// The sender's offset of a sequence number; negative before the first byte.
    pub(super) fn send_position(&self, seq: Seq) -> i64 {
        let una = self.sender.initial + 1 + self.sender.una as u32;
        self.sender.una as i64 + i64::from(seq.0.wrapping_sub(una.0) as i32)
    }

    /// The window of a segment; that of a SYN is never scaled (RFC 7323, section 2.2).
    pub(super) fn scaled_window(&self, segment: &Segment<'_>) -> u64 {
        let scale = if segment.flags.syn {
            0
        } else {
            self.agreed.peer_scale
        };
        u64::from(segment.window) << scale
    }

    /// Deals with the acknowledgement of `segment`; whether the segment may be heeded further,
    /// and whether it acknowledged something new.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        congestion: &mut Congestion<'_>,
    ) -> (bool, bool) {
        let ack = self.send_position(segment.ack);
        let una = self.sender.una;
        self.recovery.new_first = false;
        let tells = !segment.options.sack.is_empty() || self.recovery.probe_end.is_some();
        if ack == una as i64 && self.board.is_empty() && !tells {
            // Nothing is out: only the window can have changed.
            self.update_window(segment, false);
            self.timers.probes = 0;
            self.window_probe_answered(now);
            return (true, false);
        }
        let mut changes = Changes {
            prior_una: una,
            prior_in_flight: self.in_flight(),
            has_data: segment.sequence_length() > 0,
            echo: self.agreed.ecn && segment.flags.ece,
            prior_lost: self.counters.lost_segments,
            ..Changes::default()
        };
        if ack < una as i64 {
            // RFC 5961, section 5.2.
            if ack < una as i64 - self.sender.max_window.min(una) as i64 {
                self.challenge(now);
                return (false, false);
            }
            if !segment.options.sack.is_empty() {
                self.process_sack(now, segment, &mut changes);
                self.alert(now, &mut changes, congestion);
            }
            return (true, false);
        }
        if ack > self.sender.next as i64 {
            self.challenge(now);
            return (false, false);
        }
        let ack = ack as u64;
        changes.advanced = ack > una;
        if changes.advanced {
            self.recovery.timeouts = 0;
        }
        changes.window_told = self.update_window(segment, changes.advanced);
        let had_out = !self.board.is_empty();
        self.sender.una = ack;
        self.process_sack(now, segment, &mut changes);
        self.timers.probes = 0;
        if !had_out {
            if changes.duplicates_reported {
                self.alert(now, &mut changes, congestion);
            }
            self.window_probe_answered(now);
            self.judge_probe(now, ack, &changes, congestion);
            return (true, changes.advanced);
        }
        let prior_furthest = self.board.furthest(una);
        self.remove_acknowledged(now, prior_furthest, &mut changes);
        self.measure(now, &mut changes);
        self.rack
            .adapt(changes.sample.prior_delivered(), self.delivery.delivered);
        self.judge_probe(now, ack, &changes, congestion);
        self.alert_if_dubious(now, &mut changes, congestion);
        if changes.set_timer {
            self.set_timer_after_ack(now);
        }
        self.control(now, &changes, congestion);
        (true, changes.advanced)
    }

    /// Takes over the peer's window (RFC 9293, section 3.10.7.4; tcp_may_update_window); whether the
    /// segment told of one.
    fn update_window(&mut self, segment: &Segment<'_>, advanced: bool) -> bool {
        let window = self.scaled_window(segment);
        let from = self.receive_position(segment.seq);
        self.sender.last_window = window;
        let newer = from > self.sender.window_from;
        let larger =
            from == self.sender.window_from && (window > self.sender.window || window == 0);
        let told = advanced || newer || larger;
        if told {
            self.sender.window_from = from;
            self.sender.window = window;
            self.sender.max_window = self.sender.max_window.max(window);
        }
        told
    }

    /// Takes what is acknowledged cumulatively off the queue.
    fn remove_acknowledged(&mut self, now: Time, prior_furthest: u64, changes: &mut Changes) {
        let una = self.sender.una;
        let mut lowest = self.sender.next;
        let min_rtt = self.rtt.min();
        while let Some(sent) = self.board.front() {
            let end = sent.end();
            if end > una {
                changes.reneged = sent.sacked;
                break;
            }
            let Some(sent) = self.board.pop() else { break };
            changes.acked_segments += 1;
            if sent.ever_resent {
                changes.resent_acked = true;
            } else if !sent.sacked {
                changes.first_acked = changes.first_acked.or(Some(sent.sent_at));
                changes.last_acked = Some(sent.sent_at);
                lowest = lowest.min(sent.offset);
                changes.original_arrived |= end <= self.recovery.high;
            }
            if !sent.sacked {
                changes.delivered += sent.bytes();
                self.delivery.delivered += sent.bytes();
                let original = sent.ever_resent
                    && self.sender.echo.is_some_and(|echo| {
                        (echo.wrapping_sub(self.timestamp(sent.sent_at)) as i32) < 0
                    });
                if self.agreed.sack && !original {
                    self.rack.arrived(now, &sent, min_rtt);
                }
                changes.sample.delivered(&mut self.delivery, &sent);
            }
        }
        if changes.acked_segments == 0 {
            return;
        }
        changes.set_timer = true;
        if !self.agreed.sack {
            // Duplicates that stood for what is acknowledged now were counted before.
            let counted = self
                .sender
                .duplicate_acks
                .min(changes.acked_segments.saturating_sub(1));
            let bytes = (counted * self.agreed.payload as u64).min(changes.delivered);
            changes.delivered -= bytes;
            self.delivery.delivered -= bytes;
            self.sender.duplicate_acks -= counted;
            if changes.resent_acked {
                changes.original_arrived = false;
            }
        } else if lowest < prior_furthest {
            self.check_reordering(lowest);
        }
    }

    /// Measures the round trip (RFC 6298, section 4; RFC 7323, section 4): by our own records
    /// where nothing was sent again, else by the timestamp echoed.
    fn measure(&mut self, now: Time, changes: &mut Changes) {
        let since = |sent: Time| now.since(sent);
        let mut timeout = None;
        let mut newest = None;
        if !changes.resent_acked {
            timeout = changes.first_acked.map(since);
            newest = changes.last_acked.map(since);
        }
        let lone = changes.acked_segments == 1
            && self.board.sacked.segments == 0
            && self.sender.una - changes.prior_una < self.agreed.payload as u64
            && !changes.sacked
            && !changes.echo;
        let sacked = changes.first_sacked.map(since);
        if sacked.is_some() {
            newest = changes.last_sacked.map(since);
            timeout = timeout.or(sacked);
        }
        if timeout.is_none() && changes.acked_segments > 0 {
            timeout = self
                .sender
                .echo
                .and_then(|echo| self.echoed_round_trip(now, echo));
            newest = timeout;
        }
        changes.newest = newest;
        let Some(timeout) = timeout else {
            return;
        };
        if let Some(rtt) = newest {
            self.rtt.sample_min(now, rtt, lone);
        }
        self.rtt.sample(timeout, self.sender.una, self.sender.next);
        if changes.acked_segments == 0
            && let (Some(sacked), Some(front)) = (sacked, self.board.front())
            && sacked > now.since(front.sent_at)
        {
            // Sent after the first segment was sent last.
            changes.set_timer = true;
        }
    }

    /// What an acknowledgement says of a tail loss probe (RFC 8985, section 7.4).
    fn judge_probe(
        &mut self,
        now: Time,
        ack: u64,
        changes: &Changes,
        congestion: &mut Congestion<'_>,
    ) {
        let Some(end) = self.recovery.probe_end else {
            return;
        };
        if ack < end {
            return;
        }
        if !self.recovery.probe_again || changes.probe_duplicate {
            self.recovery.probe_end = None;
        } else if ack > end {
            // Only the probe filled the hole: the loss it repaired counts.
            self.begin_reduction(now, Signal::Loss, changes.prior_in_flight, congestion);
            congestion.controller.on_recovered(congestion.id, now);
            self.recovery.phase = Phase::Disorder;
            self.keep_open();
        } else if !(changes.advanced || changes.sacked || changes.is_not_duplicate()) {
            self.recovery.probe_end = None;
        }
    }

    fn alert_if_dubious(
        &mut self,
        now: Time,
        changes: &mut Changes,
        congestion: &mut Congestion<'_>,
    ) {
        let plain = changes.is_not_duplicate();
        let alarming = changes.sacked || changes.echo || changes.duplicates_reported;
        if plain && !alarming && self.recovery.phase == Phase::Open {
            return;
        }
        changes.duplicate = !(changes.advanced || plain || changes.duplicates_reported);
        self.alert(now, changes, congestion);
    }

    /// Tells the controller, and lets the window fall in proportion while it is reduced.
    fn control(&mut self, now: Time, changes: &Changes, congestion: &mut Congestion<'_>) {
        let min_rtt = self.rtt.min();
        let rate = self
            .delivery
            .rate(now, changes.delivered, &changes.sample, min_rtt);
        let in_flight = self.in_flight();
        if changes.delivered > 0 || changes.acked_segments > 0 {
            // Growth waits for the cumulative acknowledgement, unless reordering is usual
            // (tcp_may_raise_cwnd).
            let may_grow = changes.acked_segments > 0
                || self.recovery.reordering > super::rack::DUPLICATE_THRESHOLD;
            let ack = Ack {
                now,
                acked: changes.delivered,
                rtt: changes.newest,
                smoothed_rtt: self.rtt.smoothed().unwrap_or_default(),
                min_rtt: min_rtt.unwrap_or_default(),
                in_flight,
                window_limited: may_grow && self.is_window_limited(congestion),
                lost: (self.counters.lost_segments - changes.prior_lost)
                    * self.agreed.payload as u64,
                in_recovery: self.recovery.reducing() || self.recovery.loss_window.is_some(),
                delivered: self.delivery.delivered,
                rate,
            };
            congestion.controller.on_ack(congestion.id, &ack);
        }
        if self.recovery.reducing() {
            let good = changes.advanced && self.counters.lost_segments == changes.prior_lost;
            self.recovery.reduction.acknowledged(
                changes.delivered,
                in_flight,
                congestion.controller.slow_start_threshold(congestion.id),
                self.agreed.payload as u64,
                good,
            );
        } else if let Some(loss) = self.recovery.loss_window {
            let grown = loss + changes.delivered;
            self.recovery.loss_window = (grown < congestion.window()).then_some(grown);
        }
        self.update_pacing_rate(congestion);
    }

    /// Whether the window is the limit (tcp_is_cwnd_limited): in slow start also as long as it
    /// is less than twice what was out.
    fn is_window_limited(&self, congestion: &Congestion<'_>) -> bool {
        let window = congestion.window();
        let slow_start = window < congestion.controller.slow_start_threshold(congestion.id);
        self.sender.window_limited || (slow_start && window < 2 * self.sender.most_out)
    }

    pub(super) fn update_pacing_rate(&mut self, congestion: &Congestion<'_>) {
        let rate = congestion.controller.pacing_rate(congestion.id);
        self.sender.pacing_rate = rate.unwrap_or_else(|| {
            super::pacing::derived_rate(
                self.window(congestion),
                congestion.controller.slow_start_threshold(congestion.id),
                self.board.out.bytes,
                self.rtt.smoothed(),
            )
        });
    }

    /// The timestamp that a segment sent at `time` carries: milliseconds (Linux's TCP_TS_HZ).
    pub(super) fn timestamp(&self, time: Time) -> u32 {
        ((time.as_nanos() / 1_000_000) as u32).wrapping_add(self.handshake.timestamp_offset)
    }

    /// The timestamp that `segment` echoes, if it does.
    pub(super) fn echo(&self, segment: &Segment<'_>) -> Option<u32> {
        segment
            .options
            .timestamps
            .filter(|t| self.agreed.timestamps && segment.flags.ack && t.echo != 0)
            .map(|t| t.echo)
    }

    /// The round trip that a timestamp echoed now measures, to a millisecond and at least one;
    /// `None` when it can't be one of ours.
    pub(super) fn echoed_round_trip(&self, now: Time, echo: u32) -> Option<Duration> {
        let millis = u64::from(self.timestamp(now).wrapping_sub(echo));
        (millis < LONGEST_ECHO).then(|| Duration::from_millis(millis.max(1)))
    }
}

impl Changes {
    /// Whether it tells of anything a duplicate acknowledgement does not (FLAG_NOT_DUP).
    fn is_not_duplicate(&self) -> bool {
        self.has_data || self.window_told || self.acked_segments > 0
    }
}
