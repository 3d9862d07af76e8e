//! What is the collector told? `collector.toml`, checked before anything is opened.

mod check;
mod limits;

pub use limits::Limits;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A commented file to begin with.
pub const EXAMPLE: &str = include_str!("example.toml");

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
    /// What it takes on.
    #[serde(default)]
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            name: "A Walkabout collector".to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8_080)),
            database: "sqlite:collector.sqlite".to_owned(),
            key: PathBuf::from("collector.key"),
            consent: None,
            retention_days: 365,
            servers: Vec::new(),
            experiments: Vec::new(),
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// What is wrong with what the collector is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// File and line, where the mistake is in a file.
    pub place: Option<(String, usize)>,
    /// The key; empty when the text is no TOML.
    pub key: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.place {
            write!(f, "{file}:{line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)
    }
}

impl Config {
    /// Reads `text` and checks it; `file` is its name, and relative names of files in it count from
    /// its folder.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
        let source = file.display().to_string();
        let placed = |offset: usize, key: String, what: String| ConfigError {
            place: Some((source.clone(), line(text, offset))),
            key,
            what,
        };
        let wrong = |e: toml::de::Error| {
            let offset = e.span().map_or(0, |span| span.start);
            placed(offset, String::new(), e.message().replace('\n', "; "))
        };
        let tree = DeTable::parse(text).map_err(wrong)?;
        let mut config: Config = toml::from_str(text).map_err(wrong)?;
        config
            .check()
            .map_err(|e| placed(locate(&tree, &e.key), e.key, e.what))?;
        config.anchor(file.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// Makes the names of files count from `folder`.
    fn anchor(&mut self, folder: &Path) {
        self.key = folder.join(&self.key);
        self.consent = self.consent.as_ref().map(|file| folder.join(file));
        // `sqlite::memory:` and `sqlite:/absolute` stay; `sqlite://` is an absolute form too.
        if let Some(file) = self.database.strip_prefix("sqlite:")
            && !file.starts_with([':', '/'])
        {
            self.database = format!("sqlite:{}", folder.join(file).display());
        }
    }
}

/// The line of a byte, from 1.
fn line(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// Where the value of a key such as `server[1].ports` begins, or of its nearest ancestor.
fn locate(tree: &Spanned<DeTable<'_>>, key: &str) -> usize {
    let mut start = tree.span().start;
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    let steps = key.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    for step in steps {
        let next = match (value, step.parse::<usize>()) {
            (None, _) => tree.get_ref().get(step),
            (Some(value), Ok(index)) => value.get_ref().get(index),
            (Some(value), Err(_)) => value.get_ref().get(step),
        };
        let Some(next) = next else { break };
        start = next.span().start;
        value = Some(next);
    }
    start
}
