//! Does the whole platform work as its users run it? A collector on SQLite and on PostgreSQL, three test
//! servers at different distances, and a client with Wi-Fi and cellular, each host a network namespace.
//!
//! Each test runs in a process of its own, which this program starts from itself, because only a process
//! with one thread may enter a user namespace. So it has its own `main`. Needs user namespaces where it
//! does not run as root, and a PostgreSQL server's programs; where one is missing the tests fail and say
//! so, they are never skipped.
//!
//! `cargo test -p walkabout --test platform -- chaos ROUNDS SEED DATABASE` runs the kill test instead (also
//! `cargo xtask chaos`).

mod chaos;
mod clock;
mod collector;
mod consent;
mod database;
mod deployment;
mod device;
mod ground;
mod ipv6;
mod killed;
mod line;
mod mobile;
mod offline;
#[allow(
    dead_code,
    reason = "shared with the store's tests, which use all of it"
)]
#[path = "../../../platform/tests/postgres/mod.rs"]
mod postgres;
mod privacy;
mod processes;
mod replay;
mod stable;

use deployment::Deployment;
use postgres::Postgres;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The databases a collector keeps its results in.
const DATABASES: [&str; 2] = ["sqlite", "postgres"];
/// Where the PostgreSQL database of a test is.
const POSTGRES_URL: &str = "WALKABOUT_TEST_POSTGRES";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        ["--inside", database, folder] => return inside(database, Path::new(folder)),
        ["--device", arguments @ ..] => return device::run(arguments),
        ["chaos", arguments @ ..] => return chaos::run(arguments),
        _ => {}
    }
    // What the test harness of the other tests is given is understood as far as it makes sense here.
    let titles = DATABASES.map(|database| format!("a_test_from_consent_to_deletion_on_{database}"));
    if words.contains(&"--list") {
        titles.iter().for_each(|title| println!("{title}: test"));
        return ExitCode::SUCCESS;
    }
    let filter = words.iter().find(|word| !word.starts_with('-'));
    let mut failed = 0;
    for (database, title) in DATABASES.iter().zip(&titles) {
        if filter.is_some_and(|filter| !title.contains(filter)) {
            continue;
        }
        let begin = Instant::now();
        let outcome = outside(database);
        failed += u32::from(outcome.is_err());
        let words = outcome.map_or_else(|error| format!("FAILED\n{error}"), |()| "ok".to_owned());
        println!(
            "test {title} ... {words} ({:.0} s)",
            begin.elapsed().as_secs_f64()
        );
    }
    println!("{failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Runs the test on `database` in a process of its own; the error has what its processes said.
fn outside(database: &str) -> Result<(), String> {
    let folder = tempfile::Builder::new()
        .prefix("walkabout-platform-")
        .tempdir()
        .map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["--inside", database]).arg(folder.path());
    // Stays outside of the user namespace, in which it would be root, which it refuses to be.
    let postgres = (database == "postgres").then(Postgres::start);
    if let Some(postgres) = &postgres {
        command.env(POSTGRES_URL, postgres.new_database());
    }
    let status = command.status().map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{status}\n{}", processes::logs(folder.path()))),
    }
}

/// The test itself.
fn inside(database: &str, folder: &Path) -> ExitCode {
    if let Err(reason) = ground::enter() {
        eprintln!("{reason}");
        return ExitCode::FAILURE;
    }
    let database = match database {
        "postgres" => std::env::var(POSTGRES_URL).expect("given by the process outside"),
        _ => format!("sqlite:{}", folder.join("collector.sqlite").display()),
    };
    let tested = std::panic::catch_unwind(AssertUnwindSafe(|| whole(&database, folder)));
    // The panic's message was printed where it came up.
    ExitCode::from(u8::from(tested.is_err()))
}

/// A part of the test, which goes on where the one before ended.
type Part = fn(&mut Deployment);

/// From the consent to the deletion.
fn whole(database: &str, folder: &Path) {
    // So that a server whose clock is ten minutes ahead takes none of the tokens.
    let limits = "[limits]\ntoken_validity_seconds = 500\n";
    let mut deployment = Deployment::start(database, folder, limits);
    let parts: [(&str, Part); 9] = [
        ("consent", consent::declining_sends_no_packet),
        ("stable", stable::the_database_holds_what_the_folder_says),
        ("mobile", mobile::losing_the_wifi_is_seen_while_it_happens),
        ("ipv6", ipv6::every_transport_runs_over_it),
        ("clock", clock::whose_clock_is_off_is_said_and_nothing_lost),
        ("replay", replay::a_token_is_used_once_whatever_happens),
        (
            "killed",
            killed::what_a_killed_client_recorded_is_uploaded_by_the_next,
        ),
        ("offline", |deployment| {
            offline::a_run_waits_is_sent_once_and_deleted(deployment, None);
        }),
        ("privacy", privacy::nothing_that_names_anybody_is_kept),
    ];
    for (name, part) in parts {
        let begin = Instant::now();
        part(&mut deployment);
        eprintln!("  {name}: {:.1} s", begin.elapsed().as_secs_f64());
    }
    deployment.stop();
}
