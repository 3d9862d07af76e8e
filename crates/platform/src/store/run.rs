//! How does a run become rows, and rows its summary again?

use super::database::{Database, Row, Transaction, Value, text, values};
use super::{NewRun, Put, StoreError};
use crate::api::{MetricValue, RunSummary};
use jiff::Timestamp;
use model::manifest::Status;
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

/// The columns of a summary after the run's number, in the order [`summary`] reads them.
const SUMMARY: &str = "id, test, started_at, stored_us, experiment, mode, server, transport, policy, \
     pattern, family, port, status, invalid, ended, networks, duration_us, walkabout_version, \
     publish, metrics";

/// Rows up to which there is a statement for each count. A connection keeps a hundred statements prepared,
/// and there are three for each count.
const EXACTLY: usize = 16;

/// The counts beyond that for which there is one, the largest first.
const MANY: [usize; 2] = [64, 32];

/// Statements for 1 to 16, 32 and 64 rows: few enough to stay prepared, and few turns for any number.
struct PerRows(BTreeMap<usize, Arc<str>>);

impl PerRows {
    /// `of` is given as many lists of `columns` placeholders as there are rows.
    fn new(columns: usize, of: impl Fn(&[String]) -> String) -> PerRows {
        let row = |row: usize| {
            let places = (1..=columns).map(|column| format!("${}", row * columns + column));
            format!("({})", places.collect::<Vec<_>>().join(", "))
        };
        let statement = |rows: usize| {
            let statement = of(&(0..rows).map(row).collect::<Vec<_>>());
            (rows, statement.into())
        };
        PerRows((1..=EXACTLY).chain(MANY).map(statement).collect())
    }

    /// The statement for most of `rows`, of which there is one at least, and for how many.
    fn of(&self, rows: usize) -> (usize, AssertSqlSafe<Arc<str>>) {
        let many = MANY.into_iter().find(|many| *many <= rows);
        let count = many.unwrap_or(rows.clamp(1, EXACTLY));
        // Of placeholders and column names.
        let statement = Arc::clone(&self.0[&count]);
        (count, AssertSqlSafe(statement))
    }
}

static KNOWN: LazyLock<PerRows> = LazyLock::new(|| {
    PerRows::new(1, |ids| {
        let ids = ids.join(", ");
        format!(
            "SELECT id, content_sha256, secret_sha256 FROM runs WHERE id IN ({ids}) \
             UNION ALL SELECT id, NULL, NULL FROM tombstones WHERE id IN ({ids})"
        )
    })
});

static INSERT_RUNS: LazyLock<PerRows> = LazyLock::new(|| {
    PerRows::new(COLUMNS, |rows| {
        let rows = rows.join(", ");
        format!(
            "INSERT INTO runs (number, {SUMMARY}, expires_s, counts, platform, prefix, delay_max_s, \
             delay_max_censored, delay_max_up_s, delay_max_up_censored, delay_max_down_s, \
             delay_max_down_censored, handover_sent_s, handover_sent_censored, cellular_cause, \
             secret_sha256, content_sha256) VALUES {rows}"
        )
    })
});

static INSERT_DOCUMENTS: LazyLock<PerRows> = LazyLock::new(|| {
    PerRows::new(2, |rows| {
        let rows = rows.join(", ");
        format!("INSERT INTO documents (number, document) VALUES {rows}")
    })
});

/// Puts `runs` into the database, to be found when the transaction is committed.
pub(super) async fn put(
    transaction: &mut Transaction,
    runs: &[&NewRun],
) -> Result<Vec<Put>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    // First of all the lock: of two that put the same run at once, the second finds it.
    let count = signed(runs.len() as u64);
    let last = transaction.count("runs", count).await?;
    let mut known = known(transaction, runs).await?;
    let mut done = Vec::with_capacity(runs.len());
    let (mut rows, mut documents) = (Vec::new(), Vec::new());
    for (number, run) in (last - count + 1..).zip(runs) {
        let hashes = (run.content_sha256.to_vec(), run.secret_sha256.to_vec());
        let id = text(&run.summary.id);
        done.push(match known.get(&id) {
            Some(None) => Put::Deleted,
            // With another secret it is another's: who is told that it is stored can delete it.
            Some(Some(stored)) if *stored == hashes => Put::AlreadyStored,
            Some(Some(_)) => Put::Conflict,
            None => {
                rows.push(columns(number, run)?);
                documents.push(values![number, &run.document[..]]);
                known.insert(id, Some(hashes));
                Put::Stored
            }
        });
    }
    for (statements, mut rows) in [(&INSERT_RUNS, rows), (&INSERT_DOCUMENTS, documents)] {
        while !rows.is_empty() {
            let (count, statement) = statements.of(rows.len());
            let values = rows.drain(..count).flatten().collect();
            transaction.execute(statement, values).await?;
        }
    }
    Ok(done)
}

/// What is known of the ids of `runs`: of those stored the hashes of content and secret, of those deleted
/// that they were.
async fn known(
    transaction: &mut Transaction,
    runs: &[&NewRun],
) -> Result<HashMap<String, Option<(Vec<u8>, Vec<u8>)>>, StoreError> {
    let mut known = HashMap::new();
    let mut left = runs;
    while !left.is_empty() {
        let (count, statement) = KNOWN.of(left.len());
        let (some, others) = left.split_at(count);
        let ids = some.iter().map(|run| Value::from(&run.summary.id[..]));
        let rows = transaction.rows(statement, ids.collect()).await?;
        for row in &rows {
            let (content, secret): (Option<_>, Option<_>) = (row.get(1)?, row.get(2)?);
            known.insert(row.get(0)?, content.zip(secret));
        }
        left = others;
    }
    Ok(known)
}

/// How many values [`columns`] makes.
const COLUMNS: usize = 36;

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

/// The summary in a row of the run's number and [`SUMMARY`], and the number.
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
    let sql = format!(
        "SELECT number, {SUMMARY}, document FROM runs JOIN documents USING (number) WHERE id = $1"
    );
    let rows = database.rows(AssertSqlSafe(sql), values![id]).await?;
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
    let places: Vec<String> = (1..=PAGE).map(|place| format!("${place}")).collect();
    let sql: Arc<str> = format!(
        "SELECT number, {SUMMARY} FROM runs WHERE number IN ({}) ORDER BY number DESC",
        places.join(", ")
    )
    .into();
    let mut runs = Vec::with_capacity(numbers.len());
    for page in numbers.chunks(PAGE) {
        // No run has the number 0.
        let values = (0..PAGE).map(|i| Value::Int(page.get(i).copied().unwrap_or(0)));
        let sql = AssertSqlSafe(Arc::clone(&sql));
        let rows = database.rows(sql, values.collect()).await?;
        for row in &rows {
            runs.push(summary(row)?.1);
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rows_takes_few_statements() {
        let per_rows = PerRows::new(2, |rows| rows.join(", "));
        for rows in 1..=200 {
            let (mut left, mut turns) = (rows, 0);
            while left > 0 {
                let (count, _) = per_rows.of(left);
                assert!((1..=left).contains(&count));
                let written = per_rows.0[&count].matches('(').count();
                assert_eq!(written, count);
                left -= count;
                turns += 1;
            }
            // Those of 64, one of 32, one of 16, and the rest.
            assert!(turns <= rows / 64 + 3, "{rows} rows in {turns} turns");
        }
    }
}
