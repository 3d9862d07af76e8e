//! How do runs go: by their uploader, or when their time is over?

use super::database::{Database, values};
use super::run::signed;
use super::{Deletion, StoreError};

/// Runs that expire in one transaction: uploads wait for it.
const AT_ONCE: i64 = 500;

/// Removals that are remembered for collectors which have not heard of them; one that is further behind
/// reads everything anew.
const REMEMBERED: i64 = 100_000;

/// How long live items are kept, in seconds.
const LIVE_KEPT_S: i64 = 3_600;

/// Deletes the run `id` for who knows its secret; it does not come back.
pub(super) async fn delete(
    database: &Database,
    id: &str,
    secret_sha256: [u8; 32],
) -> Result<Deletion, StoreError> {
    let mut transaction = database.begin().await?;
    let sequence = transaction.count("runs", 1).await?;
    let sql = "SELECT number, secret_sha256 FROM runs WHERE id = $1";
    let rows = transaction.rows(sql, values![id]).await?;
    let Some(row) = rows.first() else {
        return Ok(Deletion::NotFound);
    };
    if row.get::<Vec<u8>>(1)? != secret_sha256 {
        return Ok(Deletion::Refused);
    }
    let number: i64 = row.get(0)?;
    for (sql, values) in [
        // Its document goes with it.
        ("DELETE FROM runs WHERE number = $1", values![number]),
        ("INSERT INTO tombstones (id) VALUES ($1)", values![id]),
        (
            "INSERT INTO removals (sequence, number) VALUES ($1, $2)",
            values![sequence, number],
        ),
    ] {
        transaction.execute(sql, values).await?;
    }
    transaction.commit().await?;
    Ok(Deletion::Deleted)
}

/// Deletes what is over at `now_s`; how many runs.
pub(super) async fn expire(database: &Database, now_s: u64) -> Result<u64, StoreError> {
    let now_s = signed(now_s);
    let mut expired = 0;
    loop {
        let some = expire_runs(database, now_s).await?;
        expired += some;
        if some < AT_ONCE.unsigned_abs() {
            break;
        }
    }
    let mut transaction = database.begin().await?;
    let heard_s = now_s.saturating_sub(LIVE_KEPT_S);
    for (sql, before) in [
        ("DELETE FROM quotas WHERE ends_s <= $1", now_s),
        ("DELETE FROM live_batches WHERE heard_s < $1", heard_s),
        ("DELETE FROM live_tests WHERE heard_s < $1", heard_s),
    ] {
        transaction.execute(sql, values![before]).await?;
    }
    transaction.commit().await?;
    Ok(expired)
}

/// Deletes some of the runs whose time is over.
async fn expire_runs(database: &Database, now_s: i64) -> Result<u64, StoreError> {
    let mut transaction = database.begin().await?;
    let before = transaction.count("runs", 0).await?;
    let removed = transaction
        .execute(
            "INSERT INTO removals (sequence, number) \
             SELECT $1 + ROW_NUMBER() OVER (ORDER BY number), number FROM \
             (SELECT number FROM runs WHERE expires_s <= $2 ORDER BY expires_s LIMIT $3) AS over_now",
            values![before, now_s, AT_ONCE],
        )
        .await?;
    if removed == 0 {
        return Ok(0);
    }
    let sql = "DELETE FROM runs WHERE number IN (SELECT number FROM removals WHERE sequence > $1)";
    transaction.execute(sql, values![before]).await?;
    let last = transaction.count("runs", signed(removed)).await?;
    let forgotten = last - REMEMBERED;
    if forgotten > 0 {
        let sql = "DELETE FROM removals WHERE sequence <= $1";
        transaction.execute(sql, values![forgotten]).await?;
        let sql = "UPDATE counters SET value = $1 WHERE name = 'removals-forgotten' AND value < $1";
        transaction.execute(sql, values![forgotten]).await?;
    }
    transaction.commit().await?;
    Ok(removed)
}
