//! The schedulers that use every subflow: round-robin and redundant.

use super::*;

#[test]
fn round_robin_gives_a_segment_to_each_in_turn() {
    let three = [subflow(0, 20), subflow(1, 60), subflow(4, 5)];
    let mut scheduler = scheduler("round-robin");
    for expected in [0, 1, 4, 0, 1] {
        assert_eq!(scheduler.next(&view(&three)), assignment(&[expected], MSS));
    }
    let [a, b, c] = three;
    let without = [a, b, c.full()];
    assert_eq!(
        scheduler.next(&view(&without)),
        assignment(&[0], MSS),
        "4 has no room"
    );
    let failed = scheduler.reinject(&view(&three), Occasion::SubflowFailed, &piece(&[1]));
    assert_eq!(
        failed,
        onto(4),
        "reinjections take turns too, but not on carriers"
    );
    assert_eq!(scheduler.next(&view(&three)), assignment(&[0], MSS));
    let small = View {
        unsent: 300,
        ..view(&three)
    };
    assert_eq!(
        scheduler.next(&small),
        assignment(&[1], 300),
        "what there is"
    );
    for occasion in [Occasion::WindowBlocked, Occasion::Idle] {
        let answer = scheduler.reinject(&view(&three), occasion, &piece(&[1]));
        assert_eq!(answer, None, "{occasion:?}");
    }
}

/// The occasions on which a piece may be sent again.
const OCCASIONS: [Occasion; 5] = [
    Occasion::Timeout,
    Occasion::WindowBlocked,
    Occasion::Idle,
    Occasion::SubflowFailed,
    Occasion::SubflowClosed,
];

#[test]
fn redundant_sends_new_data_on_all_that_have_room() {
    let [a, b, c] = [subflow(0, 20), subflow(1, 60), subflow(2, 5)];
    let cases: &[(&[Subflow], Option<Assignment>)] = &[
        (&[a, b, c], assignment(&[0, 1, 2], 10 * MSS)),
        // The least room decides, in whole segments.
        (&[a, b.holding(7_500), c], assignment(&[0, 1, 2], 2 * MSS)),
        (&[a, b.full(), c], assignment(&[0, 2], 10 * MSS)),
        (&[a, b.failed(), c.backup()], assignment(&[0], 10 * MSS)),
        (&[a.full(), b.full()], None),
    ];
    for (subflows, expected) in cases {
        let all_acknowledged = View {
            unacked: 0,
            ..view(subflows)
        };
        let answer = scheduler("redundant").next(&all_acknowledged);
        assert_eq!(answer, *expected, "{subflows:?}");
    }
}

#[test]
fn redundant_repeats_a_piece_on_all_that_do_not_carry_it() {
    let [a, b, c] = [subflow(0, 20), subflow(1, 60), subflow(2, 5)];
    let busy = a.holding(MSS);
    let again = |occasion, subflows: &[Subflow], carriers: &[usize]| {
        scheduler("redundant")
            .reinject(&view(subflows), occasion, &piece(carriers))
            .map(|r| r.subflows)
    };
    for occasion in OCCASIONS {
        assert_eq!(again(occasion, &[busy, b, c], &[0]), Some(set(&[1, 2])));
        assert_eq!(again(occasion, &[busy, b, c.full()], &[0]), Some(set(&[1])));
        assert_eq!(again(occasion, &[busy, b.holding(MSS)], &[0, 1]), None);
    }
}

#[test]
fn redundant_lets_a_subflow_that_lags_behind_catch_up_before_it_takes_new_data() {
    let [a, b] = [subflow(0, 20), subflow(1, 60)];
    let mut scheduler = scheduler("redundant");
    let seen = |subflows, first: u64, next: u64| View {
        first_unacked: first * MSS,
        unacked: (next - first) * MSS,
        ..view(subflows)
    };
    let offered = |at: u64, carriers| Piece {
        dsn: at * MSS,
        ..piece(carriers)
    };
    // The second has no room, so that the first ten segments are on the other alone.
    let beginning = [a, b.full()];
    assert_eq!(
        scheduler.next(&seen(&beginning, 0, 0)),
        assignment(&[0], 10 * MSS)
    );
    let later = [a.full(), b];
    assert_eq!(scheduler.next(&seen(&later, 0, 10)), None, "it lags behind");
    // Eight are acknowledged; it repeats the others.
    for at in [8, 9] {
        let view = seen(&later, 8, 10);
        assert_eq!(scheduler.next(&view), None);
        let answer = scheduler.reinject(&view, Occasion::Idle, &offered(at, &[0]));
        assert_eq!(answer, onto(1));
    }
    assert_eq!(
        scheduler.next(&seen(&later, 8, 10)),
        assignment(&[1], 10 * MSS)
    );
    // That came to be five segments. The first one lags behind now.
    let both = [a.holding(2 * MSS), b.holding(7 * MSS)];
    assert_eq!(
        scheduler.next(&seen(&both, 8, 15)),
        assignment(&[1], 3 * MSS)
    );
    // One without another beside it has nothing to repeat, nor is there when all is silent.
    let single = [a.holding(2 * MSS), b.failed().holding(MSS)];
    assert_eq!(
        scheduler.next(&seen(&single, 8, 18)),
        assignment(&[0], 8 * MSS)
    );
    let silent = [a, b];
    assert_eq!(
        scheduler.next(&seen(&silent, 8, 30)),
        assignment(&[0, 1], 10 * MSS)
    );
    // Another subflow of that number carries nothing yet.
    let younger = Subflow {
        established: at(900),
        ..b
    };
    let renewed = [a.holding(MSS), younger];
    assert_eq!(
        scheduler.next(&seen(&renewed, 8, 40)),
        assignment(&[0], 9 * MSS)
    );
}
