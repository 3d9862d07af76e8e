//! Random scenarios, as a user would write them.

use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Write;

/// A scenario, and how it is run.
#[derive(Clone, Debug)]
pub struct Case {
    pub text: String,
    pub transport: &'static str,
    pub policy: &'static str,
    pub seed: u64,
}

const NAMES: [&str; 3] = ["wifi", "cellular", "ethernet"];

/// A key that is sometimes absent.
fn maybe(lines: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), lines]
}

fn link() -> impl Strategy<Value = String> {
    let rate = maybe((500..50_000_u32).prop_map(|kbit| format!("rate = \"{kbit} kbit/s\"\n")));
    let delay = (100..150_000_u32).prop_map(|us| format!("delay = \"{us} us\"\n"));
    let jitter = maybe((10..5_000_u32).prop_map(|us| format!("jitter = \"{us} us\"\n")));
    let loss = maybe((1..500_u32).prop_map(|n| format!("loss = {}\n", f64::from(n) / 10_000.0)));
    let burst = maybe(Just(
        "burst = { enter = \"1 %\", leave = \"30 %\", loss = \"50 %\" }\n".to_owned(),
    ));
    let reorder = maybe((1..30_u32, 1..20_u32).prop_map(|(p, ms)| {
        format!("reorder = {{ probability = \"{p} %\", hold = \"{ms} ms\" }}\n")
    }));
    let duplicate = maybe((1..50_u32).prop_map(|p| format!("duplicate = \"{p} %\"\n")));
    let queue = maybe(
        (select(&["drop-tail", "codel"][..]), 8..512_u32).prop_map(|(kind, kib)| {
            format!("queue = {{ kind = \"{kind}\", limit = \"{kib} KiB\" }}\n")
        }),
    );
    (rate, delay, jitter, loss, burst, reorder, duplicate, queue).prop_map(
        |(rate, delay, jitter, loss, burst, reorder, duplicate, queue)| {
            [rate, delay, jitter, loss, burst, reorder, duplicate, queue].concat()
        },
    )
}

/// When, in milliseconds, and the change then.
fn change() -> impl Strategy<Value = (u32, String)> {
    let what = prop_oneof![
        (100..20_000_u32).prop_map(|kbit| format!("rate = \"{kbit} kbit/s\"")),
        (1..200_u32).prop_map(|ms| format!("delay = \"{ms} ms\"")),
        (0..20_u32).prop_map(|p| format!("loss = \"{p} %\"")),
        any::<bool>().prop_map(|up| format!("up = {up}")),
    ];
    (500..8_000_u32, what)
}

fn changes() -> impl Strategy<Value = String> {
    prop::collection::vec(change(), 0..3).prop_map(|mut changes| {
        changes.sort_by_key(|(at, _)| *at);
        let lines = changes.iter();
        let lines = lines.map(|(at, what)| format!("[[path.change]]\nat = \"{at} ms\"\n{what}\n"));
        lines.collect()
    })
}

/// Away from an access point, out of reach or not.
fn walk() -> impl Strategy<Value = String> {
    (1..20_u32, 20..90_u32, 0..6_u32).prop_map(|(near, far, shadowing_db)| {
        format!(
            "[path.walk]\nsignal_at_1m_dbm = -30.0\npath_loss_exponent = 3.0\n\
             shadowing_db = {shadowing_db}.0\ncorrelation_m = 10.0\n\
             waypoints = [{{ at = \"0 s\", distance_m = {near} }}, \
             {{ at = \"9 s\", distance_m = {far} }}]\n"
        )
    })
}

fn path() -> impl Strategy<Value = String> {
    (link(), link(), maybe(walk()), changes()).prop_map(|(up, down, walk, changes)| {
        // A walk scales a rate, so there has to be one.
        let best = |link: &str| match walk.is_empty() || link.contains("rate = ") {
            true => "",
            false => "rate = \"30 Mbit/s\"\n",
        };
        // It also sets what a change may set.
        let over_time = if walk.is_empty() {
            changes
        } else {
            walk.clone()
        };
        format!(
            "[path.up]\n{}{up}[path.down]\n{}{down}{over_time}",
            best(&up),
            best(&down)
        )
    })
}

/// The path and whether hosts see it, and the failure.
fn failure(paths: usize) -> impl Strategy<Value = (usize, bool, String)> {
    let kinds = select(
        &[
            "silent-loss",
            "carrier-loss",
            "interface-down",
            "address-withdrawn",
        ][..],
    );
    let direction = select(&["", "direction = \"up\"\n", "direction = \"down\"\n"][..]);
    let duration = maybe((50..5_000_u32).prop_map(|ms| format!("duration = \"{ms} ms\"\n")));
    (0..paths, kinds, direction, 500..8_000_u32, duration).prop_map(
        |(path, kind, direction, at, duration)| {
            let visible = kind != "silent-loss";
            let direction = if visible { "" } else { direction };
            let text = format!(
                "[[failure]]\npath = \"{}\"\nkind = \"{kind}\"\nat = \"{at} ms\"\n{direction}{duration}",
                NAMES[path]
            );
            (path, visible, text)
        },
    )
}

fn traffic() -> impl Strategy<Value = String> {
    prop_oneof![
        (9..20_000_u32, 10..500_u32).prop_map(|(bytes, ms)| format!(
            "[traffic.interactive]\nchunk_size = \"{bytes} B\"\nperiod = \"{ms} ms\"\n"
        )),
        (1..40_u32, 9..50_000_u32).prop_map(|(count, bytes)| format!(
            "[traffic.ping]\ncount = {count}\nsize = \"{bytes} B\"\n"
        )),
        (9..2_000_000_u32).prop_map(|bytes| format!("[traffic.bulk]\nsize = \"{bytes} B\"\n")),
    ]
}

/// A transport, its congestion controller and, of Multipath TCP, its scheduler.
fn stack() -> impl Strategy<Value = (&'static str, &'static str, Option<&'static str>)> {
    let controllers = policy::congestion::list::CONTROLLERS.iter().map(|c| c.name);
    let controllers: Vec<&'static str> = controllers.collect();
    let schedulers = policy::scheduler::list::SCHEDULERS.iter().map(|s| s.name);
    let schedulers: Vec<&'static str> = schedulers.collect();
    prop_oneof![
        (
            select(&["quic", "mpquic", "mpquic"][..]),
            select(&["cubic", "reno"][..]),
            Just(None)
        ),
        (
            select(&["tcp", "mptcp", "mptcp", "mptcp"][..]),
            select(controllers),
            prop::option::of(select(schedulers))
        ),
    ]
}

/// One to three paths, up to three failures, any traffic, any transport under any policy.
pub fn scenario() -> impl Strategy<Value = Case> {
    let policies: Vec<&'static str> = policy::list::MANAGERS.iter().map(|m| m.name).collect();
    (1..=3_usize).prop_flat_map(move |count| {
        (
            prop::collection::vec(path(), count),
            prop::collection::vec(failure(count), 0..4),
            traffic(),
            9..12_u32,
            stack(),
            select(policies.clone()),
            select(&["ipv4", "ipv6"][..]),
            any::<u64>(),
        )
            .prop_map(
                |(paths, failures, traffic, seconds, stack, policy, family, seed)| {
                    let (transport, congestion, scheduler) = stack;
                    let scheduler = scheduler
                        .map_or_else(String::new, |name| format!("scheduler = \"{name}\"\n"));
                    let mut text = format!(
                        "name = \"random\"\nsummary = \"random\"\nduration = \"{seconds} s\"\n\
                         transports = [\"{transport}\"]\npolicies = [\"{policy}\"]\n\
                         congestion = \"{congestion}\"\nfamily = \"{family}\"\n{scheduler}{traffic}"
                    );
                    for (name, path) in NAMES.iter().zip(paths) {
                        let _ = write!(
                            text,
                            "[[path]]\nname = \"{name}\"\nkind = \"{name}\"\n{path}"
                        );
                    }
                    // One that hosts see must be repaired before the next: at most one a path.
                    let mut seen = [false; NAMES.len()];
                    for (path, visible, failure) in failures {
                        if !visible || !std::mem::replace(&mut seen[path], true) {
                            text.push_str(&failure);
                        }
                    }
                    Case {
                        text,
                        transport,
                        policy,
                        seed,
                    }
                },
            )
    })
}
