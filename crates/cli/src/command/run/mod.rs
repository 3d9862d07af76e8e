//! `walkabout run`: a scenario over its transports and policies, a table and a report.

pub mod input;
mod progress;

use super::report;
use crate::failure::Failure;
use crate::interrupt;
use input::Input;
use measure::emulator::DeviceKind;
use measure::world::emulated::{Crew, Progress};
use measure::world::plan::{self, Choice, RunSpec};
use progress::Bar;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The default bound on the 99th percentile of the emulator's lateness.
const LATENESS_BOUND_NS: u64 = 500_000;

/// Take the transports through a scenario; ends with a table and a report.
#[derive(clap::Args)]
pub struct Run {
    /// A built-in scenario's name (`walkabout list scenarios`) or a TOML file.
    #[arg(default_value = "walk")]
    scenario: String,
    /// Only this transport (repeatable); the scenario's by default.
    #[arg(long = "protocol", value_name = "NAME")]
    transports: Vec<String>,
    /// Only this policy (repeatable); the scenario's by default.
    #[arg(long = "policy", value_name = "NAME")]
    policies: Vec<String>,
    /// Another traffic pattern, with its defaults, than the scenario's.
    #[arg(long, value_name = "NAME")]
    traffic: Option<String>,
    /// The seed of all that is random; repetition N has seed + N.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Repetitions, each with a seed of its own.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    repeat: u64,
    /// The folder of the results; a new one under `runs/` by default.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Runs side by side; as many as the machine can time by default.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// How packets enter the emulator: `tun` or `packet-socket`; the best there is by default.
    #[arg(long, value_name = "KIND")]
    device: Option<String>,
    /// Say what would run, and for how long, without running it.
    #[arg(long)]
    dry_run: bool,
}

impl Run {
    /// Runs, prints the table, writes the report.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let input = Input::read(&self.scenario, self.traffic.as_deref())?;
        input.check_names(&self.transports, &self.policies)?;
        if let Some(device) = &self.device {
            let kinds = DeviceKind::ALL.map(DeviceKind::name);
            input::known("device", std::slice::from_ref(device), &kinds)?;
        }
        let out = self.out.clone().unwrap_or_else(|| {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from("runs").join(format!("{}-{stamp}", input.scenario.name))
        });
        let choice = Choice {
            transports: self.transports,
            policies: self.policies,
            seed: self.seed,
            repeat: self.repeat,
            out: out.clone(),
            device: self.device,
            lateness_bound_ns: LATENESS_BOUND_NS,
        };
        let runs = plan::runs(&input.scenario, &input.traces, &choice);
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let jobs = match self.jobs {
            Some(jobs) => usize::from(jobs),
            None => Crew::jobs_for(&input.scenario.traffic, cores),
        };
        if self.dry_run {
            return dry_run(&runs, jobs, json);
        }
        input::claim(&out)?;

        let bar = Bar::new(&runs, jobs, json);
        let crew = Crew {
            worker: (
                std::env::current_exe().map_err(Failure::failed)?,
                vec!["worker".to_owned()],
            ),
            jobs,
        };
        let interrupted = interrupt::flag();
        let mut failures = Vec::new();
        crew.run(&runs, interrupted, |event| {
            bar.show(&event);
            if let Progress::Ended {
                run,
                result: Err(failed),
            } = event
            {
                failures.push((run, failed));
            }
        })
        .map_err(|e| Failure::failed(format!("a run could not be started: {e}")))?;
        bar.finish();

        let complete = runs.len() - failures.len();
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::failed(format!(
                "interrupted; what was recorded so far is in {}",
                out.display()
            )));
        }
        if complete == 0 {
            let (_, first) = &failures[0];
            return Err(match first.impossible {
                true => Failure::impossible(&first.error),
                false => Failure::failed(&first.error),
            });
        }
        let written = report::write(std::slice::from_ref(&out), None, json)?;
        if json {
            println!("{:#}", written.to_json(&out));
        } else {
            written.print(&out);
        }
        if failures.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = failures
            .iter()
            .map(|(run, f)| {
                let spec = &runs[*run];
                let label = RunSpec::label(&spec.transport, &spec.policy);
                format!("{label} (seed {}): {}", spec.seed.0, f.error)
            })
            .collect();
        Err(Failure::failed(format!(
            "{} of {} runs failed: {}",
            failures.len(),
            runs.len(),
            list.join("; ")
        )))
    }
}

/// Prints the matrix and the expected duration.
fn dry_run(runs: &[RunSpec], jobs: usize, json: bool) -> Result<(), Failure> {
    let seconds = progress::expected(runs, jobs).as_secs_f64();
    if json {
        let rows: Vec<_> = runs
            .iter()
            .map(|r| {
                json!({"transport": r.transport, "policy": r.policy, "seed": r.seed,
                       "folder": r.folder})
            })
            .collect();
        println!(
            "{:#}",
            json!({"runs": rows, "side_by_side": jobs, "expected_seconds": seconds})
        );
        return Ok(());
    }
    for run in runs {
        let label = RunSpec::label(&run.transport, &run.policy);
        println!("{label:32} seed {:<6} {}", run.seed.0, run.folder.display());
    }
    println!(
        "{} runs, at most {jobs} side by side, about {seconds:.0} s",
        runs.len()
    );
    Ok(())
}
