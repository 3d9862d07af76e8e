//! What does a Wi-Fi radio take? As measured by Huang et al. (MobiSys 2012), table 3.

use super::{Model, Phase, Power, State, ms};

/// Wi-Fi in power-save mode.
pub(in crate::energy) const WIFI: Model = Model {
    name: "wifi",
    summary: "Wi-Fi in power-save mode: promotion, tail, beacons",
    source: "Huang et al., MobiSys 2012, table 3",
    promotion: Phase {
        state: State::Promotion,
        power: Power::steady(124.4),
        lasts_ns: ms(79.1),
    },
    connected: &[Phase {
        state: State::Tail,
        power: Power::steady(119.3),
        lasts_ns: ms(238.1),
    }],
    idle: Power {
        base_mw: 0.0,
        on_mw: 77.2,
        on_ms: 7.6,
        period_ms: 308.2,
    },
};
