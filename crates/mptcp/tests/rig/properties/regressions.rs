//! Which random sequences once failed, and must not again?

use super::case::Case;
use super::case::Operation::*;
use super::run::run;
use crate::network::middlebox::Strip;

/// The simplest case.
fn simplest() -> Case {
    Case {
        seed: 0,
        scheduler: "blest",
        controller: "balia",
        multipath: [true, true],
        checksum: [false, false],
        ipv6: false,
        buffers: [4 << 20, 4 << 20],
        strip: Strip::Nothing,
        delays: [1, 1],
        rate: 0,
        operations: Vec::new(),
    }
}

/// The server opened a subflow over the path of the first one.
#[test]
fn a_change_of_priority_while_the_server_joins() {
    run(
        &Case {
            operations: vec![
                Wait { ms: 3 },
                Open {
                    side: 1,
                    path: 0,
                    server: 0,
                    backup: false,
                },
                Backup {
                    side: 0,
                    nth: 0,
                    backup: false,
                },
            ],
            ..simplest()
        },
        true,
    );
}
