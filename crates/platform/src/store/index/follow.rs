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
        self.catch_up().await?;
        let index = Arc::clone(&self.index).read_owned().await;
        tokio::task::spawn_blocking(move || question(&index))
            .await
            .map_err(|error| StoreError::Damaged(format!("the index can't be read: {error}")))
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
        let (mut from, mut behind) = {
            let index = self.index.read().await;
            // The first reading was interrupted, or many are gone.
            let worn = index.is_worn() || (index.read_to == 0 && !index.entries.is_empty());
            (index.read_to, worn)
        };
        // It was away for too long, or the database was put back to an earlier state.
        behind |= from != 0 && (from < forgotten || from > last);
        if behind {
            *self.index.write().await = Index::default();
            from = 0;
        }
        if from == last {
            return Ok(());
        }
        self.read_runs(from, last).await?;
        let mut removed = Vec::new();
        // Who begins has nothing to remove.
        if from != 0 {
            let sql = "SELECT number FROM removals WHERE sequence > $1 AND sequence <= $2";
            removed = self.database.rows(sql, values![from, last]).await?;
        }
        let mut index = self.index.write().await;
        for row in &removed {
            index.remove(row.get(0)?);
        }
        index.read_to = last;
        Ok(())
    }

    /// Reads the runs after `from` up to `last`. Interrupted, it goes on where it was.
    async fn read_runs(&self, from: i64, last: i64) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT number, stored_us, test, {KIND}, delay_max_censored + 2 * delay_max_up_censored \
             + 4 * delay_max_down_censored + 8 * handover_sent_censored, delay_max_s, \
             delay_max_up_s, delay_max_down_s, handover_sent_s FROM runs \
             WHERE number > $2 AND number <= $3 ORDER BY number LIMIT $4"
        );
        let sql: Arc<str> = sql.into();
        let there = match self.index.read().await.entries.last() {
            Some(entry) => entry.number,
            None => 0,
        };
        let mut from = from.max(there);
        loop {
            let separator = Value::Text(SEPARATOR.to_string());
            let bounds = [from, last, CHUNK].map(Value::Int);
            let values = [separator].into_iter().chain(bounds).collect();
            let sql = AssertSqlSafe(Arc::clone(&sql));
            let rows = self.database.rows(sql, values).await?;
            let Some(row) = rows.last() else {
                return Ok(());
            };
            from = row.get(0)?;
            let mut index = self.index.write().await;
            rows.iter().try_for_each(|row| index.take(row))?;
            if (rows.len() as i64) < CHUNK {
                return Ok(());
            }
        }
    }
}

impl Index {
    fn take(&mut self, row: &Row) -> Result<(), StoreError> {
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
