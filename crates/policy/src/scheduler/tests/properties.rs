//! What holds for every scheduler, whatever it is shown.

use super::*;
use proptest::prelude::*;

/// Byte counts and rates: none, likely ones, and any.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        5 => 0..200_000u64,
        1 => Just(u64::MAX),
        1 => any::<u64>(),
    ]
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(Duration::ZERO),
        5 => (0..500_000u64).prop_map(Duration::from_micros),
        1 => Just(Duration::MAX),
    ]
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        5 => (0..5_000u64).prop_map(Time::from_millis),
        1 => Just(Time::MAX),
    ]
}

prop_compose! {
    fn any_subflow()(
        id in 0..SubflowId::MAX,
        flags in prop::array::uniform5(prop::bool::weighted(0.3)),
        stale_count in 0..10u32,
        smoothed_rtt in prop::option::weighted(0.9, duration()),
        (rtt_variation, rto) in (duration(), duration()),
        retransmission_in in prop::option::of(duration()),
        [window, window_room, buffer_room, pacing_rate] in [bytes(), bytes(), bytes(), bytes()],
        held in prop_oneof![Just([0; 3]), [bytes(), bytes(), bytes()]],
        mss in prop_oneof![5 => Just(1_400), 1 => bytes()],
        (established, last_original) in (time(), prop::option::of(time())),
    ) -> Subflow {
        let [backup, potentially_failed, stale, retransmitting, in_slow_start] = flags;
        let [in_flight, unacked, queued] = held;
        Subflow {
            id: SubflowId::new(id),
            established, backup, potentially_failed, stale, stale_count, retransmitting,
            in_slow_start, smoothed_rtt, rtt_variation, rto, retransmission_in, mss, window,
            in_flight, unacked, queued, window_room, buffer_room, pacing_rate, last_original,
        }
    }
}

#[derive(Clone, Debug)]
struct Situation {
    now: Time,
    subflows: Vec<Subflow>,
    unsent: u64,
    send_window: u64,
    unacked: u64,
    occasion: Occasion,
    piece: Piece,
}

impl Situation {
    fn view(&self) -> View<'_> {
        View {
            now: self.now,
            subflows: &self.subflows,
            unsent: self.unsent,
            send_window: self.send_window,
            unacked: self.unacked,
            first_unacked: self.piece.dsn,
        }
    }

    fn find(&self, id: SubflowId) -> &Subflow {
        let found = self.subflows.iter().find(|s| s.id == id);
        found.expect("a subflow that was chosen exists")
    }
}

fn occasion() -> impl Strategy<Value = Occasion> {
    prop::sample::select(
        &[
            Occasion::Timeout,
            Occasion::WindowBlocked,
            Occasion::Idle,
            Occasion::SubflowFailed,
            Occasion::SubflowClosed,
        ][..],
    )
}

prop_compose! {
    fn situation(most: usize)(
        mut subflows in prop::collection::vec(any_subflow(), 1..=most),
        now in time(),
        [unsent, send_window, unacked, dsn, length] in [bytes(), bytes(), bytes(), bytes(), bytes()],
        carriers in any::<u32>(),
        occasion in occasion(),
    ) -> Situation {
        subflows.sort_by_key(|s| s.id);
        subflows.dedup_by_key(|s| s.id);
        let carries = |id: &SubflowId| carriers & (1 << id.index()) != 0;
        let piece = Piece {
            dsn,
            bytes: length.max(1),
            carriers: subflows.iter().map(|s| s.id).filter(carries).collect(),
            first_sent: now,
        };
        Situation { now, subflows, unsent, send_window, unacked, occasion, piece }
    }
}

/// Whether any regular subflow that `name` counts as usable could take `bytes` now.
fn regular_has_room(name: &str, situation: &Situation, bytes: u64) -> bool {
    let room = |s: &&Subflow| match name {
        "linux-default" => !s.stale && s.buffer_room > 0,
        _ => s.works() && s.has_room(bytes),
    };
    situation
        .subflows
        .iter()
        .filter(|s| !s.backup)
        .any(|s| room(&s))
}

fn check_next(name: &str, scheduler: &mut dyn Scheduler, situation: &Situation) {
    let view = situation.view();
    let admitted = view.unsent.min(view.send_window);
    let Some(Assignment { subflows, bytes }) = scheduler.next(&view) else {
        return;
    };
    assert!(
        !subflows.is_empty() && bytes > 0 && bytes <= admitted,
        "{name}"
    );
    for id in subflows.iter() {
        let chosen = situation.find(id);
        match name {
            "linux-default" => assert!(chosen.buffer_room > 0, "{name}"),
            _ => assert!(chosen.has_room(admitted), "{name}"),
        }
        if regular_has_room(name, situation, admitted) {
            let usable = match name {
                "linux-default" => !chosen.stale || chosen.is_idle(),
                _ => chosen.works(),
            };
            assert!(usable, "{name}");
        }
    }
}

fn check_reinjection(name: &str, scheduler: &mut dyn Scheduler, situation: &Situation) {
    let Situation {
        occasion, piece, ..
    } = situation;
    let Some(answer) = scheduler.reinject(&situation.view(), *occasion, piece) else {
        return;
    };
    assert!(scheduler.reinjects_on(*occasion), "{name} on {occasion:?}");
    assert!(!answer.subflows.is_empty(), "{name}");
    for id in answer.subflows.iter() {
        let delivered = *occasion == Occasion::Timeout && situation.find(id).is_idle();
        assert!(!piece.carriers.contains(id) || delivered, "{name}");
    }
    if let Some(penalised) = answer.penalised {
        assert!(piece.carriers.contains(penalised), "{name}");
        assert!(!answer.subflows.contains(penalised), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_is_chosen_exists_has_room_and_is_no_carrier(
        situations in prop::collection::vec(situation(5), 1..6),
    ) {
        for entry in list::SCHEDULERS {
            let mut scheduler = (entry.make)();
            for situation in &situations {
                check_next(entry.name, &mut *scheduler, situation);
                check_reinjection(entry.name, &mut *scheduler, situation);
                let timeout = scheduler.retransmission_timeout(&situation.view());
                prop_assert!(timeout > Duration::ZERO, "{}", entry.name);
            }
        }
    }

    /// When nothing is outstanding anywhere nothing will come back, so something has to be sent.
    #[test]
    fn a_connection_never_stands_still(mut situation in situation(5)) {
        situation.unsent = situation.unsent.max(1);
        situation.send_window = situation.send_window.max(1);
        for s in &mut situation.subflows {
            *s = Subflow { in_flight: 0, unacked: 0, queued: 0, ..*s };
            s.buffer_room = s.buffer_room.max(1);
        }
        // One of them has room: the window of congestion is a segment at least.
        let some = situation.subflows.len() - 1;
        situation.subflows[some].window_room = situation.subflows[some].window_room.max(1);
        for entry in list::SCHEDULERS {
            let answer = (entry.make)().next(&situation.view());
            prop_assert!(answer.is_some(), "{}", entry.name);
            let homeless = Piece { carriers: SubflowSet::EMPTY, ..situation.piece };
            let answer = (entry.make)().reinject(&situation.view(), Occasion::SubflowClosed, &homeless);
            prop_assert!(answer.is_some(), "{}: a piece without a subflow", entry.name);
        }
    }

    /// A connection of one subflow is TCP; but the kernel sends nothing new on a stale one.
    #[test]
    fn one_subflow_with_room_takes_data(mut situation in situation(1)) {
        situation.unsent = situation.unsent.max(1);
        situation.send_window = situation.send_window.max(1);
        let only = situation.subflows[0];
        let bytes = situation.unsent.min(situation.send_window);
        for entry in list::SCHEDULERS {
            let may = match entry.name {
                "linux-default" => only.buffer_room > 0 && (!only.stale || only.is_idle()),
                _ => only.has_room(bytes),
            };
            let answer = (entry.make)().next(&situation.view());
            prop_assert_eq!(answer.is_some(), may, "{}", entry.name);
        }
    }
}
