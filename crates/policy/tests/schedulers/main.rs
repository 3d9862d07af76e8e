//! What does each scheduler make of the same two paths?

mod sender;

use model::Time;
use sender::Sender;
use std::fmt::Write;
use std::time::Duration;
use walkabout_policy::scheduler::list;

struct Scenario {
    name: &'static str,
    /// Whether the cellular subflow is a backup.
    backup: bool,
    /// When Wi-Fi dies.
    dies: Option<Time>,
    /// The peer's receive buffer, in segments.
    buffer: usize,
    /// When how many segments are written.
    writes: Vec<(Time, usize)>,
}

/// The longest time from a write to the arrival of its last byte.
fn longest_delay(scenario: &Scenario, progress: &[(Time, usize)]) -> Duration {
    let mut written = 0;
    let delays = scenario.writes.iter().map(|(at, segments)| {
        written += segments;
        let done = progress.iter().find(|(_, delivered)| *delivered >= written);
        done.expect("all is delivered").0.since(*at)
    });
    delays.max().unwrap_or_default()
}

fn every(ms: u64, times: u64, segments: usize) -> Vec<(Time, usize)> {
    (0..times)
        .map(|i| (Time::from_millis(1 + i * ms), segments))
        .collect()
}

#[test]
fn every_scheduler_delivers_and_its_figures_stay() {
    let bulk = || vec![(Time::from_millis(1), 2_000)];
    let scenarios = [
        Scenario {
            name: "2 MB",
            backup: false,
            dies: None,
            buffer: 4_000,
            writes: bulk(),
        },
        Scenario {
            name: "2 MB, the peer takes 120 kB",
            backup: false,
            dies: None,
            buffer: 120,
            writes: bulk(),
        },
        Scenario {
            name: "100 kB every second",
            backup: false,
            dies: None,
            buffer: 4_000,
            writes: every(1_000, 3, 100),
        },
        Scenario {
            name: "2 kB every 100 ms, Wi-Fi dies",
            backup: false,
            dies: Some(Time::from_millis(950)),
            buffer: 4_000,
            writes: every(100, 40, 2),
        },
        Scenario {
            name: "2 kB every 100 ms, Wi-Fi dies, cellular is a backup",
            backup: true,
            dies: Some(Time::from_millis(950)),
            buffer: 4_000,
            writes: every(100, 40, 2),
        },
        Scenario {
            name: "2 MB, Wi-Fi dies, cellular is a backup",
            backup: true,
            dies: Some(Time::from_millis(300)),
            buffer: 4_000,
            writes: bulk(),
        },
    ];
    let mut table = String::new();
    for scenario in &scenarios {
        let total = scenario.writes.iter().map(|w| w.1).sum();
        writeln!(table, "{}", scenario.name).expect("to a string");
        writeln!(
            table,
            "  {:16} {:>9} {:>9} {:>9} {:>9}",
            "", "delay ms", "wifi kB", "cell kB", "again kB"
        )
        .expect("to a string");
        for entry in list::SCHEDULERS {
            let mut sender = Sender::new((entry.make)(), scenario);
            let progress = sender.run(total);
            let delay = longest_delay(scenario, &progress).as_secs_f64() * 1e3;
            let [wifi, cell] = [&sender.paths[0], &sender.paths[1]].map(|p| p.sent / 1_000);
            let again = sender.again / 1_000;
            writeln!(
                table,
                "  {:16} {delay:>9.1} {wifi:>9} {cell:>9} {again:>9}",
                entry.name
            )
            .expect("to a string");
        }
    }
    insta::assert_snapshot!(table);
}
