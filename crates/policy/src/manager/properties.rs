//! What must hold for every manager, whatever it is shown? Random views, one after the other,
//! that need not make sense.

use crate::list::{MANAGERS, Parameters};
use crate::manager::stage::{Stack, Stage};
use crate::{Action, ConnectionView, PathState, PathView, SubflowView, View};
use model::{PathIndex, PathKind, Time};
use proptest::prelude::*;
use std::time::Duration;

fn duration() -> impl Strategy<Value = Option<Duration>> {
    prop_oneof![
        Just(None),
        (0u64..3_000).prop_map(|ms| Some(Duration::from_millis(ms))),
        Just(Some(Duration::MAX)),
    ]
}

fn subflow(path: usize) -> impl Strategy<Value = SubflowView> {
    let state = prop_oneof![
        1 => Just(PathState::Opening),
        4 => Just(PathState::Established),
        1 => Just(PathState::Closing),
    ];
    let counters = (0u32..4, 0u64..9, 0u64..9, 0u64..3);
    (
        state,
        (any::<bool>(), prop::bool::weighted(0.2)),
        [duration(), duration(), duration()],
        counters,
    )
        .prop_map(
            move |(state, (backup, suspected), [srtt, rto, oldest_unacked], counters)| {
                let (timeouts, retransmissions, sent, in_flight) = counters;
                SubflowView {
                    path: PathIndex(path),
                    peer: None,
                    state,
                    backup,
                    suspected,
                    srtt,
                    rto,
                    timeouts,
                    retransmissions,
                    sent,
                    lost: 0,
                    in_flight,
                    oldest_unacked,
                    received: sent,
                }
            },
        )
}

/// A view of up to three paths, one of which may be unknown to the host, and the time that
/// passes before it.
fn view() -> impl Strategy<Value = (u64, View)> {
    let kind = prop_oneof![
        Just(PathKind::Wifi),
        Just(PathKind::Cellular),
        Just(PathKind::Ethernet)
    ];
    let path = (kind, prop::bool::weighted(0.8)).prop_map(|(kind, up)| PathView { kind, up });
    let there = |path| prop::option::weighted(0.7, subflow(path));
    let connection = (0usize..3, any::<bool>(), [there(0), there(1), there(2)]).prop_map(
        |(id, has_unsent, subflows)| ConnectionView {
            id,
            has_unsent,
            subflows: subflows.into_iter().flatten().collect(),
        },
    );
    let connections = prop::collection::vec(connection, 0..3);
    let step = prop_oneof![0u64..50, 0u64..10_000];
    (step, prop::collection::vec(path, 0..4), connections).prop_map(
        |(step, paths, mut connections)| {
            connections.sort_by_key(|c| c.id);
            connections.dedup_by_key(|c| c.id);
            (step, View { paths, connections })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn managers_keep_to_the_rules(views in prop::collection::vec(view(), 1..60)) {
        for entry in MANAGERS {
            let mut manager = (entry.make)(&Parameters::default());
            let mut now = Time::ZERO;
            for (step, view) in &views {
                now += Duration::from_millis(*step);
                let mut decisions = Vec::new();
                manager.decide(now, view, &mut decisions);
                let mut closed = Vec::new();
                for decision in &decisions {
                    prop_assert!(!decision.cause.is_empty(), "{}: {decision:?}", entry.name);
                    let (id, path) = decision.action.target();
                    let connection = view.connections.iter().find(|c| c.id == id);
                    let connection = connection.expect("a known connection");
                    let subflow = connection.on(path);
                    match decision.action {
                        Action::Open { .. } => {
                            prop_assert!(subflow.is_none(), "{}: opened twice", entry.name);
                            prop_assert!(view.paths[path.0].up, "{}: opened on a path that is down", entry.name);
                        }
                        Action::Close { .. } | Action::Suspect { .. } => {
                            let suspected = matches!(decision.action, Action::Suspect { .. });
                            let there = subflow.is_some_and(|s| match suspected {
                                true => s.state == PathState::Established,
                                false => s.state != PathState::Closing,
                            });
                            prop_assert!(there, "{}: {decision:?}", entry.name);
                            closed.push((id, path));
                            let left = connection.subflows.iter().any(|s| {
                                s.state == PathState::Established && !closed.contains(&(id, s.path))
                            });
                            prop_assert!(left, "{}: no established subflow is left", entry.name);
                        }
                        Action::SetBackup { .. } => {
                            prop_assert!(subflow.is_some_and(|s| s.state == PathState::Established));
                        }
                    }
                }
                // Nothing is asked for twice in one breath.
                let mut actions: Vec<_> = decisions.iter().map(|d| format!("{:?}", d.action)).collect();
                actions.sort();
                actions.dedup();
                prop_assert_eq!(actions.len(), decisions.len(), "{}", entry.name);
                // The same view again changes nothing that was asked for.
                let mut again = Vec::new();
                manager.decide(now, view, &mut again);
                for decision in &again {
                    let repeated = decisions.iter().any(|d| d.action == decision.action);
                    prop_assert!(!repeated, "{}: {decision:?} again", entry.name);
                }
            }
        }
    }
}

/// Something that happens to the network of a [`Stage`].
#[derive(Clone, Copy, Debug)]
enum Fate {
    Kill(usize),
    Revive(usize),
    Up(usize, bool),
    Rtt(usize, u64),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        (0usize..2).prop_map(Fate::Kill),
        (0usize..2).prop_map(Fate::Revive),
        (0usize..2, any::<bool>()).prop_map(|(path, up)| Fate::Up(path, up)),
        (0usize..2, prop_oneof![10u64..100, 600u64..900]).prop_map(|(p, ms)| Fate::Rtt(p, ms)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn whatever_happened_connections_come_home_when_all_is_well_again(
        fates in prop::collection::vec((10u64..5_000, fate()), 1..15),
        quic: bool,
    ) {
        for entry in MANAGERS {
            let stack = if quic { Stack::Quic } else { Stack::Mptcp };
            let mut stage = Stage::of(stack, (entry.make)(&Parameters::default())).connections(2);
            let mut now = 500;
            stage.run(now);
            for &(wait, fate) in &fates {
                match fate {
                    Fate::Kill(path) => stage.kill(path),
                    Fate::Revive(path) => stage.revive(path),
                    Fate::Up(path, up) => stage.set_up(path, up),
                    Fate::Rtt(path, ms) => stage.set_rtt(path, ms),
                }
                now += wait;
                stage.run(now);
            }
            for path in 0..2 {
                stage.revive(path);
                stage.set_up(path, true);
                stage.set_rtt(path, 20 + 40 * path as u64);
            }
            // The longest hold-down, and time for what follows it.
            stage.run(now + 75_000);
            let home = ("established", "regular");
            let expected = match entry.name {
                "apple-interactive" | "backup" => vec![(0, home), (1, ("established", "backup"))],
                "fullmesh" => vec![(0, home), (1, home)],
                _ => vec![(0, home)],
            };
            for connection in 0..2 {
                let subflows = stage.subflows(connection);
                prop_assert_eq!(&subflows, &expected, "{}\n{}", entry.name, stage.story());
            }
        }
    }
}
