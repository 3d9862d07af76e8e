//! An upload as a client hands it in: a walk with a handover, small and complete.

use model::columns::Columns;
use model::live::{
    CoarseLocation, Consent, Ended, EnergySource, LiveFacts, MeasuredEnergy, Mode, Network,
    Outcome, Reachability, ServerClock,
};
use model::manifest::{Stack, Status};
use model::record::{Event, EventKind, LinkState, Message, Sample};
use model::scenario::{Interactive, Link, Path, Queue, Traffic};
use model::units::Span;
use model::{Direction, Family, Manifest, Name, PathKind, Scenario, Seed, Side, Time, World};
use serde_json::Value;
use walkabout_platform::api::{UPLOAD_FORMAT, Upload};

/// The upload.
pub fn upload() -> Upload {
    Upload {
        format: UPLOAD_FORMAT.into(),
        manifest: manifest(),
        messages: Columns((0..100).flat_map(messages).collect()),
        samples: Columns((0..50).flat_map(samples).collect()),
        links: Columns((0..10).map(link_state).collect()),
        events: events(),
    }
}

/// The upload as JSON.
pub fn json() -> Value {
    serde_json::to_value(upload()).expect("JSON")
}

fn manifest() -> Manifest {
    let mut manifest = Manifest::new(World::Live, &scenario(), "mptcp", "backup", Seed(7));
    manifest.status = Status::Complete;
    manifest.started_at = "2026-11-21T10:31:42.123456Z".into();
    manifest.kernel = "Linux 6.18.5 x86_64".into();
    manifest.stack = Stack {
        name: "linux".into(),
        version: "6.18.5".into(),
        congestion: "cubic".into(),
        path_manager: "userspace".into(),
        scheduler: "default".into(),
        server_scheduler: None,
        security: None,
    };
    manifest.sysctls = [("net.mptcp.enabled".to_owned(), "1".to_owned())].into();
    manifest.skipped = vec!["no packets were captured".into()];
    manifest.peak_memory_bytes = Some(20 << 20);
    manifest.live = Some(LiveFacts {
        test: super::rig::TEST.into(),
        experiment: "mobile".into(),
        mode: Mode::Mobile,
        position: 0,
        server: "near".into(),
        family: Family::Ipv4,
        port: 443,
        consent: Consent {
            version: "0123456789abcdef".into(),
            agreed_at: "2026-11-21T10:31:07Z".into(),
            publish: true,
        },
        networks: vec![
            network("wifi", PathKind::Wifi, Some("00112233aabbccdd")),
            network("cellular", PathKind::Cellular, None),
        ],
        reachability: vec![Reachability {
            transport: "quic".into(),
            family: Family::Ipv6,
            port: 443,
            outcome: Outcome::NoRoute,
            handshake_us: None,
        }],
        traps: vec!["the server has no IPv6 address".into()],
        invalid: None,
        ended: Some(Ended::WifiLost),
        server_clock: Some(ServerClock {
            offset_us: -1_200,
            uncertainty_us: 8_000,
        }),
        location: Some(CoarseLocation {
            latitude_deg: 50.66853,
            longitude_deg: 4.61949,
        }),
        measured_energy: vec![MeasuredEnergy {
            source: EnergySource::Battery,
            measured_j: 41.5,
        }],
    });
    manifest
}

fn network(name: &str, kind: PathKind, hash: Option<&str>) -> Network {
    Network {
        path: Name::from(name),
        kind,
        network_hash: hash.map(str::to_owned),
        signal_dbm: (kind == PathKind::Wifi).then_some(-61.0),
        families: vec![Family::Ipv4],
    }
}

fn scenario() -> Scenario {
    let link = Link {
        rate: None,
        trace: None,
        delay: Span::from_millis(0),
        jitter: None,
        loss: None,
        burst: None,
        reorder: None,
        duplicate: None,
        queue: Queue::default(),
    };
    let path = |name: &str, kind| Path {
        name: Name::from(name),
        kind,
        up: link.clone(),
        down: link.clone(),
        changes: Vec::new(),
        walk: None,
    };
    Scenario {
        name: "mobile".into(),
        summary: "real interfaces, to the test server near".into(),
        duration: Span::from_millis(10_000),
        transports: vec!["mptcp".into()],
        policies: vec!["backup".into()],
        congestion: None,
        scheduler: None,
        multipath: model::scenario::Multipath::NONE,
        server_scheduler: None,
        oracle: None,
        family: Family::Ipv4,
        traffic: Traffic::Interactive(Interactive::default()),
        background: None,
        paths: vec![
            path("wifi", PathKind::Wifi),
            path("cellular", PathKind::Cellular),
        ],
        failures: Vec::new(),
    }
}

fn messages(id: u64) -> [Message; 2] {
    // The walk leaves the Wi-Fi at 5 s: what is sent then waits for 1.2 s.
    let delay_us = if id == 50 { 1_200_000 } else { 30_000 + id };
    [Direction::Up, Direction::Down].map(|direction| Message {
        channel: u64::from(direction == Direction::Down),
        id,
        direction,
        size_bytes: 2_000,
        answer_bytes: 9,
        sent_us: id * 100_000,
        acked_us: (id < 99).then_some(id * 100_000 + delay_us),
        delay_us: (id < 99).then_some(delay_us),
        path: Some(Name::from(if id < 50 { "wifi" } else { "cellular" })),
    })
}

fn samples(n: u64) -> [Sample; 2] {
    // The server calls the paths by numbers of its own.
    [(Side::Client, "wifi"), (Side::Server, "path-1")].map(|(side, path)| Sample {
        time_us: n * 100_000,
        side,
        connection: 0,
        path: Some(Name::from(path)),
        state: "established".into(),
        srtt_us: Some(30_000),
        rttvar_us: Some(1_000),
        rto_us: Some(230_000),
        timeouts: Some(0),
        cwnd_bytes: Some(14_000),
        in_flight_bytes: Some(2_000),
        oldest_unacked_us: None,
        unsent_bytes: Some(0),
        sent_packets: Some(n),
        sent_bytes: Some(n * 2_000),
        received_bytes: Some(n * 2_000),
        lost_packets: Some(0),
        retransmitted_packets: Some(0),
        backup: Some(false),
        peer_backup: None,
    })
}

fn link_state(n: u64) -> LinkState {
    LinkState {
        time_us: n * 1_000_000,
        path: Name::from("wifi"),
        direction: Direction::Up,
        rate_bps: None,
        delay_us: 0,
        loss: 0.0,
        up: n < 5,
        queue_bytes: 0,
        signal_dbm: Some(-61.0 - n as f64),
    }
}

fn events() -> Vec<Event> {
    let event = |ms, kind, detail: &str| Event::new(Time::from_millis(ms), kind, detail);
    let mut decision = event(5_100, EventKind::Decision, "cellular is opened");
    decision.cause = Some("wifi is under RTO (230.0 ms) and there is new data".into());
    decision.path = Some(Name::from("cellular"));
    let mut stop = event(9_990, EventKind::ApplicationStop, "");
    stop.side = Some(Side::Client);
    vec![
        event(0, EventKind::ApplicationStart, ""),
        event(1, EventKind::Connected, "10.1.2.3:5000 to 203.0.113.77:443"),
        decision,
        stop,
    ]
}
