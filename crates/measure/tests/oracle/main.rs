//! Does the daemon steer the connections of applications that know nothing of it, on this kernel,
//! and is no harm done when it dies?

mod ground;
#[path = "../hosts/mod.rs"]
#[allow(dead_code, reason = "each of those who share it uses its part")]
mod hosts;
mod ipv6;
mod random;

use ground::{Process, Running, everywhere, inside, paths, server, setup, wait_for_status};
use hosts::echo::{App, connect, serve};
use hosts::{DESKTOP, DESKTOP_BOTH, Hosts, NAMES, sysctl};
use model::Family;
use std::net::SocketAddr;
use walkabout_measure::oracle::{Entry, Kind, restore};

const APPS: usize = 3;

fn all_on(status: &serde_json::Value, count: usize, path: &str) -> bool {
    let now = paths(status);
    now.len() == count && now.iter().all(|of| of == &[path.to_owned()])
}

#[test]
fn every_connection_leaves_a_silent_wifi_and_returns() {
    inside("every_connection_leaves_a_silent_wifi_and_returns", || {
        let ground = Hosts::new(DESKTOP);
        let to = server(Family::Ipv4);
        serve(&ground, to);
        all_leave_and_return(&ground, to);
    });
}

/// Connections to `to` leave a silent Wi-Fi and return when it works, and what was changed is put back.
fn all_leave_and_return(ground: &Hosts, to: SocketAddr) {
    let folder = tempfile::tempdir().unwrap();
    let before = sysctl("net.mptcp.pm_type");
    let daemon = Running::start(setup(folder.path()));
    let apps: Vec<App> = (0..APPS).map(|_| App::start(to)).collect();
    daemon.wait_for(APPS, |e| e.kind == Kind::Adopted);
    apps.iter().for_each(|app| app.goes_on(10));
    wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[0]));

    ground.lose(0, true, true);
    let left = |e: &Entry| {
        e.kind == Kind::Done && e.detail.starts_with("close") && e.path.as_deref() == Some(NAMES[0])
    };
    daemon.wait_for(APPS, left);
    apps.iter().for_each(|app| app.goes_on(10));
    wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[1]));

    ground.find_again(0);
    wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[0]));
    apps.iter().for_each(|app| app.goes_on(10));

    let seen = daemon.end();
    let failed: Vec<_> = seen.iter().filter(|e| e.kind == Kind::Failed).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    // Decisions say why.
    let why = |e: &&Entry| e.kind == Kind::Decision;
    assert!(seen.iter().filter(why).all(|e| e.detail.contains(": ")));
    // What was changed is put back, and the connections stay.
    assert_eq!(sysctl("net.mptcp.pm_type"), before);
    assert!(!folder.path().join("kept.json").exists());
    assert!(!folder.path().join("oracle.sock").exists());
    apps.iter().for_each(|app| app.goes_on(10));
}

#[test]
fn connections_go_on_when_the_daemon_is_killed() {
    const NAME: &str = "connections_go_on_when_the_daemon_is_killed";
    inside(NAME, || {
        let ground = Hosts::new(DESKTOP);
        serve(&ground, server(Family::Ipv4));
        let folder = tempfile::tempdir().unwrap();
        let before = sysctl("net.mptcp.pm_type");
        assert_eq!(before, "0");
        // Killed while on Wi-Fi.
        let daemon = Process::start(NAME, folder.path());
        let apps: Vec<App> = (0..APPS)
            .map(|_| App::start(server(Family::Ipv4)))
            .collect();
        wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[0]));
        daemon.kill();
        apps.iter().for_each(|app| app.goes_on(20));
        // The next one finds the connections, and what the host's owner had set.
        let daemon = Process::start(NAME, folder.path());
        wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[0]));
        ground.lose(0, true, true);
        wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[1]));
        apps.iter().for_each(|app| app.goes_on(10));
        // Killed while on cellular.
        daemon.kill();
        apps.iter().for_each(|app| app.goes_on(20));
        // A subflow that another daemon opened is recognised, and Wi-Fi is returned to.
        let daemon = Process::start(NAME, folder.path());
        wait_for_status(folder.path(), |s| paths(s).len() == APPS);
        ground.find_again(0);
        wait_for_status(folder.path(), |s| all_on(s, APPS, NAMES[0]));
        daemon.kill();
        assert_eq!(sysctl("net.mptcp.pm_type"), "1");
        let done = restore(&folder.path().join("kept.json")).unwrap();
        assert!(!done.is_empty());
        assert_eq!(sysctl("net.mptcp.pm_type"), before);
        assert!(
            restore(&folder.path().join("kept.json"))
                .unwrap()
                .is_empty()
        );
        apps.iter().for_each(|app| app.goes_on(10));
    });
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    inside("a_dry_run_says_what_it_would_do_and_does_nothing", || {
        let ground = Hosts::new(DESKTOP);
        serve(&ground, server(Family::Ipv4));
        let folder = tempfile::tempdir().unwrap();
        let mut setup = setup(folder.path());
        setup.dry_run = true;
        let daemon = Running::start(setup);
        let app = App::start(server(Family::Ipv4));
        app.goes_on(5);
        daemon.wait(|e| e.kind == Kind::Adopted);
        ground.lose(0, true, true);
        let would = daemon.wait(|e| e.kind == Kind::Decision);
        assert!(would.detail.starts_with("would open: "), "{}", would.detail);
        assert_eq!(would.path.as_deref(), Some(NAMES[1]));
        assert_eq!(sysctl("net.mptcp.pm_type"), "0");
        ground.find_again(0);
        app.goes_on(5);
        let seen = daemon.end();
        assert!(
            seen.iter()
                .all(|e| e.kind != Kind::Done && e.kind != Kind::Failed)
        );
        drop(app);
    });
}

/// Messages that did not fit into this namespace's generic netlink sockets.
fn netlink_drops() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/netlink").unwrap();
    let generic = libc::NETLINK_GENERIC.to_string();
    let drops = text.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let ours = columns.get(1) == Some(&generic.as_str());
        columns.get(8).filter(|_| ours)?.parse::<u64>().ok()
    });
    drops.sum()
}

#[test]
fn lost_notifications_are_made_good() {
    const NAME: &str = "lost_notifications_are_made_good";
    inside(NAME, || {
        let ground = Hosts::new(DESKTOP_BOTH);
        serve(&ground, everywhere());
        let folder = tempfile::tempdir().unwrap();
        let daemon = Process::start(NAME, folder.path());
        let first = App::start(server(Family::Ipv4));
        wait_for_status(folder.path(), |s| all_on(s, 1, NAMES[0]));
        // It does not read while more happens than its socket holds.
        daemon.signal(libc::SIGSTOP);
        let mut connections = 0;
        while netlink_drops() == 0 {
            drop(connect(server(Family::Ipv4)));
            connections += 1;
            assert!(connections < 20_000, "its socket takes everything");
        }
        let second = App::start(server(Family::Ipv6));
        daemon.signal(libc::SIGCONT);
        wait_for_status(folder.path(), |s| {
            s["counters"]["resyncs"].as_u64() > Some(0)
        });
        wait_for_status(folder.path(), |s| all_on(s, 2, NAMES[0]));
        ground.lose(0, true, true);
        wait_for_status(folder.path(), |s| all_on(s, 2, NAMES[1]));
        first.goes_on(10);
        second.goes_on(10);
        daemon.kill();
    });
}

#[test]
fn a_server_follows_its_clients_last_subflow() {
    inside("a_server_follows_its_clients_last_subflow", || {
        let ground = Hosts::new(DESKTOP);
        follows(&ground, server(Family::Ipv4), server(Family::Ipv4));
    });
}

/// A server that listens at `at` sends on its client's last subflow; the client connects to `to`.
fn follows(ground: &Hosts, at: SocketAddr, to: SocketAddr) {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut follow = setup(there.path());
    follow.follow = true;
    let follower = ground.at_server(|| Running::start(follow));
    serve(ground, at);
    let daemon = Running::start(setup(here.path()));
    let app = App::start(to);
    app.goes_on(10);
    // Only what goes down is lost: the client's data goes on coming over Wi-Fi.
    ground.lose(0, false, true);
    let decision = follower.wait(|e| e.kind == Kind::Decision);
    let last = hosts::address(Family::of(to.ip().to_canonical()), 1, hosts::USUAL);
    let detail = &decision.detail;
    assert!(detail.contains(&format!("to {last}:")), "{detail}");
    follower.wait(|e| e.kind == Kind::Done);
    app.goes_on(10);
    wait_for_status(there.path(), |s| in_use(s) == [last.to_string()]);
    // And back, when the client goes back.
    ground.find_again(0);
    wait_for_status(here.path(), |s| all_on(s, 1, NAMES[0]));
    let first = hosts::address(Family::of(last), 0, hosts::USUAL);
    wait_for_status(there.path(), |s| in_use(s) == [first.to_string()]);
    app.goes_on(10);
    let seen = [daemon.end(), follower.end()].concat();
    assert!(seen.iter().all(|e| e.kind != Kind::Failed), "{seen:#?}");
}

/// The client's addresses of the subflows on which a follower's host sends.
fn in_use(status: &serde_json::Value) -> Vec<String> {
    let list = |v: &serde_json::Value| v.as_array().cloned().unwrap_or_default();
    let subflows = list(&status["connections"]);
    let subflows = subflows.iter().flat_map(|c| list(&c["subflows"]));
    let used = subflows.filter(|s| s["state"] == "established" && s["backup"] == false);
    let ip = |s: serde_json::Value| s["remote"].as_str()?.parse::<SocketAddr>().ok();
    used.filter_map(ip).map(|a| a.ip().to_string()).collect()
}
