//! `walkabout worker`: one run, its specification on standard input. Used by `run`.

use crate::failure::Failure;
use measure::world::emulated;
use std::io::{self, Read};

/// Carry out one run.
#[derive(clap::Args)]
pub struct Worker {}

impl Worker {
    /// Reports go to standard output as JSON lines; the failure is among them.
    pub fn run(self) -> Result<(), Failure> {
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .map_err(|e| Failure::usage(format!("the run's specification: {e}")))?;
        let spec = serde_json::from_str(&text).map_err(|e| {
            Failure::usage(format!(
                "the run's specification: {e}; `walkabout run` starts workers by itself"
            ))
        })?;
        // The reports have said why already.
        emulated::work(spec, io::stdout())
            .map(|_| ())
            .map_err(|_| Failure::failed("the run failed"))
    }
}
