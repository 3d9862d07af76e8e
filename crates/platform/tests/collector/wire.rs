//! The collector behind its socket: heads, slow clients, too many connections, the end.

use super::rig::{self, SECRET, id};
use super::sample;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use walkabout_platform::collector::{Collector, Config, Limits};

/// A collector that listens, and its thread.
pub struct Served {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
    folder: tempfile::TempDir,
}

fn serve(change: impl FnOnce(&mut Limits)) -> Served {
    serve_with(|config| change(&mut config.limits))
}

pub fn serve_with(change: impl FnOnce(&mut Config)) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = rig::config(&folder);
    change(&mut config);
    let (stop, stopped) = oneshot::channel::<()>();
    let (ready, listening) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let collector = Collector::open(config).await.expect("a collector");
            let ready = move |address| ready.send(address).expect("someone waits");
            let stop = async {
                let _ = stopped.await;
            };
            collector.serve(ready, stop).await.expect("served");
        });
    });
    Served {
        address: listening.recv().expect("it listens"),
        stop,
        thread,
        folder,
    }
}

impl Served {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connected");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a timeout");
        stream
    }

    pub fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        // A refused connection is closed, perhaps with a reset.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    pub fn end(self) -> Duration {
        let begin = Instant::now();
        self.stop.send(()).expect("it runs");
        self.thread.join().expect("no panic");
        begin.elapsed()
    }
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
}

#[test]
fn an_upload_over_the_wire_outlives_the_collector() {
    let served = serve(|_| {});
    let body = sample::json().to_string();
    let put = format!(
        "PUT /api/v1/runs/{} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nWalkabout-Secret: \
         {SECRET}\r\nContent-Length: {}\r\n\r\n{body}",
        id(1),
        body.len(),
    );
    let answer = served.ask(&put);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(answer.contains(r#""state":"stored""#));
    let Served {
        address: _,
        stop,
        thread,
        folder,
    } = served;
    stop.send(()).expect("it runs");
    thread.join().expect("no panic");

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let config = rig::config(&folder);
        let router = Collector::open(config).await.expect("again").router();
        let rig = rig::Rig {
            collector: Collector::open(rig::config(&folder)).await.expect("again"),
            folder,
            router,
        };
        rig.get(&format!("/api/v1/runs/{}", id(1)))
            .await
            .expect(200);
    });
}

#[test]
fn heads_that_are_none_are_refused() {
    let served = serve(|_| {});
    assert!(served.ask("hello\r\n\r\n").starts_with("HTTP/1.1 400"));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    assert!(served.ask(&long).starts_with("HTTP/1.1 4"));
    let many = "X-Header: x\r\n".repeat(200);
    let many = format!("GET / HTTP/1.1\r\n{many}\r\n");
    assert!(served.ask(&many).starts_with("HTTP/1.1 431"));
    let smuggled = "POST /api/v1/tokens HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\
                    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n";
    assert!(served.ask(smuggled).starts_with("HTTP/1.1 4"));
    assert!(served.ask(&get("/healthz")).starts_with("HTTP/1.1 200"));
    assert!(served.end() < Duration::from_secs(5));
}

#[test]
fn slow_and_silent_clients_are_cut_while_others_are_served() {
    let served = serve(|limits| limits.upload_seconds = 2);
    let mut silent = served.connect();
    let mut half = served.connect();
    half.write_all(b"GET /healthz HT").expect("sent");
    let mut slow = served.connect();
    let head = format!(
        "PUT /api/v1/runs/{} HTTP/1.1\r\nHost: here\r\nWalkabout-Secret: {SECRET}\r\n\
         Content-Length: 100000\r\n\r\n{{",
        id(1)
    );
    slow.write_all(head.as_bytes()).expect("sent");
    let begin = Instant::now();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer)
        .expect("an answer before the body is there");
    assert_eq!(&answer, b"HTTP/1.1 503");
    assert!(
        (1..10).contains(&begin.elapsed().as_secs()),
        "{:?}",
        begin.elapsed()
    );
    assert!(served.ask(&get("/healthz")).starts_with("HTTP/1.1 200"));
    let mut nothing = Vec::new();
    // Either way of closing will do.
    let _ = half.read_to_end(&mut nothing);
    let _ = silent.read_to_end(&mut nothing);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(40), "{took:?}");
}

#[test]
fn connections_are_bounded() {
    let served = serve(|limits| limits.connections_per_prefix = 3);
    let held: Vec<TcpStream> = (0..3).map(|_| served.connect()).collect();
    // Each is counted once the collector has accepted it: an answer on the last shows that.
    let mut last = held[2].try_clone().expect("a handle");
    last.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
        .expect("sent");
    let mut answer = [0; 12];
    last.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(served.ask(&get("/healthz")), "", "closed without a word");
    drop((last, held));
    let begin = Instant::now();
    while !served.ask(&get("/healthz")).starts_with("HTTP/1.1 200") {
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "no place becomes free"
        );
    }
}
