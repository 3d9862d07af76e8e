//! The test server: TCP, Multipath TCP, QUIC and multipath QUIC at once, every pattern's server half,
//! for whoever shows a token.
//!
//! ```text
//! listen ── tcp ──┐                                  ┌── session (pattern's server half over lanes)
//!          quic ──┴── hello ── desk (token, limits) ─┼── session ...
//!                                                    └── archive (what ended sessions recorded)
//! ```
//!
//! A session is everything that shows one token: several TCP connections, or the streams of one QUIC
//! connection. It is one future that owns the half and its lanes, woken by whatever arrives.

mod archive;
mod certificate;
mod connection;
mod desk;
mod follow;
mod gate;
mod guard;
mod lanes;
mod listen;
mod metrics;
mod quic;
mod reasons;
mod recorder;
mod register;
mod sampler;
mod session;
mod spent;
mod stream;
mod tcp;

use crate::token::VerifyingKey;
use certificate::Certificate;
use desk::Desk;
use listen::Listening;
use metrics::Metrics;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// What `walkabout serve` is told.
#[derive(Clone, Debug)]
pub struct Config {
    /// The server's id, which tokens name.
    pub id: String,
    /// Where it listens: each address with each port, TCP and UDP.
    pub addresses: Vec<IpAddr>,
    /// The ports.
    pub ports: Vec<u16>,
    /// What tokens are signed with.
    pub token_key: VerifyingKey,
    /// Where certificate and key are (PEM); self-signed and kept in `state` when absent.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The folder for what has to survive a restart: the certificate, the tokens used.
    pub state: PathBuf,
    /// Where `GET /metrics` answers; nowhere when absent.
    pub metrics: Option<SocketAddr>,
    /// What it takes on.
    pub limits: Limits,
}

/// What a server takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections, idle ones included.
    pub connections: usize,
    /// Connections from one network prefix.
    pub connections_per_prefix: usize,
    /// Sessions under way.
    pub sessions: usize,
    /// Bytes waiting in user space to be sent, of one session.
    pub queued_bytes: usize,
    /// Seconds a connection may take to say its hello.
    pub hello_seconds: u32,
    /// Seconds a session may stay silent.
    pub silence_seconds: u32,
    /// Seconds a drain may take.
    pub drain_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4_096,
            connections_per_prefix: 1_024,
            sessions: 512,
            queued_bytes: 8 << 20,
            hello_seconds: 10,
            silence_seconds: 120,
            drain_seconds: 30,
        }
    }
}

/// Where a server ended up listening, and how it is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Each address and port, TCP and UDP.
    pub listening: Vec<SocketAddr>,
    /// SHA-256 of its certificate (DER), 64 hexadecimal digits.
    pub certificate_sha256: String,
    /// Where `GET /metrics` answers.
    pub metrics: Option<SocketAddr>,
    /// What it cannot offer on this machine, each with the reason.
    pub missing: Vec<String>,
}

/// Why the server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address.
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

/// After the last session of a drain its client may still fetch what was recorded, and pings may end,
/// this long.
const FETCH_GRACE: Duration = Duration::from_secs(2);

/// How often a drain looks whether it is done.
const DRAIN_LOOK: Duration = Duration::from_millis(50);

/// Runs until `stop` resolves, then takes no new session and lets those under way end, at most for
/// [`Limits::drain_seconds`]. `ready` is told where it listens.
///
/// # Errors
/// When an address cannot be used, or a file in [`Config::state`]; another server's folder among them.
pub async fn run(
    config: Config,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServerError> {
    let state = spent::claim(&config.state)?;
    let certificate = Certificate::load(&config)?;
    let metrics = Arc::new(Metrics::default());
    let Listening {
        tcp,
        quic,
        addresses,
        missing,
    } = listen::open(&config, &certificate)?;
    let desk = Arc::new(Desk::new(&config, Arc::clone(&metrics))?);

    let mut loops = JoinSet::new();
    for listener in tcp {
        loops.spawn(tcp::accept(Arc::clone(&desk), listener));
    }
    for endpoint in &quic {
        loops.spawn(quic::accept(Arc::clone(&desk), endpoint.clone()));
    }
    let scraped = match config.metrics {
        Some(address) => Some(metrics::serve(address, Arc::clone(&metrics), &mut loops).await?),
        None => None,
    };
    tracing::info!(id = config.id, addresses = addresses.len(), "serving");
    ready(Ready {
        listening: addresses,
        certificate_sha256: certificate.sha256().to_owned(),
        metrics: scraped,
        missing,
    });

    stop.await;
    drain(&desk).await;
    for endpoint in &quic {
        endpoint.close(quic::SHUTTING_DOWN, b"the server is shutting down");
    }
    let said_goodbye = async {
        for endpoint in &quic {
            endpoint.wait_all_draining().await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), said_goodbye).await;
    loops.shutdown().await;
    drop(state);
    Ok(())
}

/// No new session from now on; returns when those under way are over, or were cut.
async fn drain(desk: &Desk) {
    desk.begin_drain();
    let limit = Duration::from_secs(desk.limits().drain_seconds.into());
    tracing::info!(sessions = desk.sessions(), "draining");
    let deadline = Instant::now() + limit;
    let over = async {
        while desk.sessions() > 0 {
            sleep(DRAIN_LOOK).await;
        }
        let grace = (Instant::now() + FETCH_GRACE).min(deadline);
        while desk.has_loose_ends() && Instant::now() < grace {
            sleep(DRAIN_LOOK).await;
        }
    };
    tokio::select! {
        () = over => tracing::info!("drained"),
        () = sleep_until(deadline) => {
            let sessions = desk.cut_all();
            tracing::warn!(sessions, "the drain took too long: the rest is cut");
            let second = Instant::now() + Duration::from_secs(1);
            while desk.sessions() > 0 && Instant::now() < second {
                sleep(DRAIN_LOOK).await;
            }
        }
    }
}
