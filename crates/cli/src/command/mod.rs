//! The subcommands, one file each.

mod agree;
mod collect;
mod compare;
mod doctor;
mod list;
mod oracle;
mod record;
mod report;
mod reproduce;
mod run;
mod schema;
mod serve;
mod study;
mod test;
mod worker;

use crate::failure::Failure;
use clap::Subcommand;

/// The subcommands, in the order of a first acquaintance.
#[derive(Subcommand)]
pub enum Command {
    /// Take the transports through a scenario; ends with a table and a report.
    Run(run::Run),
    /// Run a matrix of scenarios, transports, policies and seeds, and compare.
    Study(study::Study),
    /// Measure on this machine's interfaces, against a test server; ends with a table and a report.
    Test(Box<test::Test>),
    /// Turn a run on real interfaces into a scenario for the other two worlds.
    Record(record::RecordCommand),
    /// Draw the report of run folders again, without running anything.
    Report(report::Report),
    /// Carry out the studies that come with a paper's numbers, and hold them against it.
    Reproduce(reproduce::Reproduce),
    /// Compare two sets of runs: B against A, arm by arm.
    Compare(compare::Compare),
    /// Run scenarios in the virtual and the emulated world, and hold one against the other.
    Agree(agree::Agree),
    /// Run a collector: metadata and tokens for clients, results in, a dashboard for people.
    Collect(collect::Collect),
    /// Say what this machine can do, and what to do about what is missing.
    Doctor(doctor::Doctor),
    /// List what can be named in a scenario or on the command line.
    List(list::List),
    /// Steer every Multipath TCP connection of this host; or, on a server, follow its clients.
    Oracle(Box<oracle::Oracle>),
    /// Print the JSON Schema of scenarios or studies, for editors.
    Schema(schema::Schema),
    /// Serve live tests: the test server.
    Serve(serve::Serve),
    /// Carry out one run (used by `run`).
    #[command(hide = true)]
    Worker(worker::Worker),
}

impl Command {
    /// Whether it talks to peers over sockets of this process.
    pub fn has_connections(&self) -> bool {
        matches!(
            self,
            Command::Collect(_) | Command::Serve(_) | Command::Test(_)
        )
    }

    /// Whether it runs until it is told to end, and tells what happens line by line.
    pub fn goes_on(&self) -> bool {
        matches!(
            self,
            Command::Collect(_) | Command::Oracle(_) | Command::Serve(_)
        )
    }

    /// Runs the subcommand.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        match self {
            Command::Run(c) => c.run(json),
            Command::Study(c) => c.run(json),
            Command::Test(c) => c.run(json),
            Command::Record(c) => c.run(json),
            Command::Report(c) => c.run(json),
            Command::Reproduce(c) => c.run(json),
            Command::Compare(c) => c.run(json),
            Command::Agree(c) => c.run(json),
            Command::Collect(c) => c.run(json),
            Command::Doctor(c) => c.run(json),
            Command::List(c) => c.run(json),
            Command::Oracle(c) => c.run(json),
            Command::Schema(c) => c.run(json),
            Command::Serve(c) => c.run(json),
            Command::Worker(c) => c.run(),
        }
    }
}
