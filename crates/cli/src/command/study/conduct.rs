//! How does a study go from its plan to its results? What is done already is read from its folder, the
//! rest is carried out, and the table is written.

use super::execute::{self, Step};
use super::experiment::Experiment;
use super::journal::Journal;
use super::outcome::Outcome;
use super::progress::Watch;
use crate::failure::Failure;
use crate::interrupt;
use analysis::study::Study as Results;
use measure::world::virtual_time;
use model::World;
use std::path::Path;

/// How many runs go side by side in `world`, when `jobs` were asked for.
///
/// # Errors
/// When several are asked for where they would disturb each other.
pub fn side_by_side(world: World, jobs: Option<u16>) -> Result<usize, Failure> {
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    match (world, jobs) {
        (World::Virtual, jobs) => Ok(jobs.map_or_else(cores, usize::from)),
        // One at a time is what disturbs least; more where that is asked for.
        (World::Emulated, jobs) => Ok(jobs.map_or(1, usize::from)),
        (World::Live, None | Some(1)) => Ok(1),
        (World::Live, Some(_)) => Err(Failure::usage(
            "in the live world runs go one at a time: there is one network; leave --jobs out",
        )),
    }
}

/// Carries out what is not done yet in the folder `out`, and writes the table of runs there; `again`
/// is the command that goes on after an interruption.
///
/// # Errors
/// When the folder is another study's, cannot be written, or the study was interrupted. A run that
/// fails is a row of the results.
pub fn conduct(
    experiment: &Experiment,
    out: &Path,
    jobs: usize,
    json: bool,
    again: impl Fn() -> String,
) -> Result<Results, Failure> {
    let total = experiment.plan.runs.len();
    let (mut journal, mut done) = Journal::open(out, &experiment.resolved(), total)?;
    let pending: Vec<usize> = experiment
        .plan
        .order
        .iter()
        .copied()
        .filter(|place| done[*place].is_none())
        .collect();
    let before = total - pending.len();
    if !json {
        let blocks = experiment.blocks();
        match before {
            0 => eprintln!("{total} runs in {blocks} blocks, {jobs} side by side"),
            _ => eprintln!("{before} of {total} runs are done already"),
        }
    }
    let interrupted = interrupt::flag();
    let mut watch = Watch::new(total, before, json);
    let step = |step| {
        match step {
            Step::Tick => watch.tick(),
            Step::Ended(place, outcome) => {
                journal.append(place, &outcome)?;
                watch.ended(outcome.error.is_some());
                done[place] = Some(outcome);
            }
        }
        Ok(())
    };
    let simulate = &virtual_time::simulate;
    let ran = match experiment.study().world {
        World::Virtual => {
            execute::in_virtual_time(experiment, out, &pending, jobs, interrupted, simulate, step)
        }
        World::Emulated | World::Live => {
            execute::in_real_time(experiment, out, &pending, jobs, interrupted, step)
        }
    };
    watch.finish();
    ran?;
    let there = done.iter().flatten().count();
    // Whatever was asked meanwhile: when all is there, the results are written.
    if there < total {
        return Err(Failure::failed(format!(
            "interrupted: {there} of {total} runs are done; to go on: {}",
            again()
        )));
    }
    let outcomes: Vec<Outcome> = done.into_iter().flatten().collect();
    let rows = outcomes.iter().enumerate();
    let results = Results {
        head: experiment.head(),
        runs: rows.map(|(place, o)| experiment.row(place, o)).collect(),
    };
    results.write(out).map_err(Failure::failed)?;
    Ok(results)
}

/// What to say of the runs that failed, if some did.
pub fn failed(results: &Results) -> Option<Failure> {
    let failed: Vec<_> = results.runs.iter().filter(|r| r.error.is_some()).collect();
    failed.first().map(|first| {
        Failure::failed(format!(
            "{} of {} runs failed; the first: {}; to repeat it: {}",
            failed.len(),
            results.runs.len(),
            first.error.as_deref().unwrap_or_default(),
            first.reproduce
        ))
    })
}
