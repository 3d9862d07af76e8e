//! `cargo xtask chaos`: what is lost when anything of the platform is killed at any moment, as JSON.

use crate::{shell, web};
use anyhow::Result;

/// Kills collector, test server, clients and database in random order, on SQLite and on PostgreSQL.
pub fn all(rounds: u32, seed: u32) -> Result<()> {
    // The client draws a report of what it measures.
    web::build()?;
    let (rounds, seed) = (rounds.to_string(), seed.to_string());
    let arguments = ["--", "chaos", &rounds, &seed];
    let mut all = vec![
        "test",
        "--locked",
        "--package",
        "walkabout",
        "--test",
        "platform",
    ];
    all.extend(arguments);
    shell::cargo(&all)
}
