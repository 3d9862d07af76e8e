//! `walkabout collect` as a program: its first line, its signals, its mistakes.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn collect(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_walkabout"));
    command.args(["--json", "collect"]).args(arguments);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn output(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output: Output = collect(folder, arguments).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    (output.status.code().expect("it was not killed"), json)
}

/// A collector that is killed when the test ends early.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already when all went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, arguments: &[&str]) -> (Running, Value) {
    let mut command = collect(folder, arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("piped");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
    (Running(child), line["ready"].clone())
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_peer_that_goes_away_ends_its_connection_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut running, ready) = start(folder.path(), &["--listen", "127.0.0.1:0"]);
    let address = ready["address"].as_str().expect("an address");
    let requests = "GET /api/v1/openapi.json HTTP/1.1\r\nHost: here\r\n\r\n".repeat(100);
    for _ in 0..100 {
        let mut peer = TcpStream::connect(address).expect("it listens");
        peer.write_all(requests.as_bytes()).expect("sent");
        // A half-closed connection that is reset answers the next write with SIGPIPE.
        peer.shutdown(std::net::Shutdown::Write).expect("connected");
        let mut first = [0];
        peer.read_exact(&mut first).expect("the first answer");
    }
    let healthy = get(address, "/healthz");
    assert!(healthy.starts_with("HTTP/1.1 200"), "{healthy}");
    assert_eq!(running.0.try_wait().expect("our child"), None);
}

#[test]
fn it_says_where_it_listens_and_ends_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut running, ready) = start(folder.path(), &["--listen", "127.0.0.1:0"]);
    let address = ready["address"].as_str().expect("an address");
    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200"));
    let key = ready["token_key"].as_str().expect("a key");
    assert!(get(address, "/api/v1/metadata").contains(key));
    // A second one on the same address has to give up, and says why.
    let arguments = ["--listen", address, "--database", "sqlite:other.sqlite"];
    let (code, error) = output(folder.path(), &arguments);
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(code == 1 && message.contains(address), "{message}");

    let pid = Pid::from_raw(i32::try_from(running.0.id()).expect("a pid"));
    kill(pid, Signal::SIGTERM).expect("it runs");
    assert_eq!(running.0.wait().expect("it ends").code(), Some(0));
    let mut log = String::new();
    running
        .0
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut log)
        .expect("UTF-8");
    assert!(log.lines().count() >= 2, "{log}");
    for line in log.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
}

#[test]
fn a_folder_to_begin_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, made) = output(folder.path(), &["--init", "here"]);
    assert_eq!(code, 0);
    let config = made["config"].as_str().expect("a file");
    let (code, key) = output(folder.path(), &["--config", config, "--token-key"]);
    assert_eq!((code, &key["token_key"]), (0, &made["token_key"]));
    let arguments = ["--config", config, "--listen", "127.0.0.1:0"];
    let (running, ready) = start(folder.path(), &arguments);
    assert_eq!(ready["token_key"], made["token_key"]);
    assert!(folder.path().join("here/collector.sqlite").exists());
    drop(running);
    // What is there is not written over.
    let (code, error) = output(folder.path(), &["--init", "here"]);
    assert_eq!(code, 1);
    assert!(
        error["error"]["message"]
            .as_str()
            .expect("a message")
            .contains("collector.toml")
    );
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let message = |arguments: &[&str]| {
        let (code, error) = output(folder.path(), arguments);
        let message = error["error"]["message"].as_str().expect("a message");
        assert_eq!(code, 2, "{message}");
        message.to_owned()
    };
    assert!(message(&["--config", "missing.toml"]).contains("missing.toml"));
    let text = "name = \"x\"\nlisten = \"127.0.0.1:0\"\ndatabase = \"sqlite:x\"\nkey = \"k\"\nretention_days = 0\n";
    std::fs::write(folder.path().join("c.toml"), text).expect("written");
    assert!(message(&["--config", "c.toml"]).starts_with("c.toml:5: retention_days"));
    assert!(message(&["--database", "mysql://x"]).contains("sqlite:FILE"));
    assert!(message(&["--server", "{}"]).contains("missing field"));
    assert!(message(&["--retention-days", "0"]).contains("retention_days"));
}

#[test]
fn the_interface_is_described_without_starting() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, openapi) = output(folder.path(), &["--openapi"]);
    assert_eq!(code, 0);
    assert!(
        openapi["openapi"]
            .as_str()
            .expect("a version")
            .starts_with("3.1")
    );
    assert!(openapi["paths"]["/api/v1/runs/{id}"]["put"].is_object());
    assert_eq!(
        std::fs::read_dir(folder.path())
            .expect("the folder")
            .count(),
        0
    );
}
