//! What the default walk does to packets: a table of distance, signal, expected rate and loss,
//! beside what interactive traffic (two packets, 2,000 bytes, every 100 ms) measures.

use model::scenario::Scenario;
use model::{PathIndex, Seed, Time};
use std::fmt::Write;
use walkabout_network::link::{Exit, Link, Packet};
use walkabout_network::topology::{Traces, build};

const WALK: &str = r#"
name = "walk"
summary = "away from the access point"
duration = "80 s"
transports = []
policies = []
[traffic.ping]
[[path]]
name = "wifi"
kind = "wifi"
up = { rate = "20 Mbit/s", delay = "10 ms" }
down = { rate = "20 Mbit/s", delay = "10 ms" }
[path.walk]
waypoints = [
    { at = "0 s", distance_m = 2.0 },
    { at = "50 s", distance_m = 25.0 },
    { at = "80 s", distance_m = 65.0 },
]
"#;

fn up(seed: u64) -> Link<()> {
    let scenario: Scenario = toml::from_str(WALK).expect("the scenario is valid");
    let links = build(&scenario, PathIndex(0), Seed(seed), &Traces::new());
    links.expect("it can be built").up
}

/// Milliseconds of delay (10 of them propagation) of the packets sent in each window of five
/// seconds, `None` for a lost one.
fn interactive(mut link: Link<()>) -> Vec<Vec<Option<f64>>> {
    let mut windows = vec![Vec::new(); 18];
    for id in 0..1800 {
        let packet = Packet {
            id,
            size: if id % 2 == 0 { 1500 } else { 604 },
            payload: (),
        };
        link.push(Time::from_millis(id / 2 * 100), packet);
    }
    for exit in std::iter::from_fn(|| link.poll(Time::MAX)) {
        let id = exit.packet().id;
        let sent = Time::from_millis(id / 2 * 100);
        windows[id as usize / 100].push(match exit {
            Exit::Delivered { at, .. } => Some((at - sent).as_secs_f64() * 1e3),
            Exit::Dropped { .. } => None,
        });
    }
    windows
}

/// The rank that `share` of the sorted values does not exceed.
fn rank(values: &[f64], share: f64) -> f64 {
    match values {
        [] => f64::NAN,
        values => values[((values.len() - 1) as f64 * share) as usize],
    }
}

/// Averages over the runs of `seeds`.
fn table(seeds: std::ops::Range<u64>) -> String {
    let mut text = String::from(
        "  from   signal  expected rate, loss | measured loss, delay p50, p95, max (ms)\n",
    );
    let mut links: Vec<Link<()>> = seeds.map(up).collect();
    let measured: Vec<_> = links.iter().cloned().map(interactive).collect();
    for window in 0..18_u64 {
        let (mut signal, mut rate, mut loss) = (0.0, 0.0, 0.0);
        for tenth in 0..50 {
            let now = Time::from_millis(window * 5_000 + tenth * 100);
            for link in &mut links {
                let state = link.state(now);
                signal += state.signal_dbm.expect("a walk has a signal");
                rate += state.rate.expect("a walk has a rate").bits_per_second() as f64 / 1e6;
                loss += state.loss;
            }
        }
        let count = 50.0 * links.len() as f64;
        let fates: Vec<Option<f64>> = measured
            .iter()
            .flat_map(|windows| &windows[window as usize])
            .copied()
            .collect();
        let mut delays: Vec<f64> = fates.iter().copied().flatten().collect();
        delays.sort_by(f64::total_cmp);
        writeln!(
            text,
            "{:4} s {:5.1} dBm {:4.1} Mbit/s {:5.1} % | {:5.1} % {:6.1} {:6.1} {:6.1}",
            window * 5,
            signal / count,
            rate / count,
            loss / count * 100.0,
            (1.0 - delays.len() as f64 / fates.len() as f64) * 100.0,
            rank(&delays, 0.5),
            rank(&delays, 0.95),
            rank(&delays, 1.0),
        )
        .expect("writing to a string");
    }
    text
}

#[test]
fn clean_near_the_access_point_then_slow_then_lossy() {
    insta::assert_snapshot!(table(0..10));
}

#[test]
fn both_directions_fade_together_but_fail_on_their_own() {
    let scenario: Scenario = toml::from_str(WALK).expect("the scenario is valid");
    let mut links = build::<()>(&scenario, PathIndex(0), Seed(4), &Traces::new()).expect("builds");
    for second in 0..90 {
        let now = Time::from_millis(second * 1000);
        assert_eq!(links.up.state(now), links.down.state(now));
    }
    let links = build(&scenario, PathIndex(0), Seed(4), &Traces::new()).expect("builds");
    assert_ne!(interactive(links.up), interactive(links.down));
}
