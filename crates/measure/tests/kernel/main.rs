//! Do the kernel transports carry data, and do subflows come and go as asked?
//!
//! Each test runs itself again in namespaces of its own: a client with two interfaces, `wifi`
//! and `cell`, and a server with one address behind both.

mod ground;
#[path = "../hosts/mod.rs"]
#[allow(dead_code, reason = "each of those who share it uses its part")]
mod hosts;

use ground::{Ground, payload};
use hosts::inside;
use model::record::{Event, EventKind, Sample};
use model::{PathIndex, Side};
use policy::list::KernelManaged;
use policy::{Action, PathState};
use std::collections::BTreeSet;
use traffic::Channels;
use walkabout_measure::transport::kernel::{Client, PathManagement, Protocol};
use walkabout_measure::transport::{Endpoint, SocketEndpoint};

const WIFI: PathIndex = PathIndex(0);
const CELL: PathIndex = PathIndex(1);

fn samples(client: &mut Client, ground: &Ground) -> Vec<Sample> {
    let mut samples = Vec::new();
    client.sample(ground.clock.now(), &mut samples);
    samples
}

fn events(client: &mut Client) -> Vec<Event> {
    let mut events = Vec::new();
    client.events(&mut events);
    events
}

fn has(events: &[Event], kind: EventKind, path: &str) -> bool {
    let on = |e: &&Event| e.path.as_ref().is_some_and(|p| p.as_str() == path);
    events.iter().filter(on).any(|e| e.kind == kind)
}

/// The paths on which the first connection has a subflow that can carry data.
fn usable(client: &mut Client, ground: &Ground) -> Vec<PathIndex> {
    let view = client.view(ground.clock.now());
    let subflows = view.iter().flat_map(|c| &c.subflows);
    subflows
        .filter(|s| s.state == PathState::Established)
        .map(|s| s.path)
        .collect()
}

#[test]
fn tcp_carries_every_channel() {
    inside("tcp_carries_every_channel", || {
        let ground = Ground::new();
        let server = ground.serve(Protocol::Tcp);
        let mut client = ground.connect(Protocol::Tcp, PathManagement::Userspace, 3, &server);
        ground.drive(&mut client, |c| c.is_connected());
        for channel in 0..3 {
            ground.echo(&mut client, channel, &payload(300_000 + channel));
        }
        let stack = client.stack();
        assert_eq!(stack.name, "linux");
        assert_eq!(stack.congestion, "reno", "as configured and read back");
        assert_eq!((&*stack.path_manager, &*stack.scheduler), ("none", "none"));

        let rows = samples(&mut client, &ground);
        let paths: Vec<_> = rows.iter().filter(|r| r.path.is_some()).collect();
        assert_eq!((rows.len(), paths.len()), (6, 3));
        for row in paths {
            assert_eq!((row.side, &*row.state), (Side::Client, "established"));
            assert_eq!(row.path.as_ref().unwrap().as_str(), "wifi");
            assert!(row.sent_bytes.unwrap() >= 300_000);
            assert!(row.received_bytes.unwrap() >= 300_000);
            assert!(row.srtt_us.unwrap() > 0 && row.rto_us.unwrap() >= 200_000);
            assert_eq!(row.backup, None);
        }
        let refused = client.apply(
            ground.clock.now(),
            &Action::Open {
                connection: 0,
                path: CELL,
                backup: false,
            },
        );
        assert!(refused.unwrap_err().contains("Multipath"));
        let log = events(&mut client);
        let connected = log.iter().filter(|e| e.kind == EventKind::Connected);
        assert_eq!(connected.count(), 3);
    });
}

#[test]
fn a_reset_closes_the_channel_and_is_logged() {
    inside("a_reset_closes_the_channel_and_is_logged", || {
        let ground = Ground::new();
        let server = ground.serve(Protocol::Tcp);
        let mut client = ground.connect(Protocol::Tcp, PathManagement::Userspace, 1, &server);
        ground.drive(&mut client, |c| c.is_connected());
        ground.echo(&mut client, 0, b"hello");
        // The sockets close with the server; one that has unread data resets.
        drop(server);
        client.write(0, b"anybody there?");
        ground.drive(&mut client, |c| {
            c.read(0, &mut [0; 100]);
            !c.is_open(0)
        });
        let log = events(&mut client);
        let end = log.iter().find(|e| e.kind == EventKind::Disconnected);
        assert!(!end.expect("the end is logged").detail.is_empty());
        assert!(has(&log, EventKind::PathClosed, "wifi"));
        let mut fds = Vec::new();
        client.wait_for(&mut fds);
        assert!(fds.is_empty(), "a dead socket would wake the loop for ever");
        assert_eq!(samples(&mut client, &ground)[0].state, "closed");
    });
}

#[test]
fn nobody_listening_is_an_error_that_names_the_server() {
    inside("nobody_listening_is_an_error_that_names_the_server", || {
        let ground = Ground::new();
        for protocol in [Protocol::Tcp, Protocol::Mptcp] {
            let server = ground.nobody();
            let mut client = ground.connect(protocol, PathManagement::Userspace, 1, &server);
            let error = ground.drive_to_error(&mut client);
            assert!(error.to_string().contains(&server.address.to_string()));
        }
    });
}

#[test]
fn the_kernels_path_manager_opens_what_its_endpoints_say() {
    inside(
        "the_kernels_path_manager_opens_what_its_endpoints_say",
        || {
            let ground = Ground::new();
            let server = ground.serve(Protocol::Mptcp);
            for (managed, expected) in [
                (KernelManaged::Single, vec![WIFI]),
                (KernelManaged::Fullmesh, vec![WIFI, CELL]),
                (KernelManaged::Backup, vec![WIFI, CELL]),
            ] {
                let management = PathManagement::Kernel(managed);
                let mut client = ground.connect(Protocol::Mptcp, management, 1, &server);
                ground.drive(&mut client, |c| c.is_connected());
                ground.echo(&mut client, 0, &payload(200_000));
                ground.drive(&mut client, |c| usable(c, &ground) == expected);
                ground.echo(&mut client, 0, &payload(200_000));

                let rows = samples(&mut client, &ground);
                assert_eq!(rows[0].path, None);
                assert!(rows[0].sent_bytes.unwrap() >= 400_000);
                assert_eq!(rows.len(), 1 + expected.len());
                for row in &rows[1..] {
                    let cellular = row.path.as_ref().unwrap().as_str() == "cell";
                    let backup = managed == KernelManaged::Backup && cellular;
                    assert_eq!(row.backup, Some(backup), "{managed:?}");
                    if backup {
                        assert_eq!(row.sent_bytes, Some(0), "a backup rests");
                    }
                }
                let stack = client.stack();
                assert_eq!(
                    (&*stack.path_manager, &*stack.scheduler),
                    ("kernel", "default")
                );
                let log = events(&mut client);
                assert_eq!(
                    has(&log, EventKind::PathOpened, "cell"),
                    expected.contains(&CELL)
                );
            }
        },
    );
}

#[test]
fn an_endpoint_goes_and_comes_with_its_address() {
    inside("an_endpoint_goes_and_comes_with_its_address", || {
        let ground = Ground::new();
        let server = ground.serve(Protocol::Mptcp);
        let management = PathManagement::Kernel(KernelManaged::Fullmesh);
        let mut client = ground.connect(Protocol::Mptcp, management, 1, &server);
        ground.drive(&mut client, |c| c.is_connected());
        ground.echo(&mut client, 0, b"first");
        ground.drive(&mut client, |c| usable(c, &ground).len() == 2);
        for (path, name) in [(WIFI, "wifi"), (CELL, "cell")] {
            let other = if path == WIFI { CELL } else { WIFI };
            // Told of a change while the address is there: nothing is done.
            client.path_changed(ground.clock.now(), path, false);
            assert_eq!(usable(&mut client, &ground).len(), 2);

            ground.withdraw(path);
            client.path_changed(ground.clock.now(), path, false);
            ground.drive(&mut client, |c| usable(c, &ground) == [other]);
            ground.echo(&mut client, 0, &payload(50_000));
            ground.restore(path);
            client.path_changed(ground.clock.now(), path, true);
            ground.drive(&mut client, |c| usable(c, &ground).len() == 2);
            ground.echo(&mut client, 0, &payload(50_000));
            let log = events(&mut client);
            assert!(has(&log, EventKind::PathClosed, name));
            assert!(has(&log, EventKind::PathOpened, name));
        }
    });
}

#[test]
fn the_userspace_path_manager_opens_closes_and_reopens_each_path() {
    inside(
        "the_userspace_path_manager_opens_closes_and_reopens_each_path",
        || {
            let ground = Ground::new();
            let server = ground.serve(Protocol::Mptcp);
            let mut client = ground.connect(Protocol::Mptcp, PathManagement::Userspace, 2, &server);
            ground.drive(&mut client, |c| c.is_connected());
            assert_eq!(client.stack().path_manager, "userspace");
            let now = || ground.clock.now();
            for connection in 0..2 {
                ground.echo(&mut client, connection, &payload(1000));
                let open = |path, backup| Action::Open {
                    connection,
                    path,
                    backup,
                };
                let close = |path| Action::Close { connection, path };
                let expect = |client: &mut Client, paths: &[PathIndex]| {
                    ground.drive(client, |c| {
                        let view = c.view(now());
                        let subflows = &view[connection].subflows;
                        let settled = |s: &policy::SubflowView| s.state == PathState::Established;
                        subflows.iter().all(settled)
                            && subflows.iter().map(|s| s.path).eq(paths.iter().copied())
                    });
                    ground.echo(client, connection, &payload(100_000));
                };
                let backup = |client: &mut Client, path| {
                    let view = client.view(now());
                    view[connection].on(path).unwrap().backup
                };
                client.apply(now(), &open(CELL, true)).unwrap();
                assert!(client.take_changed());
                expect(&mut client, &[WIFI, CELL]);
                assert!(backup(&mut client, CELL) && !backup(&mut client, WIFI));
                server.expect_subflows(connection, &[("wifi", false), ("cell", true)]);
                let twice = client.apply(now(), &open(CELL, false));
                assert!(twice.unwrap_err().contains("already"));
                for (path, to) in [(CELL, false), (WIFI, true), (WIFI, false)] {
                    let action = Action::SetBackup {
                        connection,
                        path,
                        backup: to,
                    };
                    client.apply(now(), &action).unwrap();
                    assert_eq!(backup(&mut client, path), to);
                    let wifi = path == WIFI && to;
                    server.expect_subflows(connection, &[("wifi", wifi), ("cell", false)]);
                    ground.echo(&mut client, connection, &payload(1000));
                }
                // The initial subflow, then the other, twice each.
                for _ in 0..2 {
                    client.apply(now(), &close(WIFI)).unwrap();
                    expect(&mut client, &[CELL]);
                    server.expect_subflows(connection, &[("cell", false)]);
                    client.apply(now(), &open(WIFI, false)).unwrap();
                    expect(&mut client, &[WIFI, CELL]);
                    client.apply(now(), &close(CELL)).unwrap();
                    expect(&mut client, &[WIFI]);
                    server.expect_subflows(connection, &[("wifi", false)]);
                    client.apply(now(), &open(CELL, false)).unwrap();
                    expect(&mut client, &[WIFI, CELL]);
                }
                let again = client.apply(now(), &close(CELL));
                assert_eq!(again, Ok(()));
                let none = client.apply(now(), &close(CELL));
                assert!(none.unwrap_err().contains("no subflow"));
            }
            let log = events(&mut client);
            let kinds: BTreeSet<_> = log.iter().map(|e| format!("{:?}", e.kind)).collect();
            for kind in ["PathOpening", "PathOpened", "PathClosed", "PriorityChanged"] {
                assert!(kinds.contains(kind), "{kind} is missing in {kinds:?}");
            }
            assert!(!kinds.contains("Fallback") && !kinds.contains("Disconnected"));
        },
    );
}

#[test]
fn a_subflow_outlives_its_address_until_it_is_closed() {
    inside("a_subflow_outlives_its_address_until_it_is_closed", || {
        let ground = Ground::new();
        let server = ground.serve(Protocol::Mptcp);
        let mut client = ground.connect(Protocol::Mptcp, PathManagement::Userspace, 1, &server);
        ground.drive(&mut client, |c| c.is_connected());
        ground.echo(&mut client, 0, b"before");
        let connection = 0;
        let open = |path| Action::Open {
            connection,
            path,
            backup: false,
        };
        client.apply(ground.clock.now(), &open(CELL)).unwrap();
        ground.drive(&mut client, |c| usable(c, &ground) == [WIFI, CELL]);
        ground.withdraw(WIFI);
        client.take_changed();
        client.path_changed(ground.clock.now(), WIFI, false);
        assert!(client.take_changed(), "the path manager is to be asked");
        assert_eq!(usable(&mut client, &ground), [WIFI, CELL]);
        let close = Action::Close {
            connection,
            path: WIFI,
        };
        client.apply(ground.clock.now(), &close).unwrap();
        assert_eq!(usable(&mut client, &ground), [CELL]);
        ground.echo(&mut client, 0, &payload(100_000));
        let early = client.apply(ground.clock.now(), &open(WIFI));
        assert!(early.unwrap_err().contains("SUBFLOW_CREATE"));
        ground.restore(WIFI);
        client.path_changed(ground.clock.now(), WIFI, true);
        client.apply(ground.clock.now(), &open(WIFI)).unwrap();
        ground.drive(&mut client, |c| usable(c, &ground) == [WIFI, CELL]);
        ground.echo(&mut client, 0, &payload(100_000));
    });
}

#[test]
fn a_connection_without_subflows_carries_on_when_it_has_one_again() {
    inside(
        "a_connection_without_subflows_carries_on_when_it_has_one_again",
        || {
            let ground = Ground::new();
            let server = ground.serve(Protocol::Mptcp);
            let mut client = ground.connect(Protocol::Mptcp, PathManagement::Userspace, 1, &server);
            ground.drive(&mut client, |c| c.is_connected());
            ground.echo(&mut client, 0, b"before");
            let connection = 0;
            let close = Action::Close {
                connection,
                path: WIFI,
            };
            client.apply(ground.clock.now(), &close).unwrap();
            ground.drive(&mut client, |c| usable(c, &ground).is_empty());
            assert!(client.is_open(0));
            client.write(0, b"meanwhile");
            client.flush(ground.clock.now()).unwrap();
            assert!(client.view(ground.clock.now())[0].has_unsent);
            let open = Action::Open {
                connection,
                path: CELL,
                backup: false,
            };
            client.apply(ground.clock.now(), &open).unwrap();
            assert_eq!(ground.receive(&mut client, 0, 9), b"meanwhile");
        },
    );
}

#[test]
fn a_server_without_mptcp_is_a_fallback() {
    inside("a_server_without_mptcp_is_a_fallback", || {
        let ground = Ground::new();
        let server = ground.serve(Protocol::Tcp);
        let mut client = ground.connect(Protocol::Mptcp, PathManagement::Userspace, 1, &server);
        ground.drive(&mut client, |c| c.is_connected());
        ground.echo(&mut client, 0, &payload(100_000));
        let log = events(&mut client);
        let fallbacks = log.iter().filter(|e| e.kind == EventKind::Fallback);
        assert_eq!(fallbacks.count(), 1);
        let rows = samples(&mut client, &ground);
        assert_eq!(rows.len(), 2);
        assert!(rows[1].sent_bytes.unwrap() >= 100_000);
        let open = Action::Open {
            connection: 0,
            path: CELL,
            backup: false,
        };
        let refused = client.apply(ground.clock.now(), &open);
        assert!(refused.unwrap_err().contains("fell back"));
    });
}

#[test]
fn after_a_silent_loss_data_flows_on_the_new_subflow() {
    inside("after_a_silent_loss_data_flows_on_the_new_subflow", || {
        for (up, down) in [(true, true), (true, false), (false, true)] {
            let ground = Ground::new();
            let server = ground.serve(Protocol::Mptcp);
            let mut client = ground.connect(Protocol::Mptcp, PathManagement::Userspace, 1, &server);
            ground.drive(&mut client, |c| c.is_connected());
            ground.echo(&mut client, 0, &payload(50_000));
            ground.lose(WIFI, up, down);
            let lost_at = ground.clock.now();
            client.write(0, b"is this heard?");
            client.flush(lost_at).unwrap();
            ground.drive(&mut client, |c| {
                let view = c.view(ground.clock.now());
                view[0].on(WIFI).is_some_and(|s| s.retransmissions > 0)
            });
            let noticed = ground.clock.now().since(lost_at);
            let connection = 0;
            let open = Action::Open {
                connection,
                path: CELL,
                backup: false,
            };
            client.apply(ground.clock.now(), &open).unwrap();
            ground.drive(&mut client, |c| usable(c, &ground).contains(&CELL));
            let opened = ground.clock.now().since(lost_at);
            let close = Action::Close {
                connection,
                path: WIFI,
            };
            client.apply(ground.clock.now(), &close).unwrap();
            assert_eq!(ground.receive(&mut client, 0, 14), b"is this heard?");
            let answered = ground.clock.now().since(lost_at);
            ground.echo(&mut client, 0, &payload(50_000));
            println!(
                "lost up {up}, down {down}: noticed {noticed:?}, open {opened:?}, answered {answered:?}"
            );
            assert!(answered.as_secs_f64() < 2.0, "{answered:?}");
        }
    });
}
