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

#[test]
fn redundant_sends_on_all_that_have_room_and_lets_the_others_catch_up() {
    let [a, b, c] = [subflow(0, 20), subflow(1, 60), subflow(2, 5)];
    let mut scheduler = scheduler("redundant");
    let mut next = |subflows: &[Subflow]| scheduler.next(&view(subflows));
    assert_eq!(next(&[a, b, c]), assignment(&[0, 1, 2], 10 * MSS));
    assert_eq!(
        next(&[a, b.holding(7_500), c]),
        assignment(&[0, 1, 2], 2 * MSS),
        "the least room"
    );
    assert_eq!(next(&[a, b.full(), c]), assignment(&[0, 2], 10 * MSS));
    assert_eq!(
        next(&[a, b.failed(), c.backup()]),
        assignment(&[0], 10 * MSS)
    );
    assert_eq!(next(&[a.full(), b.full()]), None);

    let mut again = |occasion, subflows: &[Subflow], carriers: &[usize]| {
        scheduler
            .reinject(&view(subflows), occasion, &piece(carriers))
            .map(|r| r.subflows)
    };
    for occasion in [
        Occasion::Timeout,
        Occasion::WindowBlocked,
        Occasion::Idle,
        Occasion::SubflowFailed,
        Occasion::SubflowClosed,
    ] {
        let busy = a.holding(MSS);
        assert_eq!(again(occasion, &[busy, b, c], &[0]), Some(set(&[1, 2])));
        assert_eq!(again(occasion, &[busy, b, c.full()], &[0]), Some(set(&[1])));
        assert_eq!(again(occasion, &[busy, b.holding(MSS)], &[0, 1]), None);
    }
}
