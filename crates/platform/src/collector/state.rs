//! What do all requests share?

use super::gate::{Gates, Pace, PerPrefix};
use super::live::hub::Hub;
use super::observe::Observations;
use super::quota::Quota;
use super::{CollectorError, Config, Limits, consent, experiments};
use crate::api::{self, ConsentText};
use crate::store::Store;
use crate::token::SigningKey;
use ring::{digest, hmac};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// The state behind the routes.
pub struct State {
    pub name: String,
    pub retention_days: u32,
    pub servers: Vec<api::Server>,
    pub experiments: Vec<api::Experiment>,
    pub trusted_proxies: BTreeSet<std::net::IpAddr>,
    pub listen: std::net::SocketAddr,
    pub limits: Limits,
    pub consent: ConsentText,
    pub store: Store,
    pub key: SigningKey,
    /// What the hashes of networks' names are hashed with once more.
    pub network_key: [u8; 32],
    pub gates: Gates,
    pub connections: PerPrefix,
    pub pace: Pace,
    pub quota: Quota,
    pub observations: Observations,
    pub hub: Arc<Hub>,
    /// Raised when the collector stops: what would go on for long ends then.
    pub stopping: watch::Sender<bool>,
}

impl State {
    /// Checks `config`, reads the files it names, and opens its database.
    pub async fn open(config: Config) -> Result<State, CollectorError> {
        config.check()?;
        let Config {
            name,
            listen,
            database,
            key,
            consent,
            retention_days,
            servers,
            experiments,
            trusted_proxies,
            limits,
        } = config;
        let consent = consent::read(consent.as_deref(), &name, retention_days)?;
        let (key, network_key) = read_or_make_key(&key)?;
        let store = Store::open(&database).await?;
        Ok(State {
            name,
            listen,
            retention_days,
            servers,
            experiments: match experiments.is_empty() {
                true => experiments::default_experiments(),
                false => experiments,
            },
            trusted_proxies: trusted_proxies.iter().map(|a| a.to_canonical()).collect(),
            limits,
            consent,
            key,
            network_key,
            gates: Gates::new(&limits),
            connections: PerPrefix::new(limits.connections, limits.connections_per_prefix),
            pace: Pace::new(limits.requests_per_second),
            quota: Quota::new(store.clone()),
            observations: Observations::default(),
            hub: Hub::new(store.clone(), limits.watchers, limits.watchers_per_prefix),
            store,
            stopping: watch::Sender::new(false),
        })
    }

    /// The limits as clients are told.
    pub fn announced_limits(&self) -> api::Limits {
        let limits = &self.limits;
        api::Limits {
            upload_bytes: limits.upload_bytes,
            upload_expanded_bytes: limits.upload_expanded_bytes,
            uploads_per_hour: limits.uploads_per_hour,
            tokens_per_hour: limits.tokens_per_hour,
            token_bytes: limits.token_bytes,
            token_seconds: limits.token_seconds,
        }
    }
}

/// Seconds since 1970 in UTC.
pub fn now_s() -> u64 {
    // A clock before 1970 counts as 1970.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// `seconds` since 1970 as RFC 3339.
pub fn rfc3339(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    time.to_string()
}

/// The signing key in `file`, made when there is none, and the key for networks' names that follows
/// from it: one file to keep, to share between collectors, and to back up.
pub fn read_or_make_key(file: &Path) -> Result<(SigningKey, [u8; 32]), CollectorError> {
    let wrong = |what: String| CollectorError::File {
        file: file.to_owned(),
        what,
    };
    let document = match std::fs::read(file) {
        Ok(document) => document,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let document = SigningKey::generate().1;
            let written = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(file)
                .and_then(|mut out| out.write_all(&document).and_then(|()| out.sync_all()));
            match written {
                Ok(()) => document,
                // Another collector was first: its key counts.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => std::fs::read(file)
                    .map_err(|e| wrong(format!("the signing key cannot be read: {e}")))?,
                Err(error) => {
                    return Err(wrong(format!("the signing key cannot be written: {error}")));
                }
            }
        }
        Err(error) => return Err(wrong(format!("the signing key cannot be read: {error}"))),
    };
    let key = SigningKey::from_pkcs8(&document).map_err(|e| wrong(e.to_string()))?;
    let secret = digest::digest(&digest::SHA256, &document);
    let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref());
    let mut network_key = [0; 32];
    network_key.copy_from_slice(hmac::sign(&secret, b"walkabout: names of networks").as_ref());
    Ok((key, network_key))
}
