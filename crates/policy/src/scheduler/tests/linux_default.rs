//! The kernel's scheduler, against values computed by hand from its rules.

use super::*;

/// 65,536 less 108 bytes of headers.
const BURST: u64 = 65_428;

/// So much sent or queued at so many bytes a second, with room in the send buffer.
fn flow(index: usize, buffered: u64, rate: u64) -> Subflow {
    Subflow {
        pacing_rate: rate,
        buffer_room: 1_000_000,
        ..subflow(index, 20).holding(buffered)
    }
}

#[test]
fn the_least_linger_time_wins_if_its_send_buffer_has_room() {
    let [a, b] = [flow(0, 30_000, 1_000_000), flow(1, 10_000, 250_000)];
    let no_room = |s: Subflow| Subflow {
        buffer_room: 0,
        ..s
    };
    let queued = Subflow {
        queued: 20_000,
        ..a
    };
    let cases: &[Choice<'_>] = &[
        (
            "30 ms against 40 ms, congestion window or not",
            &[a, b],
            Some(0),
        ),
        (
            "50 ms against 40 ms",
            &[flow(0, 50_000, 1_000_000), b],
            Some(1),
        ),
        ("what is queued counts: 50 ms", &[queued, b], Some(1)),
        (
            "of equals the one that joined first",
            &[flow(0, 0, 1), flow(1, 0, 9)],
            Some(0),
        ),
        (
            "it is full: wait, not the next best",
            &[no_room(a), b],
            None,
        ),
        (
            "no backup beside a regular one",
            &[flow(0, 90_000, 1_000), b.backup()],
            Some(0),
        ),
        ("nor when that is full", &[no_room(a), b.backup()], None),
        ("nor when that failed", &[a.failed(), b.backup()], Some(0)),
        ("when it is stale", &[a.stale(), b.backup()], Some(1)),
        ("only backups", &[a.backup(), b.backup()], Some(0)),
        ("all stale", &[a.stale(), b.stale()], None),
        (
            "acknowledged in full: heard from",
            &[flow(0, 0, 1_000).stale(), b],
            Some(0),
        ),
        ("no rate comes last", &[flow(0, 1, 0), b], Some(1)),
        ("but comes", &[flow(0, 1, 0)], Some(0)),
        ("none", &[], None),
    ];
    for (why, subflows, expected) in cases {
        assert_eq!(next("linux-default", subflows), *expected, "{why}");
    }
    let second = Subflow {
        established: at(500),
        ..flow(0, 0, 1_000_000)
    };
    assert_eq!(
        next("linux-default", &[second, flow(1, 0, 1)]),
        Some(1),
        "joined first"
    );
}

#[test]
fn it_gives_bursts() {
    let subflows = [flow(0, 0, 1_000_000)];
    let ask = |unsent, send_window| {
        let view = View {
            unsent,
            send_window,
            ..view(&subflows)
        };
        scheduler("linux-default").next(&view).map(|a| a.bytes)
    };
    assert_eq!(ask(1_000_000, 1_000_000), Some(BURST));
    assert_eq!(ask(750, 1_000_000), Some(750));
    assert_eq!(ask(1_000_000, 3_000), Some(3_000));
    assert_eq!(ask(1_000_000, 0), None);
    assert_eq!(ask(0, 1_000), None);
    let nearly_full = [Subflow {
        buffer_room: 5_000,
        ..subflows[0]
    }];
    assert_eq!(
        scheduler("linux-default").next(&view(&nearly_full)),
        assignment(&[0], 5_000)
    );
}

#[test]
fn the_pacing_rate_is_averaged_over_what_is_buffered_and_the_burst() {
    // Subflow 1 is too slow to matter until the last question.
    let slow = |buffered| flow(1, buffered, 250_000);
    let choose = |last: u64| {
        let mut scheduler = scheduler("linux-default");
        let mut ask = |subflows: &[Subflow]| {
            let view = View {
                unsent: 1 << 20,
                send_window: 1 << 20,
                ..view(subflows)
            };
            scheduler.next(&view).map(|a| a.subflows)
        };
        // The first burst: the average is the rate, 1 MB/s.
        assert_eq!(ask(&[flow(0, 0, 1_000_000), slow(90_000)]), Some(set(&[0])));
        // The rate is 2 MB/s by now: (1e6 * 30,000 + 2e6 * 65,428) / 95,428 = 1,685,627.
        assert_eq!(
            ask(&[flow(0, 30_000, 2_000_000), slow(90_000)]),
            Some(set(&[0]))
        );
        // 100,000 bytes linger 59.325 ms, at the present rate it would be 50 ms.
        ask(&[flow(0, 100_000, 2_000_000), slow(last)])
    };
    assert_eq!(choose(14_832), Some(set(&[0])), "59.328 ms are more");
    assert_eq!(choose(14_830), Some(set(&[1])), "59.320 ms are less");
}

#[test]
fn after_a_timeout_an_idle_subflow_repeats_the_first_piece() {
    let idle = |index| subflow(index, 20);
    let busy = |index, stale_count| Subflow {
        stale_count,
        ..subflow(index, 20).holding(MSS)
    };
    let cases: &[Choice<'_>] = &[
        ("the other", &[busy(0, 1), idle(1)], Some(1)),
        ("all busy", &[busy(0, 5), busy(1, 5)], None),
        (
            "a backup not after the first round",
            &[busy(0, 1), idle(1).backup()],
            None,
        ),
        (
            "but after the second",
            &[busy(0, 2), idle(1).backup()],
            Some(1),
        ),
        (
            "while another makes progress",
            &[busy(0, 9), busy(2, 0), idle(1).backup()],
            None,
        ),
        (
            "a regular one before a backup",
            &[busy(0, 9), idle(1).backup(), idle(2)],
            Some(2),
        ),
        (
            "whatever its rate",
            &[
                busy(0, 1),
                Subflow {
                    pacing_rate: 0,
                    ..idle(1)
                },
            ],
            Some(1),
        ),
        ("stale ones too", &[busy(0, 1), idle(1).stale()], Some(1)),
        (
            "what is queued is outstanding",
            &[
                busy(0, 1),
                Subflow {
                    queued: 1,
                    ..idle(1)
                },
            ],
            None,
        ),
        ("only a backup is left", &[idle(1).backup()], Some(1)),
    ];
    for (why, subflows, expected) in cases {
        let chosen = again("linux-default", Occasion::Timeout, subflows, &[0]);
        assert_eq!(chosen, *expected, "{why}");
    }
}

#[test]
fn a_retransmission_timer_moves_nothing_but_staleness_and_a_close_do() {
    let [a, b] = [flow(0, 30_000, 1_000_000), flow(1, 10_000, 1_000_000)];
    let cases: &[Move<'_>] = &[
        (Occasion::SubflowFailed, &[a.failed(), b], &[0], None),
        (
            Occasion::SubflowFailed,
            &[a.stale(), b.backup()],
            &[0],
            Some(1),
        ),
        (Occasion::SubflowFailed, &[a.stale(), b], &[0, 1], None),
        (Occasion::SubflowFailed, &[a.stale(), b.stale()], &[0], None),
        (Occasion::SubflowClosed, &[a, b], &[], Some(1)),
        (
            Occasion::SubflowClosed,
            &[Subflow {
                buffer_room: 0,
                ..a
            }],
            &[],
            None,
        ),
        (Occasion::WindowBlocked, &[flow(0, 0, 1), b], &[1], None),
        (Occasion::Idle, &[flow(0, 0, 1), b], &[1], None),
    ];
    for (occasion, subflows, carriers, expected) in cases {
        let chosen = again("linux-default", *occasion, subflows, carriers);
        assert_eq!(chosen, *expected, "{occasion:?}, {subflows:?}");
    }
}

#[test]
fn the_connections_timer_is_the_last_of_the_subflows_own() {
    let timer = |index, millis: Option<u64>, stale_count| Subflow {
        retransmission_in: millis.map(ms),
        stale_count,
        ..subflow(index, 20)
    };
    let cases: &[(&str, &[Subflow], u64)] = &[
        ("none runs", &[timer(0, None, 0)], 200),
        ("a loss probe in 33 ms", &[timer(0, Some(33), 0)], 33),
        (
            "the last",
            &[timer(0, Some(33), 0), timer(1, Some(250), 0)],
            250,
        ),
        (
            "not of those that are silent",
            &[timer(0, Some(33), 0), timer(1, Some(900), 1)],
            33,
        ),
        ("all are silent", &[timer(0, Some(6_000), 1)], 200),
        ("due now", &[timer(0, Some(0), 0)], 200),
        ("none", &[], 200),
    ];
    for (why, subflows, expected) in cases {
        let timeout = scheduler("linux-default").retransmission_timeout(&view(subflows));
        assert_eq!(timeout, ms(*expected), "{why}");
    }
}
