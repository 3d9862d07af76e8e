//! BBR: how much does the path carry, and how long does it take? Send at that rate, with little more
//! in flight than their product.
//!
//! Version 1: Cardwell et al., "BBR: Congestion-based congestion control" (ACM Queue 14(5), 2016),
//! draft-cardwell-iccrg-bbr-congestion-control-00, and what Linux's tcp_bbr.c adds: the pacing
//! margin, the allowance for aggregated acknowledgements and the detection of policers. Where Linux
//! draws the phase in which its cycle of gains begins, this takes it from the subflow's number.
//! Losses do not lower its estimates, and it ignores ECN marks.

mod aggregation;
mod bandwidth;
mod policer;
mod sending;

use super::separate::Uncoupled;
use super::window::MAX_WINDOW;
use super::{Ack, INITIAL_WINDOW_SEGMENTS, Signal};
use crate::SubflowId;
use aggregation::Aggregation;
use bandwidth::MaxRate;
use model::Time;
use policer::{Observation, Policer};
use sending::NOMINAL_RTT;
use std::time::Duration;

/// Gain of rate and window in Startup, 2 / ln 2: the smallest that doubles the rate each round trip
/// (Linux: bbr_high_gain).
const HIGH_GAIN: f64 = 2.885;
/// Gain of the rate in Drain (Linux: bbr_drain_gain).
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Gain of the window while probing for bandwidth (Linux: bbr_cwnd_gain).
const WINDOW_GAIN: f64 = 2.0;
/// Gains of the rate while probing for bandwidth, a phase each (the draft, section 4.3.4.1).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Startup goes on while a round trip brings a quarter more (the draft, section 4.3.2.1),
const GROWTH: f64 = 1.25;
/// and ends after so many that do not.
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// The smallest round-trip time counts that long (the draft, section 4.1.2; Linux:
/// bbr_min_rtt_win_sec).
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// How long ProbeRTT lasts at least (the draft, section 4.3.5).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// The states of the draft, section 4.3.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Time,
    },
    ProbeRtt {
        ends: Option<Time>,
        round_done: bool,
    },
}

/// What is being repaired.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Repair {
    Nothing,
    /// A loss of which no acknowledgement was seen yet.
    Beginning,
    /// A loss, in the first round trip: as much is sent as is delivered.
    Conserving,
    Loss,
    Timeout,
}

/// BBR for one subflow.
pub struct Bbr {
    mss: u64,
    first_phase: usize,
    state: State,
    window: u64,
    /// The window before a repair or ProbeRTT cut it.
    prior_window: u64,
    repair: Repair,
    pacing_rate: u64,
    has_rtt: bool,

    max_rate: MaxRate,
    round: u64,
    /// The round trip is over when data is acknowledged that was sent after so much was delivered.
    round_end: u64,
    round_start: bool,
    /// What was sent before so much was delivered says nothing of the path.
    app_limited_until: u64,

    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    idle_restart: bool,

    /// Startup is over.
    pipe_filled: bool,
    full_rate: u64,
    rounds_without_growth: u32,

    aggregation: Aggregation,
    policer: Policer,
}

impl Bbr {
    /// The rate of the path, bytes a second.
    fn rate(&self) -> u64 {
        self.policer.rate().unwrap_or(self.max_rate.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeBw { .. } if self.policer.rate().is_some() => 1.0,
            State::ProbeBw { phase, .. } => CYCLE[phase],
            State::ProbeRtt { .. } => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw { .. } => WINDOW_GAIN,
            State::ProbeRtt { .. } => 1.0,
        }
    }

    /// Counts round trips and takes the rate of this one.
    fn look_at_rate(&mut self, ack: &Ack) {
        self.round_start = false;
        let Some(sample) = ack.rate.filter(|s| !s.interval.is_zero()) else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.round_end = ack.delivered;
            self.round += 1;
            self.round_start = true;
            if self.repair == Repair::Conserving {
                self.repair = Repair::Loss;
            }
        }
        let app_limited = sample.app_limited || sample.prior_delivered < self.app_limited_until;
        let stops = self.policer.on_ack(&Observation {
            now: ack.now,
            delivered: ack.delivered,
            lost: ack.lost,
            app_limited,
            round_start: self.round_start,
            cycling: matches!(self.state, State::ProbeBw { .. }),
        });
        if stops {
            self.probe_bandwidth(ack.now);
        }
        let rate = (sample.delivered as f64 / sample.interval.as_secs_f64()) as u64;
        if !app_limited || rate >= self.max_rate.get() {
            self.max_rate.insert(self.round, rate);
        }
        self.aggregation.on_ack(
            ack.now,
            ack.acked,
            self.rate(),
            self.window,
            self.mss,
            self.round_start,
        );
        self.look_at_cycle(ack);
        self.look_at_growth(app_limited);
    }

    /// The draft, section 4.3.4.3.
    fn look_at_cycle(&mut self, ack: &Ack) {
        let State::ProbeBw { phase, since } = self.state else {
            return;
        };
        let lasted = ack.now.since(since) > self.min_rtt.unwrap_or_default();
        let gone = ack.acked.saturating_add(ack.lost);
        let was_in_flight = ack.in_flight.saturating_add(gone);
        let gain = self.pacing_gain();
        let over = if gain > 1.0 {
            lasted && (ack.lost > 0 || was_in_flight >= self.target_in_flight(gain))
        } else if gain < 1.0 {
            lasted || was_in_flight <= self.target_in_flight(1.0)
        } else {
            lasted
        };
        if over {
            self.state = State::ProbeBw {
                phase: (phase + 1) % CYCLE.len(),
                since: ack.now,
            };
        }
    }

    /// Whether Startup filled the pipe (the draft, section 4.3.2.2).
    fn look_at_growth(&mut self, app_limited: bool) {
        if self.pipe_filled || !self.round_start || app_limited {
            return;
        }
        if self.max_rate.get() as f64 >= self.full_rate as f64 * GROWTH {
            self.full_rate = self.max_rate.get();
            self.rounds_without_growth = 0;
        } else {
            self.rounds_without_growth += 1;
            self.pipe_filled = self.rounds_without_growth >= ROUNDS_WITHOUT_GROWTH;
        }
    }

    fn look_at_drain(&mut self, ack: &Ack) {
        if self.state == State::Startup && self.pipe_filled {
            self.state = State::Drain;
        }
        if self.state == State::Drain && ack.in_flight <= self.target_in_flight(1.0) {
            self.probe_bandwidth(ack.now);
        }
    }

    fn probe_bandwidth(&mut self, now: Time) {
        self.state = State::ProbeBw {
            phase: self.first_phase,
            since: now,
        };
    }

    /// The smallest round-trip time, and ProbeRTT when it is old (the draft, section 4.3.5).
    fn look_at_rtt(&mut self, ack: &Ack) {
        let is_old = ack.now.since(self.min_rtt_at) > MIN_RTT_AGE;
        if let Some(rtt) = ack.rtt
            && (is_old || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        let probing = matches!(self.state, State::ProbeRtt { .. });
        if is_old && !self.idle_restart && !probing {
            self.save_window();
            self.state = State::ProbeRtt {
                ends: None,
                round_done: false,
            };
        }
        if let State::ProbeRtt { ends, round_done } = self.state {
            // Rates at so small a window are not the path's.
            self.app_limited_until = ack.delivered.saturating_add(ack.in_flight).max(1);
            if ends.is_some() {
                let round_done = round_done || self.round_start;
                self.state = State::ProbeRtt { ends, round_done };
                if round_done {
                    self.end_probe_rtt(ack.now);
                }
            } else if ack.in_flight <= self.smallest_window() {
                self.round_end = ack.delivered;
                self.state = State::ProbeRtt {
                    ends: Some(ack.now + PROBE_RTT_TIME),
                    round_done: false,
                };
            }
        }
        if ack.rate.is_some_and(|sample| sample.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn end_probe_rtt(&mut self, now: Time) {
        if let State::ProbeRtt {
            ends: Some(ends), ..
        } = self.state
            && now > ends
        {
            self.min_rtt_at = now;
            self.window = self.window.max(self.prior_window);
            if self.pipe_filled {
                self.probe_bandwidth(now);
            } else {
                self.state = State::Startup;
            }
        }
    }
}

impl Uncoupled for Bbr {
    const OWN_RECOVERY: bool = true;

    fn open(subflow: SubflowId, now: Time, mss: u64) -> Bbr {
        let mss = mss.clamp(1, MAX_WINDOW / (1 << 10));
        let mut bbr = Bbr {
            mss,
            // Any phase but the one below 1 (the draft, section 4.3.4.2), another for each of the
            // first seven subflows.
            first_phase: [2, 5, 0, 4, 7, 3, 6][subflow.index() % 7],
            state: State::Startup,
            window: INITIAL_WINDOW_SEGMENTS * mss,
            prior_window: 0,
            repair: Repair::Nothing,
            pacing_rate: 0,
            has_rtt: false,
            max_rate: MaxRate::default(),
            round: 0,
            round_end: 0,
            round_start: false,
            app_limited_until: 0,
            min_rtt: None,
            min_rtt_at: now,
            idle_restart: false,
            pipe_filled: false,
            full_rate: 0,
            rounds_without_growth: 0,
            aggregation: Aggregation::new(now),
            policer: Policer::default(),
        };
        bbr.pace_at_first(NOMINAL_RTT);
        bbr
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.look_at_rate(ack);
        self.look_at_drain(ack);
        self.look_at_rtt(ack);
        if !self.has_rtt && !ack.smoothed_rtt.is_zero() {
            self.has_rtt = true;
            self.pace_at_first(ack.smoothed_rtt);
        }
        self.pace(self.pacing_gain());
        self.set_window(ack);
    }

    fn on_congestion(&mut self, _now: Time, signal: Signal, in_flight: u64) {
        match signal {
            Signal::Ecn => {}
            Signal::Timeout if in_flight == 0 => self.window = self.mss,
            Signal::Loss => {
                self.save_window();
                self.repair = Repair::Beginning;
            }
            Signal::Timeout => {
                self.save_window();
                self.repair = Repair::Timeout;
                self.full_rate = 0;
                self.window = self.mss;
            }
        }
    }

    fn on_spurious(&mut self, _now: Time) {
        // The loss may have ended Startup too early (Linux: bbr_undo_cwnd).
        self.full_rate = 0;
        self.rounds_without_growth = 0;
        self.policer = Policer::default();
        self.restore_window();
    }

    fn on_recovered(&mut self, _now: Time) {
        self.restore_window();
    }

    fn on_idle_restart(&mut self, now: Time, _idle: Duration, _rto: Duration) {
        // The window stays: it is the path's, and pacing keeps it from being a burst.
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.state {
            State::ProbeBw { .. } => self.pace(1.0),
            State::ProbeRtt { .. } => self.end_probe_rtt(now),
            State::Startup | State::Drain => {}
        }
    }

    fn on_penalty(&mut self, _now: Time) {
        let halved = (self.window / 2).max(self.smallest_window());
        self.window = self.window.min(halved);
        self.prior_window = self.prior_window.min(self.window);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        u64::MAX
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate)
    }
}
