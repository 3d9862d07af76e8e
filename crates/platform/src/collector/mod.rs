//! The collector: metadata out, results in, pages and exports for people.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What `walkabout collect` is told: `collector.toml`, each key also an option of the command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The collector's name, for people.
    pub name: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The database: `sqlite:FILE` or `postgres://...`.
    pub database: String,
    /// The signing key's file (PKCS #8, DER); made when it does not exist.
    pub key: PathBuf,
    /// A file with the text to agree to; a default text when absent.
    #[serde(default)]
    pub consent: Option<PathBuf>,
    /// Days a result is kept.
    pub retention_days: u32,
    /// The test servers.
    #[serde(default, rename = "server")]
    pub servers: Vec<crate::api::Server>,
    /// The experiments; two of the collector's own when empty.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<crate::api::Experiment>,
    /// Reverse proxies whose `X-Forwarded-For` is believed.
    #[serde(default)]
    pub trusted_proxies: Vec<std::net::IpAddr>,
}

/// Why the collector could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
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

/// Runs until `stop` resolves, then finishes what is under way. `ready` is told where it listens.
pub async fn run(
    config: Config,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), CollectorError> {
    let _ = (config, ready, stop);
    todo!()
}
