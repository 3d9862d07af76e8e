//! Runs while nothing moves: what is in their folders, what makes them invalid, and what goes wrong.

use crate::ground::{carry_out, just_run, run, test};
use crate::hosts::{DESKTOP_BOTH, Hosts, inside, ip};
use crate::server::{Records, Server};
use analysis::folder::RunFolder;
use analysis::metric;
use model::live::Ended;
use model::manifest::Status;
use model::record::EventKind;
use model::scenario::{Bulk, Traffic};
use model::units::ByteSize;
use model::{Direction, Side};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use walkabout_measure::world::live::{LiveRecord, Until};

fn number(run: &RunFolder, name: &str) -> Option<f64> {
    let metric = metric::list::find(name).expect("a metric");
    Some((metric.of)(run)?.number().expect("a number").value)
}

#[test]
fn every_transport_leaves_a_complete_folder() {
    inside("runs::every_transport_leaves_a_complete_folder", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let server = Server::honest(&ground);
        let root = tempfile::tempdir().unwrap();
        for (transport, policy) in [
            ("tcp", "single"),
            ("quic", "single"),
            ("mptcp", "backup"),
            ("mpquic", "fullmesh"),
        ] {
            let runs = vec![run(transport, policy, 2, root.path())];
            let test = test(runs, server.address, server.pin, Until::InterfacesChange);
            let ends = just_run(&test);
            assert_eq!(ends[0].error, None, "{transport}");
            assert_eq!(
                (ends[0].ended, ends[0].invalid.as_ref()),
                (Ended::Done, None)
            );

            let run = RunFolder::open(&ends[0].folder).unwrap();
            let live = run.manifest.live.as_ref().unwrap();
            assert_eq!(run.manifest.status, Status::Complete, "{transport}");
            assert_eq!(run.manifest.world, "live");
            assert_eq!(live.ended, Some(Ended::Done));
            assert!(!run.manifest.kernel.is_empty() && !run.manifest.stack.name.is_empty());
            assert!(run.manifest.sysctls.contains_key("net.ipv4.tcp_rmem"));
            assert!(
                run.manifest.skipped[0].starts_with("packets: "),
                "{:?}",
                run.manifest.skipped
            );
            assert_eq!(run.manifest.skipped.len(), 1, "{:?}", run.manifest.skipped);

            // Two seconds of a chunk each 100 ms in both directions, each answered.
            for direction in [Direction::Up, Direction::Down] {
                let of = run.messages.iter().filter(|m| m.direction == direction);
                let of: Vec<_> = of.collect();
                assert!(
                    (15..=21).contains(&of.len()),
                    "{transport} {direction:?}: {}",
                    of.len()
                );
                let unanswered = of.iter().filter(|m| m.acked_us.is_none()).count();
                assert_eq!(unanswered, 0, "{transport} {direction:?}");
                assert!(
                    of.iter().all(|m| m.sent_us <= 2_000_000),
                    "within the run's time"
                );
            }
            for side in [Side::Client, Side::Server] {
                let samples = run.samples.iter().filter(|s| s.side == side);
                assert!(samples.count() >= 15, "{transport} {side:?}");
            }
            let clock = live.server_clock.expect("the records were fetched");
            assert!(clock.uncertainty_us < 100_000, "{clock:?}");
            // The session begins when the run's hello arrives: soon after the run.
            assert!((0..1_000_000).contains(&clock.offset_us), "{clock:?}");
            let began = run.events.iter().find(|e| e.detail == "the session begins");
            assert_eq!(began.map(|e| e.time_us), Some(clock.offset_us as u64));

            assert!(number(&run, "delay-max").unwrap() < 0.5, "{transport}");
            assert_eq!(number(&run, "unanswered-up"), Some(0.0));
            assert_eq!(number(&run, "unanswered-down"), Some(0.0));
            assert!(number(&run, "gap-longest").unwrap() < 0.6, "{transport}");
            let share = number(&run, "cellular-share").unwrap();
            match policy {
                "fullmesh" => assert!(share > 0.0),
                _ => assert!(share < 0.05, "{transport}: {share}"),
            }
            assert_eq!(
                (run.links.len() / 4, run.packets.len()),
                (run.links.len() / 4, 0)
            );
            assert!(run.links.len() >= 8 && run.links.iter().all(|l| l.up));
        }
    });
}

#[test]
fn a_bulk_run_ends_by_itself_and_ipv6_works() {
    inside("runs::a_bulk_run_ends_by_itself_and_ipv6_works", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let (address, transports) = ("[fd77::1]:443", ["mptcp", "mpquic"]);
        let server = Server::start(&ground, address, &transports, Records::Honest);
        let root = tempfile::tempdir().unwrap();
        for (transport, policy) in [
            ("mptcp", "fullmesh"),
            ("mpquic", "fullmesh"),
            ("tcp", "single"),
        ] {
            let mut run = run(transport, policy, 20, root.path());
            run.traffic = Traffic::Bulk(Bulk {
                size: ByteSize::from_bytes(200_000),
            });
            let test = test(vec![run], server.address, server.pin, Until::Time);
            let ends = just_run(&test);
            assert_eq!((ends[0].ended, ends[0].error.as_ref()), (Ended::Done, None));
            let run = RunFolder::open(&ends[0].folder).unwrap();
            assert_eq!(run.manifest.scenario.family, model::Family::Ipv6);
            assert!(
                number(&run, "completion-time").unwrap() < 5.0,
                "{transport}"
            );
        }
    });
}

#[test]
fn an_interface_that_changes_makes_the_run_invalid() {
    inside(
        "runs::an_interface_that_changes_makes_the_run_invalid",
        || {
            let ground = Hosts::new(DESKTOP_BOTH);
            let server = Server::honest(&ground);
            let root = tempfile::tempdir().unwrap();
            let runs = vec![run("quic", "single", 25, root.path())];
            let test = test(runs, server.address, server.pin, Until::InterfacesChange);
            let begin = Instant::now();
            let (ends, seen) = carry_out(&test, |wait, _| {
                wait(&|seen| seen.answered("quic", 0) >= 3);
                // Nobody walks with it.
                ip("link add veth0 type veth peer name veth1");
                ip("link set veth0 up");
                ip("addr add 10.99.0.1/24 dev veth0");
                let before = |seen: &_| crate::ground::Seen::answered(seen, "quic", 0);
                wait(&|seen| before(seen) >= 8);
                ip("link set cell down");
            });
            let end = &ends.unwrap()[0];
            assert!(begin.elapsed() < Duration::from_secs(15), "it went on");
            assert_eq!(end.ended, Ended::InterfacesChanged);
            let reason = end.invalid.as_deref().unwrap();
            assert!(
                reason.contains("cell lost its carrier or was taken down"),
                "{reason}"
            );
            assert_eq!(end.error, None);
            let run = RunFolder::open(&end.folder).unwrap();
            let live = run.manifest.live.as_ref().unwrap();
            assert_eq!(live.invalid.as_deref(), Some(reason));
            assert_eq!(run.manifest.status, Status::Complete);
            assert!(run.links.iter().any(|l| l.path.as_str() == "cell" && !l.up));
            let down = |e: &&model::record::Event| e.kind == EventKind::PathDown;
            assert_eq!(run.events.iter().filter(down).count(), 1);
            assert!(seen.records.iter().any(|record| matches!(
                record,
                LiveRecord::Event { event, .. } if event.kind == EventKind::PathDown
            )));
        },
    );
}

#[test]
fn it_ends_soon_when_told_to_stop() {
    inside("runs::it_ends_soon_when_told_to_stop", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let server = Server::honest(&ground);
        let root = tempfile::tempdir().unwrap();
        let runs = vec![run("tcp", "single", 25, root.path())];
        let test = test(runs, server.address, server.pin, Until::Time);
        let mut stopped = None;
        let (ends, _) = carry_out(&test, |wait, stop| {
            wait(&|seen| seen.answered("tcp", 0) >= 3);
            stop.store(true, Ordering::Relaxed);
            stopped = Some(Instant::now());
        });
        assert!(stopped.unwrap().elapsed() < Duration::from_secs(5));
        let end = &ends.unwrap()[0];
        assert_eq!((end.ended, end.error.as_ref()), (Ended::Stopped, None));
        let run = RunFolder::open(&end.folder).unwrap();
        assert_eq!(
            number(&run, "unanswered-up"),
            Some(0.0),
            "answers were waited for"
        );
    });
}

#[test]
fn what_is_wrong_with_one_run_ends_only_that_run() {
    inside(
        "runs::what_is_wrong_with_one_run_ends_only_that_run",
        || {
            let ground = Hosts::new(DESKTOP_BOTH);
            let server = Server::honest(&ground);
            let root = tempfile::tempdir().unwrap();
            let taken = run("tcp", "single", 1, root.path());
            std::fs::create_dir_all(&taken.folder).unwrap();
            std::fs::write(taken.folder.join("thesis.txt"), "mine").unwrap();
            let runs = vec![
                taken,
                run("quic", "single", 1, root.path()),
                run("mptcp", "single", 1, root.path()),
            ];
            // The pin is another's: TCP has no certificate to check.
            let test = test(runs, server.address, [7; 32], Until::Time);
            let ends = just_run(&test);
            let errors: Vec<_> = ends
                .iter()
                .map(|e| e.error.as_deref().unwrap_or("-"))
                .collect();
            assert!(errors[0].contains("exists and is not empty"), "{errors:?}");
            assert!(
                errors[1].contains("handshake with the server failed"),
                "{errors:?}"
            );
            assert_eq!(errors[2], "-");
            assert_eq!(
                ends.iter().map(|e| e.ended).collect::<Vec<_>>(),
                [Ended::Failed, Ended::Failed, Ended::Done]
            );
            let failed = RunFolder::open(&ends[1].folder).unwrap();
            assert_eq!(failed.manifest.status, Status::Failed);
            assert_eq!(failed.manifest.live.unwrap().ended, Some(Ended::Failed));
        },
    );
}

#[test]
fn records_that_cannot_be_had_leave_the_run_complete() {
    inside(
        "runs::records_that_cannot_be_had_leave_the_run_complete",
        || {
            let ground = Hosts::new(DESKTOP_BOTH);
            for (records, port, reason) in [
                (Records::Refused, 443, "closed the connection"),
                (Records::TooLong, 444, "announces 4294967295 bytes"),
                (Records::Garbled, 445, "cannot be read"),
                (Records::Foreign, 446, "samples of the client"),
            ] {
                let address = format!("10.77.0.1:{port}");
                let server = Server::start(&ground, &address, &["mptcp"], records);
                let root = tempfile::tempdir().unwrap();
                let runs = vec![run("tcp", "single", 1, root.path())];
                let test = test(runs, server.address, server.pin, Until::Time);
                let end = &just_run(&test)[0];
                assert_eq!((end.ended, end.error.as_ref()), (Ended::Done, None));
                let run = RunFolder::open(&end.folder).unwrap();
                assert_eq!(run.manifest.status, Status::Complete);
                let skipped = run.manifest.skipped.join("\n");
                assert!(skipped.contains(reason), "{records:?}: {skipped}");
                assert!(run.messages.iter().all(|m| m.direction == Direction::Up));
                assert!(!run.messages.is_empty());
                assert_eq!(run.manifest.live.unwrap().server_clock, None);
            }
        },
    );
}

#[test]
fn what_cannot_be_is_said_before_a_packet_is_sent() {
    inside(
        "runs::what_cannot_be_is_said_before_a_packet_is_sent",
        || {
            let ground = Hosts::new(DESKTOP_BOTH);
            let root = tempfile::tempdir().unwrap();
            let server = "10.77.0.1:443".parse().unwrap();
            let refused = |change: &dyn Fn(&mut walkabout_measure::world::live::Test)| {
                let runs = vec![run("mptcp", "backup", 1, root.path())];
                let mut test = test(runs, server, [0; 32], Until::Time);
                change(&mut test);
                carry_out(&test, |_, _| {}).0.unwrap_err().to_string()
            };
            let other = run("mptcp", "apple-interactive", 1, root.path());
            let told = [
                refused(&|test| test.runs.clear()),
                refused(&|test| test.runs[0].transport = "sctp".to_owned()),
                refused(&|test| test.runs[0].policy = "none".to_owned()),
                refused(&|test| test.runs[0].transport = "tcp-user".to_owned()),
                refused(&|test| test.runs.push(other.clone())),
                refused(&|test| test.paths.clear()),
                refused(&|test| test.paths[1].address = "10.77.2.9".parse().unwrap()),
                refused(&|test| test.paths[1].name = test.paths[0].name.clone()),
                refused(&|test| test.server = "[fd77::1]:443".parse().unwrap()),
                refused(&|test| test.until = Until::WifiLost("wlan".into())),
            ];
            insta::assert_snapshot!(told.join("\n"), @r"
        the test has no run: name at least one transport
        no transport is called `sctp`
        no policy is called `none`
        `tcp-user` takes its interfaces away from the host, so it is not for real ones: use the kernel's, or another world
        mptcp under `backup` and under `apple-interactive` cannot run at once: the kernel has one path manager for all connections of a host; run them one after the other
        the test has no path: name at least one interface
        the path `cell` does not work now: its interface is down, or has not the address 10.77.2.9 any more
        two paths have the name `wifi` or the address 10.77.2.2
        the path `wifi` starts at 10.77.1.2, and the server is at fd77::1: they are of different versions of the internet protocol
        the test is to end with `wlan`, which is none of its paths
        ");
            assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
            drop(ground);
        },
    );
}

#[test]
fn without_privilege_all_but_mptcp_work() {
    inside("runs::without_privilege_all_but_mptcp_work", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let server = Server::honest(&ground);
        let root = tempfile::tempdir().unwrap();
        drop_capabilities();
        for (transport, policy) in [
            ("mptcp", "apple-interactive"),
            ("tcp", "single"),
            ("mpquic", "fullmesh"),
        ] {
            let runs = vec![run(transport, policy, 1, root.path())];
            let test = test(runs, server.address, server.pin, Until::InterfacesChange);
            let end = &just_run(&test)[0];
            match transport {
                "mptcp" => {
                    let error = end.error.as_deref().unwrap();
                    assert!(error.contains("setcap cap_net_admin+ep"), "{error}");
                }
                _ => assert_eq!((end.ended, end.error.as_ref()), (Ended::Done, None)),
            }
        }
    });
}

/// Gives up every capability of the calling thread, and of those it starts.
fn drop_capabilities() {
    /// `_LINUX_CAPABILITY_VERSION_3` (linux/capability.h).
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let nothing = [0_u32; 6];
    // SAFETY: the header and the six words are what version 3 of the call reads.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn the_hosts_settings_are_put_back() {
    inside("runs::the_hosts_settings_are_put_back", || {
        let ground = Hosts::new(DESKTOP_BOTH);
        let server = Server::honest(&ground);
        let root = tempfile::tempdir().unwrap();
        let manager = "/proc/sys/net/mptcp/path_manager";
        let read = || std::fs::read_to_string(manager).unwrap().trim().to_owned();
        let endpoints = || {
            let mut control = walkabout_measure::netlink::mptcp::Control::open().unwrap();
            control.endpoints().unwrap()
        };
        let before = read();
        ip("addr add 10.77.3.3/32 dev lo");
        let mut control = walkabout_measure::netlink::mptcp::Control::open().unwrap();
        control
            .add_endpoint(&walkabout_measure::netlink::mptcp::LocalAddress {
                id: 42,
                ip: "10.77.3.3".parse().unwrap(),
                port: None,
                flags: walkabout_measure::netlink::mptcp::flag::SUBFLOW,
                interface: 0,
            })
            .unwrap();
        let theirs = endpoints();
        assert_eq!(theirs.len(), 1);
        for policy in ["apple-interactive", "backup"] {
            let runs = vec![run("mptcp", policy, 1, root.path())];
            let test = test(runs, server.address, server.pin, Until::Time);
            let during = std::cell::RefCell::new((String::new(), 0));
            let (ends, _) = carry_out(&test, |wait, _| {
                wait(&|seen| seen.answered(&format!("mptcp-{policy}"), 0) >= 2);
                during.replace((read(), endpoints().len()));
            });
            assert_eq!(ends.unwrap()[0].error, None);
            let expected = match policy {
                "backup" => ("kernel".to_owned(), 2),
                _ => ("userspace".to_owned(), 1),
            };
            assert_eq!(during.into_inner(), expected, "{policy}");
            assert_eq!(
                (read(), endpoints()),
                (before.clone(), theirs.clone()),
                "{policy}"
            );
        }
    });
}
