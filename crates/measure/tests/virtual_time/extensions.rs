//! Does a download go on when its path dies silently (De Coninck and Bonaventure, MultiMob, section
//! IV-e)? With the idle timer and FAST_JOIN_IN, and without.

use crate::check::{check, simulated};
use crate::random::Case;
use model::record::{EventKind, Packet};
use model::{Direction, Side};
use std::time::Duration;
use walkabout_measure::recording::Collected;

const FAILURE: Duration = Duration::from_millis(1_500);

fn case(transport: &'static str, multipath: &str) -> Case {
    let link = |delay: f64| {
        // 10 Mbit/s, a queue of a bandwidth-delay product of 25 ms.
        format!(
            "rate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = {{ kind = \"drop-tail\", limit = \"31 kB\" }}\n"
        )
    };
    let path = |name: &str, delay: f64| {
        let link = link(delay);
        format!(
            "[[path]]\nname = \"{name}\"\nkind = \"{name}\"\n[path.up]\n{link}[path.down]\n{link}"
        )
    };
    Case {
        text: format!(
            "name = \"download\"\nsummary = \"download\"\nduration = \"25 s\"\n\
             transports = [\"mptcp\"]\npolicies = [\"multimob\"]\n\
             scheduler = \"client-priority\"\nserver_scheduler = \"follow\"\n\
             [multipath]\n{multipath}\n[traffic.bulk]\nsize = \"20 MB\"\n{}{}\
             [[failure]]\npath = \"wifi\"\nkind = \"silent-loss\"\nat = \"1500 ms\"\n",
            path("wifi", 7.5),
            path("cellular", 12.5)
        ),
        transport,
        policy: "multimob",
        seed: 1,
    }
}

/// When data came to the client: on Wi-Fi last, on cellular first and last.
fn arrivals(rows: &Collected) -> (Duration, Option<(Duration, Duration)>) {
    let data = |name: &'static str| {
        let own = move |p: &&Packet| p.path.as_str() == name && p.direction == Direction::Down;
        let packets = rows.packets.iter().filter(own);
        packets
            .filter(|p| p.payload_bytes > 0)
            .filter_map(|p| p.delivered_ns.map(Duration::from_nanos))
    };
    let last = data("wifi").max().expect("data over Wi-Fi");
    let range = data("cellular").min().zip(data("cellular").max());
    (last, range)
}

/// The server's timeout as the client was told, at most: the last it had on Wi-Fi before the
/// failure.
fn server_timeout(rows: &Collected) -> Duration {
    let before = rows.samples.iter().filter(|s| {
        s.side == Side::Server
            && s.path.as_ref().is_some_and(|p| p.as_str() == "wifi")
            && u128::from(s.time_us) < FAILURE.as_micros()
    });
    let last = before.filter_map(|s| s.rto_us).next_back();
    Duration::from_micros(last.expect("a timeout"))
}

#[test]
fn a_download_goes_on_after_the_idle_time_and_a_round_trip() {
    for (keys, round_trips) in [
        ("idle_flag = true\nrto_option = true\nfast_join = true", 1),
        ("idle_flag = true", 2),
    ] {
        let case = case("mptcp", keys);
        let run = simulated(&case);
        check(&case, &run);
        let rows = &run.1;
        let (last, Some((first, end))) = arrivals(rows) else {
            panic!("nothing over cellular: {:#?}", rows.events);
        };
        let idle = match keys.contains("rto_option") {
            true => server_timeout(rows).max(Duration::from_millis(500)),
            false => Duration::from_millis(500),
        };
        let expected = idle + Duration::from_millis(25) * round_trips;
        let gap = first - last;
        let slack = Duration::from_millis(10);
        assert!(
            gap + slack > expected && gap < expected + slack,
            "{keys}: a gap of {gap:?}, expected {expected:?}: {:#?}",
            rows.events
        );
        assert!(rows.messages[0].acked_us.is_some(), "done at {end:?}");
        let told = |words: &str| {
            let mut events = rows.events.iter();
            events.any(|e| e.kind == EventKind::Note && e.detail.starts_with(words))
        };
        assert!(told("starved"));
        assert_eq!(told("opened with FAST_JOIN_IN"), round_trips == 1);
        println!("{keys:?}: gap {gap:?}, first {first:?}, end {end:?}");
    }
}

#[test]
fn without_the_idle_timer_it_stalls() {
    let case = case("mptcp", "fast_join = true");
    let run = simulated(&case);
    check(&case, &run);
    let (last, cellular) = arrivals(&run.1);
    assert!(last < FAILURE + Duration::from_millis(100));
    assert_eq!(cellular, None, "{:#?}", run.1.events);
    assert_eq!(run.1.messages[0].acked_us, None);
}

#[test]
fn a_stack_without_extensions_says_so() {
    let case = case("mpquic", "idle_flag = true\nfast_join = true");
    let (manifest, _) = simulated(&case);
    let error = manifest.error.unwrap_or_default();
    assert!(
        error.contains("[multipath] asks for idle-flag, fast-join, which the stack of `mpquic`"),
        "{error}"
    );
}
