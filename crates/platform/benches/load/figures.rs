//! How long, how much memory, whose processor? What the kernel counts of processes and of the machine.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

/// Median, 99th percentile and maximum of `took`, in milliseconds.
pub fn quantiles(took: &[Duration]) -> Value {
    let mut took = took.to_vec();
    took.sort_unstable();
    let at = |share: f64| {
        let place = ((took.len() as f64 * share).ceil() as usize).clamp(1, took.len().max(1));
        let of = took.get(place - 1).copied().unwrap_or_default();
        rounded(of.as_secs_f64() * 1_000.0)
    };
    json!({"count": took.len(), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0)})
}

/// The median of `values`.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// To two places: more is noise.
pub fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The machine, and what a write that has to be durable takes in the folder of the databases.
pub fn machine() -> Value {
    let mut file = tempfile::tempfile().expect("a file");
    let durable = (0..20).map(|_| {
        let begun = Instant::now();
        file.write_all(&[7; 16 * 1_024]).expect("written");
        file.sync_data().expect("durable");
        begun.elapsed().as_secs_f64() * 1_000.0
    });
    let durable = median(durable.collect());
    json!({
        "processors": std::thread::available_parallelism().map_or(0, usize::from),
        "durable_write_of_16_kib_ms": rounded(durable),
        "load_average": load_average(),
    })
}

/// Processes that want a processor, in the mean of the last minute.
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next().and_then(|word| word.parse().ok());
    first.unwrap_or(f64::NAN)
}

/// The most memory a process had, in bytes.
pub fn peak_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmHWM:")
}

/// The memory a process has, in bytes.
pub fn resident_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmRSS:")
}

fn status_bytes(pid: u32, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .unwrap_or(0)
        * 1_024
}

/// As many descriptors as the hard limit allows: connections are some thousand.
pub fn raise_descriptors() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Too few show as connections that cannot be made.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Ticks of a processor since the machine or a process began: 100 a second on every Linux of today.
const TICKS_PER_S: f64 = 100.0;

/// A process's parent, name, and ticks; of children it waited for as well.
struct Process {
    parent: u32,
    name: String,
    ticks: u64,
    of_children: u64,
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, but ends at the last parenthesis.
    let (front, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |place: usize| fields.get(place).and_then(|f| f.parse::<u64>().ok());
    Some(Process {
        parent: number(1)? as u32,
        name: front.split_once('(')?.1.to_owned(),
        ticks: number(11)? + number(12)?,
        of_children: number(13)? + number(14)?,
    })
}

/// The ticks of the PostgreSQL server that this process started, if it did.
fn database_ticks() -> u64 {
    let own = std::process::id();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let all: Vec<(u32, Process)> = pids.filter_map(|pid| Some((pid, process(pid)?))).collect();
    let servers = all
        .iter()
        .filter(|(_, p)| p.parent == own && p.name == "postgres");
    let with_backends = servers.map(|(pid, server)| {
        let backends = all.iter().filter(|(_, p)| p.parent == *pid);
        server.ticks + server.of_children + backends.map(|(_, p)| p.ticks).sum::<u64>()
    });
    with_backends.sum()
}

/// Ticks in which any processor was busy.
fn machine_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|f| f.parse().ok())
        .collect();
    // user, nice, system; irq, softirq. Not: idle, iowait, steal.
    [0, 1, 2, 5, 6]
        .iter()
        .filter_map(|place| fields.get(*place))
        .sum()
}

/// What was taken of the processors up to now.
pub struct Taken {
    at: Instant,
    child: u64,
    database: u64,
    own: u64,
    machine: u64,
}

impl Taken {
    /// Up to now; `child` is the process that is measured.
    pub fn now(child: u32) -> Taken {
        let ticks = |pid| process(pid).map_or(0, |p| p.ticks);
        Taken {
            at: Instant::now(),
            child: ticks(child),
            database: database_ticks(),
            own: ticks(std::process::id()),
            machine: machine_ticks(),
        }
    }

    /// Processors taken since then, in the mean; `others` is what ran beside the bench, and the kernel's
    /// own threads.
    pub fn since(&self, before: &Taken) -> Value {
        let seconds = (self.at - before.at).as_secs_f64();
        let of =
            |now: u64, then: u64| rounded(now.saturating_sub(then) as f64 / TICKS_PER_S / seconds);
        let accounted = |taken: &Taken| taken.child + taken.database + taken.own;
        json!({
            "measured": of(self.child, before.child),
            "database": of(self.database, before.database),
            "load": of(self.own, before.own),
            "others": of(
                self.machine.saturating_sub(accounted(self)),
                before.machine.saturating_sub(accounted(before)),
            ),
        })
    }
}
