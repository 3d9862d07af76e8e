//! Congestion controllers: how much may a connection have in flight on each of its subflows?
//!
//! One controller serves a whole connection, so that it can couple the windows of the subflows;
//! one that couples nothing is separate copies of itself. A new one is one file and one line in
//! [`list::CONTROLLERS`].
//!
//! # Who decides what
//!
//! The stack detects losses and limits what it sends while it repairs them; the controller sets
//! window, threshold and pacing rate, and remembers what it needs to undo.
//!
//! - [`Signal::Loss`] and [`Signal::Ecn`]: the controller sets the threshold (half of the window,
//!   0.7 of it, ...) and *at once* the window to that threshold. Until the stack is out of recovery
//!   it does not send by the window but by proportional rate reduction (RFC 9937) towards
//!   [`Controller::slow_start_threshold`]; afterwards the window it asks for is the threshold
//!   already. Nothing has to be set at [`Controller::on_recovered`].
//! - [`Signal::Timeout`]: the controller sets the threshold the same way, and the window to one
//!   segment. From then on the window grows in slow start to the threshold, while the stack sends
//!   again what was lost: such acknowledgements have [`Ack::in_recovery`] false.
//! - A controller with [`Controller::has_own_recovery`] sets the window in recovery as well, and the
//!   stack sends by it at all times; it is therefore told of every timeout.
//!
//! When an acknowledgement tells of several things, the order is: [`Controller::on_spurious`],
//! [`Controller::on_recovered`], [`Controller::on_congestion`], [`Controller::on_ack`], so that
//! [`Ack::in_recovery`] is the state after it. Calls that name a subflow which is not open change
//! nothing; its window is 0 and its threshold `u64::MAX`.

pub mod balia;
pub mod bbr;
pub mod coupled;
pub mod cubic;
pub mod hystart;
pub mod lia;
pub mod list;
pub mod olia;
pub mod reno;
pub mod separate;
pub mod table;
pub mod window;

#[cfg(test)]
mod alone;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod simulation;

use crate::subflow::SubflowId;
use model::Time;
use std::time::Duration;

/// An acknowledgement that told of something new. Bytes are of payload.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Bytes newly delivered, cumulatively or selectively.
    pub acked: u64,
    /// The round-trip time it measured, if it did (Karn).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time after it; zero before the first measurement.
    pub smoothed_rtt: Duration,
    /// The smallest round-trip time of the subflow so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Whether the window was what held the sender back: only then may it grow (RFC 7661). As in
    /// Linux, below the threshold a window of which more than half was used counts as well.
    pub window_limited: bool,
    /// Bytes declared lost since the acknowledgement before it.
    pub lost: u64,
    /// Whether the subflow reduces its window after a loss or a mark and repairs the loss (Linux:
    /// Recovery and CWR); a window does not grow meanwhile. False after a timeout.
    pub in_recovery: bool,
    /// Total bytes delivered on the subflow, this acknowledgement included.
    pub delivered: u64,
    /// The delivery rate it measured.
    pub rate: Option<DeliveryRate>,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Clone, Copy, Debug)]
pub struct DeliveryRate {
    /// Bytes delivered in the interval.
    pub delivered: u64,
    /// How long that took.
    pub interval: Duration,
    /// Whether the application, and not the network, limited it.
    pub app_limited: bool,
    /// Total bytes delivered when the newest packet acknowledged was sent: a round trip is over
    /// when this reaches what was delivered at the round trip's beginning.
    pub prior_delivered: u64,
}

/// Why a window has to shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Packets were lost (RFC 5681); at most once a window of data.
    Loss,
    /// The network marked packets (RFC 3168); at most once a window of data.
    Ecn,
    /// The retransmission timer fired for data not sent again before (RFC 5681, section 3.1):
    /// the window falls to one segment. With nothing in flight it is the handshake that was sent
    /// again: the threshold stays (RFC 5681, section 3.1; Linux: tcp_init_transfer).
    Timeout,
}

/// Sets the windows of a connection's subflows. All quantities are in bytes.
pub trait Controller: Send {
    /// A subflow can carry data from now on; `mss` is the payload of a full segment.
    fn opened(&mut self, subflow: SubflowId, now: Time, mss: u64);
    /// A subflow is gone.
    fn closed(&mut self, subflow: SubflowId);
    /// Something new was delivered.
    fn on_ack(&mut self, subflow: SubflowId, ack: &Ack);
    /// The window has to shrink; `in_flight` is what was in flight just before, the lost included.
    fn on_congestion(&mut self, subflow: SubflowId, now: Time, signal: Signal, in_flight: u64);
    /// The last [`Controller::on_congestion`] was a mistake (Eifel, DSACK, F-RTO): undo it.
    fn on_spurious(&mut self, subflow: SubflowId, now: Time);
    /// Recovery from a loss or a timeout is complete.
    fn on_recovered(&mut self, _subflow: SubflowId, _now: Time) {}
    /// The subflow sends again after it sent nothing for `idle`, longer than its retransmission
    /// timeout `rto`: the window is outdated (RFC 5681, section 4.1).
    fn on_idle_restart(&mut self, subflow: SubflowId, now: Time, idle: Duration, rto: Duration);
    /// A scheduler found that the subflow holds the connection back (Raiciu et al., NSDI 2012):
    /// its window is halved, and so that slow start does not undo this the threshold falls to it;
    /// called at most once a round trip.
    fn on_penalty(&mut self, subflow: SubflowId, now: Time);
    /// The congestion window; at least one segment.
    fn window(&self, subflow: SubflowId) -> u64;
    /// The slow start threshold; `u64::MAX` before the first congestion.
    fn slow_start_threshold(&self, subflow: SubflowId) -> u64;
    /// The rate in bytes a second at which to pace; `None` when the stack is to derive it from
    /// window and smoothed round-trip time, as Linux does (twice the rate in slow start, 1.2
    /// times after).
    fn pacing_rate(&self, _subflow: SubflowId) -> Option<u64> {
        None
    }
    /// Whether it sets the window during recovery itself, so that proportional rate reduction
    /// is left out (BBR). It is told of every timeout, also of one in a repair.
    fn has_own_recovery(&self) -> bool {
        false
    }
}

/// The initial window in segments (RFC 6928).
pub const INITIAL_WINDOW_SEGMENTS: u64 = 10;
