//! What is seen of running tests? Batches of items, numbered across the database, kept for an hour.

use super::database::{Database, Transaction, values};
use super::run::{rfc3339, signed};
use super::{Numbered, StoreError};
use crate::api::{LiveBatch, LiveItem, RunningTest};

/// For how long a test that was heard of counts as running, in seconds.
const RUNNING_S: u64 = 30;

/// Names of runs that are kept of a test.
const MOST_RUNS: usize = 64;

/// Takes in `batch`.
pub(super) async fn push(
    transaction: &mut Transaction,
    batch: &LiveBatch,
    now_s: u64,
) -> Result<(), StoreError> {
    // First of all the lock: two batches of one test come one after the other.
    let count = i64::try_from(batch.items.len()).unwrap_or(i64::MAX);
    let last = transaction.count("live", count).await?;
    let test = batch.test.as_str();
    let sql = "SELECT runs FROM live_tests WHERE test = $1";
    let known = transaction.rows(sql, values![test]).await?;
    let mut runs: Vec<String> = match known.first() {
        Some(row) => read(row.get(0)?)?,
        None => Vec::new(),
    };
    for item in &batch.items {
        if runs.len() < MOST_RUNS && !runs.contains(&item.run) {
            runs.push(item.run.clone());
        }
    }
    transaction
        .execute(
            "INSERT INTO live_tests (test, experiment, server, since_s, heard_s, ended, runs) \
             VALUES ($1, $2, $3, $4, $4, $5, $6) ON CONFLICT (test) DO UPDATE SET \
             heard_s = excluded.heard_s, ended = excluded.ended, runs = excluded.runs",
            values![
                test,
                batch.experiment.as_str(),
                batch.server.as_str(),
                signed(now_s),
                batch.over,
                written(&runs)?.as_str(),
            ],
        )
        .await?;
    if batch.items.is_empty() {
        return Ok(());
    }
    transaction
        .execute(
            "INSERT INTO live_batches (last, test, heard_s, items) VALUES ($1, $2, $3, $4)",
            values![last, test, signed(now_s), written(&batch.items)?.as_str()],
        )
        .await?;
    Ok(())
}

fn written<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Damaged(format!("a live item is no JSON: {error}")))
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(format!("a live item: {error}")))
}

/// The tests that run, the newest first.
pub(super) async fn running(
    database: &Database,
    now_s: u64,
) -> Result<Vec<RunningTest>, StoreError> {
    let rows = database
        .rows(
            "SELECT test, experiment, server, since_s, heard_s, runs FROM live_tests \
             WHERE heard_s >= $1 AND ended = 0 ORDER BY since_s DESC, test",
            values![signed(now_s.saturating_sub(RUNNING_S))],
        )
        .await?;
    let time = |seconds: i64| {
        rfc3339(seconds.saturating_mul(1_000_000))
            .ok_or_else(|| StoreError::Damaged(format!("a test's time, {seconds} s")))
    };
    let tests = rows.iter().map(|row| {
        Ok(RunningTest {
            test: row.get(0)?,
            experiment: row.get(1)?,
            server: row.get(2)?,
            since: time(row.get(3)?)?,
            heard_at: time(row.get(4)?)?,
            runs: read(row.get(5)?)?,
        })
    });
    tests.collect()
}

/// The items of `test` after `sequence`, at most `limit`.
pub(super) async fn after(
    database: &Database,
    test: &str,
    sequence: i64,
    limit: u32,
) -> Result<Vec<Numbered>, StoreError> {
    let rows = database
        .rows(
            // Every batch has an item or more.
            "SELECT last, items FROM live_batches WHERE test = $1 AND last > $2 \
             ORDER BY last LIMIT $3",
            values![test, sequence, i64::from(limit)],
        )
        .await?;
    let mut numbered = Vec::new();
    for row in &rows {
        let last: i64 = row.get(0)?;
        let items: Vec<LiveItem> = read(row.get(1)?)?;
        let first = last - items.len() as i64 + 1;
        let items = (first..).zip(items);
        numbered.extend(
            items
                .filter(|(number, _)| *number > sequence)
                .map(|(sequence, item)| Numbered { sequence, item }),
        );
        if numbered.len() >= limit as usize {
            break;
        }
    }
    numbered.truncate(limit as usize);
    Ok(numbered)
}
