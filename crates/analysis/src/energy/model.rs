//! What a radio's power model is: what it takes while idle, for a promotion, and after each packet.

pub(super) mod lte;
pub(super) mod umts;
pub(super) mod wifi;

/// The power model of a radio.
#[derive(Debug)]
pub struct Model {
    /// The name on the command line, in reports and docs.
    pub name: &'static str,
    /// One line that says what it is of.
    pub summary: &'static str,
    /// Where its numbers are from.
    pub source: &'static str,
    /// From idle to connected, when a packet is to be sent or received.
    pub promotion: Phase,
    /// What follows a packet, in this order, unless the next packet begins it anew; idle comes after it.
    pub connected: &'static [Phase],
    /// While nothing goes by.
    pub idle: Power,
}

/// A state and for how long the radio stays in it.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Which one.
    pub state: State,
    /// What it takes.
    pub power: Power,
    /// For how long, in nanoseconds.
    pub lasts_ns: u64,
}

/// What a radio takes in a state: some power all the time, and another while it listens, once a period.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// Between the times it listens, in mW.
    pub base_mw: f64,
    /// While it listens, in mW.
    pub on_mw: f64,
    /// For how long it listens, in ms.
    pub on_ms: f64,
    /// How often, in ms.
    pub period_ms: f64,
}

impl Power {
    /// The same power all the time.
    pub const fn steady(mw: f64) -> Power {
        Power {
            base_mw: mw,
            on_mw: mw,
            on_ms: 0.0,
            period_ms: 1.0,
        }
    }

    /// The mean over a period, in mW. Energies are computed from it: where in a period a radio is when a
    /// packet comes is not known.
    pub fn mean_mw(&self) -> f64 {
        self.base_mw + (self.on_mw - self.base_mw) * self.on_ms / self.period_ms
    }
}

/// What a radio is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// Nothing, but for paging or beacons (RRC_IDLE).
    Idle,
    /// Going from idle to connected.
    Promotion,
    /// Receiving all the time: a packet was just there.
    Reception,
    /// Listening often (short DRX cycle).
    ShortDrx,
    /// Listening less often (long DRX cycle).
    LongDrx,
    /// Waiting at one power for the next packet.
    Tail,
    /// Waiting on the dedicated channel of 3G.
    Dch,
    /// Waiting on the shared channel of 3G.
    Fach,
}

impl State {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Promotion => "promotion",
            State::Reception => "reception",
            State::ShortDrx => "short DRX",
            State::LongDrx => "long DRX",
            State::Tail => "tail",
            State::Dch => "DCH",
            State::Fach => "FACH",
        }
    }
}

/// Milliseconds, as the papers have them, in nanoseconds.
const fn ms(milliseconds: f64) -> u64 {
    (milliseconds * 1e6) as u64
}
