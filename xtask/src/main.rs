//! The commands of the README and of CI: `cargo xtask run`, `test`, `web`, `bench`, `chaos`.

mod bench;
mod chaos;
mod failures;
mod licences;
mod shell;
mod test;
mod tools;
mod web;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "The commands of the README and of CI")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build everything, then `walkabout run walk`, or another scenario.
    Run {
        /// Arguments for `walkabout run`, such as `blackhole --seed 7`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Format, lints, docs, licences, the web bundle and all tests.
    Test,
    /// Build the report's web bundle, unless it is there already.
    Web,
    /// Ground truth of the link models and the emulator, as JSON on standard output.
    Bench,
    /// Kill the platform's processes at random moments under load; what was lost or stored twice, as JSON
    /// on standard output. As root.
    Chaos {
        /// How many are killed, on each kind of database.
        #[arg(default_value_t = 200)]
        rounds: u32,
        /// What the victims and moments are drawn from.
        #[arg(long, default_value_t = 1)]
        seed: u32,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        // Without the backtrace that anyhow would print: what failed is not in here.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Run { arguments } => {
            web::build()?;
            shell::cargo(&["build", "--locked", "--release", "--package", "walkabout"])?;
            let walkabout = shell::target()?.join("release/walkabout");
            let mut all = vec!["run"];
            all.extend(arguments.iter().map(String::as_str));
            shell::become_program(&walkabout, &all)
        }
        Command::Test => test::all(),
        Command::Web => web::build(),
        Command::Bench => bench::all(),
        Command::Chaos { rounds, seed } => chaos::all(rounds, seed),
    }
}
