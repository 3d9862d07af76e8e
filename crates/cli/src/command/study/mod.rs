//! `walkabout study`: a matrix of scenarios, parameters, transports, policies and seeds, carried
//! out in random order and compared.

pub mod conduct;
mod execute;
pub mod experiment;
mod journal;
mod matrix;
mod outcome;
mod panic;
mod paper;
mod progress;
pub mod results;

use super::run::input;
use crate::failure::{Failure, conclude};
use analysis::study::Study as Results;
use experiment::{Changes, Experiment, quoted};
use model::World;
use model::study::Folders;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Run a matrix of scenarios, transports, policies and seeds, and compare. Killed at any moment
/// and started again with the same folder, it goes on where it was.
#[derive(clap::Args)]
pub struct Study {
    /// A built-in study's name (`walkabout list studies`) or a TOML file.
    study: String,
    /// The folder of the results; a new one under `runs/` by default. Name the folder of a study
    /// that was interrupted to go on with it.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// So many seeds instead of the study's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Keep the run folders of none, of the failed or of all runs.
    #[arg(long, value_name = "WHICH")]
    folders: Option<Folders>,
    /// Run each arm twice in each block, under independent seeds: what is compared with itself
    /// must not differ.
    #[arg(long)]
    a_a: bool,
    /// Runs side by side; by default one per core in the virtual world, one in the emulated one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Another world than the study's: `virtual` or `emulated`.
    #[arg(long, value_name = "NAME")]
    world: Option<String>,
    /// Say what would run, and for how long, without running it.
    #[arg(long)]
    dry_run: bool,
}

impl Study {
    /// Runs what is not done yet, then writes and prints the results.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let experiment = Experiment::read(&self.study, &self.changes()?)?;
        let study = experiment.study();
        let jobs = conduct::side_by_side(study.world, self.jobs)?;
        experiment.check()?;
        if self.dry_run {
            let shown = matrix::show(&experiment, jobs, json);
            return conclude(shown, None);
        }
        let out = self.out.clone().unwrap_or_else(|| {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from("runs").join(format!("study-{}-{stamp}", study.name))
        });
        let results = conduct::conduct(&experiment, &out, jobs, json, || self.again(&out))?;
        finish(&results, &out, json)
    }

    fn changes(&self) -> Result<Changes, Failure> {
        if let Some(name) = &self.world {
            let names = World::ALL.map(World::name);
            input::known("world", std::slice::from_ref(name), &names)?;
        }
        Ok(Changes {
            seeds: self.seeds,
            folders: self.folders,
            a_a: self.a_a,
            world: self.world.as_deref().and_then(World::find),
        })
    }

    /// The command that goes on with this study.
    fn again(&self, out: &Path) -> String {
        let Study {
            study,
            out: _,
            seeds,
            folders,
            a_a,
            jobs,
            world,
            dry_run: _,
        } = self;
        let mut words = vec!["walkabout study".to_owned(), quoted(study)];
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name} {}", quoted(&value))));
        };
        option("seeds", seeds.map(|n| n.to_string()));
        option("folders", folders.map(|f| f.name().to_owned()));
        option("jobs", jobs.map(|n| n.to_string()));
        option("world", world.clone());
        option("out", Some(out.display().to_string()));
        if *a_a {
            words.push("--a-a".to_owned());
        }
        words.join(" ")
    }
}

/// Prints what a study came to, and draws its page; fails when runs failed.
fn finish(results: &Results, out: &Path, json: bool) -> Result<(), Failure> {
    let written = results::write(results, out, None)?;
    let mut value = None;
    if json {
        let mut document = written.to_json(out)?;
        document["runs"] = json!(results.runs.len());
        document["failed"] = json!(results.runs.iter().filter(|r| r.error.is_some()).count());
        value = Some(document);
    } else {
        written.print(out);
    }
    conclude(value, conduct::failed(results))
}
