//! `walkabout collect`: the collector and its dashboard.

use crate::failure::Failure;
use crate::logging::{self, Level};
use platform::api::Server;
use platform::collector::{self, Collector, CollectorError, Config, EXAMPLE};
use serde_json::json;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use tokio::signal::unix::{SignalKind, signal};

/// The configuration's name in the folder that `--init` makes.
const FILE: &str = "collector.toml";

/// Run a collector: metadata and tokens for clients, results in, a dashboard for people.
///
/// Without a configuration it listens on 127.0.0.1:8080 and keeps collector.sqlite and collector.key
/// in the current folder. An option overrides the configuration's key of the same name.
#[derive(clap::Args)]
pub struct Collect {
    /// The configuration (`--init` writes one to begin with).
    #[arg(long, value_name = "FILE", conflicts_with = "init")]
    config: Option<PathBuf>,
    /// Write a commented configuration and a signing key into this folder, and print the key's public
    /// half for the test servers.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["openapi", "token_key"])]
    init: Option<PathBuf>,
    /// Print the interface's OpenAPI description and end.
    #[arg(long)]
    openapi: bool,
    /// Print the public half of the signing key, which test servers are given, and end.
    #[arg(long, conflicts_with = "openapi")]
    token_key: bool,
    /// The collector's name, for people.
    #[arg(long)]
    name: Option<String>,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// The database: sqlite:FILE or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The signing key's file, made when it does not exist.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A file with the text that users agree to.
    #[arg(long, value_name = "FILE")]
    consent: Option<PathBuf>,
    /// Days a result is kept.
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u32>,
    /// A test server as JSON, with the keys of `[[server]]`; once per server, instead of the
    /// configuration's.
    #[arg(long = "server", value_name = "JSON", value_parser = server)]
    servers: Vec<Server>,
    /// A reverse proxy whose X-Forwarded-For is believed; once per proxy, instead of the
    /// configuration's.
    #[arg(long = "trusted-proxy", value_name = "ADDRESS")]
    trusted_proxies: Vec<IpAddr>,
    /// How much is logged.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

fn server(text: &str) -> Result<Server, String> {
    serde_json::from_str(text).map_err(|error| format!("no test server: {error}"))
}

impl Collect {
    /// Serves until SIGTERM or SIGINT.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        if self.openapi {
            let openapi = serde_json::to_value(collector::openapi()).map_err(Failure::failed)?;
            println!("{openapi:#}");
            return Ok(());
        }
        if let Some(folder) = &self.init {
            return init(folder, json);
        }
        let config = self.config()?;
        if self.token_key {
            let key = collector::token_key(&config.key).map_err(failure)?;
            match json {
                true => println!("{:#}", json!({ "token_key": key.to_string() })),
                false => println!("{key}"),
            }
            return Ok(());
        }
        logging::start(json, self.log);
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|error| Failure::failed(format!("no threads can be started: {error}")))?;
        let served = runtime.block_on(serve(config, json)).map_err(failure);
        // A thread that is still unpacking something has nobody left to tell.
        runtime.shutdown_background();
        served
    }

    /// The configuration with the options over it.
    fn config(&self) -> Result<Config, Failure> {
        let mut config = match &self.config {
            None => Config::default(),
            Some(file) => {
                let text = std::fs::read_to_string(file).map_err(|error| {
                    let file = file.display();
                    Failure::usage(format!("--config {file}: {error}"))
                })?;
                Config::parse(&text, file).map_err(config_failure)?
            }
        };
        let Collect {
            name,
            listen,
            database,
            key,
            consent,
            retention_days,
            servers,
            trusted_proxies,
            ..
        } = self;
        take(&mut config.name, name);
        take(&mut config.listen, listen);
        take(&mut config.database, database);
        take(&mut config.key, key);
        take(&mut config.retention_days, retention_days);
        if consent.is_some() {
            config.consent.clone_from(consent);
        }
        if !servers.is_empty() {
            config.servers.clone_from(servers);
        }
        if !trusted_proxies.is_empty() {
            config.trusted_proxies.clone_from(trusted_proxies);
        }
        config.check().map_err(config_failure)?;
        Ok(config)
    }
}

fn take<T: Clone>(key: &mut T, option: &Option<T>) {
    if let Some(value) = option {
        *key = value.clone();
    }
}

fn config_failure(error: collector::ConfigError) -> Failure {
    let at = error.place.as_ref().map(|(file, line)| {
        json!({ "file": file, "line": line, "key": error.key, "message": error.what })
    });
    Failure {
        at,
        ..Failure::usage(&error)
    }
}

fn failure(error: CollectorError) -> Failure {
    match error {
        CollectorError::Config(error) => config_failure(error),
        error => Failure::failed(error),
    }
}

/// Writes a configuration and a key, neither over what is there.
fn init(folder: &Path, json: bool) -> Result<(), Failure> {
    let wrong = |file: &Path, error: std::io::Error| {
        Failure::failed(format!("{}: {error}; name another folder", file.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| wrong(folder, error))?;
    let file = folder.join(FILE);
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .and_then(|mut out| out.write_all(EXAMPLE.as_bytes()));
    written.map_err(|error| wrong(&file, error))?;
    let config = Config::parse(EXAMPLE, &file).map_err(config_failure)?;
    let key = collector::token_key(&config.key).map_err(failure)?;
    if json {
        let result = json!({ "config": file, "key": config.key, "token_key": key.to_string() });
        println!("{result:#}");
    } else {
        eprintln!(
            "walkabout: wrote {} and {}",
            file.display(),
            config.key.display()
        );
        eprintln!("Give each test server this key (walkabout serve --token-key ...):");
        println!("{key}");
        eprintln!("Name the servers in the configuration, then start:");
        eprintln!("  walkabout collect --config {}", file.display());
    }
    Ok(())
}

async fn serve(config: Config, json: bool) -> Result<(), CollectorError> {
    let names: Vec<String> = config.servers.iter().map(|s| s.id.clone()).collect();
    let collector = Collector::open(config).await?;
    let token_key = collector.token_key().to_string();
    let stop = stop();
    let ready = move |address: SocketAddr| {
        tracing::info!(%address, token_key, servers = names.join(","), "listening");
        if json {
            let ready = json!({ "ready": {
                "address": address,
                "url": format!("http://{address}"),
                "token_key": token_key,
            } });
            println!("{ready}");
        }
    };
    collector.serve(ready, stop).await
}

/// Resolves at the first SIGTERM or SIGINT; a second one ends the process at once.
fn stop() -> impl Future<Output = ()> + Send + 'static {
    let listen = |kind| signal(kind).map_err(|error| tracing::warn!(%error, "no signals"));
    let (terminate, interrupt) = (
        listen(SignalKind::terminate()),
        listen(SignalKind::interrupt()),
    );
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(crate::failure::FAILED.into());
        });
    }
}
