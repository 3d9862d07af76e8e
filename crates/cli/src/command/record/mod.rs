//! `walkabout record`: turns a run on real interfaces into a scenario for the other two worlds.

mod estimate;
mod silence;
mod text;
mod window;

use super::run::input;
use crate::failure::{Failure, conclude};
use analysis::folder::RunFolder;
use model::Scenario;
use serde_json::json;
use std::path::PathBuf;

/// Turn a run on real interfaces into a scenario for the other two worlds: delay, loss and rate of each
/// path over time, and when it failed.
#[derive(clap::Args)]
pub struct RecordCommand {
    /// The run's folder (one with a manifest.json).
    folder: PathBuf,
    /// The scenario's file; NAME.toml here by default, NAME being the folder's.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if there is one.
    #[arg(long)]
    force: bool,
}

impl RecordCommand {
    /// Writes the scenario.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let run = RunFolder::open(&self.folder).map_err(Failure::usage)?;
        let estimate = estimate::Estimate::of(&run)
            .map_err(|what| Failure::failed(format!("{}: {what}", self.folder.display())))?;
        let name = text::name(&self.folder);
        let text = text::scenario(&name, &run, &estimate);
        let file = self
            .out
            .unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
        let shown = file.display().to_string();
        // A scenario that its own reader refuses is a bug; better here than at its first use.
        let scenario = Scenario::parse(&text, &shown).map_err(input::mistake)?;
        if file.exists() && !self.force {
            return Err(Failure::usage(format!(
                "{shown} exists: choose another file with --out, or replace it with --force"
            )));
        }
        std::fs::write(&file, &text)
            .map_err(|e| Failure::failed(format!("{shown}: cannot be written: {e}")))?;
        if !json {
            for path in &estimate.paths {
                println!("{}", path.in_words());
            }
            eprintln!("scenario  {shown}");
            eprintln!("try it    walkabout run {shown} --world virtual");
        }
        let changes: usize = scenario.paths.iter().map(|path| path.changes.len()).sum();
        let result = json!({
            "scenario": file, "name": name, "changes": changes,
            "failures": scenario.failures.len(),
            "paths": estimate.paths.iter().map(estimate::PathEstimate::to_json).collect::<Vec<_>>(),
        });
        conclude(json.then_some(result), None)
    }
}
