//! What do the collector and the test server hold, end to end, with the load beside them? As JSON.
//!
//! `cargo bench -p walkabout-platform --bench load -- [sqlite|postgres|server] [ROUNDS] [SECONDS]`: all
//! three, three rounds of ten seconds, less than five minutes. The collector and the test server are
//! processes of their own (this program once more), the load is threads of this one; all share the machine.
//! PostgreSQL is an empty database at `WALKABOUT_TEST_POSTGRES`, or a server of the bench's own.
//!
//! Uploads are those of a client: metadata, eight tokens, then eight runs over one connection, each some
//! 100 KB before compression. At an offered rate each has its time, whether those before it were answered
//! or not, and its latency counts from that time to the acknowledgement, which comes when it is durable.

mod child;
mod document;
mod figures;
mod interactive;
#[path = "../../tests/postgres/mod.rs"]
mod postgres;
mod uploads;

use serde_json::{Map, Value, json};
use std::time::Duration;

/// What the command line asks for.
struct Wanted {
    only: Option<String>,
    rounds: usize,
    /// Of a round.
    time: Duration,
}

fn main() {
    // cargo adds `--bench`.
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let arguments: Vec<String> = arguments.collect();
    if child::is_child(&arguments) {
        return;
    }
    let mut numbers = arguments.iter().filter_map(|a| a.parse::<u64>().ok());
    let wanted = Wanted {
        rounds: numbers.next().unwrap_or(3).max(1) as usize,
        time: Duration::from_secs(numbers.next().unwrap_or(10).max(1)),
        only: arguments
            .into_iter()
            .find(|a| ["sqlite", "postgres", "server"].contains(&a.as_str())),
    };
    let is_wanted = |kind| wanted.only.as_deref().is_none_or(|only| only == kind);
    figures::raise_descriptors();
    let mut results = Map::new();
    let documents = document::documents();
    results.insert("machine".into(), figures::machine());
    results.insert("upload".into(), document::sizes(&documents));
    if is_wanted("sqlite") {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("walkabout.db").display());
        results.insert("sqlite".into(), uploads::bench(&url, &documents, &wanted));
    }
    if is_wanted("postgres") {
        let given = std::env::var("WALKABOUT_TEST_POSTGRES").ok();
        let own = given.is_none().then(postgres::Postgres::start);
        let url = own.as_ref().map(postgres::Postgres::new_database);
        let url = url.or(given).expect("one of both");
        results.insert("postgres".into(), uploads::bench(&url, &documents, &wanted));
    }
    if is_wanted("server") {
        results.insert("server".into(), interactive::bench(&wanted));
    }
    println!("{:#}", json!(results));
}

/// A line about what is done, which is no result.
fn say(what: &str, result: &Value) {
    eprintln!("{what}: {result}");
}
