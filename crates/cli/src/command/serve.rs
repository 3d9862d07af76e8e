//! `walkabout serve`: a test server for live tests.

use crate::failure::Failure;
use crate::logging::{self, Level};
use platform::client::Collector;
use platform::server::{Config, Limits, Ready, ServerError, run};
use platform::token::VerifyingKey;
use serde_json::json;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How long the collector may take to tell its key.
const COLLECTOR_PATIENCE: Duration = Duration::from_secs(10);
/// The ports of MultipathTester's servers (section III-A): some networks let only the first through.
const PORTS: [u16; 2] = [443, 6121];

/// Serve live tests: TCP, Multipath TCP, QUIC and multipath QUIC, for whoever shows a token.
///
/// On SIGTERM or Ctrl-C it takes no new session and lets those under way end; a second time it ends at once.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("trust").required(true)))]
pub struct Serve {
    /// The server's id, which tokens name: letters, digits, `-`.
    #[arg(long, value_parser = id)]
    id: String,
    /// Listen at this address only (repeatable); all addresses of the host by default.
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<IpAddr>,
    /// Listen at this port, TCP and UDP (repeatable); 443 and 6121 by default, 0 for any that is free.
    #[arg(long, value_name = "PORT")]
    port: Vec<u16>,
    /// The key tokens are signed with: `token_key` of the collector's metadata, 64 hexadecimal digits.
    #[arg(long, value_name = "HEX", group = "trust", value_parser = key)]
    token_key: Option<VerifyingKey>,
    /// Ask this collector for the key, once, at the start.
    #[arg(long, value_name = "URL", group = "trust")]
    collector: Option<String>,
    /// The certificate (PEM, its chain after it); a self-signed one, kept in the state, by default.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// The folder of what has to survive a restart: the certificate, the tokens that were used.
    #[arg(long, value_name = "FOLDER", default_value = "walkabout-serve")]
    state: PathBuf,
    /// Answer `GET /metrics` here, for Prometheus.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    limits: LimitOptions,
    /// How much is logged.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

/// [`Limits`] as options.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitOptions {
    /// Connections, idle ones included.
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Connections from one network prefix (/24, /48).
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections_per_prefix)]
    max_connections_per_prefix: usize,
    /// Sessions under way.
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    max_sessions: usize,
    /// Bytes of one session that may wait for its client.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().queued_bytes)]
    max_queued_bytes: usize,
    /// Seconds until a connection has to say what it wants.
    #[arg(long, value_name = "S", default_value_t = Limits::default().hello_seconds, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    hello_seconds: u32,
    /// Seconds a session may stay silent.
    #[arg(long, value_name = "S", default_value_t = Limits::default().silence_seconds, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    silence_seconds: u32,
    /// Seconds sessions may go on after SIGTERM.
    #[arg(long, value_name = "S", default_value_t = Limits::default().drain_seconds, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    drain_seconds: u32,
}

impl LimitOptions {
    fn limits(&self) -> Limits {
        let LimitOptions {
            max_connections,
            max_connections_per_prefix,
            max_sessions,
            max_queued_bytes,
            hello_seconds,
            silence_seconds,
            drain_seconds,
        } = *self;
        Limits {
            connections: max_connections,
            connections_per_prefix: max_connections_per_prefix,
            sessions: max_sessions,
            queued_bytes: max_queued_bytes,
            hello_seconds,
            silence_seconds,
            drain_seconds,
        }
    }
}

impl Serve {
    /// Serves until it is told to stop.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        logging::start(json, self.log);
        let config = self.config()?;
        let id = config.id.clone();
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|error| Failure::failed(format!("no threads to serve with: {error}")))?;
        let served = runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
            let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let served = run(config, |ready| tell(&id, &ready, json), async move {
                drop(stopped.await);
            });
            let mut served = std::pin::pin!(served);
            let mut stop = Some(stop);
            loop {
                tokio::select! {
                    ended = &mut served => return ended.map_err(|e| failure(&e)),
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                if stop.take().is_none() {
                    return Err(Failure::failed(
                        "told to stop twice: sessions under way were cut",
                    ));
                }
            }
        });
        // Whatever is left is not waited for.
        runtime.shutdown_background();
        served
    }

    fn config(self) -> Result<Config, Failure> {
        let limits = self.limits.limits();
        let token_key = match (self.token_key, &self.collector) {
            (Some(key), _) => key,
            (None, Some(url)) => ask(url)?,
            (None, None) => return Err(Failure::usage("give --token-key or --collector")),
        };
        Ok(Config {
            id: self.id,
            addresses: match self.listen.is_empty() {
                true => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
                false => self.listen,
            },
            ports: match self.port.is_empty() {
                true => PORTS.into(),
                false => self.port,
            },
            token_key,
            certificate: self.certificate.zip(self.key),
            state: self.state,
            metrics: self.metrics,
            limits,
        })
    }
}

/// The collector's key, by its metadata.
fn ask(url: &str) -> Result<VerifyingKey, Failure> {
    let collector = Collector::new(url, COLLECTOR_PATIENCE).map_err(Failure::usage)?;
    let metadata = collector.metadata().map_err(|error| {
        let advice = "start it first, or give its `token_key` by --token-key";
        Failure::failed(format!("{error}; {advice}"))
    })?;
    metadata.token_key.parse().map_err(|what| {
        Failure::failed(format!("the collector {url} has no key for tokens: {what}"))
    })
}

/// Says where it listens: one line of JSON for scripts, some for people.
fn tell(id: &str, ready: &Ready, json: bool) {
    let Ready {
        listening,
        certificate_sha256,
        metrics,
        missing,
    } = ready;
    if json {
        let line = json!({"ready": {
            "id": id,
            "listening": listening,
            "certificate_sha256": certificate_sha256,
            "metrics": metrics,
            "missing": missing,
        }});
        println!("{line}");
    } else {
        let places: Vec<String> = listening.iter().map(ToString::to_string).collect();
        println!("`{id}` listens at {} (TCP and UDP)", places.join(", "));
        println!("certificate_sha256 {certificate_sha256}");
        if let Some(metrics) = metrics {
            println!("metrics at http://{metrics}/metrics");
        }
        for what in missing {
            println!("missing: {what}");
        }
    }
    // Whoever waits for the line sees it now, also through a pipe.
    let _ = std::io::stdout().flush();
}

fn failure(error: &ServerError) -> Failure {
    match error {
        ServerError::Listen { address, source }
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            Failure::failed(format!(
                "{error}: ports below 1024 need a privilege; choose others (--port), or give the program \
                 the right (sudo setcap cap_net_bind_service+ep PROGRAM, or AmbientCapabilities of its \
                 systemd unit) to use port {}",
                address.port()
            ))
        }
        _ => Failure::failed(error),
    }
}

fn no_signals(error: std::io::Error) -> Failure {
    Failure::failed(format!("signals cannot be waited for: {error}"))
}

/// Letters, digits and `-`, as in the collector's list of servers.
fn id(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(good) {
        return Ok(text.to_owned());
    }
    Err("an id is 1 to 64 letters, digits or `-`, such as `paris-1`".to_owned())
}

fn key(text: &str) -> Result<VerifyingKey, String> {
    text.parse().map_err(str::to_owned)
}
