//! Does our Multipath TCP speak with the unmodified Linux kernel, in both roles, over real
//! packets and emulated links?
//!
//! Each case runs in a process of its own, which this program starts from itself, because only
//! a process with one thread may enter a user namespace. So it has its own `main`. Arguments
//! choose cases by parts of their titles. A case that fails leaves its capture behind.

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
use std::thread;
use std::time::Instant;
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
    match code {
        Some(0) => Ok(None),
        Some(code) if code == i32::from(IMPOSSIBLE) => Ok(Some(words)),
        _ => Err(format!("{words}\ncapture: {}", capture.display()).into()),
    }
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
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
