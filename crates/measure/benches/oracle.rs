//! What does `walkabout oracle` cost on a host with 400 subflows? Prints JSON.
//!
//! `cargo bench -p walkabout-measure --bench oracle -- [SUBFLOWS] [SECONDS] [PERIOD_MS] [POLICY]`: a
//! client and a server in network namespaces, so many connections of ordinary sockets that each send
//! 200 bytes every 400 ms, and the daemon in a thread of its own, whose processor time is what counts.

#[path = "../tests/oracle/ground.rs"]
#[allow(dead_code, reason = "shared with the tests, which use all of it")]
mod ground;
#[path = "../tests/hosts/mod.rs"]
#[allow(dead_code, reason = "each of those who share it uses its part")]
mod hosts;

use ground::{Running, server, setup, status};
use hosts::echo::{connect, serve};
use hosts::{DESKTOP, Hosts};
use model::Family;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::thread::JoinHandleExt;
use std::time::{Duration, Instant};

/// Every stream sends once in so long.
const EVERY: Duration = Duration::from_millis(400);

fn main() {
    let numbers: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let number = |at: usize, default: u64| {
        let given = numbers.get(at).and_then(|n| n.parse().ok());
        given.unwrap_or(default)
    };
    let (subflows, seconds, period) = (number(0, 400), number(1, 20), number(2, 100));
    let policy = numbers.get(3).cloned().unwrap_or("multimob".to_owned());
    hosts::enter();
    let hosts = Hosts::new(DESKTOP);
    let to = server(Family::Ipv4);
    serve(&hosts, to);
    let folder = std::env::temp_dir().join(format!("walkabout-oracle-{}", std::process::id()));
    let mut setup = setup(&folder);
    setup.config.period = Some(Duration::from_millis(period).into());
    setup.config.policy.clone_from(&policy);
    let daemon = Running::start(setup);
    let clock = cpu_clock(&daemon);
    let mut streams: Vec<TcpStream> = (0..subflows).map(|_| connect(to)).collect();
    for stream in &streams {
        stream.set_nonblocking(true).expect("a socket's mode");
    }
    let looks = || status(&folder).map_or(0, |s| s["counters"]["looks"].as_u64().unwrap_or(0));
    // The connections are adopted, and the first messages are over.
    traffic(&mut streams, Duration::from_secs(3));
    let (cpu, wall, before) = (cpu_time(clock), Instant::now(), looks());
    let (user, system) = ticks();
    traffic(&mut streams, Duration::from_secs(seconds));
    let (cpu, wall) = (cpu_time(clock) - cpu, wall.elapsed());
    let (user, system) = (ticks().0 - user, ticks().1 - system);
    let all = (user + system).max(1) as f64;
    let (after, seen) = (looks(), status(&folder).unwrap_or_default());
    let steered = ground::paths(&seen).iter().map(Vec::len).sum::<usize>();
    drop(streams);
    let log = daemon.end();
    let _ = std::fs::remove_dir_all(&folder);
    let looked = after.saturating_sub(before).max(1);
    let report = serde_json::json!({
        "bench": "oracle",
        "policy": policy,
        "period_ms": period,
        "subflows": steered,
        "seconds": wall.as_secs_f64(),
        "cpu_seconds": cpu.as_secs_f64(),
        "cpu_share": cpu.as_secs_f64() / wall.as_secs_f64(),
        "of_it_in_the_kernel": system as f64 / all,
        "looks": looked,
        "cpu_us_per_look": cpu.as_micros() as u64 / looked,
        "log_entries": log.len(),
        "kernel": nix::sys::utsname::uname().map(|u| u.release().to_string_lossy().into_owned()).ok(),
    });
    println!("{report:#}");
}

fn traffic(streams: &mut [TcpStream], time: Duration) {
    let begin = Instant::now();
    let step = EVERY / streams.len().max(1) as u32;
    let mut buffer = [0; 4096];
    let mut turn = 0u32;
    while begin.elapsed() < time {
        let which = turn as usize % streams.len();
        let stream = &mut streams[which];
        while matches!(stream.read(&mut buffer), Ok(1..)) {}
        if let Err(error) = stream.write_all(&[7; 200]) {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
        }
        turn += 1;
        let due = step * turn;
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
}

/// The daemon's user and system time in clock ticks: proc(5), stat, fields 14 and 15.
fn ticks() -> (u64, u64) {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this process's threads");
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let Some((head, rest)) = text.rsplit_once(") ") else {
            continue;
        };
        if head.ends_with(&format!("({}", ground::THREAD)) {
            let field = |n: usize| rest.split(' ').nth(n - 3).and_then(|f| f.parse().ok());
            return (field(14).unwrap_or(0), field(15).unwrap_or(0));
        }
    }
    (0, 0)
}

fn cpu_clock(daemon: &Running) -> libc::clockid_t {
    let mut clock = 0;
    let thread = daemon.thread.as_ref().expect("it runs").as_pthread_t();
    // SAFETY: the thread is not joined yet, and the clock is a live integer.
    let done = unsafe { libc::pthread_getcpuclockid(thread, &raw mut clock) };
    assert_eq!(done, 0);
    clock
}

fn cpu_time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a live timespec.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
