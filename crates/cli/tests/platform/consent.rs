//! What is sent by who does not agree? Nothing to any test server.

use crate::deployment::Deployment;
use nix::unistd::write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;

/// Declining, and being nobody who could agree, sends no packet to any server.
pub fn declining_sends_no_packet(deployment: &mut Deployment) {
    let before = deployment.ground.packets();
    let nobody = deployment
        .start_client(&mut deployment.test(&["--json"]))
        .finish();
    assert_eq!(nobody.status.code(), Some(2), "{nobody:?}");
    assert!(nobody.err.contains("This is version"), "{nobody:?}");
    let message = &nobody.json()["error"]["message"];
    assert!(
        message.as_str().is_some_and(|m| m.contains("--consent")),
        "{message}"
    );

    let (keyboard, terminal) = pseudo_terminal();
    let mut command = deployment.test(&[]);
    let client = deployment.start_client(command.stdin(Stdio::from(terminal)));
    write(&keyboard, b"no\n").expect("a line");
    let declined = client.finish();
    assert_eq!(declined.status.code(), Some(1), "{declined:?}");
    assert!(declined.err.contains("walkabout: declined"), "{declined:?}");

    let sent = deployment.ground.packets() - before;
    assert_eq!(sent, 0, "packets to or from test servers without consent");
    let folders = std::fs::read_dir(deployment.home().join("runs"))
        .into_iter()
        .flatten();
    assert_eq!(folders.count(), 0, "a folder was left behind");
}

/// The user's end of a terminal, and the program's.
fn pseudo_terminal() -> (OwnedFd, OwnedFd) {
    let (mut user, mut program) = (-1, -1);
    let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: the two descriptors are filled in; name, settings and size are not given.
    let made = unsafe { libc::openpty(&mut user, &mut program, name, settings, size) };
    assert_eq!(
        made,
        0,
        "a pseudo terminal: {}",
        std::io::Error::last_os_error()
    );
    // SAFETY: the descriptors were just opened and belong to no one else.
    unsafe { (OwnedFd::from_raw_fd(user), OwnedFd::from_raw_fd(program)) }
}
