//! Are coupled subflows fair where they share a bottleneck, and do they use two that are separate?

use super::simulation::{MSS, Network};
use model::Time;

const SEEDS: u64 = 4;

/// Bytes each connection delivers between 20 s and 80 s.
fn shares(network: &mut Network) -> Vec<f64> {
    let all = 0..network.connections.len();
    network.run_until(Time::from_millis(20_000));
    let before: Vec<_> = all.clone().map(|c| network.delivered(c)).collect();
    network.run_until(Time::from_millis(80_000));
    all.map(|c| (network.delivered(c) - before[c]) as f64)
        .collect()
}

/// What `controller` with two subflows takes of a bottleneck, over what one `other` flow takes; the
/// mean of several seeds.
fn against_one(controller: &str, other: &str) -> f64 {
    let mut sums = [0.0; 2];
    for seed in 0..SEEDS {
        let mut network = Network::new(seed);
        let link = network.link(20, 50);
        network.connection(other, &[(link, 40)]);
        network.connection(controller, &[(link, 40), (link, 40)]);
        let shares = shares(&mut network);
        sums[0] += shares[0];
        sums[1] += shares[1];
    }
    sums[1] / sums[0]
}

/// What `controller` uses of two separate links of 10 Mbit/s, with 20 and 60 ms.
fn use_of_two(controller: &str) -> f64 {
    let mut network = Network::new(1);
    let links = [network.link(10, 50), network.link(10, 50)];
    network.connection(controller, &[(links[0], 20), (links[1], 60)]);
    let bytes = shares(&mut network)[0];
    bytes / (60.0 * 2.0 * 10.0 * 125_000.0)
}

#[test]
fn coupled_subflows_take_no_more_than_one_flow() {
    for name in ["lia", "olia", "balia"] {
        let share = against_one(name, "reno");
        println!("{name}: {share:.3}");
        assert!((0.5..=1.15).contains(&share), "{name}: {share}");
    }
    // And it is the coupling that does it.
    let share = against_one("reno", "reno");
    println!("reno: {share:.3}");
    assert!(share > 1.5, "{share}");
}

#[test]
fn separate_bottlenecks_are_used() {
    for name in ["lia", "olia", "balia", "reno", "cubic", "bbr"] {
        let part = use_of_two(name);
        println!("{name}: {part:.3}");
        assert!(part >= 0.9, "{name}: {part}");
        assert!(part <= 1.01, "{name}: {part}");
    }
}

#[test]
fn bbr_reaches_the_bandwidth_and_drains_its_queue() {
    let mut network = Network::new(1);
    let link = network.link(20, 200);
    network.connection("bbr", &[(link, 40)]);
    network.run_until(Time::from_millis(3_000));
    let before = network.delivered(0);
    network.run_until(Time::from_millis(8_000));
    let part = (network.delivered(0) - before) as f64 / (5.0 * 20.0 * 125_000.0);
    assert!(part > 0.97, "{part}");
    let rtt = network.flows[0].last_rtt;
    assert!(rtt.as_millis() < 60, "{rtt:?}");
    // In ProbeRTT nearly nothing is in flight, and the rate is not forgotten by it.
    let mut smallest = u64::MAX;
    for ms in (8_000..13_000).step_by(10) {
        network.run_until(Time::from_millis(ms));
        smallest = smallest.min(network.flows[0].in_flight);
    }
    assert!(smallest <= 4 * MSS, "{smallest}");
    let before = network.delivered(0);
    network.run_until(Time::from_millis(15_000));
    let part = (network.delivered(0) - before) as f64 / (2.0 * 20.0 * 125_000.0);
    assert!(part > 0.97, "{part}");
}
