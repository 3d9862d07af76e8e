//! A server on loopback, and the collector's half of the tokens.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use walkabout_platform::server::{Config, Limits, Ready, ServerError, run};
use walkabout_platform::token::{Claims, SigningKey, random_hex};

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What outlives a server: its folder and the collector's key.
pub struct Ground {
    pub folder: tempfile::TempDir,
    pub key: Arc<SigningKey>,
}

impl Ground {
    pub fn new() -> Ground {
        Ground {
            folder: tempfile::tempdir().expect("a folder"),
            key: Arc::new(SigningKey::generate().0),
        }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn config(&self, limits: Limits) -> Config {
        Config {
            id: "near".into(),
            addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            ports: vec![0],
            token_key: self.key.verifying_key(),
            certificate: None,
            state: self.state(),
            metrics: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            limits,
        }
    }

    /// Claims of a token that is good now.
    pub fn claims(&self) -> Claims {
        Claims {
            id: random_hex::<16>(),
            test: random_hex::<16>(),
            server: "near".into(),
            issued_s: now_s(),
            expires_s: now_s() + 600,
            bytes: 1 << 30,
            seconds: 60,
        }
    }

    pub fn token(&self) -> String {
        self.key.sign(&self.claims())
    }

    pub fn serve(&self, limits: Limits) -> Server {
        Server::start(self.config(limits))
    }
}

pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("after 1970").as_secs()
}

/// A server under way.
pub struct Server {
    pub ready: Ready,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    task: Option<tokio::task::JoinHandle<Result<(), ServerError>>>,
}

impl Server {
    pub fn start(config: Config) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, ready) = std::sync::mpsc::channel();
        let task = runtime.spawn(run(
            config,
            move |ready| sender.send(ready).expect("somebody waits"),
            async move { drop(stopped.await) },
        ));
        let ready = ready.recv_timeout(PATIENCE);
        let ready = match ready {
            Ok(ready) => ready,
            Err(_) => panic!("no server: {:?}", runtime.block_on(task)),
        };
        Server {
            ready,
            runtime,
            stop: Some(stop),
            task: Some(task),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.ready.listening[0]
    }

    pub fn pin(&self) -> [u8; 32] {
        walkabout_platform::token::unhex(&self.ready.certificate_sha256).expect("a pin")
    }

    /// SIGTERM.
    pub fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Whether the drain is over.
    pub fn is_over(&self) -> bool {
        self.task.as_ref().expect("under way").is_finished()
    }

    /// Ends it, and waits until it has.
    pub fn stop(mut self) {
        self.begin_stop();
        let mut task = self.task.take().expect("under way");
        let over = async { tokio::time::timeout(PATIENCE, &mut task).await };
        let over = self.runtime.block_on(over);
        let over = over.unwrap_or_else(|_| panic!("it does not end:\n{}", self.metrics()));
        over.expect("no panic").expect("no error");
    }

    /// Dies as by `kill -9`: nothing is said or written.
    pub fn kill(self) {
        self.task.as_ref().expect("under way").abort();
        self.runtime.shutdown_timeout(PATIENCE);
    }

    /// The value of a metric, 0 when it is not there.
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |value| value.trim().parse().expect("a number"))
    }

    pub fn metrics(&self) -> String {
        let address = self.ready.metrics.expect("metrics");
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let request = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    /// Waits until a metric has a value.
    pub fn await_metric(&self, name: &str, value: u64) {
        await_that(&format!("{name} = {value}"), || self.metric(name) == value);
    }
}

/// Waits until `done`.
pub fn await_that(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
