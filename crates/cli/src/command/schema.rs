//! `walkabout schema`: the JSON Schema of scenarios.

use crate::failure::Failure;

/// Print the JSON Schema of scenarios, for editors.
#[derive(clap::Args)]
pub struct Schema {}

impl Schema {
    /// Prints it; JSON with or without `--json`.
    pub fn run(self, _json: bool) -> Result<(), Failure> {
        println!("{:#}", model::scenario::json_schema());
        Ok(())
    }
}
