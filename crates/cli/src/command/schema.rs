//! `walkabout schema`: the JSON Schema of scenarios and of studies.

use crate::failure::Failure;
use clap::ValueEnum;

/// Print the JSON Schema of scenarios or studies, for editors.
#[derive(clap::Args)]
pub struct Schema {
    /// Of which kind of file.
    #[arg(default_value = "scenario")]
    what: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Scenario,
    Study,
}

impl Schema {
    /// Prints it; JSON with or without `--json`.
    pub fn run(self, _json: bool) -> Result<(), Failure> {
        let schema = match self.what {
            What::Scenario => model::scenario::json_schema(),
            What::Study => model::study::json_schema(),
        };
        println!("{schema:#}");
        Ok(())
    }
}
