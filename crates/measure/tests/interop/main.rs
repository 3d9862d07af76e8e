//! Does our Multipath TCP speak with the unmodified Linux kernel, in both roles, over real
//! packets and emulated links?
//!
//! Each case runs in a process of its own, which this program starts from itself, because only
//! a process with one thread may enter a user namespace. So it has its own `main`. Arguments
//! choose cases by parts of their titles. A case that fails leaves its capture behind. One during
//! which the machine stood still says nothing of two stacks with timers: it is tried again, which
//! is told, and twice at most.

mod capture;
mod cases;
mod counters;
mod kernel;
mod middlebox;
mod ours;
mod stage;
mod stream;

use cases::{CASES, Case};
use model::Family;
use stage::{Role, Setting};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::emulator::enter_user_namespace;

/// What went wrong, in words.
pub type Failure = Box<dyn Error + Send + Sync>;
/// A case's.
pub type Outcome = Result<(), Failure>;

/// An error with the condition's text and a value, unless the condition holds.
#[macro_export]
macro_rules! check {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!("{}: {}", stringify!($condition), format!($($words)+)).into());
        }
    };
}

/// Exit code of a case that this machine cannot run.
const IMPOSSIBLE: u8 = 127;
/// Exit code of a case that failed while the machine stood still.
const UNSTEADY: u8 = 126;
/// How often a case is tried at most.
const TRIALS: u32 = 3;

/// The longest time that the hosts or the emulator were kept from running, in microseconds.
static STOOD_STILL: AtomicU64 = AtomicU64::new(0);
/// From here on a host that is slow is a host that stood still: Linux's shortest retransmission
/// timeout, 200 ms, runs out meanwhile.
const STILL: Duration = Duration::from_millis(200);

/// Takes note of a time during which the hosts or the emulator could not run.
fn stood_still(time: Duration) {
    STOOD_STILL.fetch_max(time.as_micros() as u64, Ordering::Relaxed);
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, title, capture] = &arguments[..]
        && flag == "--inside"
    {
        return inside(title, Path::new(capture));
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let titles = all().map(|(title, ..)| title);
    let chosen = titles
        .filter(|title| filters.is_empty() || filters.iter().any(|f| title.contains(f.as_str())));
    let queue = Mutex::new(chosen.collect::<Vec<_>>().into_iter());
    let results = Mutex::new((0, 0, 0));
    // Cases wait for timers most of the time.
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.next());
                    let Some(title) = next else { return };
                    let begin = Instant::now();
                    let result = outside(&title);
                    let seconds = begin.elapsed().as_secs_f64();
                    let Ok(mut results) = results.lock() else {
                        return;
                    };
                    match &result {
                        Ok(None) => results.0 += 1,
                        Ok(Some(_)) => results.1 += 1,
                        Err(_) => results.2 += 1,
                    }
                    let words = match result {
                        Ok(None) => format!("ok ({seconds:.1} s)"),
                        Ok(Some(reason)) => format!("skipped: {reason}"),
                        Err(error) => format!("FAILED ({seconds:.1} s): {error}"),
                    };
                    println!("test {title} ... {words}");
                }
            });
        }
    });
    let (passed, skipped, failed) = results.into_inner().unwrap_or((0, 0, 1));
    println!("{passed} passed, {skipped} skipped, {failed} failed");
    // What a machine can't do is skipped and counted; in CI it is a failure.
    let excused = skipped == 0 || std::env::var_os("CI").is_none();
    ExitCode::from(u8::from(failed > 0 || !excused))
}

/// Every case in every role and family it has.
fn all() -> impl Iterator<Item = (String, &'static Case, Role, Family)> {
    CASES.iter().flat_map(|case| {
        case.roles.iter().flat_map(move |role| {
            Family::ALL.into_iter().map(move |family| {
                let title = format!("{} ({role:?}, {family:?})", case.name).to_lowercase();
                (title, case, *role, family)
            })
        })
    })
}

/// Runs a case in a process of its own; `Some` is why it was skipped.
fn outside(title: &str) -> Result<Option<String>, Failure> {
    let mut trial = 1;
    loop {
        match once(title)? {
            End::Unsteady(words) if trial < TRIALS => println!("test {title} ... again: {words}"),
            End::Failed(words) | End::Unsteady(words) => return Err(words.into()),
            End::Skipped(words) => return Ok(Some(words)),
            End::Passed => return Ok(None),
        }
        trial += 1;
    }
}

/// How a case ended, in words.
enum End {
    Passed,
    Skipped(String),
    Failed(String),
    Unsteady(String),
}

fn once(title: &str) -> Result<End, Failure> {
    let name: String = title
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let capture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["--inside", title]).arg(&capture).output()?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let code = output.status.code();
    if code == Some(0) && std::env::var_os("WALKABOUT_KEEP_CAPTURES").is_none() {
        let _ = fs::remove_file(&capture);
    }
    let words_of_failure = format!("{words}\ncapture: {}", capture.display());
    Ok(match code.map(u8::try_from) {
        Some(Ok(0)) => End::Passed,
        Some(Ok(IMPOSSIBLE)) => End::Skipped(words),
        Some(Ok(UNSTEADY)) => End::Unsteady(words_of_failure),
        _ => End::Failed(words_of_failure),
    })
}

fn inside(title: &str, capture: &Path) -> ExitCode {
    let Some((_, case, role, family)) = all().find(|(t, ..)| t == title) else {
        return ExitCode::from(2);
    };
    if let Err(error) = enter_user_namespace() {
        eprintln!("{error}");
        return ExitCode::from(IMPOSSIBLE);
    }
    if let Err(error) = walkabout_measure::netlink::mptcp::Control::open() {
        eprintln!("this kernel has no Multipath TCP: {error}");
        return ExitCode::from(IMPOSSIBLE);
    }
    let setting = Setting {
        role,
        family,
        // The process ends with the case.
        capture: Box::leak(capture.to_owned().into_boxed_path()),
    };
    match (case.run)(&setting) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let still = Duration::from_micros(STOOD_STILL.load(Ordering::Relaxed));
            if still > STILL {
                eprintln!("the machine stood still for {still:?}; {error}");
                return ExitCode::from(UNSTEADY);
            }
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
