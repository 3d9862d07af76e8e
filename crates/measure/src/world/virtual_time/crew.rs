//! Several runs in virtual time, side by side: one thread for each core.

use super::record;
use crate::world::plan::RunSpec;
use crate::world::progress::{Failed, Progress};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Runs side by side.
pub struct Crew {
    /// At most this many at once.
    pub jobs: usize,
}

impl Crew {
    /// Carries out all runs, each into its folder; `interrupted` starts no more.
    pub fn run(
        &self,
        runs: &[RunSpec],
        interrupted: &AtomicBool,
        mut progress: impl FnMut(Progress),
    ) {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, runs.len().max(1)) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while !interrupted.load(Ordering::Relaxed) {
                        let run = next.fetch_add(1, Ordering::Relaxed);
                        let Some(spec) = runs.get(run) else { break };
                        // Nobody listens any more only when this scope is being left.
                        let _ = sender.send(Progress::Started { run });
                        let result = carry_out(spec);
                        let _ = sender.send(Progress::Ended { run, result });
                    }
                });
            }
            drop(sender);
            receiver.iter().for_each(&mut progress);
        });
    }
}

fn carry_out(spec: &RunSpec) -> Result<Option<model::manifest::Timing>, Failed> {
    let failed = |error, impossible| Failed { error, impossible };
    // A panic is a bug, in a stack or here: it ends this run and not the others.
    match catch_unwind(AssertUnwindSafe(|| record(spec))) {
        Ok(Ok(_)) => Ok(None),
        Ok(Err(error)) => Err(failed(error.to_string(), error.is_impossible())),
        Err(panic) => {
            let error = format!("a bug: {}", words_of(&*panic));
            Err(failed(error, false))
        }
    }
}

/// What a panic said.
pub fn words_of(panic: &(dyn Any + Send)) -> &str {
    let string = panic.downcast_ref::<String>().map(String::as_str);
    string
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words")
}
