//! `walkabout run`: a scenario over its transports and policies, a table and a report.

pub mod carry_out;
pub mod input;
pub mod progress;

use super::report;
use crate::failure::{Failure, conclude};
use carry_out::{carry_out, side_by_side};
use input::Input;
use measure::emulator::DeviceKind;
use measure::world::plan::{self, Choice, RunSpec};
use model::World;
use serde_json::json;
use std::path::PathBuf;

/// The default bound on the 99th percentile of the emulator's lateness.
pub const LATENESS_BOUND_NS: u64 = 500_000;

/// Take the transports through a scenario; ends with a table and a report.
#[derive(clap::Args)]
pub struct Run {
    /// A built-in scenario's name (`walkabout list scenarios`) or a TOML file.
    #[arg(default_value = "walk")]
    scenario: String,
    /// Where it runs: `emulated` (real stacks in network namespaces, in real time) or `virtual`
    /// (state machines in virtual time, the same bytes for the same seed).
    #[arg(long, value_name = "WORLD", default_value = "emulated", value_parser = world)]
    world: World,
    /// Only this transport (repeatable); the scenario's by default.
    #[arg(long = "protocol", value_name = "NAME")]
    transports: Vec<String>,
    /// Only this policy (repeatable); the scenario's by default.
    #[arg(long = "policy", value_name = "NAME")]
    policies: Vec<String>,
    /// Another traffic pattern, with its defaults, than the scenario's.
    #[arg(long, value_name = "NAME")]
    traffic: Option<String>,
    /// Another value for a key of the scenario (repeatable), such as
    /// 'path.cellular.delay=60 ms'.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
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
        let input = Input::read(&self.scenario, &self.settings, self.traffic.as_deref())?;
        input.check_names(&self.transports, &self.policies)?;
        if let Some(device) = &self.device {
            let kinds = DeviceKind::ALL.map(DeviceKind::name);
            input::known("device", std::slice::from_ref(device), &kinds)?;
            if self.world == World::Virtual {
                return Err(Failure::usage(
                    "the virtual world has no devices: leave --device out",
                ));
            }
        }
        let out = self.out.clone().unwrap_or_else(|| {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from("runs").join(format!("{}-{stamp}", input.scenario.name))
        });
        let choice = Choice {
            world: self.world,
            transports: self.transports,
            policies: self.policies,
            seed: self.seed,
            repeat: self.repeat,
            out: out.clone(),
            device: self.device,
            lateness_bound_ns: LATENESS_BOUND_NS,
        };
        let runs = plan::runs(&input.scenario, &input.traces, &choice);
        let jobs = side_by_side(self.world, self.jobs, &input.scenario.traffic);
        carry_out::check(&runs)?;
        if self.dry_run {
            let shown = dry_run(&runs, jobs, json);
            return conclude(shown, None);
        }
        input::claim(&out)?;

        let failures = carry_out(&runs, jobs, &out, json)?;
        let written = report::write(std::slice::from_ref(&out), None, json)?;
        if !json {
            written.print(&out);
        }
        let failed = carry_out::list(&runs, &failures);
        conclude(json.then(|| written.to_json(&out)), failed)
    }
}

/// A world by its name.
fn world(name: &str) -> Result<World, String> {
    let names = World::ALL.map(World::name).join(" and ");
    World::find(name).ok_or_else(|| format!("there are {names}"))
}

/// Prints the matrix and the expected duration, or returns them for `--json`.
fn dry_run(runs: &[RunSpec], jobs: usize, json: bool) -> Option<serde_json::Value> {
    let seconds = progress::expected(runs, jobs).as_secs_f64();
    if json {
        let rows: Vec<_> = runs
            .iter()
            .map(|r| {
                json!({"transport": r.transport, "policy": r.policy, "seed": r.seed,
                       "folder": r.folder})
            })
            .collect();
        return Some(json!({"runs": rows, "side_by_side": jobs, "expected_seconds": seconds}));
    }
    for run in runs {
        let label = RunSpec::label(&run.transport, &run.policy);
        println!("{label:32} seed {:<6} {}", run.seed.0, run.folder.display());
    }
    println!(
        "{} runs, at most {jobs} side by side, about {seconds:.0} s",
        runs.len()
    );
    None
}
