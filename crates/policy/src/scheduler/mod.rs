//! Packet schedulers: which subflow takes the next data, and what is sent once more where?
//!
//! A scheduler decides per piece of data, in stacks that are ours. A new one is one file and one
//! line in [`list::SCHEDULERS`].

pub mod blest;
mod candidates;
pub mod client_priority;
pub mod ecf;
pub mod follow;
pub mod linux_default;
pub mod list;
pub mod lowest_rtt;
mod penalty;
pub mod redundant;
pub mod round_robin;
#[cfg(test)]
mod tests;

use crate::subflow::{SubflowId, SubflowSet};
use model::Time;
use std::time::Duration;

/// A subflow as a scheduler sees it. Quantities are in bytes of payload.
#[derive(Clone, Copy, Debug)]
pub struct Subflow {
    /// Which it is.
    pub id: SubflowId,
    /// When it could first carry data.
    pub established: Time,
    /// Whether it is to be used only when no regular one works, by either side's wish.
    pub backup: bool,
    /// Whether its retransmission timer fired and nothing new was acknowledged on it since
    /// (*potentially failed*: De Coninck and Bonaventure, MultiMob), or a path manager said so.
    pub potentially_failed: bool,
    /// Whether the connection retransmitted often enough elsewhere what this subflow did not
    /// deliver that it is left out (the kernel's *stale*).
    pub stale: bool,
    /// How often in a row the connection's retransmission timer found data outstanding on it
    /// although nothing had arrived on it since it was found so first; 0 again when the timer
    /// finds that something has. Counted before [`Occasion::Timeout`] is asked, for subflows with
    /// data outstanding only (the kernel's *stale_count*, mptcp_pm_subflow_chk_stale).
    pub stale_count: u32,
    /// Whether it repairs a loss, or its retransmission timer fired.
    pub retransmitting: bool,
    /// Whether its window still grows exponentially.
    pub in_slow_start: bool,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub smoothed_rtt: Option<Duration>,
    /// Round-trip time variation.
    pub rtt_variation: Duration,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// How long until its retransmission, loss probe, reordering or window probe timer fires;
    /// `None` when none runs.
    pub retransmission_in: Option<Duration>,
    /// Payload of a full segment.
    pub mss: u64,
    /// Congestion window.
    pub window: u64,
    /// Sent and neither acknowledged nor declared lost.
    pub in_flight: u64,
    /// Sent and not cumulatively acknowledged on the subflow, lost or not.
    pub unacked: u64,
    /// Given to the subflow and not yet sent for the first time.
    pub queued: u64,
    /// What it could send at once: congestion window, and the peer's window on the subflow,
    /// less in flight and queued.
    pub window_room: u64,
    /// What its send buffer would still take, beyond what is sent and unacknowledged and what is
    /// queued; Linux's holds twice the congestion window.
    pub buffer_room: u64,
    /// The rate at which it paces, bytes a second; 0 when unknown.
    pub pacing_rate: u64,
    /// When the last *original* reception on it was: new data, a completed join, or a Data ACK
    /// that advanced the lower edge (De Coninck and Bonaventure, MultiMob).
    pub last_original: Option<Time>,
}

impl Subflow {
    /// Whether it can take part at all: not stale and not potentially failed.
    pub fn works(&self) -> bool {
        !self.potentially_failed && !self.stale
    }

    /// Whether nothing it was given waits, is in flight or unacknowledged.
    pub fn is_idle(&self) -> bool {
        self.unacked == 0 && self.in_flight == 0 && self.queued == 0
    }

    /// Whether it could send `bytes`, or a full segment of more, at once; anything at all when
    /// it is idle, because then nothing comes back that would make more room.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.window_room > 0 && (self.window_room >= bytes.min(self.mss) || self.is_idle())
    }
}

/// The connection as a scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Now.
    pub now: Time,
    /// The subflows that can carry data, by their numbers.
    pub subflows: &'a [Subflow],
    /// Bytes that wait to be sent for the first time.
    pub unsent: u64,
    /// What the peer's window (of the connection) admits beyond what was sent, whether or not as
    /// much waits.
    pub send_window: u64,
    /// Bytes sent and not yet acknowledged at the level of the connection.
    pub unacked: u64,
    /// The first data sequence number that is not acknowledged.
    pub first_unacked: u64,
}

/// Data for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The subflows that each send it; never empty.
    pub subflows: SubflowSet,
    /// How much at most, before the scheduler is asked again; the stack rounds up to whole
    /// segments.
    pub bytes: u64,
}

/// A range of data that was sent and is not acknowledged at the level of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its data sequence number.
    pub dsn: u64,
    /// Its length.
    pub bytes: u64,
    /// The subflows that carry or carried it and exist, whether or not they delivered it.
    pub carriers: SubflowSet,
    /// When it was first sent.
    pub first_sent: Time,
}

/// Why data may be sent once more on another subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// The connection's retransmission timer fired; the piece is the first unacknowledged.
    Timeout,
    /// The peer's window of the connection is full while a subflow has room; the piece is the
    /// first unacknowledged (opportunistic retransmission).
    WindowBlocked,
    /// No new data is sent now, because none waits or [`Scheduler::next`] waits, while a subflow
    /// has room; the pieces are offered in order, and `next` is asked again after one was sent.
    Idle,
    /// A subflow that carries the piece became potentially failed or stale; an answer of `None`
    /// is asked again when a subflow has room or appears, as long as no carrier works.
    SubflowFailed,
    /// The last subflow that carried the piece is gone; an answer of `None` is asked again when
    /// a subflow has room or appears.
    SubflowClosed,
}

/// Data once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reinjection {
    /// The subflows that each send it: none of the piece's carriers, unless one delivered all
    /// that it was given ([`Subflow::is_idle`]): then the peer dropped the piece above TCP.
    pub subflows: SubflowSet,
    /// A subflow to penalise for it, see [`crate::congestion::Controller::on_penalty`].
    pub penalised: Option<SubflowId>,
}

impl Reinjection {
    /// On `subflow` alone, nobody penalised.
    pub fn onto(subflow: SubflowId) -> Reinjection {
        Reinjection {
            subflows: SubflowSet::only(subflow),
            penalised: None,
        }
    }
}

/// Decides where data goes.
pub trait Scheduler: Send {
    /// Which subflows take the next data; `None` to wait. Asked while `unsent` and
    /// `send_window` are above zero, again after each assignment with a new view, until it
    /// waits; and again whenever something changed.
    fn next(&mut self, view: &View<'_>) -> Option<Assignment>;

    /// Whether and where `piece` is sent once more.
    fn reinject(
        &mut self,
        view: &View<'_>,
        occasion: Occasion,
        piece: &Piece,
    ) -> Option<Reinjection>;

    /// Whether [`Scheduler::reinject`] ever answers on `occasion`; if not, the stack need not
    /// look for pieces to offer.
    fn reinjects_on(&self, occasion: Occasion) -> bool;

    /// How long the connection waits for a Data ACK before [`Occasion::Timeout`]; asked when the
    /// timer is set. By default the longest retransmission timeout of the subflows that work
    /// and have data outstanding; when none has, the shortest of those that do not work; and at
    /// least 200 ms.
    fn retransmission_timeout(&self, view: &View<'_>) -> Duration {
        let waiting = |works| {
            let some = view.subflows.iter().filter(|s| !s.is_idle());
            some.filter(move |s| s.works() == works).map(|s| s.rto)
        };
        let longest = waiting(true).max().or(waiting(false).min());
        longest.unwrap_or_default().max(MIN_TIMEOUT)
    }

    /// Whether a subflow that is potentially failed gets less than one that is not; if not, there
    /// is no use in marking one.
    fn heeds_failed(&self) -> bool {
        true
    }

    /// When [`Scheduler::next`] would decide otherwise without anything else happening.
    fn poll_at(&self) -> Option<Time> {
        None
    }
}

/// Linux's TCP_RTO_MIN, which is its floor at the level of the connection as well.
pub const MIN_TIMEOUT: Duration = Duration::from_millis(200);
