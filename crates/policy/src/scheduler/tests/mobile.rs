//! MultiMob's schedulers: client-priority on the phone, follow on the server.

use super::*;

/// Wi-Fi repairs a loss but no timer fired.
fn repairing(subflow: Subflow) -> Subflow {
    Subflow {
        retransmitting: true,
        ..subflow.holding(MSS)
    }
}

#[test]
fn the_phone_uses_cellular_only_while_wifi_retransmits() {
    // Wi-Fi is slower here, so that no rule about round-trip times explains the choice.
    let [wifi, cell] = [subflow(0, 50), subflow(1, 20).backup()];
    let third = subflow(2, 10);
    let cases: &[Choice<'_>] = &[
        ("Wi-Fi", &[wifi, cell], Some(0)),
        ("a full window is no reason", &[wifi.full(), cell], None),
        ("it retransmits", &[repairing(wifi), cell], Some(1)),
        ("cellular is full", &[repairing(wifi), cell.full()], Some(0)),
        (
            "its timer fired",
            &[wifi.failed().holding(MSS), cell],
            Some(1),
        ),
        (
            "and cellular is full",
            &[wifi.failed().holding(MSS), cell.full()],
            None,
        ),
        ("stale", &[wifi.stale().full(), cell], Some(1)),
        (
            "the first regular one is Wi-Fi",
            &[cell, third, subflow(3, 5)],
            Some(2),
        ),
        ("of backups the first", &[wifi.backup(), cell], Some(0)),
        (
            "cellular that is regular comes first",
            &[repairing(wifi), cell, third],
            Some(2),
        ),
        (
            "both failed, one never tried",
            &[wifi.failed().holding(MSS), cell.failed()],
            Some(1),
        ),
        ("alone and repairing", &[repairing(wifi)], Some(0)),
        ("none", &[], None),
    ];
    for (why, subflows, expected) in cases {
        assert_eq!(next("client-priority", subflows), *expected, "{why}");
    }
    let older = Subflow {
        established: at(0),
        ..subflow(3, 40)
    };
    let younger = Subflow {
        established: at(500),
        ..subflow(0, 20)
    };
    assert_eq!(
        next("client-priority", &[younger, older]),
        Some(3),
        "the older, not the lower"
    );
}

#[test]
fn the_phone_moves_what_wifi_did_not_deliver() {
    let [wifi, cell] = [subflow(0, 50), subflow(1, 20).backup()];
    let failed = wifi.failed().holding(MSS);
    let cases: &[Move<'_>] = &[
        (Occasion::SubflowFailed, &[failed, cell], &[0], Some(1)),
        (Occasion::SubflowFailed, &[failed, cell.full()], &[0], None),
        (
            Occasion::SubflowFailed,
            &[wifi, cell.failed().holding(MSS)],
            &[1],
            Some(0),
        ),
        (Occasion::SubflowClosed, &[wifi, cell], &[], Some(0)),
        (Occasion::SubflowClosed, &[cell], &[], Some(1)),
        (Occasion::Timeout, &[wifi.holding(MSS), cell], &[0], None),
        (Occasion::Timeout, &[repairing(wifi), cell], &[0], Some(1)),
        (Occasion::WindowBlocked, &[wifi, cell], &[1], None),
        (Occasion::Idle, &[wifi, cell], &[1], None),
    ];
    for (occasion, subflows, carriers, expected) in cases {
        let chosen = again("client-priority", *occasion, subflows, carriers);
        assert_eq!(chosen, *expected, "{occasion:?}, {subflows:?}");
    }
}

#[test]
fn the_server_answers_where_the_peer_sent_last() {
    let [wifi, cell] = [
        subflow(0, 20).original(500),
        subflow(1, 60).backup().original(900),
    ];
    let cases: &[Choice<'_>] = &[
        ("the latest, backup or not", &[wifi, cell], Some(1)),
        ("and back", &[wifi.original(950), cell], Some(0)),
        ("its window is full: wait", &[wifi, cell.full()], None),
        ("potentially failed", &[wifi, cell.failed().full()], Some(0)),
        ("stale", &[wifi, cell.stale().full()], Some(0)),
        (
            "a completed join is one",
            &[
                wifi,
                Subflow {
                    established: at(600),
                    ..subflow(2, 90)
                },
            ],
            Some(2),
        ),
        (
            "of equals the fastest",
            &[wifi, subflow(1, 10).original(500)],
            Some(1),
        ),
        ("alone, even failed", &[wifi.failed().holding(MSS)], Some(0)),
        ("alone and full", &[wifi.full()], None),
        (
            "all failed",
            &[wifi.failed().holding(MSS), cell.failed().holding(MSS)],
            None,
        ),
        (
            "all failed, one has nothing outstanding",
            &[wifi.failed(), cell.failed().holding(MSS)],
            Some(0),
        ),
        ("none", &[], None),
    ];
    for (why, subflows, expected) in cases {
        assert_eq!(next("follow", subflows), *expected, "{why}");
    }
}

#[test]
fn the_server_sends_again_where_the_data_was_not_and_waits_for_room_there() {
    let [wifi, cell] = [subflow(0, 20).original(500), subflow(1, 60).original(900)];
    let third = subflow(2, 5).original(100);
    let cases: &[Move<'_>] = &[
        (
            Occasion::SubflowFailed,
            &[wifi.failed().holding(MSS), cell, third],
            &[0],
            Some(1),
        ),
        (
            Occasion::SubflowFailed,
            &[wifi, cell.failed().holding(MSS), third],
            &[1],
            Some(0),
        ),
        (
            Occasion::SubflowFailed,
            &[wifi.failed().full(), cell.full(), third],
            &[0],
            None,
        ),
        (
            Occasion::Timeout,
            &[wifi, cell.holding(MSS), third],
            &[1],
            Some(0),
        ),
        (
            Occasion::Timeout,
            &[wifi.holding(MSS), cell.holding(MSS)],
            &[0, 1],
            None,
        ),
        (Occasion::SubflowClosed, &[wifi, cell], &[], Some(1)),
        (Occasion::SubflowClosed, &[wifi, cell.full()], &[], None),
        (Occasion::SubflowClosed, &[wifi.failed()], &[], Some(0)),
        (Occasion::WindowBlocked, &[wifi, cell], &[0], None),
        (Occasion::Idle, &[wifi, cell], &[0], None),
    ];
    for (occasion, subflows, carriers, expected) in cases {
        let chosen = again("follow", *occasion, subflows, carriers);
        assert_eq!(chosen, *expected, "{occasion:?}, {subflows:?}");
    }
}
