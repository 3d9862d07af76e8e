//! Multipath TCP with a second subflow: in a network namespace of its own, where the kernel's path manager
//! may be told of a second address.

use super::client::{By, Client, records};
use super::rig::Ground;
use measure::netlink::mptcp::{Control, LocalAddress, flag};
use measure::netlink::route::Routing;
use model::scenario::{Interactive, Traffic};
use model::units::Span;
use std::os::unix::process::CommandExt;
use std::process::Command;
use walkabout_platform::server::Limits;

/// Set in the process that is in the namespace.
const INSIDE: &str = "WALKABOUT_TEST_INSIDE";

/// Whether this process is in a fresh network namespace; else the test `name` was run in one.
pub fn is_inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().expect("this test"));
    again
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1");
    // Root inside, or the privileges over the namespaces would end with the exec.
    let map = format!("0 {} 1", nix::unistd::getuid());
    // SAFETY: between fork and exec there are system calls only, which take no memory.
    unsafe {
        again.pre_exec(move || {
            if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            let file = libc::open(c"/proc/self/uid_map".as_ptr(), libc::O_WRONLY);
            let written = libc::write(file, map.as_ptr().cast(), map.len());
            libc::close(file);
            match usize::try_from(written) {
                Ok(_) => Ok(()),
                Err(_) => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let status = again
        .status()
        .expect("a user namespace; see walkabout doctor");
    assert!(status.success(), "in the namespace: {status}");
    false
}

#[test]
fn the_subflows_of_multipath_tcp_are_seen_as_paths() {
    if !is_inside("namespace::the_subflows_of_multipath_tcp_are_seen_as_paths") {
        return;
    }
    let mut routing = Routing::open().expect("netlink");
    let loopback = routing.link("lo").expect("loopback").index;
    routing.set_up(loopback, true).expect("up");
    let ground = Ground::new();
    // The server raises the limits of the kernel's path manager.
    let server = ground.serve(Limits::default());
    assert_eq!(server.ready.missing, Vec::<String>::new());
    let mut control = Control::open().expect("the path manager");
    assert_eq!(control.limits().expect("limits").subflows, 8);
    let second = LocalAddress {
        id: 1,
        ip: [127, 0, 1, 2].into(),
        port: None,
        flags: flag::SUBFLOW,
        interface: loopback,
    };
    control.add_endpoint(&second).expect("an endpoint");

    let token = ground.token();
    let traffic = Traffic::Interactive(Interactive {
        period: Span::from_millis(10),
        ..Interactive::default()
    });
    let (address, pin) = (server.address(), server.pin());
    let mut client = Client::new(By::Mptcp, address, pin, &traffic, Some(&token));
    client.until("an answer", |c| !c.log.is_empty());
    client.until("seen on both paths of both connections", |_| {
        let seen = records(address, &token).expect("records").samples.0;
        [(0, "path-1"), (0, "path-2"), (1, "path-1"), (1, "path-2")]
            .iter()
            .all(|(connection, path)| {
                seen.iter().any(|s| {
                    s.connection == *connection
                        && s.state == "established"
                        && s.path.as_ref().is_some_and(|p| p.as_str() == *path)
                })
            })
    });
    client.close();
    server.stop();
}
