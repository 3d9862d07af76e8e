//! When is something due, and what (RFC 6298, section 5; RFC 8985, section 7; RFC 9293,
//! sections 3.8.4 and 3.8.6.1)?

use super::recovery::Phase;
use super::{Congestion, Failure, State, Subflow, rack};
use model::Time;
use std::time::Duration;

/// Between keep-alive probes (net.ipv4.tcp_keepalive_intvl).
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(75);
/// Keep-alive probes without an answer that end the connection
/// (net.ipv4.tcp_keepalive_probes).
const KEEP_ALIVE_PROBES: u32 = 9;

/// What the one timer of the sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiting {
    /// A SYN or SYN/ACK's acknowledgement.
    Handshake,
    /// An acknowledgement.
    Retransmission,
    /// Segments that are nearly overdue (RACK).
    Reordering,
    /// The time of a tail loss probe.
    TailProbe,
    /// The peer's window to open.
    WindowProbe,
}

/// The timers, but for those of delayed acknowledgements and of pacing.
#[derive(Debug, Default)]
pub(super) struct Timers {
    pub(super) retransmission: Option<(Waiting, Time)>,
    pub(super) keep_alive: Option<Time>,
    /// The end of TIME-WAIT.
    pub(super) time_wait: Option<Time>,
    /// Window or keep-alive probes without an answer, and how often their interval doubled.
    pub(super) probes: u32,
    pub(super) backoff: u32,
}

impl Timers {
    pub(super) fn set_retransmission(&mut self, at: Time) {
        self.retransmission = Some((Waiting::Retransmission, at));
    }
    pub(super) fn set_reordering(&mut self, at: Time) {
        self.retransmission = Some((Waiting::Reordering, at));
    }
    pub(super) fn waits_for(&self, waiting: Waiting) -> bool {
        self.retransmission.is_some_and(|(w, _)| w == waiting)
    }
}

impl Subflow {
    /// When [`Subflow::poll`] or [`Subflow::transmit`] has something to do next.
    pub fn poll_at(&self) -> Option<Time> {
        Time::earliest([
            self.timers.retransmission.map(|(_, at)| at),
            self.acks.timer,
            self.acks.compression_timer,
            self.pacer.waiting,
            self.timers.keep_alive,
            self.timers.time_wait,
        ])
    }

    /// Timers that are due.
    pub fn poll(&mut self, now: Time, mut congestion: Congestion<'_>) {
        self.acks.poll(now, self.rtt.rto());
        if let Some((waiting, at)) = self.timers.retransmission
            && at <= now
        {
            self.fire(waiting, now, &mut congestion);
        }
        if self.timers.keep_alive.is_some_and(|at| at <= now) {
            self.keep_alive(now);
        }
        if self.timers.time_wait.is_some_and(|at| at <= now) {
            self.close_at_once();
        }
    }

    #[cold]
    fn fire(&mut self, waiting: Waiting, now: Time, congestion: &mut Congestion<'_>) {
        match waiting {
            Waiting::Handshake => {
                self.timers.retransmission = None;
                self.handshake_timeout();
            }
            Waiting::Retransmission => {
                self.timers.retransmission = None;
                self.retransmission_timeout(now, congestion);
            }
            Waiting::Reordering => {
                if self.rack_timeout(now) && self.recovery.phase != Phase::Recovery {
                    let in_flight = self.in_flight();
                    self.enter_recovery(now, false, in_flight, congestion);
                    let mss = self.agreed.payload as u64;
                    let in_flight = self.in_flight();
                    let target = congestion.controller.slow_start_threshold(congestion.id);
                    self.recovery
                        .reduction
                        .acknowledged(mss, in_flight, target, mss, false);
                }
                self.rearm(now);
            }
            Waiting::TailProbe => {
                if self.recovery.probe_end.is_none() && !self.board.is_empty() {
                    self.pending.tail_probe = true;
                    self.timers.retransmission = None;
                }
                self.rearm(now);
            }
            Waiting::WindowProbe => self.window_probe(now),
        }
    }

    /// Starts the retransmission timer anew: from now, or, after a probe or reordering timer,
    /// from when the first segment was sent (tcp_rearm_rto).
    pub(super) fn rearm(&mut self, now: Time) {
        if self.is_timed_by_handshake() {
            return;
        }
        let Some(front) = self.board.front() else {
            self.timers.retransmission = None;
            return;
        };
        let rto = self.rtt.rto();
        let at = match self.timers.retransmission {
            Some((Waiting::Reordering | Waiting::TailProbe, _)) => (front.sent_at + rto).max(now),
            _ => now + rto,
        };
        self.timers.set_retransmission(at);
    }

    /// Sets the timer of a tail loss probe (RFC 8985, section 7.2; tcp_schedule_loss_probe);
    /// whether one is due. `advanced` when an acknowledgement moves the retransmission timeout.
    pub(super) fn schedule_tail_probe(&mut self, now: Time, advanced: bool) -> bool {
        if self.is_timed_by_handshake() {
            return false;
        }
        let calm = matches!(self.recovery.phase, Phase::Open | Phase::Cwr);
        let Some(front) = self.board.front().filter(|_| calm && self.agreed.sack) else {
            return false;
        };
        let mut wait = match self.rtt.smoothed() {
            // A lone segment's acknowledgement may be delayed.
            Some(rtt) if self.board.len() == 1 => rtt * 2 + self.config.min_rto,
            Some(rtt) => rtt * 2 + rack::TIMER_SLACK,
            None => self.config.initial_rto,
        };
        let rto = self.rtt.rto();
        let timeout = match advanced {
            true => rto,
            false => (front.sent_at + rto).since(now),
        };
        if !timeout.is_zero() {
            wait = wait.min(timeout);
        }
        self.timers.retransmission = Some((Waiting::TailProbe, now + wait));
        true
    }

    /// Something was acknowledged.
    pub(super) fn set_timer_after_ack(&mut self, now: Time) {
        if !self.schedule_tail_probe(now, true) {
            self.rearm(now);
        }
    }

    /// How long until the next window probe.
    fn window_probe_interval(&self) -> Duration {
        let base = self.rtt.rto().max(self.config.min_rto);
        let factor = 1_u32.checked_shl(self.timers.backoff).unwrap_or(u32::MAX);
        base.saturating_mul(factor).min(self.config.max_rto)
    }

    /// Nothing is out, and the peer's window keeps what waits from being sent: probe it.
    pub(super) fn persist(&mut self, now: Time) {
        if self.board.is_empty() && self.timers.retransmission.is_none() {
            let at = now + self.window_probe_interval();
            self.timers.retransmission = Some((Waiting::WindowProbe, at));
        }
    }

    /// An acknowledgement came while nothing was out (tcp_ack_probe).
    pub(super) fn window_probe_answered(&mut self, now: Time) {
        if !self.has_unsent() {
            return;
        }
        if self.next_fits() {
            self.timers.backoff = 0;
            if self.timers.waits_for(Waiting::WindowProbe) {
                self.timers.retransmission = None;
            }
        } else {
            let at = now + self.window_probe_interval();
            self.timers.retransmission = Some((Waiting::WindowProbe, at));
        }
    }

    #[cold]
    fn window_probe(&mut self, now: Time) {
        self.timers.retransmission = None;
        if !self.board.is_empty() || !self.has_unsent() {
            self.timers.probes = 0;
            self.timers.backoff = 0;
            return;
        }
        if self.timers.probes >= self.config.retries {
            self.end(Failure::TimedOut);
            return;
        }
        self.pending.probe = true;
        self.timers.probes += 1;
        if self.timers.backoff < self.config.retries {
            self.timers.backoff += 1;
        }
        let at = now + self.window_probe_interval();
        self.timers.retransmission = Some((Waiting::WindowProbe, at));
    }

    /// The keep-alive timer fired (RFC 9293, section 3.8.4; tcp_keepalive_timer).
    #[cold]
    fn keep_alive(&mut self, now: Time) {
        let Some(idle) = self.config.keep_alive else {
            self.timers.keep_alive = None;
            return;
        };
        if matches!(self.state, State::TimeWait | State::Closed) {
            self.timers.keep_alive = None;
            return;
        }
        let heard = self.receiver.last_heard;
        let wait = if !self.board.is_empty() || self.has_unsent() {
            idle
        } else if now.since(heard) < idle {
            idle - now.since(heard)
        } else if self.timers.probes >= KEEP_ALIVE_PROBES {
            self.end(Failure::TimedOut);
            self.pending.reset = Some((self.next_seq(), Some(self.acknowledgement())));
            return;
        } else {
            self.pending.probe = true;
            self.timers.probes += 1;
            KEEP_ALIVE_INTERVAL
        };
        self.timers.keep_alive = Some(now + wait);
    }
}
