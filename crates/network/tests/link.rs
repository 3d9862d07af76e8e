//! What holds for every link, whatever its stages and whenever it is polled.

use model::scenario::Scenario;
use model::units::BitRate;
use model::{PathIndex, Seed, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use walkabout_network::link::queue::{Codel, DropTail, Queue};
use walkabout_network::link::{Exit, Link, Packet, Rate, Stage, Timeline, list};
use walkabout_network::topology::{Traces, build};
use walkabout_network::trace::{OPPORTUNITY, Opportunities, Trace};

/// Packets as (microseconds after the one before, bytes).
fn packets() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let gap = prop_oneof![4 => Just(0), 4 => 1..2_000_u64, 1 => 2_000..500_000_u64];
    prop::collection::vec((gap, 40..1500_usize), 1..200)
}

fn maybe(line: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), line]
}

/// One direction's keys, as a scenario has them.
fn link() -> impl Strategy<Value = String> {
    let rate = prop_oneof![
        Just(String::new()),
        (50..50_000_u32).prop_map(|kbps| format!("rate = \"{kbps} kbit/s\"\n")),
        Just("trace = \"a.trace\"\n".to_owned()),
    ];
    (
        rate,
        (0..100_000_u32).prop_map(|us| format!("delay = \"{us} us\"\n")),
        maybe((0..20_u32).prop_map(|ms| format!("jitter = \"{ms} ms\"\n"))),
        maybe((0..40_u32).prop_map(|p| format!("loss = \"{p} %\"\n"))),
        maybe(Just(
            "burst = { enter = 0.05, leave = 0.3, loss = 0.8 }\n".to_owned(),
        )),
        maybe(
            (1..30_u32)
                .prop_map(|ms| format!("reorder = {{ probability = 0.1, hold = \"{ms} ms\" }}\n")),
        ),
        maybe(Just("duplicate = 0.1\n".to_owned())),
        (prop::bool::ANY, 1..100_u32).prop_map(|(codel, kib)| {
            let kind = if codel { "codel" } else { "drop-tail" };
            format!("queue = {{ kind = \"{kind}\", limit = \"{kib} KiB\" }}\n")
        }),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| [a, b, c, d, e, f, g, h].concat())
}

/// A scenario with one path, whose uplink has changes and failures, and perhaps a walk.
fn scenario() -> impl Strategy<Value = Scenario> {
    let change = (
        0..400_u32,
        maybe(
            prop_oneof![Just(0), 0..20_000_u32]
                .prop_map(|kbps| format!("rate = \"{kbps} kbit/s\"\n")),
        ),
        maybe((0..80_u32).prop_map(|ms| format!("delay = \"{ms} ms\"\n"))),
        maybe((0..50_u32).prop_map(|p| format!("loss = \"{p} %\"\n"))),
        maybe(prop::bool::ANY.prop_map(|up| format!("up = {up}\n"))),
    )
        .prop_map(|(ms, a, b, c, d)| format!("[[path.change]]\nat = \"{ms} ms\"\n{a}{b}{c}{d}"));
    let failure = (
        prop::sample::select(vec!["silent-loss", "carrier-loss", "interface-down"]),
        0..400_u32,
        maybe((1..200_u32).prop_map(|ms| format!("duration = \"{ms} ms\"\n"))),
    )
        .prop_map(|(kind, ms, duration)| {
            format!("[[failure]]\npath = \"a\"\nkind = \"{kind}\"\nat = \"{ms} ms\"\n{duration}")
        });
    let walk = maybe((1..90_u32, 1..90_u32).prop_map(|(from, to)| {
        format!(
            "[path.walk]\nwaypoints = [{{ at = \"0 s\", distance_m = {from} }}, \
                 {{ at = \"1 s\", distance_m = {to} }}]\n"
        )
    }));
    let changes = prop::collection::vec(change, 0..4);
    let failures = prop::collection::vec(failure, 0..2);
    (link(), changes, failures, walk).prop_map(|(link, changes, failures, walk)| {
        let traced = link.contains("trace");
        let changes = changes.concat();
        let kept = |line: &&str| !(traced && line.starts_with("rate"));
        let mut changes: Vec<&str> = changes.lines().filter(kept).collect();
        if !traced {
            // So that nothing stands still in the end.
            changes.push("[[path.change]]\nat = \"500 ms\"\nrate = \"1 Mbit/s\"");
        }
        let text = format!(
            "name = \"x\"\nsummary = \"x\"\nduration = \"1 s\"\ntransports = []\npolicies = []\n\
             [traffic.ping]\n[[path]]\nname = \"a\"\nkind = \"wifi\"\ndown = {{ delay = \"0 ms\" }}\n\
             [path.up]\n{link}{}\n{}{}",
            changes.join("\n"),
            if traced { "" } else { &walk },
            failures.concat(),
        );
        toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    })
}

fn up(scenario: &Scenario, seed: u64) -> Link<()> {
    let trace = Trace::parse("0\n1\n1\n2\n9\n15\n").expect("a valid trace");
    let traces: Traces = BTreeMap::from([(PathBuf::from("a.trace"), trace)]);
    let links = build(scenario, PathIndex(0), Seed(seed), &traces);
    links.expect("a link").up
}

fn sent(packets: &[(u64, usize)]) -> Vec<(Time, Packet<()>)> {
    let mut micros = 0;
    let numbered = packets.iter().zip(0..);
    numbered
        .map(|(&(gap, size), id)| {
            micros += gap;
            let payload = ();
            (Time::from_micros(micros), Packet { id, size, payload })
        })
        .collect()
}

/// The exits under a clock that wakes up at every instant at which something is due.
fn exact(mut link: Link<()>, sent: &[(Time, Packet<()>)]) -> Vec<Exit<()>> {
    let mut exits = Vec::new();
    let mut drain = |link: &mut Link<()>, until: Time| {
        while let Some(at) = link.poll_at().filter(|&at| at <= until) {
            while let Some(exit) = link.poll(at) {
                assert_eq!(exit.at(), at, "an exit at another time than announced");
                exits.push(exit);
            }
        }
    };
    for (at, packet) in sent {
        drain(&mut link, *at);
        link.push(*at, packet.clone());
    }
    drain(&mut link, Time::MAX);
    exits
}

/// The exits when the driver polls only when `awake`, and looks at the state now and then.
fn late(mut link: Link<()>, sent: &[(Time, Packet<()>)], awake: &[u8]) -> Vec<Exit<()>> {
    let mut exits = Vec::new();
    for ((at, packet), awake) in sent.iter().zip(awake.iter().cycle()) {
        match awake % 4 {
            0 => exits.extend(std::iter::from_fn(|| link.poll(*at))),
            1 => exits.extend(link.poll(*at)),
            2 => drop(link.state(*at)),
            _ => {}
        }
        link.push(*at, packet.clone());
    }
    exits.extend(std::iter::from_fn(|| link.poll(Time::MAX)));
    exits
}

proptest! {
    #[test]
    fn late_wake_ups_give_the_exits_of_an_exact_clock(
        scenario in scenario(),
        packets in packets(),
        awake in prop::collection::vec(0..8_u8, 1..20),
        seed in 0..1000_u64,
    ) {
        let sent = sent(&packets);
        let exits = exact(up(&scenario, seed), &sent);
        prop_assert_eq!(&exits, &late(up(&scenario, seed), &sent, &awake));
        prop_assert!(exits.is_sorted_by_key(Exit::at));
        for exit in &exits {
            prop_assert!(exit.at() >= sent[exit.packet().id as usize].0, "before it was sent");
            if let Exit::Dropped { reason, .. } = exit {
                prop_assert!(list::STAGES.iter().any(|stage| stage.name == *reason));
            }
        }
    }

    #[test]
    fn every_packet_exits_once(scenario in scenario(), packets in packets()) {
        let sent = sent(&packets);
        let mut ids: Vec<u64> =
            exact(up(&scenario, 7), &sent).iter().map(|exit| exit.packet().id).collect();
        ids.sort_unstable();
        if scenario.paths[0].up.duplicate.is_some() {
            let most = ids.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
            prop_assert!(most <= Some(2));
            ids.dedup();
        }
        prop_assert_eq!(ids, (0..sent.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn order_is_kept_without_reorder(mut scenario in scenario(), packets in packets()) {
        scenario.paths[0].up.reorder = None;
        let delivered: Vec<u64> = exact(up(&scenario, 3), &sent(&packets))
            .iter()
            .filter(|exit| matches!(exit, Exit::Delivered { .. }))
            .map(|exit| exit.packet().id)
            .collect();
        prop_assert!(delivered.is_sorted());
    }

    #[test]
    fn the_rate_is_never_exceeded(
        packets in packets(),
        steps in prop::collection::vec((0..300_u64, 1..30_000_u64), 1..5),
        codel in prop::bool::ANY,
    ) {
        let kbps = |kbps| Some(BitRate::from_bits_per_second(kbps * 1000));
        let changes = steps.iter().map(|&(ms, rate)| (Time::from_millis(ms), kbps(rate)));
        let rate = Timeline::new(kbps(steps[0].1), changes);
        let queue: Queue<()> =
            if codel { Codel::new(100_000).into() } else { DropTail::new(100_000).into() };
        let link = Link::new(vec![Stage::Rate(Rate::constant(queue, rate.clone()))]);
        let delivered = delivered(&exact(link, &sent(&packets)));
        for (first, &(from, _)) in delivered.iter().enumerate() {
            let mut bits = 0;
            for &(to, size) in &delivered[first + 1..] {
                bits += size as u128 * 8_000_000_000;
                prop_assert!(bits <= capacity(&rate, from, to), "from {from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn a_trace_is_never_exceeded(packets in packets(), trace in trace()) {
        let opportunities = Opportunities::new(trace.clone());
        let stage = Rate::trace(DropTail::new(100_000), opportunities);
        let delivered = delivered(&exact(Link::new(vec![Stage::Rate(stage)]), &sent(&packets)));
        let text = trace.to_string();
        let times: Vec<u64> = text.lines().map(|line| line.parse().expect("a number")).collect();
        let length = times[times.len() - 1];
        let until = |at: Time| {
            let millis = at.as_micros() / 1000;
            let whole = (millis / length) as usize * times.len();
            whole + times.iter().filter(|t| **t <= millis % length).count()
        };
        for (first, &(from, _)) in delivered.iter().enumerate() {
            let mut bytes = 0;
            for &(to, size) in &delivered[first + 1..] {
                bytes += size;
                // The first packet may have left bytes of its own opportunity to the next, or
                // shared its millisecond with others.
                let same = times.iter().filter(|t| (from.as_micros() / 1000) % length == **t % length);
                let most = (until(to) - until(from) + same.count()) * OPPORTUNITY;
                prop_assert!(bytes <= most, "{bytes} > {most} from {from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn a_lone_packet_takes_its_serialisation_and_the_delay(
        size in 40..9000_usize, kbps in 1..1_000_000_u64, delay in 0..1_000_000_u64, at in 0..1_000_000_u64,
    ) {
        let text = format!(
            "name = \"x\"\nsummary = \"x\"\nduration = \"1 s\"\ntransports = []\npolicies = []\n\
             [traffic.ping]\n[[path]]\nname = \"a\"\nkind = \"wifi\"\ndown = {{ delay = \"0 ms\" }}\n\
             up = {{ rate = \"{kbps} kbit/s\", delay = \"{delay} us\" }}\n"
        );
        let scenario: Scenario = toml::from_str(&text).expect("valid");
        let packet = Packet { id: 0, size, payload: () };
        let exits = exact(up(&scenario, 0), &[(Time::from_micros(at), packet)]);
        let nanos = (at + delay) * 1000 + (size as u64 * 8 * 1_000_000).div_ceil(kbps);
        prop_assert_eq!(exits.len(), 1);
        prop_assert_eq!(exits[0].at(), Time::from_nanos(nanos));
    }

    #[test]
    fn a_trace_is_read_back_as_written(trace in trace()) {
        prop_assert_eq!(Trace::parse(&trace.to_string()), Ok(trace));
    }

    #[test]
    fn any_text_is_a_trace_or_an_error(text in "[0-9 \n.a-]{0,40}") {
        if let Ok(trace) = Trace::parse(&text) {
            prop_assert!(trace.length_ms() > 0);
        }
    }
}

fn trace() -> impl Strategy<Value = Trace> {
    let gaps = prop::collection::vec(prop_oneof![Just(0), 0..20_u64], 1..30);
    gaps.prop_map(|gaps| {
        let mut now = 0;
        let mut text = String::new();
        for gap in gaps {
            now += gap;
            text += &format!("{now}\n");
        }
        Trace::parse(&(text + &format!("{}\n", now + 1))).expect("it increases")
    })
}

fn delivered(exits: &[Exit<()>]) -> Vec<(Time, usize)> {
    let delivered = |exit: &Exit<()>| match exit {
        Exit::Delivered { packet, at } => Some((*at, packet.size)),
        Exit::Dropped { .. } => None,
    };
    exits.iter().filter_map(delivered).collect()
}

/// Bits times nanoseconds per second that `rate` allows between two instants.
fn capacity(rate: &Timeline<Option<BitRate>>, mut from: Time, to: Time) -> u128 {
    let mut capacity = 0;
    while from < to {
        let end = rate.next(from).map_or(to, |(at, _)| at.min(to));
        let bps = rate.at(from).expect("limited").bits_per_second();
        capacity += u128::from(bps) * (end - from).as_nanos();
        from = end;
    }
    capacity
}
