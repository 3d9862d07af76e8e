//! What does a 3G (UMTS) radio take? As measured by Huang et al. (MobiSys 2012), table 3.

use super::{Model, Phase, Power, State, ms};

/// 3G.
pub(in crate::energy) const UMTS: Model = Model {
    name: "3g",
    summary: "3G: promotion, tails on the dedicated and on the shared channel, idle",
    source: "Huang et al., MobiSys 2012, table 3",
    promotion: Phase {
        state: State::Promotion,
        power: Power::steady(659.4),
        lasts_ns: ms(582.1),
    },
    connected: &[
        Phase {
            state: State::Dch,
            power: Power::steady(803.9),
            lasts_ns: ms(8_088.2),
        },
        Phase {
            state: State::Fach,
            power: Power::steady(601.3),
            lasts_ns: ms(824.2),
        },
    ],
    idle: Power {
        base_mw: 0.0,
        on_mw: 374.2,
        on_ms: 55.4,
        period_ms: 5_112.4,
    },
};
