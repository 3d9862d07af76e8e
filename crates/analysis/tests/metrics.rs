//! Is the value of each metric the one that its definition gives for a run known in every row?

mod written;

use model::manifest::{Status, Timing};
use model::record::EventKind::{FirstData, PathDown, PathOpening, PathUp};
use model::record::Sample;
use model::scenario::{Bulk, Ping, Traffic};
use model::{Direction, PathKind};
use walkabout_analysis::metric::{Unit, Value, list::METRICS};
use written::Run;

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

#[test]
fn the_list_is_sorted_and_says_what_it_means() {
    assert!(METRICS.is_sorted_by(|a, b| a.name < b.name));
    let headings: std::collections::BTreeSet<_> = METRICS.iter().map(|m| m.heading).collect();
    assert_eq!(headings.len(), METRICS.len());
    for metric in METRICS {
        assert!(metric.summary.len() > 20, "{}", metric.name);
    }
}

#[test]
fn an_empty_run_has_no_values_but_what_can_be_counted() {
    let run = Run::new("mptcp", "backup").read();
    for metric in METRICS {
        let value = (metric.of)(&run);
        match metric.name {
            "cellular-bytes" => assert_eq!(value, Some(Value::exact(0.0))),
            _ if metric.unit == Unit::Word => assert_eq!(value, Some(Value::Word("none".into()))),
            name => assert_eq!(value, None, "{name}"),
        }
    }
}

#[test]
fn delays_by_direction() {
    let run = Run::new("tcp", "single")
        .message(UP, 0, Some(20))
        .message(UP, 100, Some(140))
        .message(UP, 200, Some(1_200))
        .message(DOWN, 50, Some(80));
    assert_eq!(run.number("delay-max-up"), Some((1.0, false)));
    assert_eq!(run.number("delay-median-up"), Some((0.04, false)));
    // Rank 1.9 of 0 to 2: 0.04 + 0.9 * 0.96.
    assert_eq!(run.number("delay-p95-up"), Some((0.904, false)));
    assert_eq!(run.number("delay-max-down"), Some((0.03, false)));
    assert_eq!(run.number("delay-max"), Some((1.0, false)), "the longer");
    assert_eq!(run.number("unanswered-up"), Some((0.0, false)));
}

#[test]
fn a_stall_to_the_end_counts_with_at_least_its_length() {
    let run = Run::new("tcp", "single")
        .message(UP, 0, Some(20))
        .message(UP, 100, Some(120))
        .message(UP, 7_700, None)
        .message(UP, 19_999, None);
    assert_eq!(run.number("delay-max-up"), Some((12.3, true)));
    assert_eq!(run.number("delay-max"), Some((12.3, true)));
    assert_eq!(run.number("delay-median-up"), Some((0.02, false)));
    assert_eq!(
        run.number("delay-p95-up").map(|(_, censored)| censored),
        Some(true)
    );
    assert_eq!(run.number("unanswered-up"), Some((2.0, false)));
    assert_eq!(run.number("unanswered-down"), None);
}

#[test]
fn a_message_in_flight_at_the_end_does_not_mark_a_run_without_stalls() {
    let run = Run::new("tcp", "single")
        .message(UP, 0, Some(20))
        .message(UP, 100, Some(120))
        .message(UP, 19_990, None);
    assert_eq!(run.number("delay-max-up"), Some((0.02, false)));
    assert_eq!(run.number("unanswered-up"), Some((1.0, false)));
}

#[test]
fn the_end_is_the_applications_or_the_last_that_was_recorded() {
    let mut run = Run::new("tcp", "single").message(UP, 1_000, None).event(
        model::record::EventKind::ApplicationStop,
        "wifi",
        15_000,
    );
    assert_eq!(run.number("delay-max-up"), Some((14.0, true)));
    run.events.clear();
    run.manifest.status = Status::Incomplete;
    run = run.packet("wifi", UP, 5_990, 100, None);
    assert_eq!(run.number("delay-max-up"), Some((5.0, true)));
}

#[test]
fn cellular_bytes_as_the_meter_counts_them() {
    let mut run = Run::new("mptcp", "fullmesh")
        .packet("wifi", UP, 0, 948, None)
        .packet("cellular", UP, 1, 448, Some("drop-tail"))
        .packet("cellular", DOWN, 2, 448, None)
        .packet("cellular", DOWN, 3, 448, Some("random-loss"));
    // The uplink delivers its second packet twice.
    let twice = run.packets[1].clone();
    run.packets.push(twice);
    assert_eq!(run.number("cellular-bytes"), Some((1_000.0, false)));
    assert_eq!(run.number("cellular-share"), Some((0.5, false)));
    run.manifest.scenario.paths[1].kind = PathKind::Wifi;
    assert_eq!(run.number("cellular-bytes"), None);
}

#[test]
fn handover_by_both_definitions() {
    let run = Run::new("mptcp", "backup")
        .packet("wifi", UP, 100, 500, None)
        // A join has no payload.
        .packet("cellular", UP, 4_000, 0, None)
        .packet("cellular", UP, 5_000, 500, None)
        .packet("wifi", DOWN, 6_000, 0, None)
        .packet("wifi", DOWN, 6_500, 0, Some("blackhole"))
        .packet("wifi", UP, 7_500, 0, Some("blackhole"));
    assert_eq!(run.number("handover-sent"), Some((2.5, false)));
    assert_eq!(run.number("handover-received"), Some((1.01, false)));
}

#[test]
fn an_abrupt_handover_is_negative() {
    let run = Run::new("mptcp", "backup")
        .packet("wifi", UP, 4_000, 500, None)
        .packet("wifi", DOWN, 4_010, 0, None)
        .packet("cellular", UP, 5_000, 500, None);
    assert_eq!(run.number("handover-sent"), Some((-1.0, false)));
    assert_eq!(run.number("handover-received"), Some((-0.98, false)));
}

#[test]
fn a_handover_ends_before_the_wifi_comes_back() {
    let used_again = |run: Run| {
        run.packet("wifi", UP, 4_000, 500, None)
            .packet("cellular", UP, 5_000, 500, None)
            .packet("wifi", UP, 5_500, 0, None)
            .packet("wifi", UP, 12_000, 500, None)
    };
    let new = || Run::new("mptcp", "backup");
    let forever = used_again(new().failure(4_500, None));
    assert_eq!(forever.number("handover-sent"), Some((7.0, false)));
    let repaired = used_again(new().failure(4_500, Some(5_000)));
    assert_eq!(repaired.number("handover-sent"), Some((0.5, false)));
    let walked_back = used_again(new().wifi(0, true).wifi(6_000, false).wifi(10_000, true));
    assert_eq!(walked_back.number("handover-sent"), Some((0.5, false)));
    let noticed = used_again(
        new()
            .event(PathDown, "wifi", 6_000)
            .event(PathUp, "wifi", 9_000),
    );
    assert_eq!(noticed.number("handover-sent"), Some((0.5, false)));
    // A return before cellular was used is none of this handover.
    let earlier = used_again(new().failure(1_000, Some(500)));
    assert_eq!(earlier.number("handover-sent"), Some((7.0, false)));
}

#[test]
fn data_of_quic_are_what_the_transport_says() {
    let probed = || {
        Run::new("mpquic", "backup")
            .packet("wifi", UP, 4_000, 500, None)
            .packet("cellular", UP, 1_000, 1_200, None)
    };
    // Without the event, payload is all there is.
    assert_eq!(probed().number("handover-sent"), Some((3.0, false)));
    let told = probed()
        .event(FirstData, "wifi", 10)
        .event(FirstData, "cellular", 5_000);
    assert_eq!(told.number("handover-sent"), Some((-1.0, false)));
    // Probed, never used.
    let unused = probed().event(FirstData, "wifi", 10);
    assert_eq!(unused.number("handover-sent"), None);
    assert_eq!(unused.word("cellular-cause").as_deref(), Some("none"));
}

/// A run whose first cellular data leave at 5 s, with the client's Wi-Fi sampled before and
/// after; `before` changes the sample at 4.95 s, `after` the one at 5.05 s.
fn first_use(before: impl Fn(&mut Sample), after: impl Fn(&mut Sample)) -> Run {
    Run::new("mptcp", "backup")
        .packet("cellular", UP, 5_000, 500, None)
        .sample(0, 4_850, |_| {})
        .sample(0, 4_950, before)
        .sample(0, 5_050, after)
}

fn causes(run: &Run) -> [String; 3] {
    [
        "cellular-cause",
        "cellular-cause-timer",
        "cellular-cause-retransmission",
    ]
    .map(|name| run.word(name).unwrap())
}

#[test]
fn each_cause_of_the_first_cellular_use() {
    let rtt = first_use(|s| s.srtt_us = Some(600_001), |_| {});
    assert_eq!(causes(&rtt), ["rtt-threshold"; 3]);
    let timer = first_use(|s| s.timeouts = Some(1), |_| {});
    assert_eq!(causes(&timer), ["under-rto", "under-rto", "other"]);
    let rose = first_use(
        |s| s.retransmitted_packets = Some(4),
        |s| s.retransmitted_packets = Some(4),
    );
    assert_eq!(causes(&rose), ["under-rto", "other", "under-rto"]);
    let rto = first_use(|s| s.rto_us = Some(1_500_001), |_| {});
    assert_eq!(causes(&rto), ["rto-threshold"; 3]);
    let other = first_use(
        |s| (s.srtt_us, s.rto_us) = (Some(600_000), Some(1_500_000)),
        |s| (s.srtt_us, s.rto_us) = (Some(700_000), Some(1_600_000)),
    );
    assert_eq!(causes(&other), ["other"; 3]);
    let none = Run::new("mptcp", "backup").packet("wifi", UP, 5_000, 500, None);
    assert_eq!(causes(&none), ["none"; 3]);
    let no_cellular = {
        let mut run = none;
        run.manifest.scenario.paths.pop();
        run
    };
    assert_eq!(no_cellular.word("cellular-cause"), None);
}

#[test]
fn causes_are_tested_in_their_order() {
    let all = |s: &mut Sample| {
        (s.srtt_us, s.timeouts, s.rto_us) = (Some(700_000), Some(1), Some(2_000_000));
    };
    assert_eq!(causes(&first_use(all, |_| {}))[0], "rtt-threshold");
    let backed_off = |s: &mut Sample| (s.timeouts, s.rto_us) = (Some(3), Some(2_000_000));
    assert_eq!(
        causes(&first_use(backed_off, |_| {})),
        ["under-rto", "under-rto", "rto-threshold"]
    );
}

#[test]
fn a_timer_between_two_samples_shows_in_the_next() {
    let fired = || {
        first_use(
            |_| {},
            |s| (s.timeouts, s.retransmitted_packets) = (Some(1), Some(4)),
        )
    };
    assert_eq!(causes(&fired()), ["under-rto"; 3]);
    // Unless the host knew that the Wi-Fi was gone: then that is the cause.
    let visible = fired().event(PathDown, "wifi", 4_990);
    assert_eq!(causes(&visible), ["other"; 3]);
}

#[test]
fn what_counts_is_the_time_of_the_decision() {
    // Retransmissions rose at 4.55 s, cellular was asked for, and carried data at 5 s.
    let steady = |s: &mut Sample| s.retransmitted_packets = Some(4);
    let joined = |asked: bool| {
        let run = Run::new("mptcp", "backup")
            .packet("cellular", UP, 5_000, 500, None)
            .sample(0, 4_450, |_| {})
            .sample(0, 4_550, steady)
            .sample(0, 4_650, steady)
            .sample(0, 4_950, steady);
        match asked {
            true => run.event(PathOpening, "cellular", 4_560),
            false => run,
        }
    };
    assert_eq!(causes(&joined(true)), ["under-rto", "other", "under-rto"]);
    assert_eq!(causes(&joined(false)), ["other"; 3]);
}

#[test]
fn only_the_connection_that_went_to_cellular_counts() {
    let both = || first_use(|_| {}, |_| {}).sample(1, 4_940, |s| s.timeouts = Some(1));
    assert_eq!(causes(&both())[0], "under-rto");
    let first = both().event(FirstData, "cellular", 5_000);
    assert_eq!(causes(&first)[0], "other");
    let second = both().sample(1, 5_050, |s| s.path = Some("cellular".into()));
    assert_eq!(causes(&second)[0], "under-rto");
    let server = first_use(|_| {}, |_| {}).sample(0, 4_951, |s| {
        (s.side, s.timeouts) = (model::Side::Server, Some(1));
    });
    assert_eq!(causes(&server)[0], "other");
}

#[test]
fn completion_of_what_has_an_end() {
    let interactive = Run::new("tcp", "single").message(UP, 0, Some(20));
    assert_eq!(interactive.number("completion-time"), None);
    let mut ping = Run::new("tcp", "single")
        .message(UP, 100, Some(120))
        .message(UP, 120, Some(145));
    ping.manifest.scenario.traffic = Traffic::Ping(Ping::default());
    assert_eq!(ping.number("completion-time"), Some((0.045, false)));
    let mut bulk = Run::new("tcp", "single").message(UP, 500, None);
    bulk.manifest.scenario.traffic = Traffic::Bulk(Bulk::default());
    assert_eq!(bulk.number("completion-time"), Some((19.5, true)));
}

#[test]
fn the_longest_gap() {
    let mut run = Run::new("tcp", "single").message(UP, 0, Some(10_000));
    for at in [90, 990, 1_990, 5_990, 9_990] {
        run = run.packet("wifi", DOWN, at, 500, None);
        run = run.packet("wifi", UP, at, 500, None);
    }
    // Neither an acknowledgement nor a lost packet fills it.
    run = run.packet("wifi", DOWN, 3_000, 0, None);
    run = run.packet("wifi", UP, 3_500, 500, Some("blackhole"));
    assert_eq!(run.number("gap-longest"), Some((4.0, false)));
    let stalled = run.message(UP, 9_000, None);
    assert_eq!(stalled.number("gap-longest"), Some((10.0, true)));
    let mut bulk = Run::new("tcp", "single")
        .message(UP, 0, Some(1_000))
        .packet("wifi", UP, 0, 9, None)
        .packet("wifi", DOWN, 490, 500, None);
    bulk.manifest.scenario.traffic = Traffic::Bulk(Bulk::default());
    assert_eq!(bulk.number("gap-longest"), Some((0.5, false)));
}

#[test]
fn timing_is_as_the_manifest_says() {
    let mut run = Run::new("tcp", "single");
    run.manifest.timing = Some(Timing {
        packets: 10,
        lateness_p50_ns: 1,
        lateness_p99_ns: 2,
        lateness_max_ns: 3,
        bound_p99_ns: 500_000,
        kept: true,
    });
    assert_eq!(run.number("timing-kept"), Some((1.0, false)));
}

#[test]
fn without_packets_the_samples_tell() {
    // Wi-Fi carries data until 3 s, and cellular from 2 s on; its subflow is made anew at 4 s.
    let mut run = Run::new("mptcp", "apple-interactive")
        .message(UP, 0, Some(20))
        .message(DOWN, 1_000, Some(4_500));
    for (at, wifi, cellular) in [
        (0, 0, 0),
        (1_000, 5_000, 0),
        (2_000, 9_000, 1_000),
        (3_000, 9_500, 4_000),
        (4_000, 9_500, 700),
        (4_400, 9_500, 900),
    ] {
        for (path, bytes) in [("wifi", wifi), ("cellular", cellular)] {
            run = run.sample(0, at, |sample| {
                sample.path = Some(path.into());
                sample.sent_packets = Some(bytes / 100);
                sample.sent_bytes = Some(bytes);
                sample.received_bytes = Some(bytes.min(9_000) / 10);
            });
        }
        // The row about the connection counts the same bytes.
        run = run.sample(0, at, |sample| {
            sample.path = None;
            sample.sent_bytes = Some(wifi + cellular);
            sample.received_bytes = None;
        });
    }
    // Sent and received: 9,500 and 900 on Wi-Fi, 4,000 + 900 and a tenth of it on cellular.
    assert_eq!(run.number("cellular-bytes"), Some((5_390.0, false)));
    assert_eq!(run.number("cellular-share"), Some((0.341355, false)));
    assert_eq!(run.number("handover-sent"), Some((1.0, false)));
    assert_eq!(run.number("handover-received"), Some((0.0, false)));
    // Downwards from 3 s to 4 s; upwards the server's samples are missing.
    assert_eq!(run.number("gap-longest"), Some((1.0, false)));
    assert_eq!(run.word("cellular-cause").as_deref(), Some("other"));

    // The transport's word is more exact, for TCP as well.
    let run = run.event(FirstData, "cellular", 1_950);
    assert_eq!(run.number("handover-sent"), Some((1.05, false)));
    // What came after the Wi-Fi was back is another story.
    let run = run
        .event(PathDown, "wifi", 2_100)
        .event(PathUp, "wifi", 2_900);
    assert_eq!(run.number("handover-sent"), Some((0.05, false)));
}
