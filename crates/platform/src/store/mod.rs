//! Where are results kept? In SQLite, or in PostgreSQL by URL: the same migrations, the same queries,
//! the same tests. Several collectors may share one PostgreSQL database.

mod database;
mod error;
mod index;
#[cfg(test)]
mod interrupted;
mod live;
mod open;
mod quota;
mod removal;
mod run;
mod writer;

pub use error::StoreError;

use crate::api::{
    Comparison, Filter, LiveBatch, LiveItem, RunPage, RunSummary, RunningTest, Usage,
};
use database::{Database, values};
use index::{Follower, Selection};
use quota::Spending;
use std::time::Duration;
use writer::Writer;

/// The store. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    database: Database,
    writer: Writer,
    index: Follower,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not what it holds, nor where: that may name a password.
        let kind = match self.database {
            Database::Sqlite { .. } => "SQLite",
            Database::Postgres(_) => "PostgreSQL",
        };
        write!(f, "Store({kind})")
    }
}

/// A run to be stored.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// What the explorer shows; `stored_at` is set by the store.
    pub summary: RunSummary,
    /// Kernel or platform name, for [`Usage::platforms`].
    pub platform: String,
    /// The network prefix it came from (never the address).
    pub prefix: String,
    /// SHA-256 of the uploader's secret.
    pub secret_sha256: [u8; 32],
    /// SHA-256 of the upload's decompressed bytes.
    pub content_sha256: [u8; 32],
    /// The upload as validated and scrubbed, JSON compressed with zstd.
    pub document: Vec<u8>,
    /// When it is to be deleted, seconds since 1970.
    pub expires_s: u64,
}

/// What became of a run that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is durable now.
    Stored,
    /// It was already, with this content.
    AlreadyStored,
    /// Another run has this id.
    Conflict,
    /// It was deleted by its uploader: it does not come back.
    Deleted,
}

/// What became of a run that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Gone.
    Deleted,
    /// There is none.
    NotFound,
    /// The secret is another.
    Refused,
}

/// An item of a running test as it is passed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// Rises within the database.
    pub sequence: i64,
    /// The item.
    pub item: LiveItem,
}

impl Store {
    /// Opens the database at `url` (`sqlite:FILE`, `sqlite::memory:`, `postgres://...`), creates a
    /// SQLite file if there is none, and brings its schema up to date. Two collectors that start at
    /// once do not trip over each other.
    ///
    /// The index that filters need is read in the background: 1,000,000 runs take some seconds, in
    /// which uploads are taken and queries wait.
    pub async fn open(url: &str) -> Result<Store, StoreError> {
        let database = open::open(url).await?;
        let store = Store {
            writer: Writer::start(database.clone()),
            index: Follower::new(database.clone()),
            database,
        };
        let index = store.index.clone();
        tokio::spawn(async move {
            // Whoever asks first would meet the error again.
            if let Err(error) = index.catch_up().await {
                tracing::warn!(%error, "the index was not read ahead");
            }
        });
        Ok(store)
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.database.rows("SELECT 1", values![]).await?;
        Ok(())
    }

    /// Closes the connections when what is under way is done; whatever is asked later is
    /// [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// Stores `run` in one transaction; when this returns it is durable.
    pub async fn put(&self, run: &NewRun) -> Result<Put, StoreError> {
        self.writer.put(run.clone()).await
    }

    /// A run's summary and document (zstd).
    pub async fn get(&self, id: &str) -> Result<Option<(RunSummary, Vec<u8>)>, StoreError> {
        run::get(&self.database, id).await
    }

    /// Deletes a run, for who knows its secret.
    pub async fn delete(&self, id: &str, secret_sha256: [u8; 32]) -> Result<Deletion, StoreError> {
        removal::delete(&self.database, id, secret_sha256).await
    }

    /// The explorer's page, newest first.
    pub async fn list(&self, filter: &Filter) -> Result<RunPage, StoreError> {
        self.index.list(Selection::new(filter)?).await
    }

    /// The arms' distributions and ratios, exactly. `limit` and `after` are nothing to it.
    pub async fn compare(&self, filter: &Filter) -> Result<Comparison, StoreError> {
        self.index.compare(Selection::new(filter)?).await
    }

    /// Counts.
    pub async fn usage(&self) -> Result<Usage, StoreError> {
        self.index.usage().await
    }

    /// Takes `amount` from what `key` may spend per `window` (aligned to multiples of it since 1970);
    /// false, and nothing is taken, when less than that is left of `limit`. Holds across collectors.
    pub async fn spend(
        &self,
        key: &str,
        amount: u64,
        limit: u64,
        window: Duration,
        now_s: u64,
    ) -> Result<bool, StoreError> {
        let key = key.to_owned();
        let spending = Spending {
            key,
            amount,
            limit,
            window,
            now_s,
        };
        self.writer.spend(spending).await
    }

    /// Takes in what is seen of a running test.
    pub async fn push_live(&self, batch: &LiveBatch, now_s: u64) -> Result<(), StoreError> {
        self.writer.push_live(batch.clone(), now_s).await
    }

    /// The tests heard of within the last 30 s that are not over, the newest first.
    pub async fn running(&self, now_s: u64) -> Result<Vec<RunningTest>, StoreError> {
        live::running(&self.database, now_s).await
    }

    /// The items of `test` after `sequence` (0: all that are kept), at most `limit`.
    pub async fn live_after(
        &self,
        test: &str,
        sequence: i64,
        limit: u32,
    ) -> Result<Vec<Numbered>, StoreError> {
        live::after(&self.database, test, sequence, limit).await
    }

    /// Deletes the runs whose time is over, live items older than an hour, and spent quotas; returns how
    /// many runs.
    pub async fn expire(&self, now_s: u64) -> Result<u64, StoreError> {
        removal::expire(&self.database, now_s).await
    }
}
