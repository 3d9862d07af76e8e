//! The live world's client against this server: two links between two network namespaces, each transport
//! with the path manager it is for.

use super::namespace::is_inside;
use super::rig::{Ground, Server};
use analysis::folder::RunFolder;
use measure::emulator::NetNs;
use measure::netlink::route::Routing;
use measure::transport::LocalPath;
use measure::world::live::{LiveRun, Test, Until, interfaces, local_path};
use model::live::{Consent, Ended, LiveFacts, Mode};
use model::record::EventKind;
use model::scenario::{Flow, Interactive, Iperf, Traffic};
use model::units::Span;
use model::{Direction, Family, Name, PathKind, Side};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use walkabout_platform::server::{Config, Limits};

const LINKS: [(&str, PathKind); 2] = [("wifi", PathKind::Wifi), ("cell", PathKind::Cellular)];

fn ip(command: &str) {
    let words = command.split_whitespace();
    let output = Command::new("ip").args(words).output();
    let output = output.expect("the `ip` command (package iproute2)");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {command}: {error}");
}

/// The links, up, between this namespace and the server's.
fn links() -> NetNs {
    let server = NetNs::create().expect("a namespace");
    let mut routing = Routing::open().expect("netlink");
    for (n, (name, _)) in (1..).zip(LINKS) {
        let here = (name, [2, 0, 0, 0, n, 1]);
        let there = (&*format!("s{n}"), [2, 0, 0, 0, n, 2]);
        routing
            .create_veth(here, there, server.as_fd())
            .expect("a link");
    }
    let there = || {
        ip("addr add 10.77.0.1/32 dev lo");
        for n in 1..=LINKS.len() {
            ip(&format!("addr add 10.77.{n}.1/24 dev s{n}"));
            ip(&format!("link set s{n} up"));
        }
    };
    server.run(there).expect("in the server's namespace");
    ip("link set lo up");
    std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "2").expect("set");
    for (n, (name, _)) in (1..).zip(LINKS) {
        ip(&format!("link set {name} up"));
        ip(&format!("addr add 10.77.{n}.2/24 dev {name}"));
        ip(&format!(
            "route add default via 10.77.{n}.1 dev {name} metric {n}00"
        ));
    }
    server
}

fn paths() -> Vec<LocalPath> {
    let all = interfaces().expect("interfaces");
    let path = |(name, kind): (&str, PathKind)| {
        local_path(&all, &Name::from(name), kind, name, Family::Ipv4).expect("a path")
    };
    LINKS.map(path).into()
}

fn facts() -> LiveFacts {
    LiveFacts {
        test: "00112233445566778899aabbccddeeff".to_owned(),
        experiment: "trial".to_owned(),
        mode: Mode::Stable,
        position: 0,
        server: "near".to_owned(),
        family: Family::Ipv4,
        port: 443,
        consent: Consent {
            version: "1".to_owned(),
            agreed_at: "2026-01-31T12:00:00Z".to_owned(),
            publish: false,
        },
        networks: Vec::new(),
        reachability: Vec::new(),
        traps: Vec::new(),
        invalid: None,
        ended: None,
        server_clock: None,
        location: None,
        measured_energy: Vec::new(),
    }
}

/// Carries out one run.
fn run(server: &Server, choice: (&str, &str), traffic: &Traffic, token: String, folder: &Path) {
    let test = Test {
        runs: vec![LiveRun {
            transport: choice.0.to_owned(),
            policy: choice.1.to_owned(),
            traffic: traffic.clone(),
            duration: Duration::from_secs(2),
            token,
            folder: folder.to_owned(),
            facts: facts(),
        }],
        server: server.address(),
        certificate_sha256: server.pin(),
        paths: paths(),
        until: Until::Time,
    };
    let (watch, _watched) = std::sync::mpsc::channel();
    let ends = test.carry_out(&AtomicBool::new(false), &watch);
    let ends = ends.expect("a test");
    assert_eq!(
        (&ends[0].error, ends[0].ended),
        (&None, Ended::Done),
        "{choice:?}"
    );
}

#[test]
fn a_live_client_and_this_server_understand_each_other() {
    if !is_inside("live::a_live_client_and_this_server_understand_each_other") {
        return;
    }
    let namespace = links();
    let ground = Ground::new();
    let server = namespace.run(|| {
        Server::start(Config {
            addresses: vec![[10, 77, 0, 1].into()],
            ports: vec![443],
            metrics: None,
            ..ground.config(Limits::default())
        })
    });
    let server = server.expect("in its namespace");
    assert_eq!(server.ready.missing, Vec::<String>::new());
    let interactive = Traffic::Interactive(Interactive::default());
    let iperf = Traffic::Iperf(Iperf {
        duration: Span::from_millis(1_000),
        direction: Flow::Both,
        ..Iperf::default()
    });
    for choice in [
        ("tcp", "single"),
        ("quic", "single"),
        ("mptcp", "fullmesh"),
        ("mpquic", "fullmesh"),
    ] {
        for traffic in [&interactive, &iperf] {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().join("run");
            let token = ground.key.sign(&walkabout_platform::token::Claims {
                bytes: 1 << 40,
                ..ground.claims()
            });
            run(&server, choice, traffic, token, &folder);
            let run = RunFolder::open(&folder).expect("a run folder");
            let what = format!("{choice:?} {}", traffic.name());
            let live = run.manifest.live.as_ref().expect("a live run");
            assert_eq!(
                run.manifest.skipped.len(),
                1,
                "{what}: {:?}",
                run.manifest.skipped
            );
            let clock = live.server_clock.expect("records");
            assert!(clock.uncertainty_us < 500_000, "{what}: {clock:?}");
            for direction in [Direction::Up, Direction::Down] {
                let of = run.messages.iter().filter(|m| m.direction == direction);
                let answered = of.filter(|m| m.acked_us.is_some()).count();
                assert!(answered >= 10, "{what} {direction:?}: {answered}");
            }
            let of_server = run.samples.iter().filter(|s| s.side == Side::Server);
            let mut seen: Vec<&str> = of_server
                .filter_map(|s| Some(s.path.as_ref()?.as_str()))
                .collect();
            seen.sort_unstable();
            seen.dedup();
            let both = choice.1 == "fullmesh";
            // By the client's names, whatever the server called them.
            let expected: &[&str] = match both {
                true => &["cell", "wifi"],
                false => &["wifi"],
            };
            assert_eq!(seen, expected, "{what}");
            let events = run.events.iter().filter(|e| e.side == Some(Side::Server));
            let opened = events.filter(|e| e.kind == EventKind::PathOpened);
            let opened: BTreeSet<&str> = opened
                .map(|e| e.path.as_ref().expect("a path").as_str())
                .collect();
            assert!(
                opened.iter().all(|path| expected.contains(path)),
                "{opened:?}"
            );
            if both {
                assert!(opened.contains("cell"), "{what}: {opened:?}");
            }
        }
    }
    server.stop();
}
