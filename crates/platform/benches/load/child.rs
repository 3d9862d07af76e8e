//! How are collector and test server processes of their own? This program, started once more; it says in
//! one line where it listens, and ends when its standard input does.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use walkabout_platform::api::Server;
use walkabout_platform::{collector, server};

const COLLECTOR: &str = "the-collector";
const SERVER: &str = "the-server";

/// The id of the test server.
pub const SERVER_ID: &str = "near";

/// Connections that all come from one network prefix here.
pub const CONNECTIONS: u32 = 16_384;

/// A process under way.
pub struct Child {
    process: std::process::Child,
    /// Dropped, the process ends.
    open: Option<ChildStdin>,
    /// What it said when it was ready.
    pub ready: Value,
}

impl Child {
    /// A collector on the database at `url`, which keeps its key in `folder`.
    pub fn collector(url: &str, folder: &Path) -> Child {
        Child::start(&[COLLECTOR, url, &folder.display().to_string()])
    }

    /// A test server that takes tokens signed with `key`, and keeps its state in `folder`.
    pub fn server(key: &str, folder: &Path) -> Child {
        Child::start(&[SERVER, key, &folder.display().to_string()])
    }

    fn start(arguments: &[&str]) -> Child {
        let program = std::env::current_exe().expect("this program");
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let mut line = String::new();
        let mut said = BufReader::new(process.stdout.take().expect("piped"));
        said.read_line(&mut line).expect("it says something");
        let ready = serde_json::from_str(&line);
        Child {
            open: process.stdin.take(),
            process,
            ready: ready.expect("it says where it listens"),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A text of what it said.
    pub fn said(&self, key: &str) -> String {
        let value = self.ready[key].as_str();
        value.expect("it says so").to_owned()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.open.take());
        // What it came to was said before.
        let _ = self.process.wait();
    }
}

/// Whether this is one of the processes; then it has run.
pub fn is_child(arguments: &[String]) -> bool {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    match arguments[..] {
        [COLLECTOR, url, folder] => runtime().block_on(collect(url, folder.into())),
        [SERVER, key, folder] => runtime().block_on(serve(key, folder.into())),
        _ => return false,
    }
    true
}

/// Until the standard input ends.
async fn over() {
    let read = || {
        let mut nothing = Vec::new();
        // An error is an end as well.
        let _ = std::io::stdin().read_to_end(&mut nothing);
    };
    let _ = tokio::task::spawn_blocking(read).await;
}

async fn collect(url: &str, folder: PathBuf) {
    let config = collector::Config {
        listen: ([127, 0, 0, 1], 0).into(),
        database: url.to_owned(),
        key: folder.join("collector.key"),
        servers: vec![Server {
            id: SERVER_ID.into(),
            place: "next door".into(),
            addresses: vec![[127, 0, 0, 1].into()],
            ports: vec![443],
            certificate_sha256: "ab".repeat(32),
        }],
        // All clients are of one prefix: what a prefix may is what all may.
        limits: collector::Limits {
            uploads_at_once: 256,
            uploads_at_once_per_prefix: 256,
            uploads_per_hour: u32::MAX,
            tokens_per_hour: u32::MAX,
            traffic_bytes_per_hour: 1 << 60,
            requests_per_second: 1_000_000,
            connections: CONNECTIONS,
            connections_per_prefix: CONNECTIONS,
            ..collector::Limits::default()
        },
        ..collector::Config::default()
    };
    let ready = |address| println!("{}", json!({"url": format!("http://{address}")}));
    let served = collector::run(config, ready, over()).await;
    served.expect("the collector runs");
}

async fn serve(key: &str, folder: PathBuf) {
    let config = server::Config {
        id: SERVER_ID.into(),
        addresses: vec![[127, 0, 0, 1].into()],
        ports: vec![0],
        token_key: key.parse().expect("a key"),
        certificate: None,
        state: folder.join("state"),
        metrics: Some(([127, 0, 0, 1], 0).into()),
        limits: server::Limits {
            connections: CONNECTIONS as usize,
            connections_per_prefix: CONNECTIONS as usize,
            // Those that are idle here say nothing at all.
            hello_seconds: 3_600,
            drain_seconds: 0,
            ..server::Limits::default()
        },
    };
    let ready = |ready: server::Ready| {
        let line = json!({
            "address": ready.listening[0].to_string(),
            "certificate": ready.certificate_sha256,
            "metrics": ready.metrics.map(|address| format!("http://{address}/metrics")),
            "missing": ready.missing,
        });
        println!("{line}");
    };
    let served = server::run(config, ready, over()).await;
    served.expect("the server runs");
}
