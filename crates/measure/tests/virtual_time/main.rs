//! Does virtual time keep its promises over random scenarios? No panic, no lost or duplicated
//! message, no clock that goes back, every packet accounted for, and the same rows from the same
//! seed. A seed that once failed is a test of its own, by name.

mod check;
mod random;

use check::{check, simulated};
use proptest::prelude::*;
use random::scenario;

/// How many, unless PROPTEST_CASES says otherwise.
fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(192)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(), failure_persistence: None, max_shrink_iters: 500, ..ProptestConfig::default()
    })]

    #[test]
    fn every_packet_and_message_is_accounted_for(case in scenario()) {
        let run = simulated(&case);
        check(&case, &run);
    }

    #[test]
    fn the_same_seed_gives_the_same_rows(case in scenario()) {
        let (one, other) = (simulated(&case), simulated(&case));
        prop_assert!(one == other, "{}", case.text);
    }
}
