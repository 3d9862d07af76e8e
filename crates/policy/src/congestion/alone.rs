//! What does each controller do with a link of its own? The figures of docs/congestion.md.

use super::list::CONTROLLERS;
use super::simulation::{MSS, Network};
use model::Time;
use std::fmt::Write;

/// Each controller with one subflow on a link of 20 Mbit/s and 40 ms (71 segments): packets lost and
/// the largest window in the first five seconds, then for half a minute how much of the link it
/// uses, the mean and largest round-trip time, and packets lost.
fn table(queue_ms: u64) -> String {
    let mut text = format!("{queue_ms} ms of queue\n");
    text += "          first 5 s      then 30 s\n";
    text += "controller lost window   use   mean ms max ms lost";
    for entry in CONTROLLERS {
        let mut network = Network::new(1);
        let link = network.link(20, queue_ms);
        network.connection(entry.name, &[(link, 40)]);
        let mut largest = 0;
        for ms in (0..5_000).step_by(10) {
            network.run_until(Time::from_millis(ms));
            let flow = &network.flows[0];
            largest = largest.max(network.connections[0].window(flow.id) / MSS);
        }
        let (lost, delivered) = (network.flows[0].losses, network.delivered(0));
        let mut delays = Vec::new();
        for ms in (5_000..=35_000).step_by(10) {
            network.run_until(Time::from_millis(ms));
            delays.push(network.flows[0].last_rtt.as_secs_f64() * 1e3);
        }
        let part = (network.delivered(0) - delivered) as f64 / (30.0 * 20.0 * 125_000.0);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let max = delays.iter().copied().fold(0.0, f64::max);
        write!(
            text,
            "\n{:10} {lost:4} {largest:6} {:4.0} % {mean:9.0} {max:6.0} {:4}",
            entry.name,
            part * 100.0,
            network.flows[0].losses - lost,
        )
        .unwrap();
    }
    text
}

#[test]
fn each_alone_with_a_long_queue() {
    insta::assert_snapshot!(table(100));
}

#[test]
fn each_alone_with_a_short_queue() {
    insta::assert_snapshot!(table(10));
}
