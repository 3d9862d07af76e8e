//! Is the same seed the same run, in every version and on every machine?

use proptest::prelude::*;
use rand::RngExt;
use std::time::Duration;
use walkabout_model::scenario::{Failure, FailureKind, Phase};
use walkabout_model::units::Span;
use walkabout_model::{Name, Seed, Time};

/// Pinned: if these change, every published seed means another run.
#[test]
fn streams_are_pinned() {
    let draw = |seed: u64, name: &str| Seed(seed).stream(name).random::<u64>();
    insta::assert_debug_snapshot!([
        draw(0, ""),
        draw(0, "wifi.up.loss"),
        draw(1, "wifi.up.loss"),
        draw(1, "wifi.down.loss"),
        draw(u64::MAX, "failure.0.phase"),
    ], @r#"
    [
        17955663787764017457,
        4156940484841810498,
        12924668297102394409,
        10323963340737516019,
        9384706714805728112,
    ]
    "#);
}

fn failure(at: Phase, duration: Option<Span>) -> Failure {
    Failure {
        path: Name::from("wifi"),
        kind: FailureKind::SilentLoss,
        loss: None,
        direction: None,
        at,
        duration,
    }
}

/// Pinned as well: where the blackhole scenarios fail under the first seeds.
#[test]
fn onsets_are_pinned() {
    let window = Phase::Drawn {
        from: Span::from_millis(10_000),
        to: Span::from_millis(10_100),
    };
    let onset = |seed, index| failure(window, None).onset(Seed(seed), index);
    insta::assert_debug_snapshot!([onset(0, 0), onset(1, 0), onset(2, 0), onset(0, 1)], @r#"
    [
        10.086399s,
        10.096182s,
        10.034169s,
        10.029477s,
    ]
    "#);
}

#[test]
fn repetitions_are_seeds_of_their_own() {
    assert_eq!(Seed(7).repetition(0), Seed(7));
    assert_eq!(Seed(7).repetition(3), Seed(10));
    assert_eq!(Seed(u64::MAX).repetition(1), Seed(0));
}

proptest! {
    #[test]
    fn an_onset_is_within_its_window(
        seed: u64,
        index in 0..10_usize,
        from in 0..1_000_000_u64,
        length in 0..1_000_000_u64,
        lasting in 1..1_000_000_u64,
    ) {
        let at = Phase::Drawn {
            from: Span::from_millis(from),
            to: Span::from_millis(from + length),
        };
        let failure = failure(at, Some(Span::from_millis(lasting)));
        let onset = failure.onset(Seed(seed), index);
        prop_assert!(onset >= Time::from_millis(from));
        prop_assert!(onset <= Time::from_millis(from + length));
        prop_assert_eq!(failure.onset(Seed(seed), index), onset);
        let repair = failure.repair(Seed(seed), index).unwrap();
        prop_assert_eq!(repair - onset, Duration::from_millis(lasting));
    }

    #[test]
    fn a_fixed_onset_ignores_the_seed(seed: u64, at in 0..1_000_000_u64) {
        let failure = failure(Phase::Fixed(Span::from_millis(at)), None);
        prop_assert_eq!(failure.onset(Seed(seed), 0), Time::from_millis(at));
    }
}

#[test]
fn time_saturates_instead_of_wrapping() {
    assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
    assert_eq!(Time::ZERO + Duration::MAX, Time::MAX);
    assert_eq!(Time::from_millis(u64::MAX), Time::MAX);
    assert_eq!(Time::from_micros(u64::MAX), Time::MAX);
    assert_eq!(Time::ZERO.since(Time::MAX), Duration::ZERO);
    assert_eq!(format!("{:?}", Time::from_micros(1_500_000)), "1.500000s");
}
