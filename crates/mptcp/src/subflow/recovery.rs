//! In which phase is the sender, and when does it enter or leave one (tcp_fastretrans_alert)?
//!
//! Open: nothing dubious. Disorder: something arrived out of order, no loss is known. Cwr: the
//! window falls for another reason than a loss. Recovery: a loss is repaired (RFC 6675 with
//! RACK). Loss: the retransmission timer fired.

use super::ack::Changes;
use super::prr::Reduction;
use super::rack::DUPLICATE_THRESHOLD;
use super::{Congestion, Subflow};
use model::Time;
use policy::congestion::Signal;
use std::time::Duration;

/// The most segments that reordering is believed to displace (net.ipv4.tcp_max_reordering).
const MAX_REORDERING: u64 = 300;
/// How long a receiver gets at least to correct what looks like dropped data.
const RENEGING_GRACE: Duration = Duration::from_millis(10);

/// The sender's phase; the order matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) enum Phase {
    #[default]
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// The state of loss recovery. Positions are offsets.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) phase: Phase,
    /// The phase ends when everything before this is acknowledged.
    pub(super) high: u64,
    pub(super) reduction: Reduction,
    /// What the reduction of the window may be undone for: where it began, how many
    /// retransmissions since are not known to be superfluous (`None`: there was none yet), and
    /// whether it may at all.
    pub(super) undo_from: Option<u64>,
    pub(super) undo_resent: Option<u64>,
    pub(super) undoable: bool,
    /// When the first retransmission of this episode was sent.
    pub(super) first_resent: Option<Time>,
    /// Whether F-RTO still judges the timeout (RFC 5682).
    pub(super) frto: bool,
    /// New data goes before retransmissions, for F-RTO.
    pub(super) new_first: bool,
    /// After a timeout that did not reduce the threshold again: the window until it reaches the
    /// controller's.
    pub(super) loss_window: Option<u64>,
    /// Timeouts since something new was acknowledged.
    pub(super) timeouts: u32,
    /// The episode of a tail loss probe: the end of what was sent, and whether the probe was a
    /// retransmission (RFC 8985, section 7.4).
    pub(super) probe_end: Option<u64>,
    pub(super) probe_again: bool,
    /// How many segments reordering displaces, and whether it was ever seen.
    pub(super) reordering: u64,
    pub(super) reordering_seen: bool,
    /// Segments reported to have arrived twice.
    pub(super) duplicates: u64,
}

impl Default for Recovery {
    fn default() -> Recovery {
        Recovery {
            phase: Phase::Open,
            high: 0,
            reduction: Reduction::default(),
            undo_from: None,
            undo_resent: None,
            undoable: false,
            first_resent: None,
            frto: false,
            new_first: false,
            loss_window: None,
            timeouts: 0,
            probe_end: None,
            probe_again: false,
            reordering: DUPLICATE_THRESHOLD,
            reordering_seen: false,
            duplicates: 0,
        }
    }
}

impl Recovery {
    /// Whether the window is being reduced.
    pub(super) fn reducing(&self) -> bool {
        matches!(self.phase, Phase::Cwr | Phase::Recovery)
    }
}

impl Subflow {
    /// Bytes in flight; without selective acknowledgements duplicates stand for them.
    pub(super) fn in_flight(&self) -> u64 {
        let mss = self.agreed.payload as u64;
        self.board
            .in_flight()
            .saturating_sub(self.sender.duplicate_acks * mss)
    }

    /// The congestion window in force.
    pub(super) fn window(&self, congestion: &Congestion<'_>) -> u64 {
        let window = congestion.window();
        if congestion.controller.has_own_recovery() {
            return window;
        }
        match self.recovery.phase {
            Phase::Cwr | Phase::Recovery => self.recovery.reduction.window,
            Phase::Loss => self
                .recovery
                .loss_window
                .map_or(window, |loss| loss.min(window)),
            Phase::Open | Phase::Disorder => window,
        }
    }

    /// A distance of reordering was seen: data at `low` arrived after later data.
    pub(super) fn check_reordering(&mut self, low: u64) {
        let furthest = self.board.furthest(self.sender.una);
        if low >= furthest {
            return;
        }
        let segments = (furthest - low).div_ceil(self.agreed.payload as u64);
        if segments > self.recovery.reordering {
            self.recovery.reordering = segments.min(MAX_REORDERING);
        }
        self.recovery.reordering_seen = true;
    }

    /// Whether anything that is not acknowledged was sent again.
    pub(super) fn anything_resent(&self) -> bool {
        self.board.resent.segments > 0 || self.board.front().is_some_and(|s| s.ever_resent)
    }

    /// Deals with an acknowledgement that is unusual, or came in an unusual phase.
    #[cold]
    pub(super) fn alert(
        &mut self,
        now: Time,
        changes: &mut Changes,
        congestion: &mut Congestion<'_>,
    ) {
        if changes.echo {
            self.recovery.undoable = false;
        }
        if changes.reneged && changes.advanced {
            let half = self.rtt.smoothed().unwrap_or_default() / 2;
            self.timers
                .set_retransmission(now + half.max(RENEGING_GRACE));
            changes.set_timer = false;
            return;
        }
        if self.recovery.phase == Phase::Open {
            self.recovery.first_resent = None;
        } else if self.sender.una >= self.recovery.high {
            match self.recovery.phase {
                // Until something beyond is acknowledged, so that CWR arrived.
                Phase::Cwr if self.sender.una != self.recovery.high => {
                    self.recovery.phase = Phase::Open;
                    congestion.controller.on_recovered(congestion.id, now);
                }
                Phase::Recovery => {
                    self.sender.duplicate_acks = 0;
                    if self.leave_recovery(now, congestion) {
                        return;
                    }
                }
                _ => {}
            }
        }
        match self.recovery.phase {
            Phase::Recovery => {
                if !changes.advanced {
                    self.count_duplicate_ack(changes);
                } else if self.undo_partially(now, changes.prior_una, congestion) {
                    return;
                }
                if self.undo_for_duplicates(now, congestion) {
                    self.try_to_open(now, changes.echo, congestion);
                }
                self.identify_losses(now, changes);
                if self.recovery.phase != Phase::Recovery && self.board.lost.segments > 0 {
                    self.enter_recovery(now, changes.echo, changes.prior_in_flight, congestion);
                }
                return;
            }
            Phase::Loss => {
                self.process_loss(now, changes, congestion);
                self.identify_losses(now, changes);
                if self.recovery.phase != Phase::Open && !changes.lost_again {
                    return;
                }
            }
            _ => {}
        }
        if changes.advanced {
            self.sender.duplicate_acks = 0;
        }
        self.count_duplicate_ack(changes);
        if self.recovery.phase <= Phase::Disorder {
            self.undo_for_duplicates(now, congestion);
        }
        self.identify_losses(now, changes);
        if self.board.lost.segments == 0 {
            self.try_to_open(now, changes.echo, congestion);
            return;
        }
        self.enter_recovery(now, changes.echo, changes.prior_in_flight, congestion);
    }

    fn identify_losses(&mut self, now: Time, changes: &mut Changes) {
        if self.board.is_empty() {
            return;
        }
        if !self.agreed.sack {
            self.newreno_losses(changes.advanced);
            return;
        }
        let resent = self.board.resent.segments;
        if self.rack_acknowledged(now) {
            changes.set_timer = false;
        }
        changes.lost_again |= self.board.resent.segments < resent;
    }

    /// Without selective acknowledgements, three duplicates prove the first segment lost, and
    /// so does a partial acknowledgement in recovery (RFC 6582).
    fn newreno_losses(&mut self, advanced: bool) {
        let lost = match self.recovery.phase {
            Phase::Recovery => advanced,
            Phase::Loss => false,
            _ => self.sender.duplicate_acks >= self.recovery.reordering,
        };
        if lost && !self.board.get(0).lost {
            self.mark_lost(0);
        }
    }

    /// Emulates a selective acknowledgement by a duplicate one.
    pub(super) fn count_duplicate_ack(&mut self, changes: &mut Changes) {
        if self.agreed.sack || !changes.duplicate {
            return;
        }
        let holes = self.board.lost.segments.max(1);
        if self.sender.duplicate_acks + holes < self.board.out.segments {
            self.sender.duplicate_acks += 1;
            changes.delivered += self.agreed.payload as u64;
            self.delivery.delivered += self.agreed.payload as u64;
        }
    }

    /// Nothing is lost: back to normal, unless something is still dubious.
    pub(super) fn try_to_open(&mut self, now: Time, echo: bool, congestion: &mut Congestion<'_>) {
        if !self.anything_resent() {
            self.recovery.first_resent = None;
        }
        if echo {
            self.enter_cwr(now, congestion);
        }
        if self.recovery.phase != Phase::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let dubious = self.board.left() + self.sender.duplicate_acks > 0 || self.anything_resent();
        let phase = if dubious {
            Phase::Disorder
        } else {
            Phase::Open
        };
        if self.recovery.phase != phase {
            self.recovery.phase = phase;
            self.recovery.high = self.sender.next;
        }
    }

    /// The network marked packets (RFC 3168, section 6.1.2).
    fn enter_cwr(&mut self, now: Time, congestion: &mut Congestion<'_>) {
        self.recovery.undoable = false;
        if self.recovery.phase < Phase::Cwr {
            self.recovery.undo_from = None;
            let in_flight = self.in_flight();
            self.begin_reduction(now, Signal::Ecn, in_flight, congestion);
            self.recovery.phase = Phase::Cwr;
        }
    }

    #[cold]
    pub(super) fn enter_recovery(
        &mut self,
        now: Time,
        echo: bool,
        in_flight: u64,
        congestion: &mut Congestion<'_>,
    ) {
        if !self.anything_resent() {
            self.recovery.first_resent = None;
        }
        self.recovery.undoable = false;
        self.begin_undo();
        if !self.recovery.reducing() {
            self.recovery.undoable = !echo;
            self.begin_reduction(now, Signal::Loss, in_flight, congestion);
        }
        self.recovery.phase = Phase::Recovery;
    }

    /// Reduces the window; it falls with the acknowledgements.
    pub(super) fn begin_reduction(
        &mut self,
        now: Time,
        signal: Signal,
        in_flight: u64,
        congestion: &mut Congestion<'_>,
    ) {
        self.recovery.high = self.sender.next;
        self.recovery.probe_end = None;
        self.recovery.reduction = Reduction::begin(self.window(congestion));
        self.recovery.loss_window = None;
        self.sender.reduced = self.agreed.ecn;
        congestion
            .controller
            .on_congestion(congestion.id, now, signal, in_flight);
    }
}
