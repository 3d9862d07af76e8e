//! What can this machine do of what Walkabout needs, and what to do about what is missing.

mod machine;
mod multipath;
mod paths;

use crate::emulator::device::Tun;
use crate::emulator::{DeviceKind, Ground, NamespaceError, NetNs, enter_user_namespace};
use model::{Family, PathKind};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// For how long the checks in namespaces may take in all; they take about two seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Works, but not as well as it might.
    Warn,
    /// Something that needs it can't be done here.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// How it came out.
    pub status: CheckStatus,
    /// What was found.
    pub finding: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Check {
    fn ok(name: &str, finding: impl Into<String>) -> Check {
        Check {
            name: name.to_owned(),
            status: CheckStatus::Ok,
            finding: finding.into(),
            advice: None,
        }
    }

    fn warn(name: &str, finding: impl Into<String>, advice: impl Into<String>) -> Check {
        Check {
            status: CheckStatus::Warn,
            advice: Some(advice.into()),
            ..Check::ok(name, finding)
        }
    }

    fn missing(name: &str, finding: impl Into<String>, advice: impl Into<String>) -> Check {
        Check {
            status: CheckStatus::Missing,
            ..Check::warn(name, finding, advice)
        }
    }
}

/// Examines this machine, as the user who asks.
///
/// What needs namespaces is looked at in a child process (a fork), which leaves nothing behind.
/// So it is to be called while the process has one thread; with more, those checks are
/// reported as missing, with this reason.
pub fn examine() -> Vec<Check> {
    let mut checks = machine::examine();
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        checks.push(unexamined(&format!(
            "the program has {threads} threads, and only one with one may look"
        )));
        return checks;
    }
    match in_child(examine_inside) {
        Ok(found) => checks.extend(found),
        Err(error) => checks.push(unexamined(&error.to_string())),
    }
    checks
}

fn unexamined(reason: &str) -> Check {
    Check::missing(
        "namespaces",
        format!("not examined: {reason}"),
        "Run `walkabout doctor` by itself",
    )
}

/// Runs `work` in a child process and collects the checks it reports one by one. The process
/// must have one thread.
fn in_child(work: fn(&mut dyn FnMut(Check))) -> std::io::Result<Vec<Check>> {
    let (read, write) = pipe()?;
    // SAFETY: this process has one thread, so the child may do anything that a program may.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop(read);
            let mut write = File::from(write);
            let mut report = |check: Check| {
                // A parent that is gone needs no report.
                if let Ok(line) = serde_json::to_string(&check) {
                    let _ = writeln!(write, "{line}");
                }
            };
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&mut report)));
            // SAFETY: ends the child without running what the parent's program set up for its
            // own end.
            unsafe { libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            drop(write);
            let checks = collect(read, child);
            waitpid(child, None)?;
            checks
        }
    }
}

fn collect(read: OwnedFd, child: Pid) -> std::io::Result<Vec<Check>> {
    let began = Instant::now();
    let mut text = Vec::new();
    let mut read = File::from(read);
    loop {
        let left = PATIENCE.saturating_sub(began.elapsed());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let ready = poll(&mut [PollFd::new(read.as_fd(), PollFlags::POLLIN)], timeout);
        if matches!(ready, Ok(0)) {
            kill(child, Signal::SIGKILL)?;
            break;
        }
        let mut buffer = [0; 4_096];
        match read.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let lines = BufReader::new(&text[..]).lines();
    let checks = lines.map_while(Result::ok);
    Ok(checks
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect())
}

/// What is looked at inside of namespaces.
fn examine_inside(report: &mut dyn FnMut(Check)) {
    let name = "user namespaces";
    let entered = enter_user_namespace();
    let inside = entered.is_ok();
    report(match entered {
        Ok(()) => Check::ok(name, "you may make user, network and mount namespaces"),
        Err(NamespaceError::Forbidden {
            source,
            finding,
            advice,
        }) => Check::missing(name, format!("{finding} ({source})"), advice),
        Err(error) => Check::missing(name, error.to_string(), "Please report this"),
    });
    report(multipath::socket());
    report(multipath::congestion());
    if !inside {
        return;
    }
    report(packet_sockets());
    report(tun());
    report(multipath::path_managers());
    let probes = paths::PATHS.map(|(name, kind)| (name.into(), kind));
    let mut ground = match Ground::make(&probes, Family::Ipv4, None) {
        Ok(ground) => ground,
        Err(error) => {
            return report(Check::missing(
                "hosts",
                error.to_string(),
                "The checks above say what is missing",
            ));
        }
    };
    let devices = ground.take_devices();
    let (symmetry, devices) = paths::symmetry(&ground, devices);
    report(symmetry);
    for check in paths::traffic(&ground, devices) {
        report(check);
    }
}

fn packet_sockets() -> Check {
    let name = "veth and packet sockets";
    let probe = [("probe".into(), PathKind::Wifi)];
    match Ground::make(&probe, Family::Ipv4, Some(DeviceKind::PacketSocket)) {
        Ok(_) => Check::ok(name, "hosts can be joined by veth pairs and packet sockets"),
        Err(error) => Check::missing(
            name,
            error.to_string(),
            "The kernel needs CONFIG_VETH and CONFIG_PACKET (`sudo modprobe veth af_packet`)",
        ),
    }
}

fn tun() -> Check {
    let name = "TUN";
    let opened = NetNs::create().and_then(|namespace| namespace.run(|| Tun::create("probe")));
    let error = match opened {
        Ok(Ok(_)) => {
            return Check::ok(name, "/dev/net/tun opens: packets pass through TUN devices");
        }
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Check::warn(
        name,
        format!("/dev/net/tun does not open ({error}): packet sockets are used instead"),
        "Nothing needs it. To have it: `sudo modprobe tun && sudo chmod 0666 /dev/net/tun`",
    )
}
