//! What does a user read who made a mistake in a scenario? Each kind of mistake once, as one
//! edit of a valid file.

use proptest::prelude::*;
use walkabout_model::Side;
use walkabout_model::scenario::{Document, Names, Oracle, Scenario, ScenarioError, Setting};
use walkabout_model::units::Probability;

const VALID: &str = r#"name = "mine"
summary = "One line"
duration = "30 s"
transports = ["tcp", "mptcp"]
policies = ["backup"]

[traffic.interactive]
chunk_size = "2000 B"
period = "100 ms"
ack_size = "9 B"

[[path]]
name = "wifi"
kind = "wifi"
[path.up]
rate = "30 Mbit/s"
delay = "10 ms"
[path.down]
rate = "30 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", limit = "256 KiB" }
[path.walk]
waypoints = [
    { at = "0 s", distance_m = 3 },
    { at = "20 s", distance_m = 60 },
]

[[path]]
name = "cellular"
kind = "cellular"
[path.up]
rate = "10 Mbit/s"
delay = "30 ms"
[path.down]
rate = "20 Mbit/s"
delay = "30 ms"
loss = 0.01
[[path.change]]
at = "5 s"
rate = "5 Mbit/s"
[[path.change]]
at = "6 s"
direction = "up"
rate = "1 Mbit/s"

[[failure]]
path = "wifi"
kind = "silent-loss"
direction = "up"
at = { from = "10 s", to = "10.1 s" }
duration = "5 s"
"#;

/// The error after replacing the first `from` by `to`.
fn error(from: &str, to: &str) -> ScenarioError {
    assert!(VALID.contains(from), "`{from}` is not in the valid file");
    match Document::parse(&VALID.replacen(from, to, 1), "mine.toml") {
        Ok(_) => panic!("`{from}` -> `{to}` was accepted"),
        Err(error) => error,
    }
}

/// What was written, the message, and the key, for each edit.
fn messages(edits: &[(&str, &str)]) -> String {
    edits
        .iter()
        .map(|(from, to)| {
            let error = error(from, to);
            let edit = match to.is_empty() {
                true => format!("(without) {from}"),
                false => (*to).to_owned(),
            };
            let edit = edit.trim_end().replace('\n', "\\n");
            format!("{edit}\n    {error}\n    key: {}\n", error.key)
        })
        .collect()
}

/// A file snapshot without the edits repeated in its header.
macro_rules! snapshot {
    ($text:expr) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($text) })
    };
}

#[test]
fn the_unedited_file_is_valid() {
    let scenario = Scenario::parse(VALID, "mine.toml").unwrap();
    assert_eq!(scenario.check(), Ok(()));
}

#[test]
fn syntax() {
    snapshot!(messages(&[
        ("\"One line\"", "\"One line"),
        ("duration = ", "duration : "),
        ("[path.up]", "[path.up"),
        (
            "period = \"100 ms\"",
            "period = \"100 ms\"\nperiod = \"1 s\""
        ),
        ("[path.down]", "[path.up]"),
    ]));
    let text = format!("{VALID}[path]\nname = \"third\"\n");
    let error = Document::parse(&text, "mine.toml").unwrap_err();
    insta::assert_snapshot!(error, @r#"mine.toml:52:2: not valid TOML: duplicate key"#);
}

#[test]
fn unknown_and_missing_keys() {
    snapshot!(messages(&[
        ("delay = \"10 ms\"", "dealy = \"10 ms\""),
        ("summary", "sumary"),
        ("name = \"wifi\"", "name = \"wifi\"\ncolour = \"blue\""),
        ("[path.up]", "[path.upp]"),
        ("period", "perod"),
        ("[traffic.interactive]", "[traffic.interactiv]"),
        ("limit", "size"),
        ("distance_m", "distance"),
        ("to = ", "until = "),
        ("[[failure]]", "[[failures]]"),
        ("name = \"mine\"\n", ""),
        ("delay = \"10 ms\"\n", ""),
        ("kind = \"cellular\"\n", ""),
        (", distance_m = 60", ""),
        (", to = \"10.1 s\"", ""),
    ]));
}

#[test]
fn wrong_units_and_types() {
    snapshot!(messages(&[
        ("delay = \"10 ms\"", "delay = \"-10 ms\""),
        ("delay = \"10 ms\"", "delay = 10"),
        ("delay = \"10 ms\"", "delay = \"10\""),
        ("duration = \"30 s\"", "duration = \"30 Mbit/s\""),
        ("duration = \"30 s\"", "duration = \"99999999999 min\""),
        ("rate = \"30 Mbit/s\"", "rate = \"30 MB\""),
        ("limit = \"256 KiB\"", "limit = 262144"),
        ("loss = 0.01", "loss = 1.5"),
        ("loss = 0.01", "loss = 2"),
        ("loss = 0.01", "loss = \"101 %\""),
        ("loss = 0.01", "loss = nan"),
        ("loss = 0.01", "loss = true"),
        ("at = { from = \"10 s\", to = \"10.1 s\" }", "at = \"-1 s\""),
        ("at = { from = \"10 s\", to = \"10.1 s\" }", "at = 10"),
        ("from = \"10 s\"", "from = \"-10 s\""),
        ("kind = \"silent-loss\"", "kind = \"silent-los\""),
        ("kind = \"wifi\"", "kind = \"bluetooth\""),
        ("direction = \"up\"", "direction = \"both\""),
        ("kind = \"drop-tail\"", "kind = \"fifo\""),
        ("transports = [\"tcp\", \"mptcp\"]", "transports = \"tcp\""),
        ("transports = [\"tcp\", \"mptcp\"]", "transports = [1]"),
        ("distance_m = 60", "distance_m = \"60 m\""),
        (
            "[traffic.interactive]\n",
            "[traffic.ping]\n[traffic.interactive]\n"
        ),
        ("[traffic.interactive]", "[traffic]"),
        ("[[failure]]", "[failure]"),
    ]));
    let (head, rest) = VALID.split_once("[traffic.interactive]").unwrap();
    let (_, paths) = rest.split_once("[[path]]").unwrap();
    let text = format!("{head}traffic = \"ping\"\n[[path]]{paths}");
    let error = Document::parse(&text, "mine.toml").unwrap_err();
    insta::assert_snapshot!(error, @r#"mine.toml:7:11: `traffic`: one pattern, written as a table such as [traffic.interactive], [traffic.bursts], [traffic.iperf] or [traffic.bulk], was expected"#);
}

#[test]
fn impossible_values() {
    snapshot!(messages(&[
        ("name = \"mine\"", "name = \"../mine\""),
        ("name = \"mine\"", "name = \"\""),
        ("summary = \"One line\"", "summary = \"Two\\nlines\""),
        ("duration = \"30 s\"", "duration = \"0 s\""),
        ("transports = [\"tcp\", \"mptcp\"]", "transports = []"),
        ("policies = [\"backup\"]", "policies = []"),
        (
            "transports = [\"tcp\", \"mptcp\"]",
            "transports = [\"tcp\", \"tcp\"]"
        ),
        ("chunk_size = \"2000 B\"", "chunk_size = \"8 B\""),
        ("ack_size = \"9 B\"", "ack_size = \"0 B\""),
        ("period = \"100 ms\"", "period = \"0 ms\""),
        ("rate = \"30 Mbit/s\"", "rate = \"0 Mbit/s\""),
        ("limit = \"256 KiB\"", "limit = \"1 KiB\""),
        (
            "loss = 0.01",
            "burst = { enter = 0.1, leave = 0, loss = 1 }"
        ),
        (
            "loss = 0.01",
            "reorder = { probability = 0.1, hold = \"0 s\" }"
        ),
        ("loss = 0.01", "trace = \"lte.mahimahi\""),
        ("name = \"cellular\"", "name = \"wifi\""),
        ("name = \"cellular\"", "name = \"lo\""),
        ("name = \"cellular\"", "name = \"mobile network\""),
        ("name = \"cellular\"", "name = \"cellular-network\""),
        ("at = \"5 s\"", "at = \"7 s\""),
        ("at = \"6 s\"", "at = \"30 s\""),
        (
            "direction = \"up\"\nrate = \"1 Mbit/s\"",
            "direction = \"up\""
        ),
        ("rate = \"20 Mbit/s\"", "trace = \"lte.mahimahi\""),
        (
            "[path.walk]",
            "[[path.change]]\nat = \"5 s\"\nrate = \"1 Mbit/s\"\n[path.walk]"
        ),
        (
            "[path.walk]",
            "[[path.change]]\nat = \"5 s\"\nloss = 0.5\n[path.walk]"
        ),
        ("rate = \"30 Mbit/s\"", "trace = \"wifi.mahimahi\""),
        ("rate = \"30 Mbit/s\"\n", ""),
        ("at = \"20 s\"", "at = \"0 s\""),
        ("distance_m = 60", "distance_m = 0.5"),
        ("distance_m = 60", "distance_m = nan"),
        ("[path.walk]", "[path.walk]\nsignal_at_1m_dbm = 300"),
        ("[path.walk]", "[path.walk]\nshadowing_db = -3.0"),
        ("path = \"wifi\"", "path = \"wfi\""),
        ("kind = \"silent-loss\"", "kind = \"carrier-loss\""),
        ("to = \"10.1 s\"", "to = \"9.9 s\""),
        ("to = \"10.1 s\"", "to = \"31 s\""),
        ("at = { from = \"10 s\", to = \"10.1 s\" }", "at = \"30 s\""),
        ("duration = \"5 s\"", "duration = \"0 s\""),
    ]));
}

#[test]
fn the_number_of_paths_and_overlapping_failures() {
    let (head, paths) = VALID.split_once("[[path]]").unwrap();
    let none = Document::parse(&format!("path = []\n{head}"), "mine.toml");
    insta::assert_snapshot!(none.unwrap_err(), @r#"mine.toml:1:8: `path`: no path; describe at least one, each under a [[path]] of its own"#);

    let cellular = "[[path]]".to_owned() + paths.split("[[path]]").last().unwrap();
    let cellular = cellular.split("[[failure]]").next().unwrap();
    let many: String = (0..9)
        .map(|i| cellular.replacen("cellular", &format!("path{i}"), 1))
        .collect();
    let many = Document::parse(&format!("{head}{many}"), "mine.toml");
    insta::assert_snapshot!(many.unwrap_err(), @r#"mine.toml:156:1: `path[8]`: 9 paths; at most 8 are possible"#);

    let failure = |at: &str| {
        format!(
            "[[failure]]\npath = \"cellular\"\nkind = \"carrier-loss\"\nat = \"{at}\"\nduration = \"2 s\"\n"
        )
    };
    let apart = format!("{VALID}{}{}", failure("3 s"), failure("5 s"));
    assert!(Document::parse(&apart, "mine.toml").is_ok());
    let overlapping = format!("{VALID}{}{}", failure("3 s"), failure("4 s"));
    let overlapping = Document::parse(&overlapping, "mine.toml");
    insta::assert_snapshot!(overlapping.unwrap_err(), @r#"mine.toml:60:6: `at` in [[failure]]: an earlier [[failure]] of the interface `cellular` may last into this one; one must be repaired before the next"#);
}

#[test]
fn other_patterns() {
    let with = |pattern: &str| {
        let (head, rest) = VALID.split_once("[traffic.interactive]").unwrap();
        let (_, paths) = rest.split_once("[[path]]").unwrap();
        Scenario::parse(&format!("{head}{pattern}\n[[path]]{paths}"), "mine.toml")
    };
    let traffic = |text: &str| with(text).unwrap().traffic;
    assert_eq!(traffic("[traffic.ping]").name(), "ping");
    assert_eq!(traffic("[traffic.bulk]\nsize = \"1 MB\"").name(), "bulk");
    let wrong = |text: &str| with(text).unwrap_err().to_string();
    insta::assert_snapshot!(wrong("[traffic.ping]\ncount = 0"), @r#"mine.toml:8:9: `count` in [traffic.ping]: at least 1 request was expected"#);
    insta::assert_snapshot!(wrong("[traffic.ping]\ncount = -1"), @r#"mine.toml:8:9: `count` in [traffic.ping]: found integer `-1`, expected a whole number of zero or more"#);
    insta::assert_snapshot!(wrong("[traffic.ping]\nsize = \"0 B\""), @r#"mine.toml:8:8: `size` in [traffic.ping]: at least `1 B` was expected"#);
    insta::assert_snapshot!(wrong("[traffic.bulk]\nsize = \"0 B\""), @r#"mine.toml:8:8: `size` in [traffic.bulk]: at least `1 B` was expected"#);
}

#[test]
fn names_are_checked_against_lists_of_others() {
    let document = Document::parse(VALID, "mine.toml").unwrap();
    let known = Names {
        transports: &["mptcp", "tcp"],
        policies: &["backup", "single"],
        schedulers: &["blest", "linux-default"],
    };
    assert_eq!(document.check_names(&known), Ok(()));
    let error = document.check_names(&Names {
        transports: &["tcp", "quic"],
        ..known
    });
    insta::assert_snapshot!(error.unwrap_err(), @r#"mine.toml:4:22: `transports[1]`: unknown transport `mptcp`; expected one of tcp, quic"#);
    let error = document.check_names(&Names {
        policies: &["backups", "single"],
        ..known
    });
    insta::assert_snapshot!(error.unwrap_err(), @r#"mine.toml:5:13: `policies[0]`: unknown policy `backup`; expected one of backups, single (did you mean `backups`?)"#);
    let error = document.scenario().check_names(&Names {
        policies: &[],
        ..known
    });
    insta::assert_snapshot!(error.unwrap_err(), @r#"`policies[0]`: unknown policy `backup`; nothing is expected there"#);

    let line = "scheduler = \"blast\"\nduration";
    let document = Document::parse(&VALID.replacen("duration", line, 1), "mine.toml").unwrap();
    insta::assert_snapshot!(document.check_names(&known).unwrap_err(), @"mine.toml:3:13: `scheduler`: unknown scheduler `blast`; expected one of blest, linux-default (did you mean `blest`?)");
    let set = Setting::read("scheduler=linux", "--set").unwrap();
    let document = Document::parse_with(VALID, "mine.toml", &[set]).unwrap();
    insta::assert_snapshot!(document.check_names(&known).unwrap_err(), @"--set: with `scheduler` = `linux`, mine.toml: `scheduler`: unknown scheduler `linux`; expected one of blest, linux-default");
}

#[test]
fn the_server_may_have_a_scheduler_of_its_own() {
    let known = Names {
        transports: &["mptcp", "tcp"],
        policies: &["backup", "single"],
        schedulers: &["client-priority", "follow"],
    };
    let with = |lines: &str| {
        let text = VALID.replacen("duration", &format!("{lines}duration"), 1);
        Document::parse(&text, "mine.toml").unwrap()
    };
    let both = "scheduler = \"client-priority\"\nserver_scheduler = \"follow\"\n";
    let cases = [
        ("", None, None),
        ("scheduler = \"follow\"\n", Some("follow"), Some("follow")),
        ("server_scheduler = \"follow\"\n", None, Some("follow")),
        (both, Some("client-priority"), Some("follow")),
    ];
    for (lines, client, server) in cases {
        let document = with(lines);
        assert_eq!(document.check_names(&known), Ok(()));
        let scenario = document.scenario();
        assert_eq!(scenario.scheduler_of(Side::Client), client, "{lines}");
        assert_eq!(scenario.scheduler_of(Side::Server), server, "{lines}");
    }
    let wrong = with("server_scheduler = \"folow\"\n").check_names(&known);
    insta::assert_snapshot!(wrong.unwrap_err(), @"mine.toml:3:20: `server_scheduler`: unknown scheduler `folow`; expected one of client-priority, follow (did you mean `follow`?)");
}

#[test]
fn the_oracles_parameters_make_sense() {
    let with = |table: &str| {
        let text = VALID.replacen("[traffic", &format!("{table}\n[traffic"), 1);
        Scenario::parse(&text, "mine.toml")
    };
    assert_eq!(with("").unwrap().oracle, None);
    assert_eq!(with("[oracle]").unwrap().oracle, Some(Oracle::default()));
    let fast = with(
        "[oracle]\nperiod = \"100 ms\"\nloss_threshold = \"10 %\"\n[oracle.tail_loss]\nenabled = true",
    );
    let fast = fast.unwrap().oracle.unwrap();
    assert_eq!(fast.period.to_string(), "100 ms");
    assert!(fast.tail_loss.enabled && fast.rates);
    assert_eq!(fast.hysteresis, Oracle::default().hysteresis);
    for (table, words) in [
        (
            "[oracle]\nperiod = \"0 s\"",
            "`period` in [oracle]: no time at all; give",
        ),
        (
            "[oracle.tail_loss]\nperiod = \"0 s\"",
            "`period` in [oracle.tail_loss]: no time",
        ),
        (
            "[oracle]\nloss_threshold = \"0 %\"",
            "every path reaches a rate of 0",
        ),
        (
            "[oracle]\nalpha = 0",
            "`alpha` in [oracle]: with a weight of 0 nothing",
        ),
        ("[oracle]\nalpha = 1.5", "`1.5` is not a probability"),
        (
            "[oracle.tail_loss]\nleave_after = -1.0",
            "`-1` is no number of round-trip times",
        ),
        (
            "[oracle.tail_loss]\nopen_after = nan",
            "`NaN` is no number of round-trip times",
        ),
        (
            "[oracle.hysteresis]\nhold = \"2 min\"",
            "`120 s` is longer than `longest_hold`",
        ),
        (
            "[oracle]\nthreshold = \"10 %\"",
            "unknown key `threshold` in [oracle]",
        ),
    ] {
        let message = with(table).unwrap_err().message;
        assert!(message.contains(words), "{table}: {message}");
    }
    let mut oracle = Oracle::default();
    assert_eq!(oracle.check(), Ok(()));
    oracle.alpha = Probability::ZERO;
    assert_eq!(oracle.check().unwrap_err().key, "oracle.alpha");
}

#[test]
fn an_error_is_json() {
    let error = error("delay = \"10 ms\"", "delay = \"-10 ms\"");
    insta::assert_snapshot!(serde_json::to_string_pretty(&error).unwrap(), @r#"
    {
      "file": "mine.toml",
      "line": 17,
      "column": 9,
      "key": "path[0].up.delay",
      "message": "`delay` in [path.up]: `-10 ms` is not a time of zero or more, such as `500 us`, `20 ms`, `1.5 s` or `2 min`"
    }
    "#);
}

#[test]
fn a_changed_scenario_is_checked_without_its_text() {
    let mut scenario = Scenario::parse(VALID, "mine.toml").unwrap();
    scenario.transports.clear();
    let error = scenario.check().unwrap_err();
    assert_eq!((error.line, error.file.as_str()), (None, ""));
    insta::assert_snapshot!(error, @r#"`transports`: the list is empty; name at least one"#);
}

proptest! {
    /// Whatever is lost from a file or slipped into it, the answer is a scenario or an error
    /// within the file, never a panic.
    #[test]
    fn damaged_files(at in 0..VALID.len(), lost in 0..40_usize, slipped in "[ -~µ\n]{0,8}") {
        let end = (at + lost).min(VALID.len());
        let text = format!("{}{slipped}{}", &VALID[..at], &VALID[end..]);
        if let Err(error) = Document::parse(&text, "mine.toml") {
            let (line, column) = (error.line.unwrap(), error.column.unwrap());
            let length = text.split('\n').nth(line - 1).unwrap().chars().count();
            prop_assert!(column <= length + 1, "{}", error);
            prop_assert!(!error.message.is_empty());
        }
    }
}

#[test]
fn impossible_traffic_and_backgrounds() {
    let with = |traffic: &str| {
        let (head, rest) = VALID.split_once("[traffic.interactive]").unwrap();
        let (_, paths) = rest.split_once("[[path]]").unwrap();
        let text = format!("{head}{traffic}\n[[path]]{paths}");
        Document::parse(&text, "mine.toml")
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(with("[traffic.bursts]\n[background]"), Ok(()));
    let errors: Vec<String> = [
        "[traffic.bursts]\nwrite_max = \"20 B\"",
        "[traffic.bursts]\ncount = 0",
        "[traffic.request]\nresponse_size = \"8 B\"",
        "[traffic.radio]\nbitrate = \"0 bit/s\"",
        "[traffic.radio]\n[background]\nperiod = \"0 s\"",
        "[traffic.radio]\n[background]\nperoid = \"1 s\"",
        "[traffic.with-background]\nmain = { ping = {} }\nbackground = {}",
    ]
    .into_iter()
    .map(|traffic| with(traffic).unwrap_err())
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
