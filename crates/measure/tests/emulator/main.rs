//! Whether real packets meet the emulated links as the scenario says, on each kind of device,
//! as an ordinary user and as root.
//!
//! Each test runs in a process of its own, which this program starts from itself, because only
//! a process with one thread may enter a user namespace. So it has its own `main`.

use model::Family;
use nix::unistd::Uid;
use std::error::Error;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::emulator::{DeviceKind, Ground, enter_user_namespace};
use walkabout_measure::netlink::route::Routing;

/// An error with the condition's text and a value, unless the condition holds.
macro_rules! check {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!("{}: {}", stringify!($condition), format!($($words)+)).into());
        }
    };
}

mod delivery;
mod failures;
mod ground;
mod recorded;

type Outcome = Result<(), Box<dyn Error>>;
type Test = (&'static str, fn(On) -> Outcome);

/// What a test stands on.
#[derive(Clone, Copy)]
struct On {
    kind: DeviceKind,
    family: Family,
}

const TESTS: &[Test] = &[
    (
        "a_datagram_takes_the_configured_delay",
        delivery::a_datagram_takes_the_configured_delay,
    ),
    ("tcp_works_on_each_path", delivery::tcp_works_on_each_path),
    ("packets_are_real", delivery::packets_are_real),
    ("carrier_loss_is_seen", failures::carrier_loss_is_seen),
    (
        "an_interface_goes_down_and_comes_back",
        failures::an_interface_goes_down_and_comes_back,
    ),
    (
        "an_address_is_withdrawn_and_comes_back",
        failures::an_address_is_withdrawn_and_comes_back,
    ),
    (
        "every_packet_is_recorded",
        recorded::every_packet_is_recorded,
    ),
];

/// Long enough for anything here on a busy machine, and short enough not to hang.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--doctor"] {
        let checks = walkabout_measure::doctor::examine();
        for check in &checks {
            println!("{check:?}");
        }
        return ExitCode::SUCCESS;
    }
    if let [flag, name, kind, family] = &arguments[..]
        && flag == "--inside"
    {
        return inside(name, kind, family);
    }
    let filter = arguments.iter().find(|a| !a.starts_with('-'));
    let users: &[&str] = match Uid::effective().is_root() {
        true => &["root", "user"],
        false => &["user"],
    };
    let mut failed = 0;
    for (name, _) in TESTS {
        for kind in DeviceKind::ALL {
            for (user, family) in users.iter().flat_map(|u| Family::ALL.map(|f| (u, f))) {
                // As root nothing is different but the namespaces.
                if user == &"root" && family == Family::Ipv6 {
                    continue;
                }
                let title = format!("{name} ({kind}, {user}, {family:?})");
                if filter.is_some_and(|f| !title.contains(f.as_str())) {
                    continue;
                }
                let on = On { kind, family };
                let outcome = outside(name, on, user == &"user" && users.len() > 1);
                println!("test {title} ... {}", outcome.as_deref().unwrap_or("ok"));
                // What a machine can't do is skipped by name; in CI it is a failure.
                let skipped = outcome.as_ref().is_some_and(|o| o.starts_with("skipped"));
                let excused = skipped && std::env::var_os("CI").is_none();
                failed += u32::from(outcome.is_some() && !excused);
            }
        }
    }
    for (title, outcome) in [
        ("the_doctor_finds_what_the_tests_need", doctor()),
        (
            "the_doctor_says_what_forbids_namespaces",
            doctor_without_namespaces(),
        ),
    ] {
        if filter.is_some_and(|f| !title.contains(f.as_str())) {
            continue;
        }
        failed += u32::from(outcome.is_err());
        let words = outcome.map_or_else(|error| format!("FAILED: {error}"), |()| "ok".to_owned());
        println!("test {title} ... {words}");
    }
    println!("{failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Everything the tests above needed is there, so nothing may be missing.
fn doctor() -> Outcome {
    let output = Command::new(std::env::current_exe()?)
        .arg("--doctor")
        .output()?;
    let words = String::from_utf8_lossy(&output.stdout);
    check!(words.contains("path symmetry"), "{words}");
    check!(!words.contains("status: Missing"), "{words}");
    Ok(())
}

/// In a user namespace whose own limit is zero, and without any capability.
fn doctor_without_namespaces() -> Outcome {
    let program = std::env::current_exe()?;
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set -all --inh-caps -all \"$0\" --doctor";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(program);
    let output = command.output()?;
    let words = String::from_utf8_lossy(&output.stdout);
    let found = words
        .lines()
        .find(|line| line.contains("user namespaces"))
        .unwrap_or_default();
    check!(found.contains("status: Missing"), "{words}");
    check!(found.contains("max_user_namespaces is 0"), "{found}");
    check!(
        found.contains("sysctl -w user.max_user_namespaces="),
        "{found}"
    );
    Ok(())
}

/// Runs a test in a process of its own; the result is what went wrong.
fn outside(name: &str, on: On, drop_root: bool) -> Option<String> {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Some(error.to_string()),
    };
    let mut command = match (drop_root, on.kind) {
        (false, _) => Command::new(program),
        (true, DeviceKind::PacketSocket) => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            command.arg(program);
            command
        }
        // Many systems let every user open the TUN device, some do not. Here the user gets one
        // that opens, in a mount namespace that nobody else sees.
        (true, DeviceKind::Tun) => {
            let script = "mount -t tmpfs none /dev/net && mknod -m 0666 /dev/net/tun c 10 200 \
                          && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", script]).arg(program);
            command
        }
    };
    let family = format!("{:?}", on.family);
    let arguments = ["--inside", name, on.kind.name(), &family];
    let output = match command.args(arguments).output() {
        Ok(output) => output,
        Err(error) => return Some(format!("FAILED: cannot start: {error}")),
    };
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => None,
        Some(127) => Some(format!("skipped: {words}")),
        _ => Some(format!("FAILED: {words}")),
    }
}

fn inside(name: &str, kind: &str, family: &str) -> ExitCode {
    let test = TESTS.iter().find(|(n, _)| *n == name).map(|(_, test)| test);
    let kind = DeviceKind::ALL.into_iter().find(|k| k.name() == kind);
    let family = Family::ALL.into_iter().find(|f| format!("{f:?}") == family);
    let (Some(test), Some(kind), Some(family)) = (test, kind, family) else {
        return ExitCode::from(2);
    };
    if let Err(error) = enter_user_namespace() {
        eprintln!("{error}");
        return ExitCode::from(127);
    }
    if let Err(error) = Ground::make(
        &[("probe".into(), model::PathKind::Wifi)],
        family,
        Some(kind),
    ) {
        eprintln!("{error}");
        return ExitCode::from(127);
    }
    if let Err(error) = probe_is_gone() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    match test(On { kind, family }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the kernel, which takes the interfaces of the probe apart in its own time, after the
/// namespaces they led to: until then their names are taken.
fn probe_is_gone() -> Outcome {
    let began = Instant::now();
    let mut routing = Routing::open()?;
    // The loopback interface stays.
    while routing.links()?.len() > 1 {
        check!(began.elapsed() < PATIENCE, "the probe's interfaces stay");
        thread::yield_now();
    }
    Ok(())
}
