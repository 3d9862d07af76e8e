//! How much machine there is.

use super::Check;
use nix::sys::resource::{Resource, getrlimit};

/// The emulator and the two hosts each want a core.
const CORES: usize = 2;
/// A run stays below 300 MB, and two may go side by side.
const MEMORY_MIB: u64 = 600;
/// Descriptors of a run: sockets, devices, files, with a margin.
const FILES: u64 = 256;

pub(super) fn examine() -> Vec<Check> {
    vec![kernel(), cores(), memory(), files()]
}

fn kernel() -> Check {
    let name = "kernel";
    match nix::sys::utsname::uname() {
        Ok(uname) => {
            let part = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
            let words = [uname.sysname(), uname.release(), uname.machine()].map(part);
            Check::ok(name, words.join(" "))
        }
        Err(error) => Check::warn(name, format!("unknown: {error}"), "Use Linux"),
    }
}

fn cores() -> Check {
    let name = "processors";
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match cores {
        CORES.. => Check::ok(name, format!("{cores}")),
        _ => Check::warn(
            name,
            "1",
            "With one processor the emulator is late more often; `--jobs 1` helps",
        ),
    }
}

fn memory() -> Check {
    let name = "memory";
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    match kib.map(|kib| kib / 1_024) {
        Some(mib @ MEMORY_MIB..) => Check::ok(name, format!("{mib} MiB available")),
        Some(mib) => Check::warn(
            name,
            format!("{mib} MiB available"),
            format!("Free some: {MEMORY_MIB} MiB let two runs go side by side"),
        ),
        None => Check::warn(name, "unknown", "Mount /proc"),
    }
}

fn files() -> Check {
    let name = "open files";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft @ FILES.., _)) => Check::ok(name, format!("up to {soft}")),
        Ok((soft, _)) => Check::warn(
            name,
            format!("up to {soft}"),
            format!("Raise the limit with `ulimit -n {FILES}`"),
        ),
        Err(error) => Check::warn(name, format!("unknown: {error}"), "Use Linux"),
    }
}
