//! Where are results kept? In SQLite, or in PostgreSQL by URL: the same migrations, the same queries,
//! the same tests. Several collectors may share one PostgreSQL database.

use crate::api::{
    Comparison, Filter, LiveBatch, LiveItem, RunPage, RunSummary, RunningTest, Usage,
};
use std::time::Duration;

/// The store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {}

/// Why the store could not do it. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Not a database URL.
    #[error("`{0}` is no database: write sqlite:FILE or postgres://USER@HOST/DATABASE")]
    Url(String),
    /// It does not answer, or closed the connection; later it may.
    #[error("the database does not answer: {0}")]
    Unavailable(String),
    /// There is no space left.
    #[error("the database is full: {0}")]
    Full(String),
    /// Its schema is of a newer version, or a migration stopped half way.
    #[error("the database's schema does not fit: {0}")]
    Schema(String),
    /// It is there, but not to be used: a wrong password, no such database, a file that is read-only.
    #[error("the database refuses: {0}")]
    Refused(String),
    /// A filter that can't be understood: a fault of who asks.
    #[error("{0}")]
    Query(String),
    /// What is stored can't be read, or a bug.
    #[error("the database holds what it should not: {0}")]
    Damaged(String),
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

#[expect(unused_variables, clippy::unused_async, reason = "skeleton")]
impl Store {
    /// Opens the database at `url` (`sqlite:FILE`, `sqlite::memory:`, `postgres://...`), creates a
    /// SQLite file if there is none, and brings its schema up to date. Two collectors that start at
    /// once do not trip over each other.
    pub async fn open(url: &str) -> Result<Store, StoreError> {
        todo!()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        todo!()
    }

    /// Closes the connections when what is under way is done; whatever is asked later is
    /// [`StoreError::Unavailable`].
    pub async fn close(&self) {
        todo!()
    }

    /// Stores `run` in one transaction; when this returns it is durable.
    pub async fn put(&self, run: &NewRun) -> Result<Put, StoreError> {
        todo!()
    }

    /// A run's summary and document (zstd).
    pub async fn get(&self, id: &str) -> Result<Option<(RunSummary, Vec<u8>)>, StoreError> {
        todo!()
    }

    /// Deletes a run, for who knows its secret.
    pub async fn delete(&self, id: &str, secret_sha256: [u8; 32]) -> Result<Deletion, StoreError> {
        todo!()
    }

    /// The explorer's page, newest first.
    pub async fn list(&self, filter: &Filter) -> Result<RunPage, StoreError> {
        todo!()
    }

    /// The arms' distributions and ratios.
    pub async fn compare(&self, filter: &Filter) -> Result<Comparison, StoreError> {
        todo!()
    }

    /// Counts.
    pub async fn usage(&self) -> Result<Usage, StoreError> {
        todo!()
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
        todo!()
    }

    /// Takes in what is seen of a running test.
    pub async fn push_live(&self, batch: &LiveBatch, now_s: u64) -> Result<(), StoreError> {
        todo!()
    }

    /// The tests heard of within the last 30 s, the newest first.
    pub async fn running(&self, now_s: u64) -> Result<Vec<RunningTest>, StoreError> {
        todo!()
    }

    /// The items of `test` after `sequence` (0: all that are kept), at most `limit`.
    pub async fn live_after(
        &self,
        test: &str,
        sequence: i64,
        limit: u32,
    ) -> Result<Vec<Numbered>, StoreError> {
        todo!()
    }

    /// Deletes the runs whose time is over, live items older than an hour, and spent quotas; returns how
    /// many runs.
    pub async fn expire(&self, now_s: u64) -> Result<u64, StoreError> {
        todo!()
    }
}
