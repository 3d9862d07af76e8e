//! How is a database opened, and brought to this program's schema?

use super::StoreError;
use super::database::Database;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use std::str::FromStr;
use std::time::{Duration, Instant};

pub(super) static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long a connection, or a lock another process holds, is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long another process's migration is waited for.
const MIGRATION: Duration = Duration::from_secs(300);

/// Connections of SQLite that read.
const READERS: u32 = 4;

/// Connections to PostgreSQL: one writes uploads, the others read and answer quotas.
const CONNECTIONS: u32 = 8;

/// A page of SQLite. Larger than its default: documents are tens of kilobytes.
const PAGE_BYTES: u32 = 8_192;

/// The database at `url`, its schema up to date.
pub(super) async fn open(url: &str) -> Result<Database, StoreError> {
    open_with(url, &MIGRATIONS).await
}

/// The same with the schema that `migrations` make.
pub(super) async fn open_with(
    url: &str,
    migrations: &'static Migrator,
) -> Result<Database, StoreError> {
    let bad = |_| StoreError::Url(without_password(url));
    match url.split_once(':') {
        Some(("sqlite", file)) => {
            let in_memory = file.contains(":memory:") || file.contains("mode=memory");
            let options = SqliteConnectOptions::from_str(url).map_err(bad)?;
            sqlite(options, in_memory, migrations).await
        }
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
            postgres(PgConnectOptions::from_str(url).map_err(bad)?, migrations).await
        }
        _ => Err(StoreError::Url(without_password(url))),
    }
}

/// `url` as it may be shown.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("//") else {
        return url.to_owned();
    };
    let Some((user, host)) = rest.rsplit_once('@') else {
        return url.to_owned();
    };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}//{user}:***@{host}"),
        None => url.to_owned(),
    }
}

async fn sqlite(
    options: SqliteConnectOptions,
    in_memory: bool,
    migrations: &'static Migrator,
) -> Result<Database, StoreError> {
    let options = options
        .create_if_missing(true)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .page_size(PAGE_BYTES)
        // Rows on their way from its thread: an index is a million of them.
        .row_buffer_size(1_024)
        // A commit returns when it is on the disk.
        .synchronous(SqliteSynchronous::Full)
        // KiB, hence negative.
        .pragma("cache_size", "-32768")
        // Pages of the log that are written back at once: 32 MiB.
        .pragma("wal_autocheckpoint", "4096");
    let pool = |connections| {
        SqlitePoolOptions::new()
            .max_connections(connections)
            // An upload waits for those before it.
            .acquire_timeout(6 * PATIENCE)
            .test_before_acquire(false)
            // SQLite ends a transaction by itself when the disk is full or fails
            // (<https://www.sqlite.org/lang_transaction.html>), and the driver, which then has nothing to
            // undo, counts it as open for ever: such a connection begins no other.
            .before_acquire(|connection, _| {
                let is_free = !connection.is_in_transaction();
                Box::pin(async move { Ok(is_free) })
            })
            .idle_timeout(None)
            .max_lifetime(None)
    };
    let write = pool(1).connect_lazy_with(options.clone());
    let mut connection = write.acquire().await?;
    if !in_memory {
        write_ahead(&mut connection).await?;
    }
    // SQLite's migrations have no lock of their own: they are one transaction.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Not by `run`: its future is not known to be `Send` (rust-lang/rust#100013).
    migrations
        .run_direct(None, &mut *transaction, false)
        .await?;
    // Nothing so far fails where the file is read-only.
    sqlx::query("UPDATE counters SET value = value")
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    drop(connection);
    let read = match in_memory {
        true => write.clone(),
        false => pool(READERS).connect_lazy_with(options.pragma("query_only", "ON")),
    };
    Ok(Database::Sqlite { write, read })
}

/// Turns the write-ahead log on. SQLite does not wait for a lock here by itself.
async fn write_ahead(connection: &mut sqlx::SqliteConnection) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        let mode = sqlx::query_scalar::<_, String>("PRAGMA journal_mode = WAL")
            .fetch_one(&mut *connection)
            .await
            .map_err(StoreError::from);
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let what = format!("its file takes no write-ahead log (it has `{mode}`)");
                return Err(StoreError::Refused(what));
            }
            Err(StoreError::Unavailable(_)) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn postgres(
    options: PgConnectOptions,
    migrations: &'static Migrator,
) -> Result<Database, StoreError> {
    let options = options
        .application_name("walkabout")
        .options([("synchronous_commit", "on")]);
    // Not by the pool, which would not say why there is no connection.
    let connecting = tokio::time::timeout(PATIENCE, options.connect());
    let Ok(connection) = connecting.await else {
        let what = format!("no answer within {} s", PATIENCE.as_secs());
        return Err(StoreError::Unavailable(what));
    };
    let mut connection = connection?;
    // A collector that is killed in the middle: the server notices, undoes its migration and lets the next
    // one begin, instead of going on with the statement at hand for hours. Servers before PostgreSQL 14 do
    // not know it.
    let _ = sqlx::query("SET client_connection_check_interval = '1s'")
        .execute(&mut connection)
        .await;
    // Under an advisory lock; should it fail, the lock goes with the connection.
    let migrating = migrations.run_direct(None, &mut connection, false);
    let Ok(migrated) = tokio::time::timeout(MIGRATION, migrating).await else {
        let what = "another process has been upgrading it for minutes".into();
        return Err(StoreError::Unavailable(what));
    };
    migrated?;
    let _ = connection.close().await;
    let options = options.options([
        ("statement_timeout", "60s"),
        ("lock_timeout", "20s"),
        // A collector that hangs, or whose network does, may not hold up the others.
        ("idle_in_transaction_session_timeout", "20s"),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with(options);
    Ok(Database::Postgres(pool))
}
