//! How many packets a second a link carries, on one core, as one line of JSON.
//!
//! `cargo bench -p walkabout-network`

use model::scenario::Scenario;
use model::{PathIndex, Seed, Time};
use std::hint::black_box;
use std::time::Instant;
use walkabout_network::link::{Exit, Link, Packet};
use walkabout_network::topology::{Traces, build};

fn link(keys: &str) -> Link<[u8; 16]> {
    let text = format!(
        "name = \"x\"\nsummary = \"x\"\nduration = \"1 s\"\ntransports = []\npolicies = []\n\
         [traffic.ping]\n[[path]]\nname = \"wifi\"\nkind = \"wifi\"\ndown = {{ delay = \"0 ms\" }}\n{keys}"
    );
    let scenario: Scenario = toml::from_str(&text).expect("the scenario is valid");
    let links = build(&scenario, PathIndex(0), Seed(1), &Traces::new());
    links.expect("the link can be built").up
}

/// Packets per second when `packets` enter, one every `gap_ns`, and the share that is delivered.
#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn run(mut link: Link<[u8; 16]>, packets: u64, gap_ns: u64) -> (f64, f64) {
    let mut delivered = 0_u64;
    let mut count = |exit| {
        if let Exit::Delivered { packet, .. } = black_box(exit) {
            delivered += u64::from(packet.size > 0);
        }
    };
    let begin = Instant::now();
    for id in 0..packets {
        let now = Time::from_nanos(id * gap_ns);
        let payload = [0; 16];
        link.push(
            now,
            Packet {
                id,
                size: 1500,
                payload,
            },
        );
        while let Some(exit) = link.poll(now) {
            count(exit);
        }
    }
    while let Some(exit) = link.poll(Time::MAX) {
        count(exit);
    }
    let rate = packets as f64 / begin.elapsed().as_secs_f64();
    (rate, delivered as f64 / packets as f64)
}

/// Microseconds to sample the link's state every 100 ms for 80 seconds, link building included.
#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn sample(keys: &str) -> f64 {
    let begin = Instant::now();
    let mut link = link(keys);
    for tenth in 0..800 {
        black_box(link.state(Time::from_millis(tenth * 100)));
    }
    begin.elapsed().as_secs_f64() * 1e6
}

fn main() {
    let delay_rate = "up = { rate = \"1 Gbit/s\", delay = \"10 ms\" }";
    let every_stage = "up = { rate = \"1 Gbit/s\", delay = \"10 ms\", jitter = \"1 ms\", loss = 0.01, \
         burst = { enter = 0.01, leave = 0.3, loss = 0.5 }, duplicate = 0.01, \
         reorder = { probability = 0.01, hold = \"5 ms\" }, queue = { kind = \"codel\", limit = \"1 MB\" } }";
    let walk = "up = { rate = \"20 Mbit/s\", delay = \"10 ms\" }\n[path.walk]\nwaypoints = [\
         { at = \"0 s\", distance_m = 2.0 }, { at = \"50 s\", distance_m = 25.0 }, \
         { at = \"80 s\", distance_m = 65.0 }]\n";
    let results = [
        ("delay+rate", delay_rate, 2_000_000, 12_000),
        ("every stage", every_stage, 2_000_000, 12_000),
        // 5 Mbit/s for 80 seconds.
        ("walk", walk, 33_333, 2_400_000),
    ]
    .map(|(name, keys, packets, gap_ns)| {
        let (rate, delivered) = run(link(keys), packets, gap_ns);
        format!("\"{name}\":{{\"packets_per_second\":{rate:.0},\"delivered\":{delivered:.3}}}")
    });
    let sampled = sample(walk);
    println!(
        "{{{},\"walk's 800 states\":{{\"microseconds\":{sampled:.0}}}}}",
        results.join(",")
    );
}
