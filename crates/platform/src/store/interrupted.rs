//! What is found after a migration was interrupted? `kill -9` of the program that migrates, at any moment
//! and in the very middle, and a crash of the database: the next start has the schema of before or of after,
//! never one in between, and all that was stored.

#[allow(
    dead_code,
    reason = "shared with the store's tests, which use all of it"
)]
#[path = "../../tests/postgres/mod.rs"]
mod postgres;

use super::database::{Database, values};
use super::open::{open, open_with};
use super::{Store, StoreError};
use nix::sys::signal::Signal;
use postgres::Postgres;
use rand::{RngExt, SeedableRng};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqlSafeStr};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The environment variables of the process that is killed: the database, and which schema it wants.
const DATABASE: &str = "WALKABOUT_TEST_DATABASE";
const SCHEMA: &str = "WALKABOUT_TEST_SCHEMA";
/// What is stored before the upgrade.
const STORED: i64 = 500;

/// This takes a while in the middle: 60 MB, of which SQLite writes what its cache does not hold before the
/// transaction ends.
const SQLITE_UPGRADE: &str = "ALTER TABLE tombstones RENAME TO buried; \
    CREATE TABLE filler AS WITH RECURSIVE n (i) AS \
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) \
        SELECT i, randomblob(1000) AS bytes FROM n; \
    ALTER TABLE runs ADD COLUMN mood TEXT;";
/// And this as long as somebody else holds the lock.
const POSTGRES_UPGRADE: &str = "ALTER TABLE tombstones RENAME TO buried; \
    SELECT pg_advisory_xact_lock(4711); \
    ALTER TABLE runs ADD COLUMN mood TEXT;";

/// This program's migrations, and an upgrade.
fn upgraded(url: &str) -> &'static Migrator {
    let mut all: Vec<Migration> = super::open::MIGRATIONS.iter().cloned().collect();
    let upgrade = match url.starts_with("sqlite") {
        true => SQLITE_UPGRADE,
        false => POSTGRES_UPGRADE,
    };
    let sql = AssertSqlSafe(upgrade).into_sql_str();
    let kind = MigrationType::Simple;
    all.push(Migration::new(9_000, "upgrade".into(), kind, sql, false));
    // A migrator lives as long as the program.
    Box::leak(Box::new(Migrator::with_migrations(all)))
}

fn block_on<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test)
}

/// A process that opens a database and says so.
struct Opening {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Opening {
    /// Starts it; it is about to begin when this returns.
    fn start(url: &str, schema: &str) -> Opening {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "store::interrupted::opens_until_killed"])
            .args(["--ignored", "--nocapture"])
            .env(DATABASE, url)
            .env(SCHEMA, schema)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        let mut opening = Opening { child, said };
        assert!(opening.says("begins"), "it begins");
        opening
    }

    /// Whether it says `word`, sooner or later.
    fn says(&mut self, word: &str) -> bool {
        let mut line = String::new();
        while self.said.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.trim_end().ends_with(word) {
                return true;
            }
            line.clear();
        }
        false
    }

    /// Kills it; whether the database was open by then.
    fn kill(mut self) -> bool {
        self.child.kill().expect("it lives, or waits to be buried");
        self.child.wait().expect("it was killed");
        self.says("opened")
    }
}

#[test]
#[ignore = "started by the other tests"]
fn opens_until_killed() {
    block_on(async {
        let url = std::env::var(DATABASE).expect("started by another test");
        let schema = std::env::var(SCHEMA).expect("started by another test");
        println!("begins");
        let opened = match schema.as_str() {
            "upgraded" => open_with(&url, upgraded(&url)).await,
            _ => open(&url).await,
        };
        match opened {
            Ok(database) => {
                println!("opened");
                database.close().await;
            }
            Err(error) => println!("{error:?}"),
        }
    });
}

async fn number(database: &Database, sql: &'static str) -> Result<i64, StoreError> {
    database.rows(sql, values![]).await?[0].get(0)
}

/// Stores something under this program's schema.
async fn fill(url: &str) {
    let database = open(url).await.expect("it opens");
    let mut transaction = database.begin().await.expect("begun");
    for number in 0..STORED {
        let sql = "INSERT INTO tombstones (id) VALUES ($1)";
        let id = format!("{number:032x}");
        transaction
            .execute(sql, values![&*id])
            .await
            .expect("stored");
    }
    transaction.commit().await.expect("durable");
    database.close().await;
}

/// The schema is the one of before, whole, and so is what was stored: the program of before goes on with it.
async fn assert_as_before(url: &str) {
    let database = open(url)
        .await
        .expect("the program of before goes on with it");
    let stored = number(&database, "SELECT COUNT(*) FROM tombstones").await;
    assert_eq!(stored, Ok(STORED));
    for sql in [
        "SELECT COUNT(*) FROM buried",
        "SELECT COUNT(*) FROM filler",
        "SELECT COUNT(mood) FROM runs",
    ] {
        assert!(number(&database, sql).await.is_err(), "{sql}");
    }
    database.close().await;
}

/// The next start completes it.
async fn assert_completes(url: &str) {
    let database = open_with(url, upgraded(url))
        .await
        .expect("the next start completes it");
    let stored = number(&database, "SELECT COUNT(*) FROM buried").await;
    assert_eq!(stored, Ok(STORED));
    assert_eq!(
        number(&database, "SELECT COUNT(mood) FROM runs").await,
        Ok(0)
    );
    database.close().await;
    // And whoever has the older program is told so, not shown half of it.
    let older = open(url).await.expect_err("it is newer now");
    assert!(matches!(older, StoreError::Schema(_)), "{older:?}");
    assert!(older.to_string().contains("newer"), "{older}");
}

/// A fresh database, its first migration interrupted `rounds` times at random.
fn at_random_moments(rounds: u64, mut fresh: impl FnMut() -> String) {
    // How long there is to kill it.
    let mut opening = Opening::start(&fresh(), "this");
    let begin = Instant::now();
    assert!(opening.says("opened"));
    let takes = begin.elapsed();
    opening.kill();
    let mut random = rand_pcg::Pcg64::seed_from_u64(rounds);
    let mut interrupted = 0;
    for round in 0..rounds {
        let url = fresh();
        let opening = Opening::start(&url, "this");
        // The moment is what varies; there is no condition to wait for.
        std::thread::sleep(takes.mul_f64(random.random::<f64>()));
        interrupted += u64::from(!opening.kill());
        block_on(async {
            let store = Store::open(&url).await;
            let store = store.unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert_eq!(store.usage().await.expect("it counts").runs, 0);
            let window = Duration::from_secs(60);
            assert_eq!(store.spend("a", 1, 1, window, 0).await, Ok(true));
            store.close().await;
            // And again, by now complete.
            let store = Store::open(&url).await.expect("it opens again");
            assert_eq!(store.spend("a", 1, 1, window, 0).await, Ok(false));
            store.close().await;
        });
    }
    assert!(
        interrupted > 0,
        "none of {rounds} was interrupted within {takes:?}"
    );
}

fn sqlite_url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

#[test]
fn sqlite_at_random_moments() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut number = 0;
    at_random_moments(40, || {
        number += 1;
        sqlite_url(&folder.path().join(format!("{number}.db")))
    });
}

#[test]
fn postgres_at_random_moments() {
    let server = Postgres::start();
    at_random_moments(12, || server.new_database());
}

#[test]
fn sqlite_in_the_middle_of_an_upgrade() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("walkabout.db");
    let log = folder.path().join("walkabout.db-wal");
    let url = sqlite_url(&file);
    block_on(fill(&url));
    for _ in 0..2 {
        let opening = Opening::start(&url, "upgraded");
        // More than a commit of anything else: what no longer fits into the cache.
        let begin = Instant::now();
        while std::fs::metadata(&log).map_or(0, |log| log.len()) < 1 << 20 {
            assert!(begin.elapsed() < PATIENCE, "nothing is written");
            std::thread::yield_now();
        }
        assert!(!opening.kill(), "the upgrade was over by then");
        block_on(assert_as_before(&url));
    }
    block_on(assert_completes(&url));
}

/// Waits until `sql` says `value`.
async fn wait_for(database: &Database, sql: &'static str, value: i64) {
    let begin = Instant::now();
    while number(database, sql).await != Ok(value) {
        assert!(begin.elapsed() < PATIENCE, "not {value}: {sql}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Holds the lock that the upgrade needs, on a session that no time limit ends.
async fn hold(url: &str) -> PgConnection {
    let mut holder = PgConnection::connect(url).await.expect("it connects");
    let taken = holder.execute("SELECT pg_advisory_lock(4711)").await;
    taken.expect("taken");
    holder
}

const WAITS: &str = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";

#[test]
fn postgres_in_the_middle_of_an_upgrade() {
    let server = Postgres::start();
    let url = server.new_database();
    let aside = server.new_database();
    block_on(async {
        fill(&url).await;
        // Locks are of one database.
        let other = open(&aside).await.expect("it opens");
        for _ in 0..2 {
            let holder = hold(&url).await;
            let opening = Opening::start(&url, "upgraded");
            wait_for(&other, WAITS, 1).await;
            assert!(!opening.kill(), "the upgrade was over by then");
            // The server notices although its statement goes on: the lock is held still.
            wait_for(&other, WAITS, 0).await;
            assert_as_before(&url).await;
            holder.close().await.expect("given back");
        }
        assert_completes(&url).await;
        other.close().await;
    });
}

#[test]
fn postgres_itself_in_the_middle_of_an_upgrade() {
    let server = Postgres::start();
    let url = server.new_database();
    let aside = server.new_database();
    block_on(async {
        fill(&url).await;
        let other = open(&aside).await.expect("it opens");
        let _holder = hold(&url).await;
        let mut opening = Opening::start(&url, "upgraded");
        wait_for(&other, WAITS, 1).await;
        server.stop(Signal::SIGQUIT);
        assert!(opening.says(")"), "it gives up");
        server.run();
        assert_as_before(&url).await;
        assert_completes(&url).await;
        assert!(opening.child.wait().expect("it ended").success());
    });
}
