//! The collector: metadata out, results in, pages and exports for people.
//!
//! A request's way: `listen` takes the connection, `peer` cuts its address to a network prefix, `gate`
//! sees that no prefix takes everything, then the resource: `metadata`, `tokens`, `upload`, `live`,
//! `query`. Whatever is kept goes through `scrub` first.

mod body;
mod config;
mod consent;
mod experiments;
mod gate;
mod health;
mod listen;
mod live;
mod metadata;
mod observe;
mod peer;
mod query;
mod quota;
mod refusal;
mod retention;
mod router;
mod scrub;
mod sheet;
mod state;
mod tokens;
mod upload;

pub use config::{Config, ConfigError, EXAMPLE, Limits};
pub use router::openapi;

use crate::token::VerifyingKey;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the collector could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// What it was told does not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// The address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file.
    #[error("{}: {what}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A collector with its database open, before it listens.
#[derive(Clone)]
pub struct Collector {
    state: Arc<state::State>,
}

impl Collector {
    /// Reads the files that `config` names and opens its database.
    pub async fn open(config: Config) -> Result<Collector, CollectorError> {
        let state = Arc::new(state::State::open(config).await?);
        Ok(Collector { state })
    }

    /// What tokens are verified with.
    pub fn token_key(&self) -> VerifyingKey {
        self.state.key.verifying_key()
    }

    /// Every route. A request's peer is taken from its extension [`SocketAddr`], where there is one.
    pub fn router(&self) -> axum::Router {
        router::router(&self.state)
    }

    /// Serves until `stop` resolves, then finishes what is under way, for at most ten seconds.
    /// `ready` is told where it listens.
    pub async fn serve(
        self,
        ready: impl FnOnce(SocketAddr),
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), CollectorError> {
        let retention = tokio::spawn(retention::run(Arc::clone(&self.state)));
        let result = listen::serve(&self, ready, stop).await;
        retention.abort();
        result
    }
}

/// Runs until `stop` resolves, then finishes what is under way. `ready` is told where it listens.
pub async fn run(
    config: Config,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), CollectorError> {
    Collector::open(config).await?.serve(ready, stop).await
}

/// The public half of the key in `file`, which is made when it does not exist: what test servers are
/// given before the collector runs for the first time.
pub fn token_key(file: &Path) -> Result<VerifyingKey, CollectorError> {
    Ok(state::read_or_make_key(file)?.0.verifying_key())
}
