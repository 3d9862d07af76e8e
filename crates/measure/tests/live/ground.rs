//! Where the tests run: a client with two links, `wifi` and `cell`, to a server, each host in a network
//! namespace of its own. The client is set up as a desktop is: an address and a default route per
//! interface, the Wi-Fi's preferred, and no rules.

use model::live::{Consent, LiveFacts, Mode};
use model::record::EventKind;
use model::scenario::{Interactive, Traffic};
use model::{Family, Name, PathKind};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use walkabout_measure::transport::LocalPath;
use walkabout_measure::world::live::{
    LiveError, LiveRecord, LiveRun, RunEnd, Test, Until, interfaces, local_path,
};

/// Set in the process that runs a test's body.
const INSIDE: &str = "WALKABOUT_TEST_INSIDE";
/// Nothing here takes longer unless it is broken.
pub const LIMIT: Duration = Duration::from_secs(30);
pub const NAMES: [&str; 2] = ["wifi", "cell"];

/// Runs `body` in this test's own process, in new user and network namespaces.
pub fn inside(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1");
    let enter = move || {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
    };
    // SAFETY: the closure only makes system calls; the child has one thread and execs next.
    unsafe { command.pre_exec(enter) };
    let output = command.output().expect("user and network namespaces");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    writeln!(std::io::stdout().lock(), "{text}{error}").unwrap();
    assert!(output.status.success(), "{test} failed, see above");
    assert!(text.contains("1 passed"), "{test} is not this test's name");
}

pub fn ip(command: &str) {
    let output = Command::new("ip")
        .args(command.split_whitespace())
        .output()
        .expect("these tests need the `ip` command (package iproute2)");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {command}: {error}");
}

/// A client (this thread's namespace) and a server.
pub struct Ground {
    pub server: Arc<File>,
}

impl Ground {
    pub fn new() -> Ground {
        for (n, name) in NAMES.iter().enumerate() {
            ip(&format!("link add {name} type veth peer name s{n}"));
        }
        let server = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        let server = Arc::new(server.join().unwrap());
        let ground = Ground { server };
        // A thread that stays in the server's namespace lets `ip` name it by its id.
        let (ready, wait) = channel();
        let (done, stay) = channel::<()>();
        let there = ground.server.clone();
        let holder = std::thread::spawn(move || {
            setns(there.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            // SAFETY: gettid has no arguments and cannot fail.
            ready.send(unsafe { libc::gettid() }).unwrap();
            let _ = stay.recv();
        });
        let holder_id = wait.recv().unwrap();
        for n in 0..NAMES.len() {
            ip(&format!("link set s{n} netns {holder_id}"));
        }
        drop(done);
        holder.join().unwrap();
        ground.at_server(|| {
            ip("link set lo up");
            ip("addr add 10.77.0.1/32 dev lo");
            ip("addr add fd77::1/128 dev lo nodad");
            for n in 1..=NAMES.len() {
                ip(&format!("addr add 10.77.{n}.1/24 dev s{}", n - 1));
                ip(&format!("addr add fd77:{n}::1/64 dev s{} nodad", n - 1));
                ip(&format!("link set s{} up", n - 1));
            }
        });
        ip("link set lo up");
        std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "2").unwrap();
        for (n, name) in (1..).zip(NAMES) {
            ip(&format!("link set {name} up"));
            ip(&format!("addr add 10.77.{n}.2/24 dev {name}"));
            ip(&format!(
                "route add default via 10.77.{n}.1 dev {name} metric {n}00"
            ));
            ip(&format!("addr add fd77:{n}::2/64 dev {name} nodad"));
            let route = format!("via fd77:{n}::1 dev {name} metric {n}00");
            ip(&format!("-6 route add default {route}"));
        }
        ground
    }

    pub fn at_server<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                setns(self.server.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
                run()
            });
            there.join().unwrap()
        })
    }

    /// Loses every packet of the first path in both directions without a word: the neighbours'
    /// addresses are wrong, so the other end ignores what arrives.
    pub fn lose_wifi_silently(&self) {
        let nobody = "lladdr 02:00:00:00:00:99 nud permanent";
        ip(&format!("neigh replace 10.77.1.1 {nobody} dev wifi"));
        self.at_server(|| ip(&format!("neigh replace 10.77.1.2 {nobody} dev s0")));
    }
}

/// The paths as `walkabout test` would make them.
pub fn paths(family: Family) -> Vec<LocalPath> {
    let all = interfaces().unwrap();
    let kinds = [PathKind::Wifi, PathKind::Cellular];
    NAMES
        .iter()
        .zip(kinds)
        .map(|(name, kind)| local_path(&all, &Name::from(*name), kind, name, family).unwrap())
        .collect()
}

/// A run of the interactive pattern.
pub fn run(transport: &str, policy: &str, seconds: u64, folder: &Path) -> LiveRun {
    LiveRun {
        transport: transport.to_owned(),
        policy: policy.to_owned(),
        traffic: Traffic::Interactive(Interactive::default()),
        duration: Duration::from_secs(seconds),
        token: format!("{transport}.{policy}"),
        folder: folder.join(format!("{transport}-{policy}")),
        facts: LiveFacts {
            test: "00112233445566778899aabbccddeeff".to_owned(),
            experiment: "trial".to_owned(),
            mode: Mode::Stable,
            position: 0,
            server: "s1".to_owned(),
            family: Family::Ipv4,
            port: 443,
            consent: Consent {
                version: "1".to_owned(),
                agreed_at: "2026-01-31T12:00:00Z".to_owned(),
                publish: false,
            },
            networks: Vec::new(),
            reachability: Vec::new(),
            traps: Vec::new(),
            invalid: None,
            ended: None,
            server_clock: None,
            measured_energy: Vec::new(),
            location: None,
        },
    }
}

/// A test of `runs` against the server at `server` with this pin.
pub fn test(runs: Vec<LiveRun>, server: SocketAddr, pin: [u8; 32], until: Until) -> Test {
    Test {
        runs,
        server,
        certificate_sha256: pin,
        paths: paths(Family::of(server.ip())),
        until,
    }
}

/// What was seen while a test ran.
#[derive(Default)]
pub struct Seen {
    pub records: Vec<LiveRecord>,
}

impl Seen {
    /// Messages of `run` that were answered after `since_us`.
    pub fn answered(&self, run: &str, since_us: u64) -> usize {
        let answered = |record: &&LiveRecord| match record {
            LiveRecord::Message { run: of, message } => {
                of == run && message.acked_us.is_some() && message.sent_us >= since_us
            }
            _ => false,
        };
        self.records.iter().filter(answered).count()
    }

    /// Whether `run` has sent data over cellular.
    pub fn uses_cellular(&self, run: &str) -> bool {
        self.records.iter().any(|record| match record {
            LiveRecord::Event { run: of, event } => {
                let cell = event
                    .path
                    .as_ref()
                    .is_some_and(|path| path.as_str() == "cell");
                of == run && cell && event.kind == EventKind::FirstData
            }
            _ => false,
        })
    }

    /// The time of the last thing seen of `run`.
    pub fn time_us(&self, run: &str) -> u64 {
        let time = |record: &LiveRecord| match record {
            LiveRecord::Sample { run: of, sample } if of == run => Some(sample.time_us),
            _ => None,
        };
        self.records.iter().filter_map(time).max().unwrap_or(0)
    }
}

/// Carries out `test` while `walk` looks at what is seen: it waits for conditions with the first
/// argument, and may raise the stop flag.
pub fn carry_out(
    test: &Test,
    walk: impl FnOnce(&mut dyn FnMut(&dyn Fn(&Seen) -> bool), &AtomicBool),
) -> (Result<Vec<RunEnd>, LiveError>, Seen) {
    let stop = AtomicBool::new(false);
    let (watch, watched) = channel();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let watch = watch;
            test.carry_out(&stop, &watch)
        });
        let mut seen = Seen::default();
        let mut wait = |condition: &dyn Fn(&Seen) -> bool| wait_for(&watched, &mut seen, condition);
        walk(&mut wait, &stop);
        let ends = thread.join().unwrap();
        seen.records.extend(watched.try_iter());
        (ends, seen)
    })
}

fn wait_for(watched: &Receiver<LiveRecord>, seen: &mut Seen, condition: &dyn Fn(&Seen) -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition(seen) {
        let left = deadline.saturating_duration_since(Instant::now());
        match watched.recv_timeout(left) {
            Ok(record) => seen.records.push(record),
            Err(RecvTimeoutError::Timeout) => {
                let is_event = |record: &&LiveRecord| matches!(record, LiveRecord::Event { .. });
                let events: Vec<_> = seen.records.iter().filter(is_event).collect();
                panic!("it did not come: {events:#?}");
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the test ended before it came"),
        }
    }
}

/// One that only waits for the end.
pub fn just_run(test: &Test) -> Vec<RunEnd> {
    carry_out(test, |_, _| {}).0.unwrap()
}
