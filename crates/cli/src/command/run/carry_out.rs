//! How are runs carried out, each into its folder, in whichever world?

use super::progress::Bar;
use crate::failure::Failure;
use crate::interrupt;
use measure::world::plan::RunSpec;
use measure::world::progress::{Failed, Progress};
use measure::world::{emulated, virtual_time};
use model::World;
use model::scenario::Traffic;
use std::path::Path;
use std::sync::atomic::Ordering;

/// How many runs of `traffic` go side by side: `asked`, or as many as the machine can time.
pub fn side_by_side(world: World, asked: Option<u16>, traffic: &Traffic) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    match (asked, world) {
        (Some(jobs), _) => usize::from(jobs),
        (None, World::Virtual) => cores,
        (None, World::Emulated | World::Live) => emulated::Crew::jobs_for(traffic, cores),
    }
}

/// Fails when a run could not even be set up, before anything runs: in virtual time that costs
/// nothing, and in real time a run says so itself.
pub fn check(runs: &[RunSpec]) -> Result<(), Failure> {
    for run in runs.iter().filter(|run| run.world == World::Virtual) {
        virtual_time::check(run).map_err(|error| {
            let label = RunSpec::label(&run.transport, &run.policy);
            let words = format!("{} over {label}: {error}", run.scenario.name);
            match error.is_impossible() {
                true => Failure::impossible(words),
                false => Failure::usage(words),
            }
        })?;
    }
    Ok(())
}

/// Carries out the runs, which are all of one world, and returns those that failed.
///
/// # Errors
/// When the user interrupts, and when none of the runs came to its end.
pub fn carry_out(
    runs: &[RunSpec],
    jobs: usize,
    out: &Path,
    json: bool,
) -> Result<Vec<(usize, Failed)>, Failure> {
    let Some(world) = runs.first().map(|run| run.world) else {
        return Ok(Vec::new());
    };
    let bar = Bar::new(runs, jobs, json);
    let interrupted = interrupt::flag();
    let mut failures = Vec::new();
    let watch = |event: Progress| {
        bar.show(&event);
        if let Progress::Ended {
            run,
            result: Err(failed),
        } = event
        {
            failures.push((run, failed));
        }
    };
    match world {
        World::Virtual => virtual_time::Crew { jobs }.run(runs, interrupted, watch),
        World::Emulated | World::Live => {
            let program = std::env::current_exe().map_err(Failure::failed)?;
            let crew = emulated::Crew {
                worker: (program, vec!["worker".to_owned()]),
                jobs,
            };
            crew.run(runs, interrupted, watch)
                .map_err(|e| Failure::failed(format!("a run could not be started: {e}")))?;
        }
    }
    bar.finish();
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::failed(format!(
            "interrupted; what was recorded so far is in {}",
            out.display()
        )));
    }
    match failures.first() {
        Some((_, first)) if failures.len() == runs.len() => Err(match first.impossible {
            true => Failure::impossible(&first.error),
            false => Failure::failed(&first.error),
        }),
        _ => Ok(failures),
    }
}

/// The runs that failed, in one line; `None` when none did.
pub fn list(runs: &[RunSpec], failures: &[(usize, Failed)]) -> Option<Failure> {
    if failures.is_empty() {
        return None;
    }
    let each = failures.iter().map(|(run, failed)| {
        let spec = &runs[*run];
        let label = RunSpec::label(&spec.transport, &spec.policy);
        format!("{label} (seed {}): {}", spec.seed.0, failed.error)
    });
    Some(Failure::failed(format!(
        "{} of {} runs failed: {}",
        failures.len(),
        runs.len(),
        each.collect::<Vec<_>>().join("; ")
    )))
}
