//! How are both databases spoken to in one way? The same SQL with `$1`, `$2`, ... goes to either; values
//! and rows are one of a few kinds.

use super::StoreError;
use sqlx::{Decode, PgPool, Postgres, Row as _, Sqlite, SqlitePool, Type};
use sqlx::{SqlSafeStr, SqlStr};
use std::time::Duration;

/// A statement that takes longer is given up: the network swallows what the database says. Its own limit
/// for a statement is less.
const HANGS: Duration = Duration::from_secs(90);

/// What `asked` comes to, if it does.
async fn in_time<T>(asked: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, StoreError> {
    match tokio::time::timeout(HANGS, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => {
            let what = format!("no answer within {} s", HANGS.as_secs());
            Err(StoreError::Unavailable(what))
        }
    }
}

/// A database.
#[derive(Clone, Debug)]
pub(super) enum Database {
    /// One connection writes, several read.
    Sqlite {
        /// The one that writes.
        write: SqlitePool,
        /// Those that read; the same one of a database in memory.
        read: SqlitePool,
    },
    /// Every connection does both.
    Postgres(PgPool),
}

/// A value of a statement.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i64),
    Real(Option<f64>),
    Text(String),
    OptionalText(Option<String>),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Int(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(text(value))
    }
}

impl From<Option<&str>> for Value {
    fn from(value: Option<&str>) -> Value {
        Value::OptionalText(value.map(text))
    }
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Value {
        Value::Real(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Value {
        Value::Bytes(value.to_vec())
    }
}

/// What stands between the words of a run's kind when they are read as one.
pub(super) const SEPARATOR: char = '\u{1f}';

/// PostgreSQL's text holds no NUL; neither that nor the separator is in any name.
pub(super) fn text(value: &str) -> String {
    value.replace(['\0', SEPARATOR], "\u{fffd}")
}

/// A row of an answer.
pub(super) enum Row {
    Sqlite(sqlx::sqlite::SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

impl Row {
    /// The value in the column at `index`, from 0.
    pub(super) fn get<'r, T>(&'r self, index: usize) -> Result<T, StoreError>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(match self {
            Row::Sqlite(row) => row.try_get(index)?,
            Row::Postgres(row) => row.try_get(index)?,
        })
    }

    /// A truth in the column at `index`.
    pub(super) fn truth(&self, index: usize) -> Result<bool, StoreError> {
        Ok(self.get::<i64>(index)? != 0)
    }
}

/// A statement with its values bound.
macro_rules! bound {
    ($sql:expr, $values:expr) => {
        $values
            .into_iter()
            .fold(sqlx::query($sql), |query, value| match value {
                Value::Int(value) => query.bind(value),
                Value::Real(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
                Value::OptionalText(value) => query.bind(value),
                Value::Bytes(value) => query.bind(value),
            })
    };
}

/// The values of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::store::database::Value::from($value)),*]
    };
}
pub(super) use values;

impl Database {
    /// The rows that `sql` answers with; a statement that changes nothing.
    pub(super) async fn rows(
        &self,
        sql: impl SqlSafeStr,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let sql: SqlStr = sql.into_sql_str();
        match self {
            Database::Sqlite { read, .. } => {
                let rows = in_time(bound!(sql, values).fetch_all(read)).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Database::Postgres(pool) => {
                let rows = in_time(bound!(sql, values).fetch_all(pool)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Begins a transaction that writes. In SQLite there is one at a time.
    pub(super) async fn begin(&self) -> Result<Transaction, StoreError> {
        Ok(match self {
            // At once: one that begins by reading can't wait for another process's to end.
            Database::Sqlite { write, .. } => {
                Transaction::Sqlite(in_time(write.begin_with("BEGIN IMMEDIATE")).await?)
            }
            Database::Postgres(pool) => Transaction::Postgres(in_time(pool.begin()).await?),
        })
    }

    /// Closes all connections when they are no longer used.
    pub(super) async fn close(&self) {
        match self {
            Database::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Database::Postgres(pool) => pool.close().await,
        }
    }
}

/// A transaction; undone unless committed.
pub(super) enum Transaction {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    /// The rows that `sql` answers with.
    pub(super) async fn rows(
        &mut self,
        sql: impl SqlSafeStr,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Transaction::Sqlite(transaction) => {
                let rows = in_time(bound!(sql, values).fetch_all(&mut **transaction)).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Transaction::Postgres(transaction) => {
                let rows = in_time(bound!(sql, values).fetch_all(&mut **transaction)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// How many rows `sql` changed.
    pub(super) async fn execute(
        &mut self,
        sql: impl SqlSafeStr,
        values: Vec<Value>,
    ) -> Result<u64, StoreError> {
        Ok(match self {
            Transaction::Sqlite(transaction) => {
                let done = in_time(bound!(sql, values).execute(&mut **transaction)).await?;
                done.rows_affected()
            }
            Transaction::Postgres(transaction) => {
                let done = in_time(bound!(sql, values).execute(&mut **transaction)).await?;
                done.rows_affected()
            }
        })
    }

    /// Adds `amount` to the counter called `name` and returns what it is then. From here to the commit no
    /// other transaction gets past this: what is numbered becomes visible in its order.
    pub(super) async fn count(&mut self, name: &str, amount: i64) -> Result<i64, StoreError> {
        let sql = "UPDATE counters SET value = value + $1 WHERE name = $2 RETURNING value";
        let rows = self.rows(sql, values![amount, name]).await?;
        let Some(row) = rows.first() else {
            let what = format!("the counter `{name}` is missing");
            return Err(StoreError::Damaged(what));
        };
        row.get(0)
    }

    /// Makes it durable.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Transaction::Sqlite(transaction) => in_time(transaction.commit()).await?,
            Transaction::Postgres(transaction) => in_time(transaction.commit()).await?,
        }
        Ok(())
    }
}
