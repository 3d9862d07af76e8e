//! What does an LTE radio take? As measured by Huang et al. (MobiSys 2012), section 4 and table 3.

use super::{Model, Phase, Power, State, ms};

/// The inactivity timer: for how long the radio receives all the time after a packet.
const INACTIVITY_MS: f64 = 100.0;
/// The short-cycle timer: one short cycle.
const SHORT_CYCLES_MS: f64 = 20.0;
/// From the last packet to idle, the two above included.
const TAIL_MS: f64 = 11_576.0;
/// Between the times it listens.
const TAIL_BASE_MW: f64 = 1_060.0;

/// LTE.
pub(in crate::energy) const LTE: Model = Model {
    name: "lte",
    summary: "LTE: promotion, continuous reception, short and long DRX, idle",
    source: "Huang et al., MobiSys 2012, table 3, as MultiMob (2018) uses it",
    promotion: Phase {
        state: State::Promotion,
        power: Power::steady(1_210.7),
        lasts_ns: ms(260.1),
    },
    connected: &[
        Phase {
            state: State::Reception,
            power: Power::steady(1_680.0),
            lasts_ns: ms(INACTIVITY_MS),
        },
        Phase {
            state: State::ShortDrx,
            power: Power {
                base_mw: TAIL_BASE_MW,
                on_mw: 1_680.2,
                on_ms: 1.0,
                period_ms: 20.0,
            },
            lasts_ns: ms(SHORT_CYCLES_MS),
        },
        Phase {
            state: State::LongDrx,
            power: Power {
                base_mw: TAIL_BASE_MW,
                on_mw: 1_680.1,
                on_ms: 1.0,
                period_ms: 40.0,
            },
            lasts_ns: ms(TAIL_MS - INACTIVITY_MS - SHORT_CYCLES_MS),
        },
    ],
    // Paging: nothing between the times it listens.
    idle: Power {
        base_mw: 0.0,
        on_mw: 594.3,
        on_ms: 43.2,
        period_ms: 1_280.0,
    },
};
