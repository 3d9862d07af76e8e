//! When does the oracle raise an alarm, and for which netpath?

use super::*;
use crate::view::{ConnectionView, SubflowView};
use model::PathIndex;
use std::net::{IpAddr, Ipv4Addr};

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// (path, peer, sent, lost, retransmissions)
type Row = (usize, IpAddr, u64, u64, u64);

fn subflow(&(path, peer, sent, lost, retransmissions): &Row) -> SubflowView {
    SubflowView {
        path: PathIndex(path),
        peer: Some(peer),
        state: PathState::Established,
        backup: false,
        suspected: false,
        srtt: Some(Duration::from_millis(20)),
        rto: Some(Duration::from_millis(220)),
        timeouts: 0,
        retransmissions,
        sent,
        lost,
        in_flight: 0,
        oldest_unacked: None,
        starved: false,
        received: 0,
    }
}

/// One connection for each row.
fn view(rows: &[Row]) -> View {
    let connection = |(id, row)| ConnectionView {
        id,
        has_unsent: false,
        subflows: vec![subflow(row)],
    };
    View {
        paths: Vec::new(),
        connections: rows.iter().enumerate().map(connection).collect(),
    }
}

fn oracle() -> Oracle {
    Oracle::new(&scenario::Oracle::default())
}

/// The alarms at the end of each period: the trigger, the netpath's path and peer.
fn alarms(oracle: &mut Oracle, periods: &[&[Row]]) -> Vec<Vec<(Trigger, usize, IpAddr)>> {
    let look = |(n, rows): (usize, &&[Row])| {
        let now = Time::from_millis(500 * n as u64);
        let alarms = oracle.look(now, &view(rows));
        let brief = |a: Alarm| (a.trigger, a.netpath.path.0, a.netpath.peer.expect("known"));
        alarms.into_iter().map(brief).collect()
    };
    periods.iter().enumerate().map(look).collect()
}

#[test]
fn losses_are_added_up_over_connections_and_apart_for_each_netpath() {
    let mut oracle = oracle();
    let said = alarms(
        &mut oracle,
        &[
            &[
                (0, A, 100, 7, 7),
                (0, A, 50, 0, 0),
                (0, B, 10, 0, 0),
                (1, A, 5, 0, 0),
            ],
            // Of 20 packets to A over path 0, 6 were lost, all by the first connection.
            &[
                (0, A, 110, 13, 7),
                (0, A, 60, 0, 0),
                (0, B, 20, 0, 0),
                (1, A, 15, 0, 0),
            ],
        ],
    );
    assert_eq!(said, [vec![], vec![(Trigger::Loss, 0, A)]]);
    let rates: Vec<_> = oracle
        .netpaths()
        .map(|(n, r)| (n.path.0, n.peer, r.loss()))
        .collect();
    assert_eq!(
        rates,
        [(0, Some(A), 0.3), (0, Some(B), 0.0), (1, Some(A), 0.0)]
    );
}

#[test]
fn a_rate_triggers_only_above_its_threshold_and_only_when_it_rose() {
    let loss = |lost: &[u64]| {
        let rows: Vec<[Row; 1]> = (0..)
            .zip(lost)
            .map(|(n, &lost)| [(0, A, 100 * n, lost, 0)])
            .collect();
        let rows: Vec<&[Row]> = rows.iter().map(|r| &r[..]).collect();
        let said = alarms(&mut oracle(), &rows);
        said.iter().map(Vec::len).collect::<Vec<_>>()
    };
    // 25 % is not above 25 %.
    assert_eq!(loss(&[0, 25, 50]), [0, 0, 0]);
    // 26 %; the same again is no rise; then 63 %: risen; then less, though still above.
    assert_eq!(loss(&[0, 26, 52]), [0, 1, 0]);
    assert_eq!(loss(&[0, 26, 126, 156]), [0, 1, 1, 0]);
}

#[test]
fn a_retransmission_rate_needs_half_of_the_packets() {
    let said = alarms(
        &mut oracle(),
        &[
            &[(0, A, 10, 0, 0)],
            &[(0, A, 20, 0, 5)],
            &[(0, A, 30, 0, 15)],
        ],
    );
    assert_eq!(
        said,
        [vec![], vec![], vec![(Trigger::Retransmissions, 0, A)]]
    );
}

#[test]
fn a_period_without_packets_changes_nothing() {
    let mut oracle = oracle();
    let rows: &[Row] = &[(0, A, 10, 2, 2)];
    alarms(&mut oracle, &[&[(0, A, 0, 0, 0)], rows]);
    let before = oracle.netpaths().next().expect("one").1.loss();
    assert_eq!(before, 0.2);
    assert_eq!(oracle.look(Time::from_millis(1_000), &view(rows)), []);
    assert_eq!(oracle.netpaths().next().expect("one").1.loss(), before);
}

#[test]
fn counters_that_fall_are_those_of_another_subflow() {
    let said = alarms(
        &mut oracle(),
        &[
            &[(0, A, 1_000, 500, 500)],
            &[(0, A, 1_010, 500, 500)],
            // Another subflow over the path: 4 packets so far, 3 of them lost.
            &[(0, A, 4, 3, 3)],
            // An estimate of the losses that is taken back is not a new loss when it returns.
            &[(0, A, 104, 1, 3)],
            &[(0, A, 108, 3, 3)],
        ],
    );
    assert_eq!(said[..2], [vec![], vec![]]);
    // 3 of 4 with a volume of 10 before: 1.5 of 4.5.
    assert_eq!(said[2], [(Trigger::Loss, 0, A)]);
    assert_eq!(said[3..], [vec![], vec![]]);
}

#[test]
fn a_great_timeout_does_not_mark() {
    let mut slow = view(&[(0, A, 10, 0, 0)]);
    let rto = &mut slow.connections[0].subflows[0].rto;
    *rto = Some(Duration::from_millis(1_500));
    let mut oracle = oracle();
    assert_eq!(oracle.look(Time::ZERO, &slow), [], "it is at the threshold");
    slow.connections[0].subflows[0].rto = Some(Duration::from_millis(1_501));
    let alarms = oracle.look(Time::from_millis(500), &slow);
    assert_eq!(alarms[0].trigger, Trigger::Timeout);
    assert!(!alarms[0].trigger.marks());
    assert_eq!(
        alarms[0].cause,
        "unknown (path 0): the greatest retransmission timeout is 1501 ms, above 1500 ms"
    );
    // One that is held to have failed already says nothing.
    slow.connections[0].subflows[0].suspected = true;
    assert_eq!(oracle.look(Time::from_millis(1_000), &slow), []);
}

#[test]
fn periods_keep_their_length_however_often_it_is_asked() {
    let mut oracle = oracle();
    let mut closed = Vec::new();
    for ms in (0..2_000).step_by(20) {
        // Ten packets between two looks, all of which are lost: every period has an alarm at most.
        let rows: Row = (0, A, ms, ms * ms / 2_000, 0);
        if !oracle
            .look(Time::from_millis(ms), &view(&[rows]))
            .is_empty()
        {
            closed.push(ms);
        }
    }
    assert_eq!(
        closed,
        [1_000, 1_500],
        "a rate of 0.125 at first, then more"
    );
}

#[test]
fn rates_may_be_switched_off() {
    let settings = scenario::Oracle {
        rates: false,
        ..scenario::Oracle::default()
    };
    let said = alarms(
        &mut Oracle::new(&settings),
        &[&[(0, A, 0, 0, 0)], &[(0, A, 10, 10, 10)]],
    );
    assert_eq!(said, [vec![], vec![]]);
}
