//! `walkabout agree`: a scenario in both worlds, and how far apart they are.

use super::report::print_parts;
use super::run::LATENESS_BOUND_NS;
use super::run::carry_out::{carry_out, check, side_by_side};
use super::run::input::{self, Input};
use super::run::progress::expected;
use crate::failure::{Failure, conclude};
use analysis::agreement::{Agreement, BOUND, Observation, Verdict};
use analysis::folder::RunFolder;
use measure::world::plan::{self, Choice, RunSpec};
use model::World;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Run scenarios in the virtual and the emulated world, and hold one against the other.
#[derive(clap::Args)]
pub struct Agree {
    /// Built-in scenarios' names or TOML files.
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Only this transport (repeatable); the scenario's by default.
    #[arg(long = "protocol", value_name = "NAME")]
    transports: Vec<String>,
    /// Only this policy (repeatable); the scenario's by default.
    #[arg(long = "policy", value_name = "NAME")]
    policies: Vec<String>,
    /// Another value for a key of the scenarios (repeatable), such as 'congestion=cubic'.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The first seed; each repetition has the same one in both worlds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Repetitions, each with a seed of its own.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    repeat: u64,
    /// The distance between the delays of messages up to which the worlds agree.
    #[arg(long, value_name = "KS", default_value_t = BOUND, value_parser = bound)]
    bound: f64,
    /// The folder of the runs; a new one under `runs/` by default.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Emulated runs side by side; as many as the machine can time by default.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Say what would run, without running it.
    #[arg(long)]
    dry_run: bool,
}

impl Agree {
    /// Runs both worlds, prints the comparison, fails when an arm does not agree.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let mut inputs = Vec::new();
        for given in &self.scenarios {
            let input = Input::read(given, &self.settings, None)?;
            input.check_names(&self.transports, &self.policies)?;
            inputs.push(input);
        }
        let out = self.out.clone().unwrap_or_else(|| {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from("runs").join(format!("agree-{stamp}"))
        });
        let runs_in = |world: World| -> Vec<RunSpec> {
            let of_input = |input: &Input| {
                let choice = Choice {
                    world,
                    transports: self.transports.clone(),
                    policies: self.policies.clone(),
                    seed: self.seed,
                    repeat: self.repeat,
                    out: out.join(world.name()).join(&input.scenario.name),
                    device: None,
                    lateness_bound_ns: LATENESS_BOUND_NS,
                };
                plan::runs(&input.scenario, &input.traces, &choice)
            };
            inputs.iter().flat_map(of_input).collect()
        };
        let (in_virtual, emulated) = (runs_in(World::Virtual), runs_in(World::Emulated));
        check(&in_virtual)?;
        if self.dry_run {
            return self.dry_run(&in_virtual, &emulated, json);
        }
        input::claim(&out)?;
        let of_virtual = self.observe(&in_virtual, &out, json)?;
        let of_emulated = self.observe(&emulated, &out, json)?;
        let agreement = Agreement::of(&of_virtual, &of_emulated, self.bound);

        let file = out.join("agreement.json");
        let text = serde_json::to_string_pretty(&agreement).map_err(Failure::failed)?;
        fs::write(&file, text + "\n")
            .map_err(|e| Failure::failed(format!("{}: cannot be written: {e}", file.display())))?;
        if !json {
            print_text(&agreement);
            eprintln!("runs       {}", out.display());
            eprintln!("agreement  {}", file.display());
        }
        let of = agreement.arms.len();
        let (differ, unknown) = (
            agreement.count(Verdict::Differs),
            agreement.count(Verdict::Unknown),
        );
        let mut words = Vec::new();
        if differ > 0 {
            words.push(format!(
                "{differ} of {of} do not agree within a distance of {}",
                self.bound
            ));
        }
        if unknown > 0 {
            words.push(format!(
                "of {unknown} of {of} nothing can be said, as no emulated run kept its timing: \
                 run fewer side by side with --jobs, or more with --repeat"
            ));
        }
        let disagreement = (!words.is_empty()).then(|| Failure::failed(words.join("; ")));
        conclude(
            json.then(|| json!({"folder": out, "agreement": agreement})),
            disagreement,
        )
    }

    fn jobs(&self, runs: &[RunSpec]) -> usize {
        let run = runs.first();
        run.map_or(1, |run| {
            side_by_side(run.world, self.jobs, &run.scenario.traffic)
        })
    }

    fn dry_run(&self, a: &[RunSpec], b: &[RunSpec], json: bool) -> Result<(), Failure> {
        let seconds = expected(a, self.jobs(a)) + expected(b, self.jobs(b));
        match json {
            true => println!(
                "{:#}",
                json!({"virtual_runs": a.len(), "emulated_runs": b.len(),
                       "expected_seconds": seconds.as_secs_f64()})
            ),
            false => println!(
                "{} runs in virtual time, {} emulated, about {:.0} s",
                a.len(),
                b.len(),
                seconds.as_secs_f64()
            ),
        }
        Ok(())
    }

    /// Carries out the runs of one world and keeps what takes part.
    fn observe(
        &self,
        runs: &[RunSpec],
        out: &Path,
        json: bool,
    ) -> Result<Vec<Observation>, Failure> {
        carry_out(runs, self.jobs(runs), out, json)?;
        let mut observations = Vec::new();
        for run in runs {
            match RunFolder::open(&run.folder) {
                Ok(folder) if folder.is_complete() => observations.push(Observation::of(&folder)),
                _ if !json => {
                    eprintln!("walkabout: {} failed and is left out", run.folder.display());
                }
                _ => {}
            }
        }
        Ok(observations)
    }
}

fn bound(text: &str) -> Result<f64, String> {
    let bound: f64 = text
        .parse()
        .map_err(|_| "a distance is a number".to_owned())?;
    match (0.0..=1.0).contains(&bound) {
        true => Ok(bound),
        false => Err("a distance lies between 0 and 1".to_owned()),
    }
}

fn print_text(agreement: &Agreement) {
    for arm in &agreement.arms {
        println!("{}", arm.heading());
        print_parts(&[arm.metrics()]);
    }
    println!(
        "Delay of every message, virtual / emulated; worlds agree up to a KS distance of {}, where \
         delays closer than {} ms count as equal",
        agreement.bound,
        agreement.resolution_s * 1e3
    );
    print_parts(&[agreement.delays()]);
}
