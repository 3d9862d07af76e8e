//! Do the scenarios that come along keep their promises?

use std::collections::BTreeSet;
use std::path::Path;
use walkabout_model::scenario::builtin::{SCENARIOS, find};
use walkabout_model::scenario::{Document, FailureKind, Scenario, json_schema};
use walkabout_model::{Direction, PathKind, Seed, Time};

fn load(name: &str) -> Scenario {
    let text = find(name).unwrap();
    match Document::parse(text, &format!("{name}.toml")) {
        Ok(document) => document.into_scenario(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_list_is_sorted_and_holds_every_file() {
    let listed: Vec<&str> = SCENARIOS.iter().map(|(name, _)| *name).collect();
    assert!(listed.is_sorted());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert!(listed.into_iter().eq(files.iter().map(String::as_str)));
    assert_eq!(find("no-such-scenario"), None);
}

#[test]
fn each_is_valid_and_called_like_its_file() {
    for (name, _) in SCENARIOS {
        let scenario = load(name);
        assert_eq!(scenario.name, *name);
        assert_eq!(scenario.check(), Ok(()), "{name}");
        let summary = scenario.summary.chars().count();
        assert!((20..=100).contains(&summary), "{name}: {summary} letters");
        let all = ["tcp", "mptcp", "quic", "mpquic"];
        assert!(
            scenario
                .transports
                .iter()
                .all(|t| all.contains(&t.as_str()))
        );
        assert_eq!(scenario.paths[0].kind, PathKind::Wifi, "{name}");
        assert_eq!(scenario.paths[1].kind, PathKind::Cellular, "{name}");
        assert!(scenario.path_index("cellular").is_some());
    }
}

#[test]
fn each_comes_back_from_toml_and_json_as_it_was() {
    for (name, _) in SCENARIOS {
        let scenario = load(name);
        let toml = toml::to_string(&scenario).unwrap();
        let again = Scenario::parse(&toml, "again.toml").unwrap_or_else(|e| panic!("{e}\n{toml}"));
        assert_eq!(again, scenario, "{name} through TOML");
        let json = serde_json::to_string(&scenario).unwrap();
        let again: Scenario = serde_json::from_str(&json).unwrap();
        assert_eq!(again, scenario, "{name} through JSON");
    }
}

#[test]
fn the_table_of_scenarios() {
    let table: String = SCENARIOS
        .iter()
        .map(|(name, _)| format!("{name:<22}{}\n", load(name).summary))
        .collect();
    insta::assert_snapshot!(table, @r#"
    blackhole             Wi-Fi goes silent in both directions for good: who moves to cellular, and how soon
    blackhole-down        Wi-Fi loses only what the server sends: the client hears nothing while its data arrives
    blackhole-up          Wi-Fi loses only what the client sends: the server hears nothing, and decides alone
    bufferbloat           Wi-Fi's uplink slows down and its buffer fills: nothing is lost, but round trips take seconds
    carrier-loss          The Wi-Fi interface loses its carrier for ten seconds: who moves away, and who comes back
    jitter                Delays that vary, some loss, and three silent seconds: what distributions look like
    link-down             The Wi-Fi interface goes down and its address with it: the client knows at once
    multimob              Wi-Fi goes silent for eight seconds: MultiMob's delay and cellular packets next to backup's
    multimob-bursts       Requests in bursts, as a voice application sends them; Wi-Fi turns lossy between two series
    multimob-download     A download of 20 MB whose path dies at 1.5 s: only silence can tell the client
    multimob-field-fade   Bursts of requests while the client goes to the edge of the Wi-Fi and comes back
    multimob-field-leave  Bursts of requests while the client walks out of the Wi-Fi, which its phone gives up
    multimob-field-stay   Bursts of requests while the client moves about near the access point: Wi-Fi stays good
    multimob-radio        A web radio on two walks away from the Wi-Fi and back, as MultiMob's phones were taken for
    multimob-requests     Requests, each answered; Wi-Fi dies at 5 s: what does the first request behind it wait for
    multimob-revive       A web radio whose Wi-Fi loses packets, revives for a moment, and dies: who believes in it
    multimob-walk         Bursts of requests on an 80 s walk away from the Wi-Fi, as MultiMob's phones were taken for
    steady                Nothing happens: the baseline of delay and overhead on two good paths
    walk                  Away from the Wi-Fi, onto cellular, and back: who stalls, for how long, and what it costs
    "#);
}

#[test]
fn blackholes_begin_within_one_period_of_the_traffic() {
    let directions = [
        ("blackhole", None),
        ("blackhole-up", Some(Direction::Up)),
        ("blackhole-down", Some(Direction::Down)),
    ];
    for (name, direction) in directions {
        let scenario = load(name);
        let failure = &scenario.failures[0];
        assert_eq!(failure.kind, FailureKind::SilentLoss);
        assert_eq!(failure.direction, direction);
        let onsets: BTreeSet<Time> = (0..200).map(|s| failure.onset(Seed(s), 0)).collect();
        let (first, last) = (onsets.first().unwrap(), onsets.last().unwrap());
        assert!(*first >= Time::from_millis(10_000) && *last <= Time::from_millis(10_100));
        assert!(
            *last - *first > std::time::Duration::from_millis(90),
            "{name}: spread"
        );
        assert_eq!(failure.repair(Seed(0), 0), None);
    }
}

#[test]
fn the_walk_takes_80_s_to_d_and_comes_back_at_f() {
    let scenario = load("walk");
    let failure = &scenario.failures[0];
    assert_eq!(failure.kind, FailureKind::AddressWithdrawn);
    assert_eq!(failure.onset(Seed(1), 0), Time::from_millis(80_000));
    assert_eq!(failure.repair(Seed(1), 0), Some(Time::from_millis(98_000)));
    let walk = scenario.paths[0].walk.as_ref().unwrap();
    let signal = |at: u64| {
        let point = walk.waypoints.iter().find(|w| w.at.get().as_secs() == at);
        let metres = point.unwrap().distance_m;
        walk.signal_at_1m_dbm - 10.0 * walk.path_loss_exponent * metres.log10()
    };
    assert!(signal(0) > -50.0, "strong at A");
    assert!((-74.0..-70.0).contains(&signal(52)), "weak from C");
    assert!(
        signal(80) < -82.0,
        "below the slowest modulation's need at D"
    );
    assert!(signal(98) > -80.0, "back in reach at F");
    assert!(scenario.paths[1].walk.is_none() && scenario.paths[1].changes.is_empty());
}

#[test]
fn schema() {
    let text = serde_json::to_string_pretty(&json_schema()).unwrap();
    insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!(text) });
}
