//! What can be measured when the operator names no experiments?

use crate::api::{Experiment, ExperimentTraffic};
use model::live::Mode;
use model::scenario::{Bulk, Interactive, Iperf, Ping, Traffic};

/// MultipathTester's two modes (section II): everything one after the other while nothing moves, and
/// the multipath transports side by side on a walk.
pub fn default_experiments() -> Vec<Experiment> {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let lasting = |traffic, seconds| ExperimentTraffic { traffic, seconds };
    let stable = vec![
        lasting(Traffic::Ping(Ping::default()), 15),
        lasting(Traffic::Bulk(Bulk::default()), 60),
        // Seven seconds, and the time to empty the queues.
        lasting(Traffic::Iperf(Iperf::default()), 15),
        lasting(Traffic::Interactive(Interactive::default()), 10),
    ];
    vec![
        Experiment {
            name: "stable".to_owned(),
            summary:
                "Every transport in turn, while nothing moves: ping, a download, an interactive \
                      exchange"
                    .to_owned(),
            mode: Mode::Stable,
            transports: names(&["tcp", "mptcp", "quic", "mpquic"]),
            policies: names(&["fullmesh"]),
            traffic: stable,
        },
        Experiment {
            name: "mobile".to_owned(),
            summary: "Multipath TCP and multipath QUIC side by side on a walk away from the Wi-Fi"
                .to_owned(),
            mode: Mode::Mobile,
            transports: names(&["mptcp", "mpquic"]),
            policies: names(&["apple-interactive"]),
            traffic: vec![lasting(Traffic::Interactive(Interactive::default()), 600)],
        },
    ]
}
