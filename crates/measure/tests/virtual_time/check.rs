//! What must hold of every run in virtual time.

use crate::random::Case;
use model::manifest::Status;
use model::record::{EventKind, Message, Packet};
use model::scenario::Document;
use model::{Direction, Manifest, Scenario, Seed, World};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use walkabout_measure::recording::Collected;
use walkabout_measure::world::plan::RunSpec;
use walkabout_measure::world::virtual_time::simulate;

fn scenario(case: &Case) -> Scenario {
    let document = Document::parse(&case.text, "a random scenario");
    document
        .unwrap_or_else(|error| panic!("{error}\n{}", case.text))
        .into_scenario()
}

/// The case's run.
pub fn simulated(case: &Case) -> (Manifest, Collected) {
    simulate(&spec(case, PathBuf::new()))
}

/// What the case's run is, with its folder.
pub fn spec(case: &Case, folder: PathBuf) -> RunSpec {
    RunSpec {
        world: World::Virtual,
        scenario: scenario(case),
        traces: BTreeMap::new(),
        transport: case.transport.to_owned(),
        policy: case.policy.to_owned(),
        seed: Seed(case.seed),
        repetition: 0,
        folder,
        device: None,
        lateness_bound_ns: 0,
    }
}

/// Fails at the first promise that a run did not keep.
pub fn check(case: &Case, (manifest, rows): &(Manifest, Collected)) {
    let scenario = scenario(case);
    match manifest.status {
        Status::Complete => assert_eq!(manifest.error, None),
        _ => {
            // The one failure that a scenario can ask for.
            let error = manifest.error.as_deref().unwrap_or("no reason");
            assert!(
                error.contains("no connection within"),
                "{error}\n{}",
                case.text
            );
        }
    }
    messages(case, &rows.messages);
    packets(case, &scenario, &rows.packets);
    for event in &rows.events {
        let fault = event.kind == EventKind::Note
            && (event.detail.contains("turned away") || event.detail.contains("not of this"));
        assert!(!fault, "{event:?}\n{}", case.text);
    }
    let times = |name: &str, times: Vec<u64>| {
        assert!(
            times.is_sorted(),
            "{name}: the clock went back\n{}",
            case.text
        );
    };
    times("samples", rows.samples.iter().map(|s| s.time_us).collect());
    times("links", rows.links.iter().map(|l| l.time_us).collect());
}

/// Each message once, numbered without gaps, none answered before it was sent.
fn messages(case: &Case, messages: &[Message]) {
    let mut ids: BTreeMap<(u64, bool), Vec<u64>> = BTreeMap::new();
    for message in messages {
        let key = (message.channel, message.direction == Direction::Up);
        ids.entry(key).or_default().push(message.id);
        match (message.acked_us, message.delay_us) {
            (Some(acked), Some(delay)) => {
                assert_eq!(message.sent_us + delay, acked, "{message:?}\n{}", case.text);
            }
            (None, None) => {}
            _ => panic!("half answered: {message:?}\n{}", case.text),
        }
    }
    for (key, mut ids) in ids {
        ids.sort_unstable();
        let expected: Vec<u64> = (0..ids.len() as u64).collect();
        assert_eq!(ids, expected, "messages of {key:?}\n{}", case.text);
    }
}

/// Each packet that entered a link left it, was dropped for a reason, or is inside.
fn packets(case: &Case, scenario: &Scenario, packets: &[Packet]) {
    let mut links: BTreeMap<(String, bool), Vec<&Packet>> = BTreeMap::new();
    for packet in packets {
        let key = (packet.path.to_string(), packet.direction == Direction::Up);
        links.entry(key).or_default().push(packet);
        assert!(
            packet
                .delivered_ns
                .is_none_or(|at| at >= packet.enqueued_ns),
            "{packet:?}\n{}",
            case.text
        );
        assert!(
            packet.delivered_ns.is_none() || packet.dropped.is_none(),
            "{packet:?}\n{}",
            case.text
        );
    }
    for ((name, up), packets) in links {
        let path = scenario.paths.iter().find(|p| p.name.as_str() == name);
        let path = path.expect("a path of the scenario");
        let link = if up { &path.up } else { &path.down };
        let distinct: BTreeSet<u64> = packets.iter().map(|p| p.id).collect();
        let place = format!("{name}, up: {up}\n{}", case.text);
        assert_eq!(
            distinct.last().copied(),
            Some(distinct.len() as u64 - 1),
            "a packet is missing on {place}"
        );
        if link.duplicate.is_none() {
            assert_eq!(distinct.len(), packets.len(), "a packet twice on {place}");
        }
        let mut by_id = packets.clone();
        by_id.sort_by_key(|p| p.id);
        assert!(
            by_id.is_sorted_by_key(|p| p.enqueued_ns),
            "packets entered out of order on {place}"
        );
        if link.reorder.is_none() && link.duplicate.is_none() && path.changes.is_empty() {
            let delivered: Vec<u64> = by_id.iter().filter_map(|p| p.delivered_ns).collect();
            assert!(
                delivered.is_sorted(),
                "packets overtook each other on {place}"
            );
        }
    }
}
