//! `walkabout list`: the names that scenarios, commands, tables and docs use.

use crate::failure::Failure;
use clap::ValueEnum;
use comfy_table::{Table, presets};
use model::World;
use serde_json::json;

/// List what can be named in a scenario or on the command line.
#[derive(clap::Args)]
pub struct List {
    /// What to list.
    what: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Congestion,
    EnergyModels,
    Metrics,
    Patterns,
    Policies,
    Scenarios,
    Schedulers,
    Stages,
    Studies,
    Transports,
}

impl List {
    /// Prints names and one-line summaries.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let entries = entries(self.what)?;
        if json {
            let rows: Vec<_> = entries
                .iter()
                .map(|(name, summary)| json!({"name": name, "summary": summary}))
                .collect();
            println!("{:#}", json!(rows));
        } else {
            let mut table = Table::new();
            table.load_preset(presets::NOTHING);
            for (name, summary) in entries {
                table.add_row([name, summary]);
            }
            println!("{table}");
        }
        Ok(())
    }
}

fn entries(what: What) -> Result<Vec<(String, String)>, Failure> {
    let pair = |name: &str, summary: &str| (name.to_owned(), summary.to_owned());
    Ok(match what {
        What::Congestion => policy::congestion::list::CONTROLLERS
            .iter()
            .map(|e| pair(e.name, e.summary))
            .collect(),
        What::EnergyModels => analysis::energy::list::MODELS
            .iter()
            .map(|e| pair(e.name, &format!("{} ({})", e.summary, e.source)))
            .collect(),
        What::Metrics => analysis::metric::list::METRICS
            .iter()
            .map(|e| {
                (
                    e.name.to_owned(),
                    format!("{} [{}]", e.summary, e.unit.symbol()),
                )
            })
            .collect(),
        What::Patterns => traffic::pattern::PATTERNS
            .iter()
            .map(|e| pair(e.name, e.summary))
            .collect(),
        What::Policies => policy::list::MANAGERS
            .iter()
            .map(|e| pair(e.name, e.summary))
            .collect(),
        What::Scenarios => model::scenario::builtin::SCENARIOS
            .iter()
            .map(|(name, text)| {
                let scenario = model::Scenario::parse(text, name).map_err(Failure::failed)?;
                Ok(pair(name, &scenario.summary))
            })
            .collect::<Result<_, Failure>>()?,
        What::Schedulers => policy::scheduler::list::SCHEDULERS
            .iter()
            .map(|e| pair(e.name, e.summary))
            .collect(),
        What::Stages => network::link::list::STAGES
            .iter()
            .map(|e| pair(e.name, e.summary))
            .collect(),
        What::Studies => model::study::builtin::STUDIES
            .iter()
            .map(|(name, text)| {
                let document =
                    model::study::Document::parse(text, name).map_err(Failure::failed)?;
                Ok(pair(name, &document.study().summary))
            })
            .collect::<Result<_, Failure>>()?,
        What::Transports => measure::transport::list::TRANSPORTS
            .iter()
            .map(|e| {
                let whose = World::ALL.map(|world| (world.name(), e.implementation(world)));
                let whose = match whose {
                    [(_, one), (_, other)] if one == other => one.words().to_owned(),
                    whose => whose
                        .map(|(world, whose)| format!("{world}: {}", whose.words()))
                        .join(", "),
                };
                pair(e.name, &format!("{} ({whose})", e.summary))
            })
            .collect(),
    })
}
