//! How does an algorithm for one path serve a connection of many? By a copy for each subflow that
//! knows nothing of the others.

use super::table::Table;
use super::{Ack, Controller, Signal};
use crate::SubflowId;
use model::Time;
use std::time::Duration;

/// A congestion controller of one subflow; the methods are those of [`Controller`].
#[expect(missing_docs, reason = "they are described at Controller")]
pub trait Uncoupled: Send {
    /// See [`Controller::has_own_recovery`].
    const OWN_RECOVERY: bool = false;

    /// For the subflow with this number.
    fn open(subflow: SubflowId, now: Time, mss: u64) -> Self;
    fn on_ack(&mut self, ack: &Ack);
    fn on_congestion(&mut self, now: Time, signal: Signal, in_flight: u64);
    fn on_spurious(&mut self, now: Time);
    fn on_recovered(&mut self, _now: Time) {}
    fn on_idle_restart(&mut self, now: Time, idle: Duration, rto: Duration);
    fn on_penalty(&mut self, now: Time);
    fn window(&self) -> u64;
    fn slow_start_threshold(&self) -> u64;
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
}

/// A `T` for each subflow.
pub struct Separate<T> {
    subflows: Table<T>,
}

impl<T> Default for Separate<T> {
    fn default() -> Separate<T> {
        Separate {
            subflows: Table::default(),
        }
    }
}

impl<T: Uncoupled> Controller for Separate<T> {
    fn opened(&mut self, subflow: SubflowId, now: Time, mss: u64) {
        self.subflows.insert(subflow, T::open(subflow, now, mss));
    }

    fn closed(&mut self, subflow: SubflowId) {
        self.subflows.remove(subflow);
    }

    fn on_ack(&mut self, subflow: SubflowId, ack: &Ack) {
        if let Some(one) = self.subflows.get_mut(subflow) {
            one.on_ack(ack);
        }
    }

    fn on_congestion(&mut self, subflow: SubflowId, now: Time, signal: Signal, in_flight: u64) {
        if let Some(one) = self.subflows.get_mut(subflow) {
            one.on_congestion(now, signal, in_flight);
        }
    }

    fn on_spurious(&mut self, subflow: SubflowId, now: Time) {
        if let Some(one) = self.subflows.get_mut(subflow) {
            one.on_spurious(now);
        }
    }

    fn on_recovered(&mut self, subflow: SubflowId, now: Time) {
        if let Some(one) = self.subflows.get_mut(subflow) {
            one.on_recovered(now);
        }
    }

    fn on_idle_restart(&mut self, subflow: SubflowId, now: Time, idle: Duration, rto: Duration) {
        if let Some(one) = self.subflows.get_mut(subflow) {
            one.on_idle_restart(now, idle, rto);
        }
    }

    fn on_penalty(&mut self, subflow: SubflowId, now: Time) {
        if let Some(one) = self.subflows.get_mut(subflow) {
            one.on_penalty(now);
        }
    }

    fn window(&self, subflow: SubflowId) -> u64 {
        self.subflows.get(subflow).map_or(0, T::window)
    }

    fn slow_start_threshold(&self, subflow: SubflowId) -> u64 {
        let one = self.subflows.get(subflow);
        one.map_or(u64::MAX, T::slow_start_threshold)
    }

    fn pacing_rate(&self, subflow: SubflowId) -> Option<u64> {
        self.subflows.get(subflow)?.pacing_rate()
    }

    fn has_own_recovery(&self) -> bool {
        T::OWN_RECOVERY
    }
}
