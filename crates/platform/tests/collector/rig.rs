//! A collector on a database of its own, and requests to it.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use tempfile::TempDir;
use tower::ServiceExt;
use walkabout_platform::api::{Metadata, Problem, Server, TokenGranted, TokenRequest};
use walkabout_platform::collector::{Collector, Config, Limits};

/// A test and a secret that look like ones a client draws.
pub const TEST: &str = "0123456789abcdef0123456789abcdef";
pub const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A collector under test.
pub struct Rig {
    pub folder: TempDir,
    pub collector: Collector,
    pub router: axum::Router,
}

/// An answer, read.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |v| v.to_str().expect("ASCII"))
    }

    /// The problem of a refusal, whose status and type fit the answer's.
    pub fn problem(&self) -> Problem {
        assert_eq!(
            self.header("content-type"),
            "application/problem+json",
            "{self:?}"
        );
        let problem: Problem = serde_json::from_slice(&self.body).expect("a problem");
        assert_eq!(problem.status, self.status.as_u16());
        assert!(!problem.title.is_empty());
        problem
    }

    /// The status, with the body in the message if it is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(
            self.status.as_u16(),
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        self
    }
}

pub fn config(folder: &TempDir) -> Config {
    let file = |name: &str| folder.path().join(name);
    Config {
        name: "the tests' collector".into(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        database: format!("sqlite:{}", file("runs.sqlite").display()),
        key: file("collector.key"),
        servers: vec![Server {
            id: "near".into(),
            place: "next door".into(),
            addresses: vec!["127.0.0.1".parse().expect("an address")],
            ports: vec![443],
            certificate_sha256: "ab".repeat(32),
        }],
        ..Config::default()
    }
}

impl Rig {
    pub async fn new() -> Rig {
        Rig::with(|_| {}).await
    }

    pub async fn with_limits(change: impl FnOnce(&mut Limits)) -> Rig {
        Rig::with(|config| change(&mut config.limits)).await
    }

    pub async fn with(change: impl FnOnce(&mut Config)) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(&folder);
        change(&mut config);
        let collector = Collector::open(config).await.expect("a collector");
        let router = collector.router();
        Rig {
            folder,
            collector,
            router,
        }
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 64 << 20).await.expect("a body");
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_vec(),
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(
            request(Method::GET, path)
                .body(Body::empty())
                .expect("a request"),
        )
        .await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let body = Body::from(body.to_string());
        self.send(request(Method::POST, path).body(body).expect("a request"))
            .await
    }

    /// Hands in `document` as JSON, uncompressed.
    pub async fn put(&self, id: &str, document: &Value) -> Answer {
        self.put_bytes(id, document.to_string().into_bytes(), "identity")
            .await
    }

    pub async fn put_bytes(&self, id: &str, body: Vec<u8>, encoding: &str) -> Answer {
        let request = request(Method::PUT, &format!("/api/v1/runs/{id}"))
            .header("walkabout-secret", SECRET)
            .header("content-encoding", encoding)
            .body(Body::from(body));
        self.send(request.expect("a request")).await
    }

    pub async fn metadata(&self) -> Metadata {
        let metadata = self.get("/api/v1/metadata").await.expect(200);
        serde_json::from_slice(&metadata.body).expect("metadata")
    }

    pub async fn token_request(&self) -> TokenRequest {
        TokenRequest {
            server: "near".into(),
            test: TEST.into(),
            consent_version: self.metadata().await.consent.version,
            bytes: 1 << 20,
            seconds: 60,
            count: 1,
        }
    }

    pub async fn token(&self) -> String {
        let wanted = serde_json::to_value(self.token_request().await).expect("JSON");
        let granted = self.post("/api/v1/tokens", &wanted).await.expect(200);
        let granted: TokenGranted = serde_json::from_slice(&granted.body).expect("granted");
        granted.tokens[0].clone()
    }

    /// Every file of the database, with what SQLite has not merged yet.
    pub fn database_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder");
        let files = entries.map(|e| e.expect("an entry").path());
        files
            .filter(|f| f.to_string_lossy().contains("runs.sqlite"))
            .collect()
    }
}

/// A request from 192.0.2.77.
pub fn request(method: Method, path: &str) -> axum::http::request::Builder {
    from("192.0.2.77:4711", method, path)
}

pub fn from(peer: &str, method: Method, path: &str) -> axum::http::request::Builder {
    let peer: SocketAddr = peer.parse().expect("a peer");
    Request::builder().method(method).uri(path).extension(peer)
}

/// The id of the `n`th run.
pub fn id(n: u64) -> String {
    format!("{n:032x}")
}
