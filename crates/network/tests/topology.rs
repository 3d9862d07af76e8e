//! What a scenario's changes and failures do to its links, shown by a packet every 100 ms in each
//! direction: `+` delivered, or the first letter of the drop's reason.

use model::scenario::Scenario;
use model::{PathIndex, Seed, Time};
use std::collections::BTreeMap;
use std::path::PathBuf;
use walkabout_network::link::{Exit, Link, Packet};
use walkabout_network::topology::{PathLinks, TopologyError, Traces, build};
use walkabout_network::trace::Trace;

fn scenario(rest: &str) -> Scenario {
    let text = format!(
        "name = \"x\"\nsummary = \"x\"\nduration = \"2 s\"\ntransports = []\npolicies = []\n\
         [traffic.ping]\n{rest}"
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const WIFI: &str = r#"
[[path]]
name = "wifi"
kind = "wifi"
up = { rate = "10 Mbit/s", delay = "20 ms" }
down = { rate = "10 Mbit/s", delay = "20 ms" }
"#;
const CELLULAR: &str = r#"
[[path]]
name = "cellular"
kind = "cellular"
up = { delay = "60 ms" }
down = { delay = "60 ms" }
"#;

fn links(scenario: &Scenario, path: usize) -> PathLinks<()> {
    build(scenario, PathIndex(path), Seed(1), &Traces::new()).expect("links")
}

fn fates(mut link: Link<()>) -> String {
    for id in 0..20 {
        let packet = Packet {
            id,
            size: 1250,
            payload: (),
        };
        link.push(Time::from_millis(id * 100), packet);
    }
    let exits = std::iter::from_fn(|| link.poll(Time::MAX));
    exits
        .map(|exit| match exit {
            Exit::Delivered { .. } => '+',
            Exit::Dropped { reason, .. } => reason.chars().next().unwrap_or('?'),
        })
        .collect()
}

#[test]
fn each_kind_of_failure_in_each_direction() {
    let mut table = String::new();
    for failure in [
        "kind = \"silent-loss\"",
        "kind = \"silent-loss\"\nduration = \"500 ms\"",
        "kind = \"silent-loss\"\ndirection = \"up\"",
        "kind = \"silent-loss\"\ndirection = \"down\"",
        "kind = \"carrier-loss\"\nduration = \"500 ms\"",
        "kind = \"interface-down\"\nduration = \"500 ms\"",
        "kind = \"address-withdrawn\"",
    ] {
        let text =
            format!("{WIFI}{CELLULAR}[[failure]]\npath = \"wifi\"\nat = \"750 ms\"\n{failure}\n");
        let scenario = scenario(&text);
        let wifi = links(&scenario, 0);
        let other = links(&scenario, 1);
        table += &format!(
            "up {}  down {}  {}\n",
            fates(wifi.up),
            fates(wifi.down),
            failure.replace('\n', ", ")
        );
        assert_eq!(fates(other.up), "+".repeat(20));
        assert_eq!(fates(other.down), "+".repeat(20));
    }
    insta::assert_snapshot!(table);
}

/// A quarter is lost from the onset on, in both directions, and nothing before.
#[test]
fn a_silent_loss_of_a_share() {
    let scenario = scenario(&format!(
        "{WIFI}{CELLULAR}[[failure]]\npath = \"wifi\"\nkind = \"silent-loss\"\nloss = \"25 %\"\nat = \"1 s\"\n"
    ));
    let PathLinks { up, down } = links(&scenario, 0);
    for mut link in [up, down] {
        let mut lost = [0, 0];
        for id in 0..20_000u64 {
            let at = Time::from_millis(id / 10);
            let packet = Packet {
                id,
                size: 100,
                payload: (),
            };
            link.push(at, packet);
            while let Some(exit) = link.poll(at) {
                if matches!(exit, Exit::Dropped { .. }) {
                    lost[usize::from(at >= Time::from_millis(1_000))] += 1;
                }
            }
        }
        assert_eq!(lost[0], 0);
        // Four standard deviations of a binomial with n = 10,000 and p = 0.25.
        assert!((2_326..=2_674).contains(&lost[1]), "{lost:?}");
        assert_eq!(link.state(Time::from_millis(1_500)).loss, 0.25);
    }
}

#[test]
fn the_state_follows_changes_and_failures() {
    let scenario = scenario(&format!(
        "{WIFI}[[path.change]]\nat = \"300 ms\"\ndirection = \"down\"\nrate = \"2 Mbit/s\"\nloss = \"3 %\"\n\
         [[path.change]]\nat = \"600 ms\"\ndelay = \"50 ms\"\n\
         [[path.change]]\nat = \"900 ms\"\nup = false\n\
         [[path.change]]\nat = \"1200 ms\"\nup = true\n\
         [[failure]]\npath = \"wifi\"\nkind = \"carrier-loss\"\nat = \"1 s\"\nduration = \"500 ms\"\n\
         [[failure]]\npath = \"wifi\"\nkind = \"silent-loss\"\nat = \"1700 ms\"\ndirection = \"down\"\n"
    ));
    let PathLinks { mut up, mut down } = links(&scenario, 0);
    let mut table = String::new();
    for (word, link) in [("up", &mut up), ("down", &mut down)] {
        table += &format!("{word}: changes at {:?}\n", link.changes());
        for at in [0, 300, 600, 900, 1000, 1200, 1500, 1700].map(Time::from_millis) {
            let state = link.state(at);
            let rate = state.rate.map_or("-".to_owned(), |rate| rate.to_string());
            let loss = state.loss * 100.0;
            let (delay, up) = (state.delay, state.up);
            table += &format!("{at:?} rate {rate}, delay {delay:?}, loss {loss} %, up {up}\n");
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_trace_sets_the_rate() {
    let scenario = scenario(&WIFI.replacen("rate = \"10 Mbit/s\"", "trace = \"lte.trace\"", 1));
    let trace = Trace::parse("10\n").expect("a trace");
    let traces = BTreeMap::from([(PathBuf::from("lte.trace"), trace)]);
    let mut up = build::<()>(&scenario, PathIndex(0), Seed(1), &traces)
        .expect("links")
        .up;
    assert_eq!(
        up.state(Time::ZERO).rate.map(|r| r.bits_per_second()),
        Some(1_203_200)
    );
    for id in 0..2 {
        let packet = Packet {
            id,
            size: 1500,
            payload: (),
        };
        up.push(Time::from_millis(3), packet);
    }
    let at = |exit: Exit<()>| exit.at().as_micros();
    assert_eq!(up.poll(Time::MAX).map(at), Some(30_000));
    assert_eq!(up.poll(Time::MAX).map(at), Some(40_000));
}

#[test]
fn errors_say_where_and_what_to_do() {
    let traced = WIFI.replacen("rate = \"10 Mbit/s\"", "trace = \"lte.trace\"", 1);
    let walk = "[path.walk]\nwaypoints = [{ at = \"0 s\", distance_m = 2.0 }]\n";
    let message = |text: &str, path| {
        let error: TopologyError =
            build::<()>(&scenario(text), PathIndex(path), Seed(0), &Traces::new())
                .expect_err("it can't be built");
        error.to_string()
    };
    insta::assert_snapshot!(
        [
            message(WIFI, 1),
            message(&traced, 0),
            message(&format!("{traced}{walk}"), 0),
            message(
                &format!("{traced}[[path.change]]\nat = \"1 s\"\nrate = \"1 Mbit/s\"\n"),
                0
            ),
            message(&format!("{WIFI}[path.walk]\nwaypoints = []\n"), 0),
        ]
        .join("\n")
    );
}

/// A standing queue: a burst of 100 packets, then packets at exactly the link's rate; per
/// second sent.
fn standing(kind: &str) -> String {
    let text = WIFI.replacen(
        "delay = \"20 ms\"",
        &format!("delay = \"0 ms\", queue = {{ kind = \"{kind}\", limit = \"256 KiB\" }}"),
        1,
    );
    let mut up = links(&scenario(&text), 0).up;
    let sent = |id: u64| Time::from_millis(id.saturating_sub(100));
    for id in 0..5_100 {
        let packet = Packet {
            id,
            size: 1250,
            payload: (),
        };
        up.push(sent(id), packet);
    }
    let mut windows = [(0, 0.0_f64, 0); 5];
    for exit in std::iter::from_fn(|| up.poll(Time::MAX)) {
        let sent = sent(exit.packet().id);
        let window = (sent.as_micros() / 1_000_000) as usize;
        let (delivered, longest, dropped) = &mut windows[window];
        match exit {
            Exit::Delivered { at, .. } => {
                *delivered += 1;
                *longest = longest.max((at - sent).as_secs_f64() * 1e3);
            }
            Exit::Dropped { .. } => *dropped += 1,
        }
    }
    let line = |(delivered, longest, dropped): &(i32, f64, i32)| {
        format!(
            "{kind:9} {delivered:4} delivered, {dropped:2} dropped, longest wait {longest:.1} ms\n"
        )
    };
    windows.iter().map(line).collect()
}

#[test]
fn drop_tail_keeps_a_standing_queue_and_codel_dissolves_it() {
    insta::assert_snapshot!(standing("drop-tail") + &standing("codel"));
}
