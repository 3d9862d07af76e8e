//! What is in the database? Read by SQL, past the collector.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sqlx::{Connection, PgConnection, Row, SqliteConnection};
use std::time::{Duration, Instant};

/// A run's row, and its document.
#[derive(Debug)]
pub struct Stored {
    /// Its columns that hold text, by name.
    pub text: Vec<(&'static str, Option<String>)>,
    /// Its metrics as stored.
    pub metrics: Value,
    /// The upload as stored, decompressed.
    pub document: String,
}

impl Stored {
    /// A column that holds text.
    pub fn text(&self, column: &str) -> Option<&str> {
        let found = self.text.iter().find(|(name, _)| *name == column);
        found
            .unwrap_or_else(|| panic!("no column {column}"))
            .1
            .as_deref()
    }
}

/// The columns that hold text.
const TEXT: [&str; 17] = [
    "id",
    "test",
    "started_at",
    "experiment",
    "mode",
    "server",
    "transport",
    "policy",
    "pattern",
    "family",
    "status",
    "invalid",
    "ended",
    "networks",
    "walkabout_version",
    "platform",
    "prefix",
];

macro_rules! on {
    ($url:expr, $connection:ident => $do:expr) => {
        block(async {
            if $url.starts_with("postgres") {
                let mut $connection = PgConnection::connect($url).await?;
                $do
            } else {
                let mut $connection = SqliteConnection::connect($url).await?;
                $do
            }
        })
    };
}

fn attempt<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(work)
}

fn block<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> T {
    attempt(work).unwrap_or_else(|error| panic!("the database: {error}"))
}

/// Every run in the database at `url`, in the order they were stored.
pub fn runs(url: &str) -> Vec<Stored> {
    let select = format!(
        "SELECT {}, metrics, document FROM runs JOIN documents ON documents.number = runs.number \
         ORDER BY runs.number",
        TEXT.join(", ")
    );
    let select = sqlx::AssertSqlSafe(select);
    on!(url, connection => {
        let rows = sqlx::query(select).fetch_all(&mut connection).await?;
        let rows = rows.iter().map(|row| {
            let text = TEXT.iter().map(|name| Ok((*name, row.try_get(*name)?)));
            let metrics: String = row.try_get("metrics")?;
            let document: Vec<u8> = row.try_get("document")?;
            let document = zstd::decode_all(&document[..]).map_err(sqlx::Error::Io)?;
            Ok(Stored {
                text: text.collect::<Result<_, sqlx::Error>>()?,
                metrics: serde_json::from_str(&metrics).map_err(|e| sqlx::Error::Decode(e.into()))?,
                document: String::from_utf8_lossy(&document).into_owned(),
            })
        });
        rows.collect::<Result<Vec<_>, sqlx::Error>>()
    })
}

/// A number that `select` gives.
pub fn count(url: &str, select: &'static str) -> i64 {
    on!(url, connection => sqlx::query_scalar(select).fetch_one(&mut connection).await)
}

/// Kills a process of PostgreSQL's that serves a session, and returns when the server has ended all others
/// and takes sessions again.
pub fn crash(url: &str, patience: Duration) {
    let victim = "SELECT CAST(pid AS BIGINT) FROM pg_stat_activity WHERE backend_type = 'client backend' \
        AND pid <> pg_backend_pid() ORDER BY random()";
    let begin = Instant::now();
    block(async {
        let mut connection = PgConnection::connect(url).await?;
        let pid: Option<i64> = sqlx::query_scalar(victim)
            .fetch_optional(&mut connection)
            .await?;
        let pid = pid
            .and_then(|pid| i32::try_from(pid).ok())
            .map(Pid::from_raw);
        if pid.is_some_and(|pid| kill(pid, Signal::SIGKILL).is_ok()) {
            // This session is one of the others.
            while sqlx::query("SELECT 1")
                .execute(&mut connection)
                .await
                .is_ok()
            {
                assert!(
                    begin.elapsed() < patience,
                    "the server goes on without {pid:?}"
                );
            }
        }
        Ok(())
    });
    wait_for(url, patience);
}

/// Run and test of every run.
pub fn identities(url: &str) -> Vec<(String, String)> {
    let select = "SELECT id, test FROM runs";
    on!(url, connection => sqlx::query_as(select).fetch_all(&mut connection).await)
}

/// Waits until the database answers.
fn wait_for(url: &str, patience: Duration) {
    let begin = Instant::now();
    loop {
        let answered: Result<i64, sqlx::Error> = attempt(async {
            let mut connection = PgConnection::connect(url).await?;
            sqlx::query_scalar("SELECT COUNT(*) FROM runs")
                .fetch_one(&mut connection)
                .await
        });
        match answered {
            Ok(_) => return,
            Err(error) => assert!(begin.elapsed() < patience, "the database: {error}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The texts that `select` gives.
pub fn texts(url: &str, select: &'static str) -> Vec<String> {
    on!(url, connection => sqlx::query_scalar(select).fetch_all(&mut connection).await)
}

/// Everything that is text, or compressed text, in any table.
pub fn everything(url: &str) -> String {
    let mut all = String::new();
    for run in runs(url) {
        for (name, text) in &run.text {
            all += &format!("runs.{name}: {}\n", text.as_deref().unwrap_or_default());
        }
        all += &format!(
            "runs.metrics: {}\ndocuments: {}\n",
            run.metrics, run.document
        );
    }
    for select in [
        "SELECT id FROM tombstones",
        "SELECT key FROM quotas",
        "SELECT test || experiment || server || runs FROM live_tests",
        "SELECT items FROM live_batches",
    ] {
        for text in texts(url, select) {
            all += &format!("{select}: {text}\n");
        }
    }
    all
}
