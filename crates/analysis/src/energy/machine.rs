//! In which state was a radio when, given the moments at which it was in use?

use super::{Model, State};

/// A radio in one state at one power.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Which state.
    pub state: State,
    /// When it began, in nanoseconds.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
    /// What it takes on average, in mW.
    pub power_mw: f64,
}

/// What one radio did from the start of a run to its end.
#[derive(Clone, Debug)]
pub struct Trace {
    /// By which model.
    pub model: &'static Model,
    /// Without gaps from 0 to the end; neighbours differ in their state.
    pub intervals: Vec<Interval>,
    /// How often it went from idle to connected.
    pub promotions: u64,
    /// The end, in nanoseconds.
    pub end_ns: u64,
}

impl Trace {
    /// The states of a radio that was in use at each of `moments_ns`, which are in order, until `end_ns`.
    ///
    /// A packet that finds it idle promotes it, and is there when the promotion is over; one that comes
    /// meanwhile waits as well. A packet that finds it connected begins the phases after a packet anew.
    pub fn of(model: &'static Model, moments_ns: &[u64], end_ns: u64) -> Trace {
        let mut trace = Trace {
            model,
            intervals: Vec::new(),
            promotions: 0,
            end_ns,
        };
        // When the last packet was there, which begins the phases after it.
        let mut there: Option<u64> = None;
        for &moment in moments_ns.iter().take_while(|&&moment| moment < end_ns) {
            let idle_since = match there {
                None => Some(0),
                Some(there) if moment <= there => continue,
                Some(there) => trace.connected(there, moment),
            };
            there = Some(match idle_since {
                None => moment,
                Some(since) => trace.promoted(since, moment),
            });
        }
        let idle_since = match there {
            None => Some(0),
            Some(there) => trace.connected(there, end_ns),
        };
        if let Some(since) = idle_since {
            trace.push(State::Idle, since, end_ns, model.idle.mean_mw());
        }
        trace
    }

    /// What it took until `until_ns`.
    pub fn energy(&self, until_ns: u64) -> Energy {
        let idle_mw = self.model.idle.mean_mw();
        let mut energy = Energy::default();
        for interval in &self.intervals {
            let to_ns = interval.to_ns.min(until_ns);
            let lasted_ns = to_ns.saturating_sub(interval.from_ns);
            energy.all_j += joules(lasted_ns, interval.power_mw);
            if interval.state != State::Idle {
                energy.above_idle_j += joules(lasted_ns, interval.power_mw - idle_mw);
            }
        }
        energy
    }

    /// What it took on average, in mW; `None` of no time at all.
    pub fn mean_mw(&self) -> Option<f64> {
        let seconds = self.end_ns as f64 / 1e9;
        (self.end_ns > 0).then(|| self.energy(self.end_ns).all_j / seconds * 1e3)
    }

    /// The phases after a packet that was there at `from_ns`, up to `until_ns`: since when it was idle
    /// then, if it was.
    fn connected(&mut self, mut from_ns: u64, until_ns: u64) -> Option<u64> {
        for phase in self.model.connected {
            let to_ns = from_ns.saturating_add(phase.lasts_ns);
            let power_mw = phase.power.mean_mw();
            if until_ns <= to_ns {
                self.push(phase.state, from_ns, until_ns, power_mw);
                return None;
            }
            self.push(phase.state, from_ns, to_ns, power_mw);
            from_ns = to_ns;
        }
        Some(from_ns)
    }

    /// Idle since `since_ns`, and a promotion at `at_ns`; when it is over.
    fn promoted(&mut self, since_ns: u64, at_ns: u64) -> u64 {
        self.push(State::Idle, since_ns, at_ns, self.model.idle.mean_mw());
        let promotion = self.model.promotion;
        let over_ns = at_ns.saturating_add(promotion.lasts_ns);
        self.push(promotion.state, at_ns, over_ns, promotion.power.mean_mw());
        self.promotions += 1;
        over_ns
    }

    fn push(&mut self, state: State, from_ns: u64, to_ns: u64, power_mw: f64) {
        let to_ns = to_ns.min(self.end_ns);
        if from_ns >= to_ns {
            return;
        }
        match self.intervals.last_mut() {
            Some(last) if last.state == state => last.to_ns = to_ns,
            _ => self.intervals.push(Interval {
                state,
                from_ns,
                to_ns,
                power_mw,
            }),
        }
    }
}

/// What a radio took.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Energy {
    /// In all, in J.
    pub all_j: f64,
    /// Above what it would have taken idle, in J.
    pub above_idle_j: f64,
}

/// `ns` at `mw`, in J.
fn joules(ns: u64, mw: f64) -> f64 {
    ns as f64 * mw * 1e-12
}
