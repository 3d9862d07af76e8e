//! `walkabout doctor`: what this machine can do.

use crate::failure::Failure;
use comfy_table::{Table, presets};
use measure::doctor::{CheckStatus, examine};

/// Say what this machine can do, and what to do about what is missing.
#[derive(clap::Args)]
pub struct Doctor {}

impl Doctor {
    /// Prints each finding; fails with 127 when something a run needs is missing.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let checks = examine();
        let missing: Vec<&str> = checks
            .iter()
            .filter(|c| c.status == CheckStatus::Missing)
            .map(|c| c.name.as_str())
            .collect();
        if json {
            println!("{:#}", serde_json::json!({ "checks": checks }));
        } else {
            let mut table = Table::new();
            table.load_preset(presets::NOTHING);
            for check in &checks {
                let mark = match check.status {
                    CheckStatus::Ok => "ok",
                    CheckStatus::Warn => "warning",
                    CheckStatus::Missing => "MISSING",
                };
                let mut text = check.finding.clone();
                if let Some(advice) = &check.advice {
                    text = format!("{text}\n-> {advice}");
                }
                table.add_row([mark, &check.name, &text]);
            }
            println!("{table}");
        }
        if missing.is_empty() {
            return Ok(());
        }
        match json {
            // The findings are on standard output already; a second JSON value would spoil them.
            true => std::process::exit(i32::from(crate::failure::IMPOSSIBLE)),
            false => Err(Failure::impossible(format!(
                "the emulated world does not work here: {} missing",
                missing.join(", ")
            ))),
        }
    }
}
