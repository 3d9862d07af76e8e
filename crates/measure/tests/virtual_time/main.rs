//! Does virtual time keep its promises over random scenarios? No panic, no lost or duplicated
//! message, no clock that goes back, every packet accounted for, and the same rows from the same
//! seed. A seed that once failed is a test of its own, by name.

mod check;
mod extensions;
mod multimob;
mod random;
mod sequence;
mod tcp;

use check::{check, simulated};
use proptest::prelude::*;
use random::{Case, scenario};

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

/// Enough packets for several updates of the keys, on two paths with packet numbers of their own:
/// keys that accept every packet made the client close with a key update error after 0.6 s.
#[test]
fn bulk_over_two_paths_survives_updates_of_the_keys() {
    let link = "rate = \"25 Mbit/s\"\ndelay = \"10 ms\"\n";
    let path = |name: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nkind = \"{name}\"\n[path.up]\n{link}[path.down]\n{link}"
        )
    };
    let case = Case {
        text: format!(
            "name = \"bulk\"\nsummary = \"bulk\"\nduration = \"10 s\"\n\
             transports = [\"mpquic\"]\npolicies = [\"fullmesh\"]\n\
             [traffic.bulk]\nsize = \"20 MB\"\n{}{}",
            path("wifi"),
            path("cellular")
        ),
        transport: "mpquic",
        policy: "fullmesh",
        seed: 1,
    };
    let run = simulated(&case);
    check(&case, &run);
    let (_, rows) = run;
    assert_eq!(rows.messages.len(), 1);
    assert!(rows.messages[0].acked_us.is_some(), "{:?}", rows.messages);
}
