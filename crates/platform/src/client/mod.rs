//! The client's way to a collector: metadata, tokens, what is seen live, uploads. Blocking, as the
//! command line is.

mod queue;

pub use queue::{Queue, QueueError, Queued, Sent};

use crate::api::{LiveBatch, Metadata, Stored, TokenGranted, TokenRequest};
use std::time::Duration;

/// A collector.
#[derive(Clone, Debug)]
pub struct Collector {}

/// Why the collector did not do it.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// Not an address.
    #[error("`{0}` is no collector: write http://HOST:PORT or https://HOST")]
    Url(String),
    /// It was not reached, or did not answer in time: trying again later may help.
    #[error("the collector {url} cannot be reached: {what}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What happened.
        what: String,
    },
    /// It said no.
    #[error("the collector says: {}", .0.title)]
    Problem(crate::api::Problem),
    /// It answered something else than a collector does.
    #[error("{url} does not answer as a collector: {what}")]
    NotACollector {
        /// Its address.
        url: String,
        /// What it answered.
        what: String,
    },
}

impl CollectorError {
    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            CollectorError::Unreachable { .. } => true,
            CollectorError::Problem(problem) => matches!(problem.status, 429 | 500..),
            CollectorError::Url(_) | CollectorError::NotACollector { .. } => false,
        }
    }
}

#[expect(unused_variables, reason = "skeleton")]
impl Collector {
    /// The collector at `url`, given `timeout` for each exchange.
    pub fn new(url: &str, timeout: Duration) -> Result<Collector, CollectorError> {
        todo!()
    }

    /// Test servers, experiments, the consent text.
    pub fn metadata(&self) -> Result<Metadata, CollectorError> {
        todo!()
    }

    /// Tokens for a test.
    pub fn tokens(&self, request: &TokenRequest) -> Result<TokenGranted, CollectorError> {
        todo!()
    }

    /// Shows what is seen of a running test.
    pub fn live(&self, batch: &LiveBatch) -> Result<(), CollectorError> {
        todo!()
    }

    /// Hands in a run: `document` is an [`crate::api::Upload`] as JSON, compressed with zstd.
    pub fn upload(
        &self,
        id: &str,
        secret: &str,
        document: &[u8],
    ) -> Result<Stored, CollectorError> {
        todo!()
    }

    /// Deletes a run.
    pub fn delete(&self, id: &str, secret: &str) -> Result<(), CollectorError> {
        todo!()
    }
}
