//! How does the index keep up with the database? It reads what was numbered after the last time.

use super::super::StoreError;
use super::super::database::{Database, Row, SEPARATOR, Value, values};
use super::kind::KIND;
use super::{Entry, Index, NONE, Seconds};
use sqlx::AssertSqlSafe;
use std::sync::Arc;
use tokio::sync::{Mutex, RwLock};

/// Runs that are read at once.
const CHUNK: i64 = 5_000;

/// An index that follows its database.
#[derive(Clone)]
pub(in crate::store) struct Follower {
    pub(super) database: Database,
    index: Arc<RwLock<Index>>,
    /// Whoever has this reads from the database.
    reading: Arc<Mutex<()>>,
}

impl Follower {
    pub(in crate::store) fn new(database: Database) -> Follower {
        Follower {
            database,
            index: Arc::default(),
            reading: Arc::default(),
        }
    }

    /// What `question` makes of the index as it is now. Asked on a thread of its own: it may take some
    /// tenths of a second.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Index) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let this = self.clone();
        // It goes on when who asked goes away: what was read is of use to the next.
        let caught_up = tokio::spawn(async move { this.catch_up().await }).await;
        caught_up.map_err(broken)??;
        let index = Arc::clone(&self.index).read_owned().await;
        tokio::task::spawn_blocking(move || question(&index))
            .await
            .map_err(broken)
    }

    /// Reads what was stored and removed since the last time.
    pub(in crate::store) async fn catch_up(&self) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let counters = self
            .database
            .rows(
                "SELECT name, value FROM counters WHERE name IN ('runs', 'removals-forgotten')",
                values![],
            )
            .await?;
        let (mut last, mut forgotten) = (0, 0);
        for row in &counters {
            match row.get(0)? {
                "runs" => last = row.get(1)?,
                _ => forgotten = row.get(1)?,
            }
        }
        let (read_to, anew, there) = {
            let index = self.index.read().await;
            let there = index.entries.last().map_or(0, |entry| entry.number);
            // It was away for too long, or the database was put back to an earlier state.
            let lost = index.read_to < forgotten || index.read_to > last;
            let anew = index.read_to == 0 || lost || index.is_worn();
            (index.read_to, anew, there)
        };
        if read_to == last {
            return Ok(());
        }
        // Of what is read anew nobody sees a part.
        let (mut fresh, mut from) = match anew {
            true => (Some(Index::default()), 0),
            // An error may have kept it from finishing the last time.
            false => (None, read_to.max(there)),
        };
        loop {
            let rows = self.runs(from, last).await?;
            match &mut fresh {
                Some(fresh) => fresh.take(&rows)?,
                None => self.index.write().await.take(&rows)?,
            }
            match rows.last() {
                Some(row) if rows.len() as i64 == CHUNK => from = row.get(0)?,
                _ => break,
            }
        }
        let mut removed = Vec::new();
        // Who begins has nothing to remove.
        if fresh.is_none() {
            let sql = "SELECT number FROM removals WHERE sequence > $1 AND sequence <= $2";
            removed = self.database.rows(sql, values![read_to, last]).await?;
        }
        let mut index = self.index.write().await;
        if let Some(fresh) = fresh {
            *index = fresh;
        }
        for row in &removed {
            index.remove(row.get(0)?);
        }
        index.read_to = last;
        Ok(())
    }

    /// Some of the runs after `from` up to `last`.
    async fn runs(&self, from: i64, last: i64) -> Result<Vec<Row>, StoreError> {
        let sql = format!(
            "SELECT number, stored_us, test, {KIND}, delay_max_censored + 2 * delay_max_up_censored \
             + 4 * delay_max_down_censored + 8 * handover_sent_censored, delay_max_s, \
             delay_max_up_s, delay_max_down_s, handover_sent_s FROM runs \
             WHERE number > $2 AND number <= $3 ORDER BY number LIMIT $4"
        );
        let separator = Value::Text(SEPARATOR.to_string());
        let bounds = [from, last, CHUNK].map(Value::Int);
        let values = [separator].into_iter().chain(bounds).collect();
        self.database.rows(AssertSqlSafe(sql), values).await
    }
}

/// A task that panicked.
fn broken(error: tokio::task::JoinError) -> StoreError {
    StoreError::Damaged(format!("the index can't be read: {error}"))
}

impl Index {
    /// Adds the runs in `rows` of [`Follower::runs`].
    fn take(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|row| self.take_one(row))
    }

    fn take_one(&mut self, row: &Row) -> Result<(), StoreError> {
        let number = row.get(0)?;
        let kind: &str = row.get(3)?;
        let kind = self.kinds.place(kind).ok_or_else(|| {
            StoreError::Damaged(format!("run {number}: its kind can't be read: {kind}"))
        })?;
        let seconds = |column| -> Result<Seconds, StoreError> {
            Ok(Seconds(row.get::<Option<f64>>(column)?.unwrap_or(f64::NAN)))
        };
        let entry = Entry {
            number,
            stored_us: row.get(1)?,
            kind,
            test: NONE,
            before: NONE,
            // Four bits.
            flags: (row.get::<i64>(4)? & 0xf) as u8,
            delay_max: seconds(5)?,
            delay_max_up: seconds(6)?,
            delay_max_down: seconds(7)?,
            handover: seconds(8)?,
        };
        self.add(row.get(2)?, entry);
        Ok(())
    }
}
