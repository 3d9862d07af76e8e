//! Does a study expand into the runs it says, in an order that is random and yet reproducible?

use std::collections::BTreeSet;
use std::path::Path;
use walkabout_model::World;
use walkabout_model::scenario::{ScenarioError, builtin as scenarios};
use walkabout_model::study::builtin::{STUDIES, find};
use walkabout_model::study::{Document, Folders, Plan, ScenarioText, Seeds, Stack};

const STACKS: [Stack<'static>; 5] = [
    stack("mpquic", true),
    stack("mptcp", true),
    stack("mptcp-user", true),
    stack("quic", false),
    stack("tcp", false),
];

const POLICIES: [&str; 6] = [
    "apple-interactive",
    "backup",
    "break-before-make",
    "fullmesh",
    "multimob",
    "single",
];

const SCHEDULERS: [&str; 5] = [
    "blest",
    "client-priority",
    "follow",
    "linux-default",
    "lowest-rtt",
];

const fn stack(name: &'static str, multipath: bool) -> Stack<'static> {
    Stack { name, multipath }
}

fn texts(document: &Document) -> Vec<ScenarioText> {
    let names = document.study().scenarios.iter();
    names
        .map(|name| ScenarioText {
            text: scenarios::find(name).expect("built in").to_owned(),
            source: name.clone(),
            command: name.clone(),
        })
        .collect()
}

fn plan(text: &str) -> Result<(Document, Plan), String> {
    let text = format!("name = \"mine\"\nsummary = \"One line\"\n{text}");
    let document = Document::parse(&text, "mine.toml").map_err(|e| e.to_string())?;
    let plan = plan_of(&document);
    plan.map(|plan| (document, plan)).map_err(|e| e.to_string())
}

fn plan_of(document: &Document) -> Result<Plan, ScenarioError> {
    let texts = texts(document);
    Plan::of(document, &texts, &STACKS, &POLICIES, &SCHEDULERS)
}

#[test]
fn the_built_in_ones_are_valid_and_called_like_their_files() {
    let listed: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
    assert!(listed.is_sorted());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|stem| !stem.ends_with(".paper"))
        .collect();
    assert!(listed.iter().copied().eq(files.iter().map(String::as_str)));
    for name in listed {
        let document = Document::parse(find(name).unwrap(), name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(document.study().name, name);
        let plan = plan_of(&document).unwrap_or_else(|e| panic!("{name}: {e}"));
        if name.starts_with("kernel-") {
            // There is no kernel in virtual time.
            assert_eq!(document.study().world, World::Emulated, "{name}");
            assert!(plan.arms.iter().all(|arm| arm.transport == "mptcp"));
            assert_eq!((plan.arms.len(), plan.runs.len()), (7, 630));
            continue;
        }
        assert_eq!(document.study().world, World::Virtual, "{name}");
        if name.starts_with("multimob-") {
            assert_eq!(document.study().paper, Some(format!("{name}.paper.toml")));
            continue;
        }
        assert_eq!(plan.arms.len(), 10);
        assert_eq!(plan.arms[plan.baseline].label, "quic");
        let runs = if name == "handover" { 7_000 } else { 2_000 };
        assert_eq!(plan.runs.len(), runs);
    }
    assert_eq!(find("no-such-study"), None);
}

#[test]
fn what_is_left_out_has_defaults() {
    let (document, plan) = plan("scenarios = [\"steady\"]").unwrap();
    let study = document.study();
    assert_eq!(study.world, World::Virtual);
    assert_eq!(
        study.seeds,
        Seeds {
            from: 1,
            count: 100
        }
    );
    assert_eq!(
        (study.primary.as_str(), study.folders),
        ("delay-max", Folders::None)
    );
    assert_eq!((study.order_seed, study.a_a), (1, false));
    // The scenario's transports and policies.
    let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "tcp",
            "mptcp-fullmesh",
            "mptcp-backup",
            "mptcp-apple-interactive",
            "mptcp-break-before-make",
            "quic",
            "mpquic-fullmesh",
            "mpquic-backup",
            "mpquic-apple-interactive",
            "mpquic-break-before-make"
        ]
    );
    assert_eq!(plan.baseline, 0);
}

const NAMED: &str = r#"
scenarios = ["blackhole", "steady"]
seeds = 2

[[arm]]
name = "plain"
transport = "quic"

[[arm]]
name = "fast"
transport = "mptcp-user"
policy = "backup"
set = { scheduler = "lowest-rtt", "path.cellular.delay" = "5 ms", "oracle.period" = "100 ms" }

[[arm]]
name = "kernel"
transport = "mptcp"
policy = "backup"
world = "emulated"

[[parameter]]
name = "wifi-delay"
key = "path.wifi.delay"
values = ["10 ms", "20 ms"]
"#;

#[test]
fn named_arms_have_settings_of_their_own() {
    let (_, plan) = plan(NAMED).unwrap();
    let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
    assert_eq!(labels, ["plain", "fast"], "the third is of another world");
    assert_eq!((plan.cases.len(), plan.runs.len()), (4, 4 * 2 * 2));
    assert_eq!((plan.arms[0].policy.as_str(), plan.baseline), ("single", 0));
    for case in 0..4 {
        let [plain, fast] = [0, 1].map(|arm| plan.scenario(case, arm));
        let delay = |s: &walkabout_model::Scenario, path: usize| s.paths[path].up.delay.to_string();
        let of_case = ["10 ms", "20 ms"][case % 2];
        assert_eq!(
            (delay(plain, 0).as_str(), delay(plain, 1).as_str()),
            (of_case, "30 ms")
        );
        assert_eq!(
            (delay(fast, 0).as_str(), delay(fast, 1).as_str()),
            (of_case, "5 ms")
        );
        assert_eq!(
            (plain.scheduler.as_deref(), fast.scheduler.as_deref()),
            (None, Some("lowest-rtt"))
        );
    }
    let (_, plan) = self::plan(&format!("world = \"emulated\"\n{NAMED}")).unwrap();
    let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
    assert_eq!(labels, ["plain", "fast", "kernel"]);
}

#[test]
fn mistakes_in_named_arms_have_their_line() {
    let cases = [
        (
            "seeds = 2",
            "seeds = 2\npolicies = [\"backup\"]",
            "the study names its arms",
        ),
        (
            "name = \"fast\"",
            "name = \"plain\"",
            "another arm is called `plain`",
        ),
        (
            "policy = \"backup\"\nset",
            "set",
            "`mptcp-user` uses several paths; `policy` was expected",
        ),
        (
            "transport = \"quic\"",
            "transport = \"quic\"\npolicy = \"backup\"",
            "`quic` uses one path",
        ),
        (
            "\"lowest-rtt\"",
            "\"lowest-rt\"",
            "unknown scheduler `lowest-rt`",
        ),
        (
            "path.cellular.delay\" =",
            "path.cellular.dealy\" =",
            "(did you mean `delay`?)",
        ),
        (
            "path.cellular.delay\" =",
            "path.wifi.delay\" =",
            "`path.wifi.delay` is varied by a parameter",
        ),
        ("world = \"emulated\"", "world = \"nowhere\"", "nowhere"),
    ];
    for (right, wrong, words) in cases {
        let text = NAMED.replacen(right, wrong, 1);
        assert_ne!(text, NAMED, "{right}");
        let error = plan(&text).map(|_| ()).unwrap_err();
        assert!(error.contains(words), "{wrong}: {error}");
        assert!(error.starts_with("mine.toml:"), "{error}");
    }
    let only = "scenarios = [\"steady\"]\n[[arm]]\nname = \"k\"\ntransport = \"mptcp\"\npolicy = \"backup\"\nworld = \"emulated\"\n";
    let error = plan(only).map(|_| ()).unwrap_err();
    assert!(
        error.contains("no arm takes part in the virtual world"),
        "{error}"
    );
}

#[test]
fn every_combination_is_a_case_and_every_arm_is_in_every_block() {
    let (document, plan) = plan(
        r#"
        scenarios = ["blackhole", "steady"]
        transports = ["quic", "mpquic"]
        policies = ["backup"]
        seeds = { from = 10, count = 7 }
        [[parameter]]
        name = "delay"
        key = "path.cellular.delay"
        values = ["30 ms", "60 ms", "90 ms"]
        [[parameter]]
        name = "period"
        key = "traffic.interactive.period"
        values = ["100 ms", "20 ms"]
        "#,
    )
    .unwrap();
    assert_eq!(plan.cases.len(), 2 * 3 * 2);
    assert_eq!(plan.cases[3].label(), "blackhole delay=60 ms, period=20 ms");
    assert_eq!(
        plan.cases[3].scenario.paths[1].down.delay.to_string(),
        "60 ms"
    );
    assert_eq!(plan.blocks(document.study()), 12 * 7);
    assert_eq!(plan.runs.len(), 12 * 7 * 2);
    let keys = plan.runs.iter().map(|r| (r.case, r.seed, r.arm, r.replica));
    assert!(
        keys.clone().is_sorted_by(|a, b| a < b),
        "the order of tables"
    );
    assert!(keys.clone().all(|(_, seed, ..)| (10..17).contains(&seed)));

    let mut order = plan.order.clone();
    assert!(!order.is_sorted());
    for round in order.chunks(12 * 2) {
        let cases: BTreeSet<usize> = round.iter().map(|&i| plan.runs[i].case).collect();
        assert_eq!(cases.len(), 12, "a round has a block of every case");
        for block in round.chunks(2) {
            let [a, b] = [plan.runs[block[0]], plan.runs[block[1]]];
            assert_eq!((a.case, a.seed), (b.case, b.seed));
            assert_ne!(a.arm, b.arm);
        }
    }
    order.sort_unstable();
    assert!(order.into_iter().eq(0..plan.runs.len()), "each once");
}

#[test]
fn the_order_follows_its_seed_alone() {
    let text = "scenarios = [\"blackhole\", \"steady\"]\nseeds = 5\n";
    let order = |more: &str| plan(&format!("{text}{more}")).unwrap().1.order;
    assert_eq!(order(""), order("order-seed = 1"));
    assert_eq!(
        order("order-seed = 2"),
        order("order-seed = 2\nfolders = \"all\"")
    );
    assert_ne!(order("order-seed = 1"), order("order-seed = 2"));
}

#[test]
fn the_copies_of_an_a_a_study_share_no_seed() {
    let (document, plan) = plan(
        "scenarios = [\"steady\"]\ntransports = [\"quic\"]\nseeds = { from = 5, count = 3 }\n\
         a-a = true",
    )
    .unwrap();
    let seeds: Vec<(u64, u64)> = plan.runs.iter().map(|r| (r.replica, r.seed)).collect();
    assert_eq!(seeds, [(0, 5), (1, 8), (0, 6), (1, 9), (0, 7), (1, 10)]);
    assert_eq!(plan.blocks(document.study()), 3);
    for block in plan.order.chunks(2) {
        let [a, b] = [plan.runs[block[0]], plan.runs[block[1]]];
        assert_eq!(a.seed.abs_diff(b.seed), 3, "the copies stand together");
    }
}

#[test]
fn mistakes_are_told_with_their_line() {
    let cases = [
        (
            "scenarios = []",
            "mine.toml:3:13: `scenarios`: the list is empty",
        ),
        ("scenarios = [\"walk\"]\nseeds = -1", "`seeds`: "),
        (
            "scenarios = [\"walk\"]\nseeds = 9000000",
            "are more than 1000000",
        ),
        (
            "scenarios = [\"walk\"]\nseeds = { from = 9007199254740992, count = 1 }",
            "(2^53)",
        ),
        (
            "scenarios = [\"walk\"]\nbaseline = \"mptcp-single\"",
            "mine.toml:4:12: `mptcp-single` takes no part",
        ),
        (
            "scenarios = [\"walk\"]\nworld = \"real\"",
            "expected one of virtual, emulated",
        ),
        (
            "scenarios = [\"walk\"]\nfolders = \"some\"",
            "expected one of none, failed, all",
        ),
        (
            "scenarios = [\"walk\"]\n[[parameter]]\nname = \"s\"\nkey = \"scheduler\"\n\
             values = [\"blest\", \"blast\"]",
            "mine.toml:7:20: with `scheduler` = `blast`, walk: `scheduler`: unknown scheduler \
             `blast`; expected one of blest, client-priority, follow, linux-default, lowest-rtt (did you mean `blest`?)",
        ),
        (
            "scenarios = [\"walk\"]\nparameter = 3",
            "`parameter`: found integer `3`, expected a list",
        ),
        (
            "scenarios = [\"walk\"]\n[[parameter]]\nname = \"a b\"\nkey = \"duration\"\nvalues = [1]",
            "`a b` is no name",
        ),
        (
            "scenarios = [\"walk\"]\n[[parameter]]\nname = \"a\"\nvalues = [1]",
            "missing key `key` in [[parameter]]",
        ),
        (
            "scenarios = [\"steady\", \"walk\"]\n[[parameter]]\nname = \"d\"\nkey = \"duration\"\n\
             values = [\"200 s\", \"70 s\"]",
            "mine.toml:7:20: with `duration` = `70 s`, walk: ",
        ),
        (
            "scenarios = [\"walk\", \"steady\"]\n[[parameter]]\nname = \"at\"\n\
             key = \"failure.0.at\"\nvalues = [\"70 s\"]",
            "with `failure.0.at` = `70 s`, steady: ",
        ),
    ];
    for (text, words) in cases {
        let error = plan(text).map(|_| ()).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}
