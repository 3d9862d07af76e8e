//! `walkabout compare`: one metric of two sets of runs, with what may be concluded.

use super::report;
use super::run::input;
use crate::failure::Failure;
use analysis::folder::{self, RunFolder};
use analysis::metric::{Metric, Unit, list};
use analysis::study::{self, ComparedRun, Study};
use measure::world::plan::RunSpec;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Compare two sets of runs: B against A, arm by arm.
#[derive(clap::Args)]
pub struct Compare {
    /// A study's folder, a run folder, or a folder of run folders.
    a: PathBuf,
    /// The same of what is compared with it.
    b: PathBuf,
    /// The metric to compare (`walkabout list metrics`).
    #[arg(long, value_name = "NAME", default_value = "delay-max")]
    metric: String,
}

impl Compare {
    /// Compares and prints the table, or the comparison as JSON.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let metric = numeric(&self.metric)?;
        let a = read(&self.a, metric, json)?;
        let b = read(&self.b, metric, json)?;
        let comparison = study::compare(&a, &b, metric);
        if comparison.rows.is_empty() {
            return Err(Failure::failed(format!(
                "{} and {} have no scenario, setting and arm in common: {} only in the first, \
                 {} only in the second",
                self.a.display(),
                self.b.display(),
                comparison.only_in_a.join("; "),
                comparison.only_in_b.join("; ")
            )));
        }
        if json {
            let mut value = serde_json::to_value(&comparison).map_err(Failure::failed)?;
            value["a"] = json!(self.a);
            value["b"] = json!(self.b);
            println!("{value:#}");
        } else {
            let text = comparison.text();
            report::print_parts(&text.parts);
            for sentence in &text.notes {
                println!("{sentence}");
            }
            eprintln!("A  {}", self.a.display());
            eprintln!("B  {}", self.b.display());
        }
        Ok(())
    }
}

/// The metric called `name`, if its values are numbers.
fn numeric(name: &str) -> Result<&'static Metric, Failure> {
    let metrics = || list::METRICS.iter().filter(|m| m.unit != Unit::Word);
    let names: Vec<&str> = metrics().map(|metric| metric.name).collect();
    input::known("metric that is a number", &[name.to_owned()], &names)?;
    let metric = metrics().find(|metric| metric.name == name);
    metric.ok_or_else(|| Failure::failed(format!("no metric is called `{name}`")))
}

/// The runs of a study, or of the run folders in and below `path`.
fn read(path: &Path, metric: &Metric, json: bool) -> Result<Vec<ComparedRun>, Failure> {
    if path.join(study::HEAD).is_file() {
        let study = Study::open(path).map_err(Failure::failed)?;
        return Ok(study.compared(metric));
    }
    report::no_unfinished_study(path)?;
    let found = folder::find(&[path]).map_err(Failure::failed)?;
    let mut runs = Vec::new();
    for folder in &found {
        // One at a time: only the metric is kept of each.
        match RunFolder::open(folder) {
            Ok(run) => {
                let arm = RunSpec::label(&run.manifest.transport, &run.manifest.policy);
                runs.push(ComparedRun::of(&run, arm, metric));
            }
            // One broken folder does not hide the others.
            Err(error) if found.len() > 1 => {
                if !json {
                    eprintln!("walkabout: {error}; left out of the comparison");
                }
            }
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    once(path, &runs)?;
    Ok(runs)
}

/// Fails when an arm ran twice under one seed: that is no repetition but another setting or world,
/// and pooled they would pass for one.
fn once(path: &Path, runs: &[ComparedRun]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for run in runs {
        if !seen.insert((&run.case, &run.arm, run.seed)) {
            return Err(Failure::usage(format!(
                "{}: {} {} ran more than once under seed {}, under other settings or in another \
                 world; name folders of one setting, or a study's folder",
                path.display(),
                run.case,
                run.arm,
                run.seed
            )));
        }
    }
    Ok(())
}
