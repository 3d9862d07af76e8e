//! `walkabout worker`: one run, its specification on standard input. Used by `run`.

use crate::failure::{self, Failure};
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
        match emulated::work(spec, io::stdout()) {
            Ok(_) => Ok(()),
            // The reports have said why already.
            Err(_) => std::process::exit(failure::FAILED.into()),
        }
    }
}
