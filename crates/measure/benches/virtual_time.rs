//! How fast is virtual time? Simulated seconds and events per second on one core, and the memory
//! of a run, as JSON. `bench virtual_time CASE` runs the cases whose name contains CASE.

use model::scenario::{Document, builtin};
use model::units::Span;
use model::{Scenario, Seed, World};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use walkabout_measure::memory;
use walkabout_measure::recording::Collected;
use walkabout_measure::world::plan::RunSpec;
use walkabout_measure::world::virtual_time::carry_out;

/// Each case is repeated for this long, and at least five times; medians are quoted.
const PATIENCE: Duration = Duration::from_secs(4);

/// Two paths of 25 Mbit/s each, as fast as it goes: 30 s take some 180 MB.
const BULK: &str = r#"
name = "bulk"
summary = "Two paths of 25 Mbit/s each, as fast as it goes"
duration = "30 s"
transports = ["mptcp", "mpquic"]
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
    let document = Document::parse(text, "the bench").expect("valid");
    document.into_scenario()
}

fn main() {
    // cargo adds `--bench`.
    let chosen = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let mut walk = scenario(builtin::find("walk").expect("built in"));
    // The paper's part of the walk: A to D.
    walk.duration = Span::from_millis(80_000);
    let bulk = scenario(BULK);
    // The small ones first: the memory is the process's highest so far.
    let cases = [
        ("walk", &walk, "tcp", "single"),
        ("walk", &walk, "mptcp", "fullmesh"),
        ("walk", &walk, "mptcp", "backup"),
        ("walk", &walk, "mptcp", "apple-interactive"),
        ("walk", &walk, "mptcp", "break-before-make"),
        ("walk", &walk, "quic", "single"),
        ("walk", &walk, "mpquic", "fullmesh"),
        ("walk", &walk, "mpquic", "backup"),
        ("walk", &walk, "mpquic", "apple-interactive"),
        ("walk", &walk, "mpquic", "break-before-make"),
        ("bulk", &bulk, "tcp", "single"),
        ("bulk", &bulk, "mptcp", "fullmesh"),
        ("bulk", &bulk, "quic", "single"),
        ("bulk", &bulk, "mpquic", "fullmesh"),
    ];
    let rows: Vec<_> = cases
        .into_iter()
        .map(|(name, scenario, transport, policy)| {
            (
                format!("{name}-{transport}-{policy}"),
                scenario,
                transport,
                policy,
            )
        })
        .filter(|(name, ..)| chosen.as_ref().is_none_or(|chosen| name.contains(chosen)))
        .map(|(name, scenario, transport, policy)| measure(&name, scenario, transport, policy))
        .collect();
    println!(
        "{:#}",
        json!({"bench": "virtual_time", "cores": 1, "cases": rows})
    );
}

fn measure(name: &str, scenario: &Scenario, transport: &str, policy: &str) -> serde_json::Value {
    let mut times = Vec::new();
    let (mut packets, mut events, mut seconds) = (0, 0, 0.0);
    let began = Instant::now();
    for seed in 1.. {
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
        let start = Instant::now();
        let mut rows = Collected::default();
        let outcome = carry_out(&spec, &mut rows);
        times.push(start.elapsed().as_secs_f64());
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        (packets, events) = (rows.packets.len(), outcome.events);
        seconds = simulated(&rows);
        if times.len() >= 5 && began.elapsed() > PATIENCE {
            break;
        }
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    json!({
        "case": name,
        "runs": times.len(),
        "simulated_s": seconds,
        "median_s": median,
        "simulated_s_per_s": seconds / median,
        "events": events,
        "events_per_s": events as f64 / median,
        "packets": packets,
        "packets_per_s": packets as f64 / median,
        "peak_memory_bytes": memory::peak(),
    })
}

/// When the last packet entered a link.
fn simulated(rows: &Collected) -> f64 {
    let entered = rows.packets.iter().map(|p| p.enqueued_ns);
    entered.max().unwrap_or(0) as f64 / 1e9
}
