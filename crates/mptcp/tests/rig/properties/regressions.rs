//! Which random sequences once failed, and must not again?

use super::case::Operation::*;
use super::case::{Begin, Case};
use super::run::{run, run_extended};
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
        begin: Begin::Syn,
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

/// Plain TCP: the last byte did not fit the window.
#[test]
fn one_byte_more_than_the_first_window() {
    run(
        &Case {
            multipath: [true, false],
            operations: vec![
                Write {
                    side: 0,
                    size: 37_273,
                },
                Write {
                    side: 0,
                    size: 28_263,
                },
                Wait { ms: 8 },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn the_only_subflow_is_closed_while_data_is_under_way() {
    run(
        &Case {
            seed: 15125180509918784825,
            delays: [23, 1],
            rate: 3,
            operations: vec![
                Write {
                    side: 0,
                    size: 14_201,
                },
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 0,
                    reorder: 2,
                    corrupt: 0,
                    garble: 0,
                },
                Wait { ms: 47 },
                Close {
                    side: 0,
                    nth: 0,
                    reset: false,
                },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn a_wrong_checksum_while_a_join_is_under_way() {
    run(
        &Case {
            seed: 2791813895128031,
            checksum: [true, false],
            operations: vec![
                Wait { ms: 3 },
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 10,
                    garble: 0,
                },
                Open {
                    side: 1,
                    path: 0,
                    server: 0,
                    backup: false,
                },
                Write {
                    side: 0,
                    size: 1_421,
                },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn a_fallback_after_both_sides_finished() {
    run(
        &Case {
            seed: 9353353605513629048,
            checksum: [false, true],
            operations: vec![
                Write { side: 0, size: 575 },
                Faults {
                    path: 0,
                    loss: 4,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 19,
                    garble: 0,
                },
                Write {
                    side: 0,
                    size: 2_266,
                },
                Wait { ms: 3 },
                Write {
                    side: 0,
                    size: 7_101,
                },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn an_address_is_announced_after_the_end() {
    run(
        &Case {
            checksum: [false, true],
            buffers: [4 << 20, 37_250],
            delays: [49, 1],
            rate: 1,
            operations: vec![
                Write {
                    side: 0,
                    size: 9_273,
                },
                Write {
                    side: 0,
                    size: 28_145,
                },
                Wait { ms: 361 },
                Close {
                    side: 0,
                    nth: 0,
                    reset: false,
                },
                Announce { side: 0, which: 0 },
                Open {
                    side: 0,
                    path: 0,
                    server: 0,
                    backup: false,
                },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn a_wrong_checksum_in_the_data_before_the_end() {
    run(
        &Case {
            seed: 1301604997895653760,
            checksum: [false, true],
            delays: [56, 1],
            operations: vec![
                Write { side: 0, size: 1 },
                Wait { ms: 74 },
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 10,
                    reorder: 0,
                    corrupt: 14,
                    garble: 0,
                },
                Write {
                    side: 0,
                    size: 15_620,
                },
                Wait { ms: 38 },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn a_join_is_closed_before_it_is_complete() {
    run(
        &Case {
            scheduler: "follow",
            delays: [25, 7],
            rate: 1,
            operations: vec![
                Wait { ms: 20_103 },
                Write { side: 0, size: 1 },
                Open {
                    side: 0,
                    path: 1,
                    server: 0,
                    backup: false,
                },
                Wait { ms: 1 },
                Open {
                    side: 1,
                    path: 0,
                    server: 0,
                    backup: false,
                },
                Wait { ms: 34 },
                Close {
                    side: 0,
                    nth: 2,
                    reset: false,
                },
                Write {
                    side: 1,
                    size: 1_205,
                },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn the_keys_come_after_data_and_the_end() {
    run(
        &Case {
            seed: 13818205372675420063,
            delays: [14, 1],
            operations: vec![
                Wait { ms: 14 },
                Write {
                    side: 0,
                    size: 15_621,
                },
                Up {
                    path: 0,
                    direction: 1,
                    up: false,
                },
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 0,
                    garble: 33,
                },
                Wait { ms: 87 },
            ],
            ..simplest()
        },
        true,
    );
}

#[test]
fn a_wrong_checksum_while_the_server_joins() {
    run(
        &Case {
            seed: 956100823408177699,
            checksum: [true, false],
            delays: [30, 10],
            begin: Begin::Connected,
            operations: vec![
                Up {
                    path: 0,
                    direction: 0,
                    up: false,
                },
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 2,
                    garble: 0,
                },
                Open {
                    side: 1,
                    path: 1,
                    server: 0,
                    backup: false,
                },
                Write {
                    side: 1,
                    size: 14_201,
                },
                Wait { ms: 30 },
            ],
            ..simplest()
        },
        true,
    );
}

/// The sender had sent the byte once more on the same subflow when the fallback reached it.
#[test]
fn a_wrong_checksum_in_data_that_is_sent_once_more() {
    run(
        &Case {
            seed: 813457943440703323,
            checksum: [false, true],
            ipv6: true,
            operations: vec![
                Wait { ms: 3 },
                Write { side: 1, size: 1 },
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 30,
                    garble: 0,
                },
                Announce { side: 0, which: 0 },
                Wait { ms: 202 },
            ],
            ..simplest()
        },
        true,
    );
}

/// What was sent twice on the same subflow came after the data whose checksum was wrong.
#[test]
fn a_wrong_checksum_before_data_that_was_sent_once_more() {
    run(
        &Case {
            seed: 13369935087582176,
            checksum: [false, true],
            rate: 3,
            operations: vec![
                Faults {
                    path: 0,
                    loss: 22,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 28,
                    garble: 0,
                },
                Wait { ms: 4 },
                Backup {
                    side: 0,
                    nth: 0,
                    backup: false,
                },
                Write {
                    side: 1,
                    size: 2_841,
                },
                Open {
                    side: 1,
                    path: 0,
                    server: 0,
                    backup: false,
                },
                Write {
                    side: 0,
                    size: 8_521,
                },
                Open {
                    side: 1,
                    path: 0,
                    server: 0,
                    backup: false,
                },
                Wait { ms: 1 },
                Wait { ms: 410 },
            ],
            ..simplest()
        },
        true,
    );
}

/// The answer to the offer of extensions was lost, and came again after the end.
#[test]
fn an_answer_to_an_offer_after_the_end() {
    run_extended(
        &Case {
            delays: [4, 1],
            operations: vec![
                Up {
                    path: 0,
                    direction: 0,
                    up: false,
                },
                Wait { ms: 996 },
            ],
            ..simplest()
        },
        true,
        [true, true],
    );
}

/// The server fell back over a wrong checksum while the client closed the only subflow and sent the
/// last byte with a fast join: a subflow's FIN was taken for the end of the stream.
#[test]
fn a_subflow_is_closed_while_the_peer_falls_back() {
    run_extended(
        &Case {
            seed: 754611496,
            checksum: [false, true],
            begin: Begin::Connected,
            operations: vec![
                Faults {
                    path: 0,
                    loss: 0,
                    duplicate: 0,
                    reorder: 0,
                    corrupt: 2,
                    garble: 0,
                },
                Write {
                    side: 0,
                    size: 14_201,
                },
                Open {
                    side: 0,
                    path: 0,
                    server: 0,
                    backup: false,
                },
                Close {
                    side: 0,
                    nth: 0,
                    reset: false,
                },
            ],
            ..simplest()
        },
        true,
        [true, true],
    );
}
