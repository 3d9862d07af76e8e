//! `walkabout reproduce`: the studies that come with a paper's numbers, carried out and held against
//! them.

mod catalogue;

use super::report::print_parts;
use super::run::input;
use super::study::conduct::{self, conduct};
use super::study::experiment::{Changes, Experiment, quoted};
use super::study::results;
use crate::failure::{Failure, conclude};
use analysis::reproduction::{Reproduced, Verdict};
use analysis::table::Part;
use catalogue::Entry;
use model::World;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The verdicts, beside the studies' folders.
const VERDICTS: &str = "verdicts.json";

/// Carry out the studies that come with a paper's numbers, and say whether they are reproduced.
#[derive(clap::Args)]
pub struct Reproduce {
    /// What to reproduce (`--list` says what there is); everything by default.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Say what can be reproduced, without running anything.
    #[arg(long)]
    list: bool,
    /// The folder of the results, a study's folder in it for each ID; a new one under `runs/` by
    /// default. Name the folder of a call that was interrupted to go on with it.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The world: `virtual` or `emulated`.
    #[arg(long, value_name = "NAME", default_value = "virtual")]
    world: String,
    /// So many seeds instead of each study's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Runs side by side; by default one per core in the virtual world, one in the emulated one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Fail when something is not reproduced, or can't be decided; without it verdicts are data.
    #[arg(long)]
    check: bool,
}

/// What came of one of them.
struct Done {
    reproduced: Reproduced,
    study: &'static str,
    folder: PathBuf,
    failed: Option<Failure>,
}

impl Reproduce {
    /// Carries them out one after the other, and prints the verdicts.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let entries = catalogue::chosen(&self.ids)?;
        if self.list {
            return conclude(catalogue::show(&entries, json), None);
        }
        let world = self.world()?;
        let jobs = conduct::side_by_side(world, self.jobs)?;
        let out = self.out.clone().unwrap_or_else(|| {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from("runs").join(format!("reproduce-{stamp}"))
        });
        // All are looked at before the first is carried out.
        let changes = Changes {
            seeds: self.seeds,
            world: Some(world),
            ..Changes::default()
        };
        let mut experiments = Vec::new();
        for entry in &entries {
            let experiment = Experiment::read(entry.study, &changes)?;
            experiment.check()?;
            experiments.push((entry, experiment));
        }
        let mut done = Vec::new();
        for (entry, experiment) in &experiments {
            if !json {
                eprintln!("{}  {}", entry.reproduction.id, entry.reproduction.title);
            }
            done.push(self.one(entry, experiment, &out, jobs, json)?);
        }
        self.finish(&done, &out, json)
    }

    fn world(&self) -> Result<World, Failure> {
        let worlds = [World::Virtual, World::Emulated];
        let names = worlds.map(World::name);
        input::known("world for this", std::slice::from_ref(&self.world), &names)?;
        Ok(World::find(&self.world).unwrap_or_default())
    }

    fn one(
        &self,
        entry: &Entry,
        experiment: &Experiment,
        out: &Path,
        jobs: usize,
        json: bool,
    ) -> Result<Done, Failure> {
        let folder = out.join(&entry.reproduction.id);
        let study = conduct(experiment, &folder, jobs, json, || self.again(out))?;
        let written = results::write(&study, &folder, None)?;
        let reproduced = written.reproduction().cloned();
        let reproduced = reproduced
            .ok_or_else(|| Failure::failed(format!("the study {} names no paper", entry.study)))?;
        Ok(Done {
            reproduced,
            study: entry.study,
            failed: conduct::failed(&study),
            folder,
        })
    }

    /// Prints the verdicts and leaves them in the folder; fails when runs failed, or on `--check`.
    fn finish(&self, done: &[Done], out: &Path, json: bool) -> Result<(), Failure> {
        let verdicts: Vec<Value> = done.iter().map(Done::to_json).collect();
        let document = json!({"folder": out, "reproductions": verdicts});
        let file = out.join(VERDICTS);
        fs::write(&file, format!("{document:#}\n"))
            .map_err(|e| Failure::failed(format!("{}: cannot be written: {e}", file.display())))?;
        if !json {
            print(done, out);
        }
        let failed = done.iter().find_map(|one| {
            let failure = one.failed.as_ref()?;
            let message = format!("{}: {}", one.reproduced.id, failure.message);
            Some(Failure::failed(message))
        });
        let short: Vec<&str> = done
            .iter()
            .filter(|one| one.reproduced.verdict != Verdict::Reproduced)
            .map(|one| one.reproduced.id.as_str())
            .collect();
        let missed = (self.check && !short.is_empty()).then(|| {
            Failure::failed(format!(
                "not reproduced, or not decidable: {}",
                short.join(", ")
            ))
        });
        conclude(json.then_some(document), failed.or(missed))
    }

    /// The command that goes on after an interruption.
    fn again(&self, out: &Path) -> String {
        let Reproduce {
            ids,
            list: _,
            out: _,
            world,
            seeds,
            jobs,
            check,
        } = self;
        let mut words = vec!["walkabout reproduce".to_owned()];
        words.extend(ids.iter().map(|id| quoted(id)));
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name} {}", quoted(&value))));
        };
        option("world", Some(world.clone()));
        option("seeds", seeds.map(|n| n.to_string()));
        option("jobs", jobs.map(|n| n.to_string()));
        option("out", Some(out.display().to_string()));
        if *check {
            words.push("--check".to_owned());
        }
        words.join(" ")
    }
}

impl Done {
    fn to_json(&self) -> Value {
        let Done {
            reproduced,
            study,
            folder,
            failed: _,
        } = self;
        let mut value = json!(reproduced);
        value["study"] = json!(study);
        value["folder"] = json!(folder);
        value
    }
}

/// The criteria in one table, then the verdicts.
fn print(done: &[Done], out: &Path) {
    let mut all: Option<Part> = None;
    for one in done {
        for part in one.reproduced.text().parts {
            match &mut all {
                None => all = Some(part),
                Some(all) => all.rows.extend(part.rows),
            }
        }
    }
    print_parts(all.as_slice());
    for one in done {
        println!("{}", one.reproduced.sentence());
    }
    for one in done {
        let page = one.folder.join("report.html");
        eprintln!("{:8}{}", one.reproduced.id, page.display());
    }
    eprintln!("{:8}{}", "all", out.join(VERDICTS).display());
}
