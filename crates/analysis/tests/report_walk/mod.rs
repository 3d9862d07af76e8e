//! Ten made-up runs of a walk, so that the report can be built, tested and looked at without an
//! emulator. The numbers are plausible, not measured.

mod radio;

use model::manifest::{Stack, Status, Timing};
use model::record::{Event, EventKind, Message, Packet, Sample};
use model::{Direction, Manifest, Name, Scenario, Seed, Side, Time, World};
use radio::Radio;
use rand::RngExt;
use serde_json::json;
use std::collections::BTreeMap;
use walkabout_analysis::folder::RunFolder;

const END_MS: u64 = 110_000;
const GONE_MS: u64 = 80_000;
const BACK_MS: u64 = 98_000;

/// How a made-up transport under a policy behaves.
struct Behaviour {
    transport: &'static str,
    policy: &'static str,
    /// From Wi-Fi's failure to the first data on cellular, up and down; `None` is never.
    switch_ms: Option<(u64, u64)>,
    /// Time at which the client leaves the weakening Wi-Fi on its own, if it does.
    early_ms: Option<u64>,
    /// Share of the messages on cellular while Wi-Fi works.
    cellular: f64,
}

const RUNS: [Behaviour; 10] = [
    run("tcp", "single", None, None, 0.0),
    run("mptcp", "fullmesh", Some((460, 880)), None, 0.12),
    run("mptcp", "backup", Some((12_400, 1_310)), None, 0.0),
    run(
        "mptcp",
        "apple-interactive",
        Some((610, 655)),
        Some(74_300),
        0.0,
    ),
    run("mptcp", "break-before-make", Some((285, 310)), None, 0.0),
    run("quic", "single", None, None, 0.0),
    run("mpquic", "fullmesh", Some((205, 240)), None, 0.0),
    run("mpquic", "backup", Some((340, 720)), None, 0.0),
    run(
        "mpquic",
        "apple-interactive",
        Some((380, 420)),
        Some(72_900),
        0.0,
    ),
    run("mpquic", "break-before-make", Some((255, 270)), None, 0.0),
];

const fn run(
    transport: &'static str,
    policy: &'static str,
    switch_ms: Option<(u64, u64)>,
    early_ms: Option<u64>,
    cellular: f64,
) -> Behaviour {
    Behaviour {
        transport,
        policy,
        switch_ms,
        early_ms,
        cellular,
    }
}

/// The ten runs; the interactive traffic sends a message each `period_ms` in each direction.
pub fn runs(period_ms: u64) -> Vec<RunFolder> {
    let seed = Seed(42);
    let radio = Radio::new(seed, GONE_MS, BACK_MS, END_MS);
    let runs = RUNS.iter().enumerate();
    runs.map(|(i, b)| one(b, i, seed, period_ms, &radio))
        .collect()
}

fn one(b: &Behaviour, index: usize, seed: Seed, period_ms: u64, radio: &Radio) -> RunFolder {
    let mut run = RunFolder {
        path: format!("runs/walk/{}-{}-0", b.transport, b.policy).into(),
        manifest: manifest(b, seed),
        messages: Vec::new(),
        background: Vec::new(),
        samples: Vec::new(),
        packets: Vec::new(),
        links: radio.links.clone(),
        events: events(b),
        truncated: Vec::new(),
        radios: walkabout_analysis::energy::Radios::default(),
    };
    messages(&mut run, b, seed, period_ms, radio);
    samples(&mut run, b, radio);
    match index {
        // One run that was killed, and one whose emulator was late.
        8 => cut_short(&mut run, 71_400_000),
        7 => {
            let timing = run.manifest.timing.as_mut().expect("it was written above");
            timing.lateness_p99_ns = 810_000;
            timing.kept = false;
        }
        _ => {}
    }
    run.messages.sort_by_key(|m| m.sent_us);
    run.samples.sort_by_key(|s| s.time_us);
    run.packets.sort_by_key(|p| p.enqueued_ns);
    run.events.sort_by_key(|e| e.time_us);
    run
}

/// When a message sent at `at_ms` gets through, and over what; `None` is never.
fn carried(b: &Behaviour, direction: Direction, at_ms: u64, share: f64) -> Option<(u64, bool)> {
    let switch = b.switch_ms.map(|(up, down)| match direction {
        Direction::Up => up,
        Direction::Down => down,
    });
    let left_ms = b.early_ms.unwrap_or(GONE_MS);
    match at_ms {
        _ if share < b.cellular => Some((at_ms, true)),
        at if at < left_ms => Some((at, false)),
        at if at < GONE_MS => Some((at, true)),
        at if at < BACK_MS + 1_400 => {
            let from = GONE_MS + switch? * u64::from(b.early_ms.is_none());
            Some((at.max(from), true))
        }
        at => switch.map(|_| (at, false)),
    }
}

fn messages(run: &mut RunFolder, b: &Behaviour, seed: Seed, period_ms: u64, radio: &Radio) {
    let mut random = seed.stream(&format!("{}.{}", b.transport, b.policy));
    let names: [Name; 2] = ["wifi".into(), "cellular".into()];
    for (channel, direction) in [(0, Direction::Up), (1, Direction::Down)] {
        let back = match direction {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        };
        let times = (800 + channel * period_ms / 2..END_MS).step_by(period_ms as usize);
        for (id, at_ms) in times.enumerate() {
            let way = carried(b, direction, at_ms, random.random());
            let (loss, rate_bps) = radio.at(at_ms);
            let (delay_us, loss, rate_bps) = match way {
                Some((_, true)) => (60_000, 0.002, 8_000_000),
                _ => (20_000, loss, rate_bps.max(300_000)),
            };
            let mut wait_us = delay_us + 2_100 * 8 * 1_000_000 / rate_bps;
            wait_us += (random.random::<f64>().powi(6) * 9_000.0) as u64;
            // A lost packet costs a tail loss probe, a second one a timeout.
            let mut probe_us = 2 * delay_us + 10_000;
            let mut copies = 1;
            while random.random::<f64>() < loss && copies < 5 {
                wait_us += probe_us;
                probe_us = 2 * probe_us + 100_000;
                copies += 1;
            }
            let sent_us = at_ms * 1_000 + random.random_range(0..400);
            let acked_us = way.map(|(from_ms, _)| (from_ms * 1_000).max(sent_us) + wait_us);
            let acked_us = acked_us.filter(|&us| us < END_MS * 1_000);
            run.messages.push(Message {
                channel,
                id: id as u64,
                direction,
                size_bytes: 2_000,
                answer_bytes: 9,
                sent_us,
                acked_us,
                delay_us: acked_us.map(|us| us - sent_us),
                path: way.map(|(_, cellular)| names[usize::from(cellular)].clone()),
            });
            let mut packet = |path: &Name, direction, at_us: u64, payload, dropped: bool| {
                run.packets.push(Packet {
                    path: path.clone(),
                    direction,
                    id: run.packets.len() as u64,
                    size_bytes: payload + 52,
                    payload_bytes: payload,
                    enqueued_ns: at_us * 1_000,
                    delivered_ns: (!dropped).then_some(at_us * 1_000 + delay_us * 500),
                    dropped: dropped.then(|| "blackhole".into()),
                    dsn: None,
                    data_ack: None,
                });
            };
            match way {
                Some((from_ms, cellular)) => {
                    let path = &names[usize::from(cellular)];
                    let at_us = (from_ms * 1_000).max(sent_us);
                    for copy in 0..copies {
                        packet(path, direction, at_us + copy * 900, 1_448, copy > 0);
                    }
                    packet(path, direction, at_us, 552, false);
                    packet(path, back, at_us + delay_us, 9, false);
                    packet(path, direction, at_us + delay_us + 500, 0, false);
                }
                // Retransmissions into the void, ever rarer.
                None if (at_ms - GONE_MS.min(at_ms)).is_power_of_two() => {
                    packet(&names[0], direction, sent_us, 1_448, true);
                }
                None => {}
            }
        }
    }
}

fn samples(run: &mut RunFolder, b: &Behaviour, radio: &Radio) {
    let connections = if b.transport.ends_with("tcp") { 2 } else { 1 };
    let paths: &[(&str, u64)] = match b.transport {
        "tcp" | "quic" => &[("wifi", 20_000)],
        _ => &[("wifi", 20_000), ("cellular", 60_000)],
    };
    for at_ms in (900..END_MS).step_by(100) {
        for (side, connection) in [Side::Client, Side::Server]
            .into_iter()
            .flat_map(|side| (0..connections).map(move |c| (side, c)))
        {
            for &(path, rtt_us) in paths {
                let (loss, _) = radio.at(at_ms);
                let is_wifi = path == "wifi";
                let gone = is_wifi && (GONE_MS..BACK_MS).contains(&at_ms);
                let timeouts = if gone {
                    ((at_ms - GONE_MS) / 400 + 1).ilog2()
                } else {
                    0
                };
                let wobble = (at_ms / 100 * 37 + connection * 11) % 17 * 150;
                let srtt_us = rtt_us + wobble + if is_wifi { (loss * 9e5) as u64 } else { 0 };
                let cut = if is_wifi { (loss * 60.0) as u64 } else { 0 };
                let cwnd = 14_480 + at_ms / 4 * u64::from(!gone) / (1 + cut);
                run.samples.push(Sample {
                    time_us: at_ms * 1_000 + 37,
                    side,
                    connection,
                    path: Some(path.into()),
                    state: "established".into(),
                    srtt_us: Some(srtt_us),
                    rttvar_us: Some(srtt_us / 6),
                    rto_us: Some((200_000 + srtt_us) << timeouts),
                    timeouts: Some(u64::from(timeouts)),
                    cwnd_bytes: Some(if gone { 1_448 } else { cwnd }),
                    in_flight_bytes: Some(if gone { 1_448 } else { at_ms / 100 % 3 * 2_000 }),
                    oldest_unacked_us: None,
                    unsent_bytes: Some(0),
                    sent_packets: None,
                    sent_bytes: None,
                    received_bytes: None,
                    lost_packets: None,
                    retransmitted_packets: None,
                    backup: Some(!is_wifi && b.policy == "backup"),
                    peer_backup: None,
                });
            }
        }
    }
}

fn events(b: &Behaviour) -> Vec<Event> {
    let event = |ms: u64, kind, path: Option<&str>, cause: Option<&str>, detail: &str| Event {
        side: Some(Side::Client),
        path: path.map(Name::from),
        connection: path.map(|_| 0),
        cause: cause.map(str::to_owned),
        ..Event::new(Time::from_millis(ms), kind, detail)
    };
    let mut events = vec![
        event(740, EventKind::Connected, Some("wifi"), None, ""),
        event(800, EventKind::ApplicationStart, None, None, "interactive"),
        event(
            GONE_MS,
            EventKind::Failure,
            Some("wifi"),
            None,
            "address-withdrawn",
        ),
        event(
            GONE_MS,
            EventKind::PathDown,
            Some("wifi"),
            None,
            "address removed",
        ),
        event(BACK_MS, EventKind::Failure, Some("wifi"), None, "repaired"),
        event(BACK_MS + 20, EventKind::PathUp, Some("wifi"), None, ""),
        event(END_MS, EventKind::ApplicationStop, None, None, ""),
    ];
    let Some((up_ms, _)) = b.switch_ms else {
        return events;
    };
    let switch_ms = b.early_ms.unwrap_or(GONE_MS + up_ms);
    let cause = match (b.policy, b.early_ms) {
        (_, Some(_)) => "wifi SRTT 640 ms > 600 ms while cellular's is 61 ms",
        ("break-before-make", _) => "wifi retransmitted (3 -> 4) with nothing acknowledged since",
        ("backup", _) => "every regular subflow is stale",
        _ => "path down",
    };
    let cellular = Some("cellular");
    events.extend([
        event(
            switch_ms - 60,
            EventKind::Decision,
            cellular,
            Some(cause),
            "open cellular",
        ),
        event(switch_ms - 58, EventKind::PathOpening, cellular, None, ""),
        event(switch_ms - 2, EventKind::PathOpened, cellular, None, ""),
        event(switch_ms, EventKind::FirstData, cellular, None, ""),
        event(
            switch_ms + 4,
            EventKind::Decision,
            Some("wifi"),
            Some("cellular is established"),
            "close wifi",
        ),
        event(
            switch_ms + 5,
            EventKind::PathClosed,
            Some("wifi"),
            None,
            "<b>not markup</b></script>",
        ),
        event(
            BACK_MS + 1_300,
            EventKind::Decision,
            Some("wifi"),
            Some("wifi is back for 1.3 s"),
            "open wifi",
        ),
        event(
            BACK_MS + 1_390,
            EventKind::PathOpened,
            Some("wifi"),
            None,
            "",
        ),
        event(
            BACK_MS + 1_400,
            EventKind::Decision,
            cellular,
            Some("wifi carries data"),
            "make cellular backup",
        ),
        event(
            BACK_MS + 1_401,
            EventKind::PriorityChanged,
            cellular,
            None,
            "backup",
        ),
    ]);
    events
}

fn cut_short(run: &mut RunFolder, at_us: u64) {
    run.manifest.status = Status::Incomplete;
    run.manifest.timing = None;
    run.messages.retain(|m| m.sent_us < at_us);
    for message in &mut run.messages {
        message.acked_us = message.acked_us.filter(|&acked| acked < at_us);
        message.delay_us = message.acked_us.map(|acked| acked - message.sent_us);
    }
    run.samples.clear();
    run.packets.retain(|p| p.enqueued_ns < at_us * 1_000);
    run.links.retain(|l| l.time_us < at_us);
    run.events.retain(|e| e.time_us < at_us);
    run.truncated = vec!["samples: missing".into()];
}

fn manifest(b: &Behaviour, seed: Seed) -> Manifest {
    let kernel = b.transport.ends_with("tcp");
    Manifest {
        status: Status::Complete,
        started_at: "2026-01-31T12:00:00Z".into(),
        failure_onsets_us: vec![GONE_MS * 1_000],
        stack: Stack {
            name: if kernel { "linux" } else { "noq" }.into(),
            version: if kernel { "6.18.5" } else { "1.4.0" }.into(),
            congestion: "cubic".into(),
            path_manager: if kernel { "userspace" } else { "none" }.into(),
            scheduler: "default".into(),
            server_scheduler: None,
            security: None,
        },
        kernel: "Linux 6.18.5 x86_64".into(),
        sysctls: BTreeMap::from([("net.mptcp.stale_loss_cnt".into(), "4".into())]),
        device: Some("tun".into()),
        timing: Some(Timing {
            packets: 9_812,
            lateness_p50_ns: 21_000,
            lateness_p99_ns: 214_000,
            lateness_max_ns: 1_204_000,
            bound_p99_ns: 500_000,
            kept: true,
        }),
        peak_memory_bytes: Some(48_000_000),
        ..Manifest::new(World::Emulated, &scenario(), b.transport, b.policy, seed)
    }
}

fn scenario() -> Scenario {
    let link = |rate: &str, delay: &str, limit: &str| json!({"rate": rate, "delay": delay, "queue": {"kind": "drop-tail", "limit": limit}});
    let waypoints = [(0, 3), (25, 14), (52, 28), (80, 68), (98, 42), (110, 25)]
        .map(|(at, m)| json!({"at": format!("{at} s"), "distance_m": m}));
    serde_json::from_value(json!({
        "name": "walk",
        "summary": "Away from the Wi-Fi, onto cellular, and back: who stalls, for how long, and what it costs",
        "duration": "110 s",
        "transports": ["tcp", "mptcp", "quic", "mpquic"],
        "policies": ["fullmesh", "backup", "apple-interactive", "break-before-make"],
        "traffic": {"interactive": {}},
        "path": [
            {"name": "wifi", "kind": "wifi", "walk": {"waypoints": waypoints},
             "up": link("30 Mbit/s", "10 ms", "256 KiB"), "down": link("30 Mbit/s", "10 ms", "256 KiB")},
            {"name": "cellular", "kind": "cellular",
             "up": link("10 Mbit/s", "30 ms", "256 KiB"), "down": link("20 Mbit/s", "30 ms", "512 KiB")},
        ],
        "failure": [{"path": "wifi", "kind": "address-withdrawn", "at": "80 s", "duration": "18 s"}],
    }))
    .expect("the scenario above is one")
}
