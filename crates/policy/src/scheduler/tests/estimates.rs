//! BLEST and ECF, against values computed by hand from the papers' formulas.

use super::*;

/// Fast without room, slow with: round-trip times and variation in ms, windows of ten segments.
fn pair(fast_rtt: u64, slow_rtt: u64, variation: u64) -> [Subflow; 2] {
    let fast = subflow(0, fast_rtt).full();
    let slow = Subflow {
        rtt_variation: ms(variation),
        ..subflow(1, slow_rtt)
    };
    [fast, slow]
}

/// BLEST: during 40 ms the fast subflow (RTT 10 ms, 10 segments) has 4 rounds and sends
/// X = (10 + 3/2) * 4 = 46 segments; lambda is 1.2, so 55.2 segments. The slow one holds 2.
fn blest(scheduler: &mut dyn Scheduler, now: u64, window: u64) -> Option<Assignment> {
    let [fast, slow] = pair(10, 40, 0);
    let subflows = [fast, slow.holding(2 * MSS)];
    let unacked = 12 * MSS;
    scheduler.next(&View {
        now: at(now),
        unacked,
        send_window: window - unacked,
        ..view(&subflows)
    })
}

#[test]
fn blest_leaves_the_fast_subflow_the_window_it_will_need() {
    let slow = assignment(&[1], MSS);
    // 55.2 segments, and the slow subflow's 2 and the one to be sent.
    assert_eq!(blest(&mut *scheduler("blest"), 1_000, 58_200), slow);
    assert_eq!(blest(&mut *scheduler("blest"), 1_000, 58_199), None);

    let starting = |window: u64| {
        let [fast, slow] = pair(10, 40, 0);
        let fast = Subflow {
            in_slow_start: true,
            ..fast
        };
        scheduler("blest").next(&View {
            unacked: 0,
            send_window: window,
            ..view(&[fast, slow])
        })
    };
    // 10 + 20 + 40 + 80 = 150 segments, times 1.2, and one on the slow subflow.
    assert_eq!(starting(181_000), slow);
    assert_eq!(starting(180_999), None);
}

#[test]
fn blest_adapts_lambda_once_a_round_trip_of_the_slow_subflow() {
    let mut scheduler = scheduler("blest");
    let slow = assignment(&[1], MSS);
    assert_eq!(blest(&mut *scheduler, 1_000, 58_200), slow);
    assert_eq!(blest(&mut *scheduler, 1_039, 58_199), None, "1.20 still");
    // 1.19 * 46 + 3 = 57.74
    assert_eq!(blest(&mut *scheduler, 1_040, 57_740), slow, "1.19");
    assert_eq!(blest(&mut *scheduler, 1_041, 57_739), None);
    // The window blocks: 1.23 * 46 + 3 = 59.58.
    let subflows = [subflow(0, 10), subflow(1, 40).full()];
    let blocked = scheduler.reinject(&view(&subflows), Occasion::WindowBlocked, &piece(&[1]));
    assert!(blocked.is_some());
    assert_eq!(blest(&mut *scheduler, 1_080, 59_580), slow, "1.23");
    assert_eq!(blest(&mut *scheduler, 1_081, 59_579), None);
    // It ends at 1.0: 49 segments.
    for round in 0..100 {
        blest(&mut *scheduler, 1_120 + 40 * round, 100_000);
    }
    assert_eq!(blest(&mut *scheduler, 9_000, 49_000), slow, "1.0");
    assert_eq!(blest(&mut *scheduler, 9_001, 48_999), None);
}

#[test]
fn blest_and_ecf_are_the_lowest_rtt_while_the_fastest_has_room() {
    for name in ["blest", "ecf"] {
        let both = [subflow(0, 10), subflow(1, 100)];
        assert_eq!(
            scheduler(name).next(&view(&both)),
            assignment(&[0], 10 * MSS)
        );
        let unmeasured = [
            subflow(0, 10).full(),
            Subflow {
                smoothed_rtt: None,
                ..subflow(1, 0)
            },
        ];
        assert_eq!(
            next(name, &unmeasured),
            Some(1),
            "{name}: nothing to reckon with"
        );
    }
}

/// ECF with `waiting` segments: whether it waits for the fast subflow.
fn waits(scheduler: &mut dyn Scheduler, pair: &[Subflow; 2], waiting: u64) -> bool {
    let view = View {
        unsent: waiting * MSS,
        ..view(pair)
    };
    let answer = scheduler.next(&view);
    assert!(answer.is_none() || answer == assignment(&[1], MSS));
    answer.is_none()
}

#[test]
fn ecf_waits_when_the_fast_subflow_finishes_first() {
    // (1 + k / 10) * 10 ms < 100 ms: up to 89 segments.
    let far = pair(10, 100, 0);
    let fresh = |pair: &[Subflow; 2], waiting| waits(&mut *scheduler("ecf"), pair, waiting);
    assert!(
        fresh(&far, 1),
        "two round trips of 10 ms against one of 100 ms"
    );
    assert!(fresh(&far, 89));
    assert!(!fresh(&far, 90), "100 ms are not less than 100 ms");
    // delta = 20 ms: (1 + k / 10) * 10 ms < 120 ms.
    let varying = pair(10, 100, 20);
    assert!(fresh(&varying, 109));
    assert!(!fresh(&varying, 110));
    // The second condition: one round trip of 25 ms against two of 10 ms and delta.
    assert!(fresh(&pair(10, 25, 5), 1), "25 ms are not less than 25 ms");
    assert!(!fresh(&pair(10, 25, 6), 1), "25 ms are less than 26 ms");
}

#[test]
fn ecf_needs_more_to_stop_waiting_than_to_begin() {
    let far = pair(10, 100, 0);
    let mut scheduler = scheduler("ecf");
    assert!(!waits(&mut *scheduler, &far, 100));
    assert!(waits(&mut *scheduler, &far, 89));
    // Beta = 1/4: (1 + k / 10) * 10 ms < 125 ms.
    assert!(waits(&mut *scheduler, &far, 100));
    assert!(waits(&mut *scheduler, &far, 114));
    assert!(!waits(&mut *scheduler, &far, 115));
    assert!(!waits(&mut *scheduler, &far, 100), "not waiting any more");
}
