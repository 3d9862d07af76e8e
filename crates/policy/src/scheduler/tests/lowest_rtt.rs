//! The reference scheduler, and what those share that build on it.

use super::*;

#[test]
fn the_fastest_subflow_with_room_takes_as_much_as_it_has_room_for() {
    let [wifi, cell] = [subflow(0, 20), subflow(1, 60)];
    let unmeasured = Subflow {
        smoothed_rtt: None,
        ..subflow(2, 0)
    };
    let cases: &[Choice<'_>] = &[
        ("the fastest", &[wifi, cell], Some(0)),
        (
            "whatever its number",
            &[subflow(0, 60), subflow(1, 20)],
            Some(1),
        ),
        ("room comes first", &[wifi.full(), cell], Some(1)),
        ("no room, no data", &[wifi.full(), cell.full()], None),
        ("the unmeasured comes last", &[cell, unmeasured], Some(1)),
        ("but does come", &[cell.full(), unmeasured], Some(2)),
        ("of equals the first", &[wifi, subflow(1, 20)], Some(0)),
        ("none, none", &[], None),
    ];
    for (why, subflows, expected) in cases {
        assert_eq!(next("lowest-rtt", subflows), *expected, "{why}");
    }

    let mut scheduler = scheduler("lowest-rtt");
    let mut ask = |room: u64, unsent: u64, send_window: u64| {
        let subflows = [Subflow {
            window_room: room,
            ..wifi.holding(MSS)
        }];
        scheduler.next(&View {
            unsent,
            send_window,
            ..view(&subflows)
        })
    };
    assert_eq!(ask(9_000, 50_000, 50_000), assignment(&[0], 9_000));
    assert_eq!(
        ask(9_500, 50_000, 50_000),
        assignment(&[0], 9_000),
        "whole segments"
    );
    assert_eq!(
        ask(9_000, 1_300, 50_000),
        assignment(&[0], 1_300),
        "what there is"
    );
    assert_eq!(
        ask(9_000, 50_000, 700),
        assignment(&[0], 700),
        "what the peer takes"
    );
    assert_eq!(
        ask(999, 50_000, 50_000),
        None,
        "less than a segment is no room"
    );
    assert_eq!(
        ask(999, 500, 50_000),
        assignment(&[0], 500),
        "unless it is enough"
    );
    assert_eq!(ask(9_000, 0, 50_000), None);
    assert_eq!(ask(9_000, 50_000, 0), None);
}

#[test]
fn backups_serve_only_when_every_regular_subflow_has_failed() {
    let [wifi, cell] = [subflow(0, 20), subflow(1, 60)];
    let third = subflow(2, 30);
    let busy = |s: Subflow| s.failed().holding(MSS);
    let cases: &[Choice<'_>] = &[
        (
            "a full window is no failure",
            &[wifi.full(), cell.backup()],
            None,
        ),
        ("failed", &[busy(wifi), cell.backup()], Some(1)),
        ("stale", &[wifi.stale().full(), cell.backup()], Some(1)),
        (
            "a faster backup waits all the same",
            &[subflow(0, 20).backup(), cell],
            Some(1),
        ),
        (
            "one regular subflow works",
            &[busy(wifi), third.full(), cell.backup()],
            None,
        ),
        (
            "a failed one with room is left out",
            &[busy(wifi), third],
            Some(2),
        ),
        ("only backups", &[wifi.backup(), cell.backup()], Some(0)),
        (
            "all failed, all busy: acknowledgements decide",
            &[busy(wifi), busy(cell.backup())],
            None,
        ),
        (
            "all failed: one without anything outstanding may try",
            &[busy(wifi), cell.failed()],
            Some(1),
        ),
        (
            "first the regular one",
            &[subflow(0, 10).backup().failed(), cell.failed()],
            Some(1),
        ),
        (
            "then the backup",
            &[busy(wifi), cell.backup().failed()],
            Some(1),
        ),
        (
            "what works goes first",
            &[wifi.failed(), cell.backup()],
            Some(1),
        ),
        ("alone, it is TCP", &[busy(wifi)], Some(0)),
    ];
    for (why, subflows, expected) in cases {
        // These spread over two backups alike.
        for name in ["round-robin", "redundant"] {
            if *why != "only backups" {
                assert_eq!(next(name, subflows), *expected, "{name}: {why}");
            }
        }
        for name in ["lowest-rtt", "blest", "ecf"] {
            assert_eq!(next(name, subflows), *expected, "{name}: {why}");
        }
    }
}

#[test]
fn what_is_overdue_failed_or_homeless_goes_to_the_fastest_that_does_not_carry_it() {
    let [wifi, cell, third] = [subflow(0, 20), subflow(1, 60), subflow(2, 30)];
    let busy = wifi.failed().holding(MSS);
    for occasion in [
        Occasion::Timeout,
        Occasion::SubflowFailed,
        Occasion::SubflowClosed,
    ] {
        let cases: &[Move<'_>] = &[
            (occasion, &[busy, cell, third], &[0], Some(2)),
            (occasion, &[busy, cell, third], &[0, 2], Some(1)),
            (occasion, &[busy, cell, third.full()], &[0], Some(1)),
            // Later, when there is room.
            (occasion, &[busy, cell.full()], &[0], None),
            // Nowhere else to go.
            (occasion, &[busy], &[0], None),
            (occasion, &[busy, cell.backup()], &[0], Some(1)),
            // No backup while a regular one works.
            (occasion, &[wifi.full(), cell.backup()], &[0], None),
            // Homeless: anywhere rather than nowhere.
            (occasion, &[wifi, cell], &[], Some(0)),
            (occasion, &[wifi.failed()], &[], Some(0)),
        ];
        for (occasion, subflows, carriers, expected) in cases {
            for name in ["lowest-rtt", "blest", "ecf"] {
                let chosen = again(name, *occasion, subflows, carriers);
                assert_eq!(chosen, *expected, "{name}, {occasion:?}, {subflows:?}");
            }
        }
    }
}

#[test]
fn a_carrier_gets_a_piece_again_only_after_a_timeout_and_when_it_delivered_everything() {
    let [wifi, cell] = [subflow(0, 20), subflow(1, 60)];
    for entry in list::SCHEDULERS {
        let name = entry.name;
        let timeout = |subflows: &[Subflow], carriers: &[usize]| {
            again(name, Occasion::Timeout, subflows, carriers)
        };
        assert_eq!(timeout(&[wifi], &[0]), Some(0), "{name}");
        assert_eq!(timeout(&[wifi.holding(MSS)], &[0]), None, "{name}");
        assert_eq!(
            timeout(&[wifi, cell.holding(MSS)], &[0, 1]),
            Some(0),
            "{name}"
        );
        let failed = again(name, Occasion::SubflowFailed, &[wifi], &[0]);
        assert_eq!(failed, None, "{name}");
    }
}

#[test]
fn a_blocked_window_is_opened_by_the_fastest_and_the_slow_holder_pays_once_a_round_trip() {
    let [wifi, cell] = [subflow(0, 20), subflow(1, 60).holding(3 * MSS)];
    let penalised = |index| {
        Some(Reinjection {
            penalised: Some(SubflowId::new(index)),
            ..onto(0).expect("some")
        })
    };
    let mut scheduler = scheduler("lowest-rtt");
    let mut ask = |now, subflows: &[Subflow], carriers: &[usize]| {
        let view = View {
            now: at(now),
            send_window: 0,
            ..view(subflows)
        };
        scheduler.reinject(&view, Occasion::WindowBlocked, &piece(carriers))
    };
    assert_eq!(ask(1_000, &[wifi, cell], &[1]), penalised(1));
    assert_eq!(
        ask(1_059, &[wifi, cell], &[1]),
        onto(0),
        "within its round trip"
    );
    assert_eq!(
        ask(1_060, &[wifi, cell], &[1]),
        penalised(1),
        "a round trip later"
    );
    assert_eq!(
        ask(2_000, &[wifi, cell], &[0]),
        None,
        "the fastest carries it"
    );
    assert_eq!(
        ask(2_000, &[wifi.full(), cell], &[1]),
        None,
        "the fastest with room carries it"
    );
    let repairing = Subflow {
        retransmitting: true,
        ..cell
    };
    assert_eq!(
        ask(2_000, &[wifi, repairing], &[1]),
        onto(0),
        "its window shrank already"
    );
    let slowest = subflow(2, 100).full();
    assert_eq!(
        ask(2_000, &[wifi, cell, slowest], &[1, 2]),
        penalised(2),
        "the slowest holder"
    );
    assert_eq!(
        ask(2_000, &[wifi.full(), cell, slowest], &[2]),
        onto(1),
        "that one was penalised just now"
    );
    let younger = Subflow {
        established: at(2_010),
        ..cell
    };
    assert_eq!(
        ask(2_020, &[wifi, younger], &[1]),
        penalised(1),
        "another of that number"
    );
    let faster = Subflow {
        smoothed_rtt: Some(ms(10)),
        ..cell.full()
    };
    assert_eq!(
        ask(3_000, &[wifi, faster], &[1]),
        onto(0),
        "who is faster is not to blame"
    );
}

#[test]
fn by_default_the_connection_waits_for_the_longest_timeout_of_those_that_work() {
    let [wifi, cell] = [subflow(0, 20), subflow(1, 60)];
    let failed = Subflow {
        rto: ms(6_000),
        ..wifi.failed().holding(MSS)
    };
    let cases: &[(&str, &[Subflow], u64)] = &[
        ("nothing outstanding", &[wifi, cell], 200),
        ("the one that waits", &[wifi.holding(MSS), cell], 220),
        ("the longest", &[wifi.holding(MSS), cell.holding(MSS)], 260),
        (
            "a failed one does not hold it up",
            &[failed, cell.holding(MSS)],
            260,
        ),
        ("unless there is no other", &[failed, cell], 6_000),
        ("none", &[], 200),
    ];
    for (why, subflows, expected) in cases {
        let timeout = scheduler("lowest-rtt").retransmission_timeout(&view(subflows));
        assert_eq!(timeout, ms(*expected), "{why}");
    }
}
