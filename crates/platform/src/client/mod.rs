//! The client's way to a collector: metadata, tokens, what is seen live, uploads. Blocking, as the
//! command line is.

mod durable;
mod queue;

pub use durable::write as write_durably;
pub use queue::{Queue, QueueError, Queued, Refused, Sent};

use crate::api::{LiveBatch, Metadata, PREFIX, Problem, Stored, TokenGranted, TokenRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};

/// The header with what deletes a run.
pub const SECRET_HEADER: &str = "Walkabout-Secret";

/// The largest answer that is read: metadata with hundreds of servers are far below it.
const ANSWER_BYTES: u64 = 4 << 20;

/// The slowest uplink that an upload's time allows for, beside the timeout: 16 kB/s, that of a 2G phone.
const SLOWEST_BYTES_PER_SECOND: u64 = 16_000;

/// A collector.
#[derive(Clone, Debug)]
pub struct Collector {
    url: String,
    timeout: Duration,
    agent: Agent,
}

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
    Problem(Problem),
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
    /// Whether the same request may succeed later. What does not answer as a collector may be the
    /// login page of a Wi-Fi, and the collector is there again in the next network.
    pub fn is_temporary(&self) -> bool {
        match self {
            CollectorError::Unreachable { .. } | CollectorError::NotACollector { .. } => true,
            CollectorError::Problem(problem) => matches!(problem.status, 408 | 429 | 500..),
            CollectorError::Url(_) => false,
        }
    }
}

/// For how long a connection that is not used is kept for the next exchange.
const IDLE: Duration = Duration::from_secs(2);

impl Collector {
    /// The collector at `url`, given `timeout` for each exchange (an upload has as much more as its
    /// size takes on a slow uplink). Certificates are checked against the public authorities.
    ///
    /// ```
    /// use std::time::Duration;
    /// use walkabout_platform::client::Collector;
    /// let collector = Collector::new("https://collector.example/", Duration::from_secs(10)).unwrap();
    /// assert_eq!(collector.url(), "https://collector.example");
    /// assert!(Collector::new("collector.example", Duration::from_secs(10)).is_err());
    /// ```
    pub fn new(url: &str, timeout: Duration) -> Result<Collector, CollectorError> {
        let (url, is_local) = address(url).ok_or_else(|| CollectorError::Url(url.to_owned()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::WebPki)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let mut config = Agent::config_builder()
            // What an error means is in its body.
            .http_status_as_error(false)
            // A collector redirects nobody; the login page of a Wi-Fi does.
            .max_redirects(0)
            .timeout_global(Some(timeout))
            // A connection that was not used for longer may be one of a network that is gone, and what is
            // sent over it then waits for the whole timeout.
            .max_idle_age(IDLE)
            .user_agent(concat!("walkabout/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .tls_config(tls);
        if is_local {
            config = config.proxy(None);
        }
        Ok(Collector {
            url,
            timeout,
            agent: config.build().new_agent(),
        })
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Test servers, experiments, the consent text.
    pub fn metadata(&self) -> Result<Metadata, CollectorError> {
        let answer = self.agent.get(self.at("metadata")).call();
        self.json(answer)
    }

    /// Tokens for a test.
    pub fn tokens(&self, request: &TokenRequest) -> Result<TokenGranted, CollectorError> {
        let answer = self.post("tokens", request);
        let granted: TokenGranted = self.json(answer)?;
        let (asked, got) = (request.count as usize, granted.tokens.len());
        if asked != got {
            return Err(self.not_a_collector(format!("{got} tokens, where {asked} were asked for")));
        }
        Ok(granted)
    }

    /// Shows what is seen of a running test.
    pub fn live(&self, batch: &LiveBatch) -> Result<(), CollectorError> {
        let answer = self.post("live", batch);
        self.answer(answer).map(drop)
    }

    /// Hands in a run: `document` is an [`crate::api::Upload`] as JSON, compressed with zstd.
    pub fn upload(
        &self,
        id: &str,
        secret: &str,
        document: &[u8],
    ) -> Result<Stored, CollectorError> {
        let on_the_way = Duration::from_secs(document.len() as u64 / SLOWEST_BYTES_PER_SECOND);
        let answer = self
            .agent
            .put(self.at(&format!("runs/{id}")))
            .config()
            .timeout_global(Some(self.timeout + on_the_way))
            .build()
            .header(SECRET_HEADER, secret)
            .header("Content-Type", "application/json")
            .header("Content-Encoding", "zstd")
            .send(document);
        let stored: Stored = self.json(answer)?;
        match stored.id == id {
            true => Ok(stored),
            false => Err(self.not_a_collector(format!("it stored {}, not {id}", stored.id))),
        }
    }

    /// Deletes a run.
    pub fn delete(&self, id: &str, secret: &str) -> Result<(), CollectorError> {
        let request = self.agent.delete(self.at(&format!("runs/{id}")));
        let answer = request.header(SECRET_HEADER, secret).call();
        self.answer(answer).map(drop)
    }

    fn at(&self, resource: &str) -> String {
        format!("{}{PREFIX}/{resource}", self.url)
    }

    fn post(&self, resource: &str, body: &impl Serialize) -> Result<Response<Body>, ureq::Error> {
        self.agent.post(self.at(resource)).send_json(body)
    }

    /// The JSON of a successful answer.
    fn json<T: DeserializeOwned>(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
    ) -> Result<T, CollectorError> {
        let body = self.answer(answer)?;
        serde_json::from_slice(&body).map_err(|error| self.not_a_collector(error.to_string()))
    }

    /// The body of a successful answer.
    fn answer(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
    ) -> Result<Vec<u8>, CollectorError> {
        let mut answer = answer.map_err(|error| self.failed(error))?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES);
        let body = body.read_to_vec().map_err(|error| self.failed(error))?;
        if status.is_success() {
            return Ok(body);
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(CollectorError::Problem(Problem {
                status: status.as_u16(),
                ..problem
            })),
            // What stands in front of a collector that is down.
            Err(_) if status.is_server_error() || status.as_u16() == 429 => {
                Err(self.unreachable(format!("status {status}")))
            }
            Err(_) => Err(self.not_a_collector(format!("status {status}"))),
        }
    }

    fn failed(&self, error: ureq::Error) -> CollectorError {
        match error {
            ureq::Error::Timeout(_) => {
                let seconds = self.timeout.as_secs_f64();
                self.unreachable(format!("no answer within {seconds:.0} s"))
            }
            ureq::Error::BodyExceedsLimit(_) => {
                self.not_a_collector(format!("more than {ANSWER_BYTES} bytes"))
            }
            ureq::Error::Protocol(error) => self.not_a_collector(error.to_string()),
            ureq::Error::Http(error) => self.not_a_collector(error.to_string()),
            ureq::Error::BadUri(_) => CollectorError::Url(self.url.clone()),
            ureq::Error::Io(error) => self.unreachable(error.to_string()),
            error => self.unreachable(error.to_string()),
        }
    }

    fn unreachable(&self, what: String) -> CollectorError {
        let url = self.url.clone();
        CollectorError::Unreachable { url, what }
    }

    fn not_a_collector(&self, what: String) -> CollectorError {
        let url = self.url.clone();
        CollectorError::NotACollector { url, what }
    }
}

/// The address in one spelling, and whether it is this machine's.
fn address(text: &str) -> Option<(String, bool)> {
    let uri: Uri = text.trim().parse().ok()?;
    let scheme = uri.scheme_str()?;
    let authority = uri.authority()?;
    let plain = uri.query().is_none() && !authority.as_str().contains('@');
    if !plain || authority.host().is_empty() {
        return None;
    }
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = authority.host().to_ascii_lowercase();
    let port = match authority.port_u16() {
        Some(port) if port != usual => format!(":{port}"),
        Some(_) => String::new(),
        // `HOST:` and a port out of range have none.
        None if authority.as_str().len() > host.len() => return None,
        None => String::new(),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let ip: Option<IpAddr> = bare.parse().ok();
    let is_local = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    let path = uri.path().trim_end_matches('/');
    Some((format!("{scheme}://{host}{port}{path}"), is_local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_collector_has_one_spelling() {
        let spelt = |text| address(text).map(|(url, _)| url);
        for (text, url) in [
            ("http://Collector.example:80/", "http://collector.example"),
            ("https://collector.example:443", "https://collector.example"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            (
                "https://host.example/walkabout/",
                "https://host.example/walkabout",
            ),
        ] {
            assert_eq!(spelt(text).as_deref(), Some(url), "{text}");
        }
        for text in [
            "collector.example",
            "ftp://collector.example",
            "http://",
            "http://user:word@collector.example",
            "http://collector.example/?a=1",
            "http://collector.example:99999",
            "",
            "http://collector example",
        ] {
            assert_eq!(spelt(text), None, "{text}");
        }
        assert!(address("http://localhost").is_some_and(|(_, local)| local));
        assert!(address("http://192.0.2.1").is_some_and(|(_, local)| !local));
    }
}
