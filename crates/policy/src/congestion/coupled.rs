//! How do the coupled algorithms share what they have in common? They differ only in how much a
//! subflow grows for what is acknowledged on it, and how far it falls.
//!
//! The growth of each subflow depends on the windows and round-trip times of all. It is worked out
//! anew only after one of the windows changed by a segment or a subflow came or went, not with
//! every acknowledgement.

use super::table::Table;
use super::window::Window;
use super::{Ack, Controller, Signal};
use crate::SubflowId;
use model::Time;
use std::time::Duration;

/// What an algorithm sees and sets of a subflow.
pub struct Flow<M> {
    /// Its window.
    pub window: Window,
    /// Smoothed round-trip time in seconds; 0 before the first measurement.
    pub rtt: f64,
    /// What the algorithm remembers of it.
    pub memory: M,
    /// Window and acknowledged bytes: congestion avoidance makes the window grow by this times
    /// what was acknowledged (bytes per byte); may be negative.
    growth: f64,
}

impl<M> Flow<M> {
    /// Window over round-trip time, bytes a second; `None` before a round trip was measured: such
    /// a subflow takes no part in the coupling.
    pub fn rate(&self) -> Option<f64> {
        (self.rtt > 0.0).then(|| self.window.bytes() as f64 / self.rtt)
    }
}

/// A coupled algorithm.
pub trait Coupling: Send + 'static {
    /// What is remembered of each subflow.
    type Memory: Default + Send;

    /// What all subflows have in common at one time.
    type Shared;

    /// Looks at all subflows; `None` when no round trip was measured on any.
    fn share(flows: &Table<Flow<Self::Memory>>) -> Option<Self::Shared>;

    /// How many bytes `flow` grows for each byte acknowledged, in congestion avoidance.
    fn growth(flow: &Flow<Self::Memory>, shared: &Self::Shared) -> f64;

    /// The part of its window that `flow` keeps after a loss.
    fn kept(_flow: &Flow<Self::Memory>, _shared: Option<&Self::Shared>) -> f64 {
        0.5
    }

    /// Takes note of what was acknowledged; returns whether it matters to [`Coupling::share`]
    /// at once.
    fn acked(_memory: &mut Self::Memory, _bytes: u64) -> bool {
        false
    }

    /// Takes note of a loss.
    fn lost(_memory: &mut Self::Memory) {}
}

/// A controller of coupled subflows.
pub struct Coupled<C: Coupling> {
    flows: Table<Flow<C::Memory>>,
    /// Whether growths have to be worked out anew.
    outdated: bool,
}

impl<C: Coupling> Default for Coupled<C> {
    fn default() -> Coupled<C> {
        Coupled {
            flows: Table::default(),
            outdated: true,
        }
    }
}

impl<C: Coupling> Coupled<C> {
    fn work_out(&mut self) {
        let shared = C::share(&self.flows);
        for flow in self.flows.values_mut() {
            flow.growth = match &shared {
                Some(shared) if flow.rtt > 0.0 => C::growth(flow, shared),
                // Alone in the world: Reno.
                _ => flow.window.mss() as f64 / flow.window.bytes() as f64,
            };
        }
        self.outdated = false;
    }

    fn change(&mut self, subflow: SubflowId, change: impl FnOnce(&mut Window)) {
        if let Some(flow) = self.flows.get_mut(subflow) {
            change(&mut flow.window);
            self.outdated = true;
        }
    }

    /// Growth per byte acknowledged, and the part kept after a loss.
    #[cfg(test)]
    pub(super) fn factors(&mut self, subflow: SubflowId) -> (f64, f64) {
        self.work_out();
        let shared = C::share(&self.flows);
        let flow = self.flows.get(subflow).expect("it is open");
        (flow.growth, C::kept(flow, shared.as_ref()))
    }

    /// Opens `subflow` with this window (segments), round-trip time and memory.
    #[cfg(test)]
    pub(super) fn with(
        mut self,
        subflow: SubflowId,
        mss: u64,
        segments: u64,
        rtt: f64,
        memory: C::Memory,
    ) -> Self {
        self.opened(subflow, Time::ZERO, mss);
        let flow = self.flows.get_mut(subflow).expect("it was opened");
        flow.window.fall(segments * mss);
        flow.rtt = rtt;
        flow.memory = memory;
        self
    }
}

impl<C: Coupling> Controller for Coupled<C> {
    fn opened(&mut self, subflow: SubflowId, _now: Time, mss: u64) {
        let flow = Flow {
            window: Window::new(mss),
            rtt: 0.0,
            memory: C::Memory::default(),
            growth: 0.0,
        };
        self.flows.insert(subflow, flow);
        self.outdated = true;
    }

    fn closed(&mut self, subflow: SubflowId) {
        self.flows.remove(subflow);
        self.outdated = true;
    }

    fn on_ack(&mut self, subflow: SubflowId, ack: &Ack) {
        let Some(flow) = self.flows.get_mut(subflow) else {
            return;
        };
        let first_rtt = flow.rtt == 0.0;
        flow.rtt = ack.smoothed_rtt.as_secs_f64();
        self.outdated |= first_rtt | C::acked(&mut flow.memory, ack.acked);
        if ack.in_recovery || !ack.window_limited {
            return;
        }
        if flow.window.in_slow_start() {
            let left = flow.window.slow_start(ack.acked);
            self.outdated = true;
            if left == 0 {
                return;
            }
        }
        if self.outdated {
            self.work_out();
        }
        if let Some(flow) = self.flows.get_mut(subflow) {
            let bytes = flow.growth * ack.acked as f64;
            self.outdated = flow.window.grow_by_credit(bytes);
        }
    }

    fn on_congestion(&mut self, subflow: SubflowId, _now: Time, signal: Signal, in_flight: u64) {
        if signal == Signal::Timeout && in_flight == 0 {
            self.change(subflow, Window::begin_with_one);
            return;
        }
        let shared = C::share(&self.flows);
        let Some(flow) = self.flows.get_mut(subflow) else {
            return;
        };
        C::lost(&mut flow.memory);
        let kept = C::kept(flow, shared.as_ref());
        let target = (flow.window.bytes() as f64 * kept) as u64;
        match signal {
            Signal::Loss | Signal::Ecn => flow.window.fall(target),
            Signal::Timeout => flow.window.collapse(target),
        }
        self.outdated = true;
    }

    fn on_spurious(&mut self, subflow: SubflowId, _now: Time) {
        self.change(subflow, |window| {
            window.undo();
        });
    }

    fn on_idle_restart(&mut self, subflow: SubflowId, _now: Time, idle: Duration, rto: Duration) {
        self.change(subflow, |window| window.restart_after_idle(idle, rto));
    }

    fn on_penalty(&mut self, subflow: SubflowId, _now: Time) {
        self.change(subflow, Window::penalise);
    }

    fn window(&self, subflow: SubflowId) -> u64 {
        self.flows.get(subflow).map_or(0, |f| f.window.bytes())
    }

    fn slow_start_threshold(&self, subflow: SubflowId) -> u64 {
        let flow = self.flows.get(subflow);
        flow.map_or(u64::MAX, |f| f.window.threshold())
    }
}
