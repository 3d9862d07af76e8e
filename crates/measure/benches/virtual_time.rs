//! How fast is virtual time? Simulated seconds and events per second on one core, and the memory
//! of a run, as JSON.

use model::scenario::{Document, builtin};
use model::{Scenario, Seed, World};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use walkabout_measure::recording::Collected;
use walkabout_measure::world::plan::RunSpec;
use walkabout_measure::world::virtual_time::simulate;

/// Each case is repeated for this long, and at least five times; medians are quoted.
const PATIENCE: Duration = Duration::from_secs(4);

const BULK: &str = r#"
name = "bulk"
summary = "Two paths of 25 Mbit/s each, as fast as it goes"
duration = "30 s"
transports = ["mpquic"]
policies = ["fullmesh"]
[traffic.bulk]
size = "180 MB"
[[path]]
name = "wifi"
kind = "wifi"
up = { rate = "25 Mbit/s", delay = "10 ms" }
down = { rate = "25 Mbit/s", delay = "10 ms" }
[[path]]
name = "cellular"
kind = "cellular"
up = { rate = "25 Mbit/s", delay = "10 ms" }
down = { rate = "25 Mbit/s", delay = "10 ms" }
"#;

fn scenario(text: &str) -> Scenario {
    Document::parse(text, "the bench")
        .expect("valid")
        .into_scenario()
}

fn main() {
    let walk = builtin::find("walk").expect("built in");
    // The paper's part of the walk: A to D.
    let mut walk = scenario(walk);
    walk.duration = model::units::Span::from_millis(80_000);
    let bulk = scenario(BULK);
    let cases = [
        ("walk", &walk, "quic", "single"),
        ("walk", &walk, "mpquic", "fullmesh"),
        ("walk", &walk, "mpquic", "backup"),
        ("walk", &walk, "mpquic", "break-before-make"),
        ("bulk", &bulk, "quic", "single"),
        ("bulk", &bulk, "mpquic", "fullmesh"),
    ];
    let rows: Vec<_> = cases
        .into_iter()
        .map(|(name, scenario, transport, policy)| measure(name, scenario, transport, policy))
        .collect();
    println!(
        "{:#}",
        json!({"bench": "virtual_time", "cores": 1, "cases": rows})
    );
}

fn measure(name: &str, scenario: &Scenario, transport: &str, policy: &str) -> serde_json::Value {
    let (mut times, mut packets, mut seconds) = (Vec::new(), 0, 0.0);
    let began = Instant::now();
    let mut seed = 1;
    while times.len() < 5 || began.elapsed() < PATIENCE {
        let spec = RunSpec {
            world: World::Virtual,
            scenario: scenario.clone(),
            traces: BTreeMap::new(),
            transport: transport.to_owned(),
            policy: policy.to_owned(),
            seed: Seed(seed),
            repetition: 0,
            folder: PathBuf::new(),
            device: None,
            lateness_bound_ns: 0,
        };
        seed += 1;
        let start = Instant::now();
        let (manifest, rows) = simulate(&spec);
        times.push(start.elapsed().as_secs_f64());
        assert_eq!(manifest.error, None);
        packets = rows.packets.len();
        seconds = simulated(&rows);
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    json!({
        "case": name, "transport": transport, "policy": policy,
        "runs": times.len(),
        "simulated_s": seconds,
        "median_s": median,
        "packets": packets,
        "simulated_s_per_s": seconds / median,
        "packets_per_s": packets as f64 / median,
        "ns_per_packet": median * 1e9 / packets as f64,
    })
}

/// When the last packet entered a link.
fn simulated(rows: &Collected) -> f64 {
    rows.packets
        .iter()
        .map(|p| p.enqueued_ns)
        .max()
        .unwrap_or(0) as f64
        / 1e9
}
