//! How are the runs of a study carried out? Side by side, in virtual time and in namespaces; a run
//! that panics is a run that failed.

use super::experiment::Experiment;
use super::outcome::Outcome;
use super::panic;
use crate::failure::Failure;
use analysis::folder::RunFolder;
use measure::recording::Collected;
use measure::world::emulated::Crew;
use measure::world::plan::RunSpec;
use measure::world::progress::Progress;
use measure::world::virtual_time;
use model::Manifest;
use model::study::Folders;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often those who watch hear that nothing happened.
const TICK: Duration = Duration::from_millis(200);

/// What the stacks of a run may take on their thread's stack, as much as the main thread has.
const STACK_BYTES: usize = 8 << 20;

/// What happens while runs are carried out.
pub enum Step {
    /// The run at this place ended.
    Ended(usize, Outcome),
    /// Time goes by.
    Tick,
}

/// What carries out a run in virtual time.
pub type Simulate<'s> = dyn Fn(&RunSpec) -> (Manifest, Collected) + Sync + 's;

/// Carries out the runs at the `pending` places in virtual time, on `jobs` threads, until all are
/// done or `interrupted` is raised. An error of `step` ends it early.
pub fn in_virtual_time(
    experiment: &Experiment,
    out: &Path,
    pending: &[usize],
    jobs: usize,
    interrupted: &AtomicBool,
    simulate: &Simulate<'_>,
    mut step: impl FnMut(Step) -> Result<(), Failure>,
) -> Result<(), Failure> {
    panic::keep_quiet();
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    // A few outcomes at most wait to be written down: each is small, what they came from is gone.
    let (sender, receiver) = mpsc::sync_channel(jobs.max(1) * 2);
    thread::scope(|scope| {
        let mut result = Ok(());
        for _ in 0..jobs.clamp(1, pending.len().max(1)) {
            let sender = sender.clone();
            let (next, stopped) = (&next, &stopped);
            let work = move || {
                while !interrupted.load(Ordering::Relaxed) && !stopped.load(Ordering::Relaxed) {
                    let Some(&place) = pending.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    let outcome = one(experiment, out, place, simulate);
                    if sender.send((place, outcome)).is_err() {
                        break;
                    }
                }
            };
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            if let Err(e) = builder.spawn_scoped(scope, work) {
                stopped.store(true, Ordering::Relaxed);
                let message = format!("a thread cannot be started: {e}; take fewer --jobs");
                result = Err(Failure::failed(message));
                break;
            }
        }
        drop(sender);
        loop {
            let event = match receiver.recv_timeout(TICK) {
                Ok((place, outcome)) => Step::Ended(place, outcome),
                Err(RecvTimeoutError::Timeout) => Step::Tick,
                Err(RecvTimeoutError::Disconnected) => return result,
            };
            // The threads are waited for even so; what they still bring is lost.
            if result.is_ok() {
                result = step(event);
                stopped.store(result.is_err(), Ordering::Relaxed);
            }
        }
    })
}

/// One run in virtual time; its rows are gone when its values are known.
fn one(experiment: &Experiment, out: &Path, place: usize, simulate: &Simulate<'_>) -> Outcome {
    let spec = experiment.spec(place, out);
    let outcome = panic::caught(|| {
        let (manifest, rows) = simulate(&spec);
        let Collected {
            messages,
            samples,
            packets,
            links,
            events,
        } = rows;
        let run = RunFolder::of(
            PathBuf::new(),
            manifest,
            messages,
            samples,
            packets,
            links,
            events,
        );
        Outcome::of(&run)
    });
    let mut outcome = outcome.unwrap_or_else(Outcome::failed);
    if !is_kept(experiment.study().folders, &outcome) {
        return outcome;
    }
    let kept = cleared(&spec.folder)
        .map_err(|e| e.to_string())
        .and_then(|()| {
            // The same run again, as nothing in it depends on when it is.
            let again = panic::caught(|| virtual_time::record(&spec).map_err(|e| e.to_string()));
            again.and_then(|recorded| recorded).map(|_| ())
        });
    match kept {
        // A folder that a failed run left half done is of use as well.
        Ok(()) => outcome.folder = Some(experiment.folder(place)),
        Err(_) if outcome.error.is_some() => {
            let there = spec.folder.join("manifest.json").is_file();
            outcome.folder = there.then(|| experiment.folder(place));
        }
        Err(error) => {
            outcome = Outcome::failed(format!("the run folder cannot be kept: {error}"));
        }
    }
    outcome
}

/// Carries out the runs at the `pending` places in network namespaces, at most `jobs` side by side,
/// in their order; fewer when the machine cannot time them.
pub fn in_real_time(
    experiment: &Experiment,
    out: &Path,
    pending: &[usize],
    jobs: usize,
    interrupted: &AtomicBool,
    mut step: impl FnMut(Step) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let crew = Crew {
        worker: (
            std::env::current_exe().map_err(Failure::failed)?,
            vec!["worker".to_owned()],
        ),
        jobs,
    };
    let specs: Vec<RunSpec> = pending.iter().map(|&p| experiment.spec(p, out)).collect();
    let clear = |spec: &RunSpec| {
        cleared(&spec.folder)
            .map_err(|e| Failure::failed(format!("{}: {e}", spec.folder.display())))
    };
    specs.iter().try_for_each(clear)?;
    // Raised by the user, or because what ended cannot be written down.
    let stopped = AtomicBool::new(interrupted.load(Ordering::Relaxed));
    let mut told = Ok(());
    let watch = |event: Progress| {
        let stopping = stopped.load(Ordering::Relaxed) || interrupted.load(Ordering::Relaxed);
        let result = match event {
            Progress::Started { .. } | Progress::At { .. } => step(Step::Tick),
            Progress::Ended { run, result } => match result.err() {
                // It was told to stop, and is done again when the study goes on.
                Some(_) if stopping => clear(&specs[run]),
                Some(failed) if failed.impossible => Err(Failure::impossible(failed.error)),
                failed => {
                    let failed = failed.map(|failed| failed.error);
                    real_outcome(experiment, pending[run], &specs[run], failed)
                        .and_then(|outcome| step(Step::Ended(pending[run], outcome)))
                }
            },
        };
        if told.is_ok() {
            told = result;
        }
        stopped.store(stopping || told.is_err(), Ordering::Relaxed);
    };
    crew.run(&specs, &stopped, watch)
        .map_err(|e| Failure::failed(format!("a run could not be started: {e}")))?;
    told?;
    tidied(out);
    Ok(())
}

/// What came of a run in real time, from its folder, which is kept or removed.
fn real_outcome(
    experiment: &Experiment,
    place: usize,
    spec: &RunSpec,
    failed: Option<String>,
) -> Result<Outcome, Failure> {
    let mut outcome = match failed {
        Some(error) => Outcome::failed(error),
        None => match RunFolder::open(&spec.folder) {
            Ok(run) => Outcome::of(&run),
            Err(error) => Outcome::failed(error),
        },
    };
    match is_kept(experiment.study().folders, &outcome) && spec.folder.exists() {
        true => outcome.folder = Some(experiment.folder(place)),
        false => cleared(&spec.folder)
            .map_err(|e| Failure::failed(format!("{}: {e}", spec.folder.display())))?,
    }
    Ok(outcome)
}

fn is_kept(folders: Folders, outcome: &Outcome) -> bool {
    match folders {
        Folders::None => false,
        Folders::Failed => outcome.error.is_some(),
        Folders::All => true,
    }
}

/// Removes what a run that was cut short, or is not kept, left behind.
fn cleared(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes the folders in which no run folder is.
fn tidied(out: &Path) {
    let runs = out.join("runs");
    let cases = fs::read_dir(&runs).into_iter().flatten().flatten();
    for folder in cases.map(|entry| entry.path()).chain([runs.clone()]) {
        // Fails where something is in it.
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::super::experiment::Changes;
    use super::*;
    use model::manifest::Status;
    use std::sync::Mutex;

    fn experiment(seeds: u64) -> Experiment {
        let changes = Changes {
            seeds: Some(seeds),
            ..Changes::default()
        };
        Experiment::read("handover", &changes).expect("built in")
    }

    /// Every third run panics, the rest ends without rows.
    fn simulate(spec: &RunSpec) -> (Manifest, Collected) {
        assert!(
            !spec.seed.0.is_multiple_of(3),
            "seed {} is bad",
            spec.seed.0
        );
        let (mut manifest, rows) = virtual_time::simulate(spec);
        (manifest.status, manifest.error) = (Status::Complete, None);
        (manifest, rows)
    }

    #[test]
    fn a_panic_is_a_failed_run_and_ends_nothing() {
        let experiment = experiment(4);
        let interrupted = AtomicBool::new(false);
        let mut ended = Vec::new();
        let order = &experiment.plan.order;
        let out = Path::new("/nonexistent");
        in_virtual_time(
            &experiment,
            out,
            order,
            3,
            &interrupted,
            &simulate,
            |step| {
                if let Step::Ended(place, outcome) = step {
                    ended.push((place, outcome));
                }
                Ok(())
            },
        )
        .expect("nothing fails as a whole");
        ended.sort_by_key(|(place, _)| *place);
        let places: Vec<usize> = ended.iter().map(|(place, _)| *place).collect();
        let all: Vec<usize> = (0..experiment.plan.runs.len()).collect();
        assert_eq!(places, all, "each run once");
        for (place, outcome) in &ended {
            let seed = experiment.plan.runs[*place].seed;
            match &outcome.error {
                Some(error) => {
                    assert_eq!(seed % 3, 0, "{error}");
                    assert!(error.contains("seed 3 is bad"), "{error}");
                    assert!(error.contains("execute.rs:"), "{error}");
                    assert!(outcome.values.iter().all(Option::is_none));
                }
                None => assert_ne!(seed % 3, 0),
            }
        }
    }

    #[test]
    fn an_interruption_and_an_error_end_it_between_runs() {
        let experiment = experiment(50);
        let pending = &experiment.plan.order;
        let out = Path::new("/nonexistent");
        let interrupted = AtomicBool::new(false);
        let mut ended = 0;
        in_virtual_time(
            &experiment,
            out,
            pending,
            2,
            &interrupted,
            &simulate,
            |step| {
                if matches!(step, Step::Ended(..)) {
                    ended += 1;
                    interrupted.store(true, Ordering::Relaxed);
                }
                Ok(())
            },
        )
        .expect("an interruption is no error here");
        assert!((1..20).contains(&ended), "{ended} of {}", pending.len());

        let interrupted = AtomicBool::new(false);
        let started = Mutex::new(0);
        let counted = |spec: &RunSpec| {
            *started.lock().expect("no panic while it is held") += 1;
            simulate(spec)
        };
        let failed = in_virtual_time(&experiment, out, pending, 2, &interrupted, &counted, |_| {
            Err(Failure::failed("no room"))
        });
        assert_eq!(failed.expect_err("it failed").message, "no room");
        assert!(*started.lock().expect("no thread is left") < 20);
    }
}
