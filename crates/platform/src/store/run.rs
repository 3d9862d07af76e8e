//! How does a run become rows, and rows its summary again?

use super::database::{Database, Row, Transaction, Value, values};
use super::{NewRun, Put, StoreError};
use crate::api::{MetricValue, RunSummary};
use jiff::Timestamp;
use model::manifest::Status;
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;

/// The columns of a summary, in the order [`summary`] reads them.
macro_rules! summary_columns {
    () => {
        "number, id, test, started_at, stored_us, experiment, mode, server, transport, policy, \
         pattern, family, port, status, invalid, ended, networks, duration_us, walkabout_version, \
         publish, metrics"
    };
}

/// Puts `run` into the database, to be found when the transaction is committed.
pub(super) async fn put(transaction: &mut Transaction, run: &NewRun) -> Result<Put, StoreError> {
    // First of all the lock: of two that put the same run at once, the second finds it.
    let number = transaction.count("runs", 1).await?;
    let known = transaction
        .rows(
            "SELECT content_sha256, secret_sha256 FROM runs WHERE id = $1 \
             UNION ALL SELECT NULL, NULL FROM tombstones WHERE id = $1",
            values![run.summary.id.as_str()],
        )
        .await?;
    if let Some(known) = known.first() {
        let (content, secret): (Option<Vec<u8>>, Option<Vec<u8>>) = (known.get(0)?, known.get(1)?);
        return Ok(match content {
            None => Put::Deleted,
            // With another secret it is another's: who is told that it is stored can delete it.
            Some(content)
                if content == run.content_sha256
                    && secret.as_deref() == Some(&run.secret_sha256[..]) =>
            {
                Put::AlreadyStored
            }
            Some(_) => Put::Conflict,
        });
    }
    transaction
        .execute(
            concat!(
                "INSERT INTO runs (",
                summary_columns!(),
                ", expires_s, counts, platform, prefix, delay_max_s, delay_max_censored, \
                 delay_max_up_s, delay_max_up_censored, delay_max_down_s, delay_max_down_censored, \
                 handover_sent_s, handover_sent_censored, cellular_cause, secret_sha256, \
                 content_sha256) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
                 $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, \
                 $30, $31, $32, $33, $34, $35, $36)"
            ),
            columns(number, run)?,
        )
        .await?;
    transaction
        .execute(
            "INSERT INTO documents (number, document) VALUES ($1, $2)",
            values![number, &run.document[..]],
        )
        .await?;
    Ok(Put::Stored)
}

/// The values of the columns of `runs`.
fn columns(number: i64, run: &NewRun) -> Result<Vec<Value>, StoreError> {
    let summary = &run.summary;
    // JSON has no other numbers.
    let metrics: BTreeMap<_, _> = summary
        .metrics
        .iter()
        .filter(
            |(_, value)| !matches!(value, MetricValue::Number { value, .. } if !value.is_finite()),
        )
        .collect();
    let metrics = serde_json::to_string(&metrics)
        .map_err(|error| StoreError::Damaged(format!("the metrics are no JSON: {error}")))?;
    let observed = |name: &str| match summary.metrics.get(name) {
        Some(MetricValue::Number { value, censored }) if value.is_finite() => {
            (Some(*value), *censored)
        }
        _ => (None, false),
    };
    let delay_max = observed("delay-max");
    let delay_max_up = observed("delay-max-up");
    let delay_max_down = observed("delay-max-down");
    let handover_sent = observed("handover-sent");
    let cause = match summary.metrics.get("cellular-cause") {
        Some(MetricValue::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let counts = summary.invalid.is_none() && summary.status == Status::Complete;
    Ok(values![
        number,
        summary.id.as_str(),
        summary.test.as_str(),
        summary.started_at.as_str(),
        Timestamp::now().as_microsecond(),
        summary.experiment.as_str(),
        summary.mode.as_str(),
        summary.server.as_str(),
        summary.transport.as_str(),
        summary.policy.as_str(),
        summary.pattern.as_str(),
        summary.family.as_str(),
        i64::from(summary.port),
        status_name(summary.status),
        summary.invalid.as_deref(),
        summary.ended.as_deref(),
        summary.networks.as_str(),
        signed(summary.duration_us),
        summary.walkabout_version.as_str(),
        summary.publish,
        metrics.as_str(),
        signed(run.expires_s),
        counts,
        run.platform.as_str(),
        run.prefix.as_str(),
        delay_max.0,
        delay_max.1,
        delay_max_up.0,
        delay_max_up.1,
        delay_max_down.0,
        delay_max_down.1,
        handover_sent.0,
        handover_sent.1,
        cause,
        &run.secret_sha256[..],
        &run.content_sha256[..],
    ])
}

/// As a database keeps it: what is beyond 2^63 is as good as that.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Incomplete => "incomplete",
        Status::Failed => "failed",
    }
}

/// The summary in a row of [`summary_columns`], and the run's number.
fn summary(row: &Row) -> Result<(i64, RunSummary), StoreError> {
    let number: i64 = row.get(0)?;
    let damaged = |what: String| StoreError::Damaged(format!("run {number}: {what}"));
    let status: &str = row.get(13)?;
    let status = match status {
        "complete" => Status::Complete,
        "incomplete" => Status::Incomplete,
        "failed" => Status::Failed,
        other => return Err(damaged(format!("the status `{other}`"))),
    };
    let metrics: &str = row.get(20)?;
    let summary = RunSummary {
        id: row.get(1)?,
        test: row.get(2)?,
        started_at: row.get(3)?,
        stored_at: rfc3339(row.get(4)?).ok_or_else(|| damaged("its time".into()))?,
        experiment: row.get(5)?,
        mode: row.get(6)?,
        server: row.get(7)?,
        transport: row.get(8)?,
        policy: row.get(9)?,
        pattern: row.get(10)?,
        family: row.get(11)?,
        port: u16::try_from(row.get::<i64>(12)?).map_err(|e| damaged(format!("its port: {e}")))?,
        status,
        invalid: row.get(14)?,
        ended: row.get(15)?,
        networks: row.get(16)?,
        duration_us: row.get::<i64>(17)?.unsigned_abs(),
        walkabout_version: row.get(18)?,
        publish: row.truth(19)?,
        metrics: serde_json::from_str(metrics).map_err(|e| damaged(format!("its metrics: {e}")))?,
    };
    Ok((number, summary))
}

/// Microseconds since 1970 as RFC 3339 in UTC.
pub(super) fn rfc3339(us: i64) -> Option<String> {
    Some(Timestamp::from_microsecond(us).ok()?.to_string())
}

/// A run's summary and document.
pub(super) async fn get(
    database: &Database,
    id: &str,
) -> Result<Option<(RunSummary, Vec<u8>)>, StoreError> {
    let sql = concat!(
        "SELECT ",
        summary_columns!(),
        ", document FROM runs JOIN documents USING (number) WHERE id = $1"
    );
    let rows = database.rows(sql, values![id]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    Ok(Some((summary(row)?.1, row.get(21)?)))
}

/// The summaries of the runs `numbers`, the newest first; those deleted by now are not among them.
pub(super) async fn summaries(
    database: &Database,
    numbers: &[i64],
) -> Result<Vec<RunSummary>, StoreError> {
    /// One statement for any page, which stays prepared.
    const PAGE: usize = 50;
    let mut runs = Vec::with_capacity(numbers.len());
    for page in numbers.chunks(PAGE) {
        let places: Vec<String> = (1..=PAGE).map(|place| format!("${place}")).collect();
        let sql = format!(
            concat!(
                "SELECT ",
                summary_columns!(),
                " FROM runs WHERE number IN ({}) ORDER BY number DESC"
            ),
            places.join(", ")
        );
        // No run has the number 0.
        let values = (0..PAGE).map(|i| Value::Int(page.get(i).copied().unwrap_or(0)));
        // Of the numbers of its places, and nothing else.
        let rows = database.rows(AssertSqlSafe(sql), values.collect()).await?;
        for row in &rows {
            runs.push(summary(row)?.1);
        }
    }
    Ok(runs)
}
