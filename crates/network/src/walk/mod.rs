//! What walking away from an access point does to a link: distance, received signal, 802.11
//! rate, frame errors, retries, and at last lost packets.
//!
//! [`position`] gives the distance, [`propagation`] the local mean of the signal there,
//! [`fading`] the swing around it, [`phy`] the rates and frame errors, [`adaptation`] the
//! sender's choice of rate. All constants are the standard's or the literature's.
//!
//! The link's configured rate is what it delivers at the fastest scheme, with the overhead of
//! a first transmission; slower schemes scale it down, and each retry takes its own airtime and
//! backoff. Left out: airtime shared between the two directions and with other stations,
//! aggregation, and the difference in transmit power between access point and client.

pub mod adaptation;
pub mod fading;
pub mod phy;
pub mod position;
pub mod propagation;

use crate::link::{LinkSnapshot, Timeline};
use adaptation::{NOMINAL, Operation};
use fading::{Fading, LINE_OF_SIGHT};
use model::Time;
use model::scenario::Walk;
use model::units::BitRate;
use phy::{ATTEMPTS, FASTEST, MCS, RETRY, SLOT, contention_window, frame_error};
use position::Position;
use propagation::Propagation;
use rand::RngExt;
use rand_pcg::Pcg64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The signal over time, the same for both directions of a path.
#[derive(Clone, Debug)]
pub struct Channel {
    position: Position,
    propagation: Propagation,
    fading: Fading,
    /// What was expected of it last: the radios of both directions ask for the same.
    forecast: Arc<Mutex<Option<Forecast>>>,
}

/// What is expected of a channel in the 100 ms from a moment.
#[derive(Clone, Debug)]
struct Forecast {
    from: Time,
    /// For which rate at the fastest scheme.
    rate: Timeline<Option<BitRate>>,
    mean_dbm: f64,
    /// Over the rate.
    goodput: f64,
    loss: f64,
}

/// The signal at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Metres to the access point.
    pub distance_m: f64,
    /// Local mean (path loss and shadowing).
    pub mean_dbm: f64,
    /// With the fade of this moment.
    pub faded_dbm: f64,
    /// Whether the access point is in sight.
    pub line_of_sight: bool,
}

impl Channel {
    /// The channel of `walk`; `None` when it has no waypoints. Each random stream belongs to
    /// the path, not to one direction: a radio channel is reciprocal, and clones are the same one.
    pub fn new(walk: &Walk, shadowing: Pcg64, fading: Pcg64) -> Option<Channel> {
        let position = Position::new(&walk.waypoints)?;
        let propagation = Propagation::new(walk, position.farthest(), shadowing);
        Some(Channel {
            position,
            propagation,
            fading: Fading::new(fading),
            forecast: Arc::default(),
        })
    }

    /// The local mean at `now` and whether the access point is in sight, without the fade.
    fn mean_at(&self, now: Time) -> (f64, bool) {
        let distance = self.position.at(now).distance;
        (
            self.propagation.mean_dbm(distance),
            distance <= LINE_OF_SIGHT,
        )
    }

    /// The signal at `now`.
    pub fn at(&self, now: Time) -> Signal {
        let place = self.position.at(now);
        let line_of_sight = place.distance <= LINE_OF_SIGHT;
        let mean_dbm = self.propagation.mean_dbm(place.distance);
        let power = self.fading.power(now, place.walked, line_of_sight);
        Signal {
            distance_m: place.distance,
            mean_dbm,
            // A perfect null is as good as 100 dB.
            faded_dbm: mean_dbm + 10.0 * power.max(1e-10).log10(),
            line_of_sight,
        }
    }
}

/// The channel is taken as constant for so long, far below its coherence time (40 ms).
const BLOCK_NS: u64 = 1_000_000;

/// One station's transmitter, which serves the link's queue.
#[derive(Clone, Debug)]
pub struct Radio {
    channel: Channel,
    /// At the fastest scheme.
    rate: Timeline<Option<BitRate>>,
    random: Pcg64,
    /// The signal of the block that was asked for last.
    block: Option<(u64, Signal)>,
}

impl Radio {
    /// The reason of its drops.
    pub const NAME: &'static str = "mac-retries";

    /// A transmitter over `channel` that delivers `rate` at its fastest scheme (65 Mbit/s where
    /// the rate is unlimited), drawing frame errors and backoffs from `random`.
    pub fn new(channel: Channel, rate: &Timeline<Option<BitRate>>, random: Pcg64) -> Radio {
        let fastest = BitRate::from_bits_per_second(FASTEST);
        Radio {
            channel,
            rate: rate.map(|rate| Some(rate.unwrap_or(fastest))),
            random,
            block: None,
        }
    }

    fn signal(&mut self, now: Time) -> Signal {
        let number = now.as_nanos() / BLOCK_NS;
        match self.block {
            Some((known, signal)) if known == number => signal,
            _ => {
                let signal = self.channel.at(Time::from_nanos(number * BLOCK_NS));
                self.block = Some((number, signal));
                signal
            }
        }
    }

    /// When the transmitter is done with a packet that it takes at `now` (`None`: never, the
    /// rate stays zero), and whether it gave the packet up.
    pub(crate) fn serve(&mut self, now: Time, size: usize) -> (Option<Time>, bool) {
        let signal = self.signal(now);
        let operation = adaptation::at(signal.mean_dbm, signal.line_of_sight);
        let mut at = now;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                let slots = self.random.random_range(0..=contention_window(attempt));
                at += RETRY + SLOT * slots;
            }
            let mcs = MCS[operation.scheme_of(attempt)];
            // Bits at the fastest rate that take as long as the packet's do at this one.
            let bits = (size as u64 * 80).div_ceil(mcs.tenths.into());
            let margin = self.signal(at).faded_dbm - mcs.sensitivity_dbm;
            let Some(sent) = crate::link::finish(&self.rate, at, bits) else {
                return (None, false);
            };
            at = sent;
            if self.random.random::<f64>() >= frame_error(margin, size) {
                return (Some(at), false);
            }
        }
        (Some(at), true)
    }

    /// Expected goodput over the rate, and expected loss, of packets of [`NOMINAL`] bytes in the
    /// 100 ms from `now`. A sample period of 100 ms therefore misses no fade, and the average of
    /// samples is the average over time.
    fn expect(&mut self, now: Time, operation: &Operation) -> (f64, f64) {
        /// Every 20 ms, below the coherence time.
        const INSTANTS: u32 = 5;
        const SPACING: Duration = Duration::from_millis(20);
        let (mut goodput, mut loss) = (0.0, 0.0);
        for instant in 0..INSTANTS {
            let mut at = now + SPACING * instant;
            // Airtime over that at the fastest rate, and the probability to come this far.
            let (mut airtime, mut failed) = (0.0, 1.0);
            for attempt in 0..ATTEMPTS {
                if attempt > 0 {
                    at += RETRY + SLOT * (contention_window(attempt) / 2);
                }
                let mcs = MCS[operation.scheme_of(attempt)];
                let margin = self.signal(at).faded_dbm - mcs.sensitivity_dbm;
                airtime += failed * 10.0 / f64::from(mcs.tenths);
                failed *= frame_error(margin, NOMINAL);
                if failed < 1e-6 {
                    break;
                }
                let bits = NOMINAL as u64 * 80 / u64::from(mcs.tenths);
                at = crate::link::finish(&self.rate, at, bits).unwrap_or(at);
            }
            goodput += (1.0 - failed) / airtime;
            loss += failed;
        }
        let count = f64::from(INSTANTS);
        (goodput / count, loss / count)
    }

    /// What is expected from `now` on; what the radio of the other direction found out, where it
    /// has the same rate.
    fn forecast(&mut self, now: Time) -> Forecast {
        let shared = Arc::clone(&self.channel.forecast);
        let mut known = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && known.from == now
            && known.rate == self.rate
        {
            return known.clone();
        }
        let (mean_dbm, line_of_sight) = self.channel.mean_at(now);
        let operation = adaptation::at(mean_dbm, line_of_sight);
        let (goodput, loss) = self.expect(now, &operation);
        let forecast = Forecast {
            from: now,
            rate: self.rate.clone(),
            mean_dbm,
            goodput,
            loss,
        };
        *known = Some(forecast.clone());
        forecast
    }

    pub(crate) fn describe(&mut self, now: Time, state: &mut LinkSnapshot) {
        let forecast = self.forecast(now);
        state.signal_dbm = Some(forecast.mean_dbm);
        state.rate = self.rate.at(now).map(|fastest| {
            let bps = fastest.bits_per_second() as f64 * forecast.goodput;
            BitRate::from_bits_per_second(bps.round() as u64)
        });
        state.add_loss(forecast.loss);
    }

    pub(crate) fn changes(&self) -> Vec<Time> {
        self.rate.changes().collect()
    }
}
