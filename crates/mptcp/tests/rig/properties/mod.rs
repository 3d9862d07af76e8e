//! Does a connection deliver exactly what was written, or end with an error, whatever happens?

mod case;
mod order;
mod regressions;
mod run;

use case::case;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

/// How many, unless PROPTEST_CASES says otherwise.
fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(10_000)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/rig.txt",
        ))),
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_stream_is_delivered_exactly_or_the_connection_ends_with_an_error(case in case()) {
        run::run(&case, false);
    }

    /// The same with fast joins, the idle timer and the request for the timeout, at one side or
    /// both: joins are dropped, doubled and held back, and lose their options.
    #[test]
    fn the_same_holds_with_extensions(
        case in case(),
        one_sided in proptest::option::weighted(0.2, 0..2_usize),
    ) {
        let mut extended = [true; 2];
        if let Some(side) = one_sided {
            extended[side] = false;
        }
        run::run_extended(&case, false, extended);
    }
}

/// Same seed, same packets. Without the macro, which would let PROPTEST_CASES have the last word.
#[test]
fn a_case_repeats_itself() {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: cases() / 16,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let repeats = runner.run(&case(), |case| {
        let [one, other] = [(); 2].map(|()| run::run(&case, true).entries);
        let one = one.iter().map(|e| (e.sent, &e.packet));
        prop_assert!(one.eq(other.iter().map(|e| (e.sent, &e.packet))));
        Ok(())
    });
    repeats.expect("every case repeats itself");
}
