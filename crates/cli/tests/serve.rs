//! `walkabout serve` as a program: its line, its logs, its end, its mistakes.

use assert_cmd::Command;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Stdio};

const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn serve(state: &Path, options: &[&str]) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin!("walkabout"))
        .args(["--json", "serve", "--id", "near", "--token-key", KEY])
        .args(["--listen", "127.0.0.1", "--port", "0", "--log", "debug"])
        .arg("--state")
        .arg(state)
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

fn ready(child: &mut Child) -> Value {
    let stdout = child.stdout.take().expect("piped");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let mut ready: Value = serde_json::from_str(&line).expect("one line of JSON");
    ready["ready"].take()
}

fn address(ready: &Value) -> SocketAddr {
    let text = ready["listening"][0].as_str().expect("an address");
    text.parse().expect("an address")
}

/// A connection from `local`, an address of the loopback network.
fn connect_from(local: [u8; 4], server: SocketAddr) -> TcpStream {
    use nix::sys::socket::{SockaddrStorage, bind, connect};
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(fd >= 0);
    // SAFETY: a fresh descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let local = SockaddrStorage::from(SocketAddr::from((local, 0)));
    bind(fd.as_raw_fd(), &local).expect("bound");
    connect(fd.as_raw_fd(), &SockaddrStorage::from(server)).expect("connected");
    TcpStream::from(fd)
}

fn terminate(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("told");
}

#[test]
fn it_says_where_it_listens_logs_no_address_and_ends_in_peace() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = serve(folder.path(), &["--metrics", "127.0.0.1:0"]);
    let said = ready(&mut child);
    assert_eq!(said["id"], "near");
    assert_eq!(said["certificate_sha256"].as_str().map(str::len), Some(64));
    assert!(said["metrics"].is_string() && said["missing"].is_array());

    let mut stranger = connect_from([127, 98, 76, 54], address(&said));
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("said");
    let mut nothing = Vec::new();
    // A reset is an end as well.
    let _ = stranger.read_to_end(&mut nothing);
    assert!(nothing.is_empty());

    terminate(&child);
    let mut log = String::new();
    let stderr = child.stderr.take().expect("piped");
    { stderr }.read_to_string(&mut log).expect("a log");
    assert_eq!(child.wait().expect("ended").code(), Some(0), "{log}");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let refused = lines.iter().find(|l| l["reason"] == "hello").expect(&log);
    assert_eq!(refused["prefix"], "127.98.76.0/24");
    assert!(!log.contains("127.98.76.54"), "{log}");

    // The pin survives.
    let mut again = serve(folder.path(), &[]);
    assert_eq!(
        ready(&mut again)["certificate_sha256"],
        said["certificate_sha256"]
    );
    terminate(&again);
    assert_eq!(again.wait().expect("ended").code(), Some(0));
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("certificate.pem");
    std::fs::write(&file, "nothing of the kind").expect("written");
    let state = folder.path().join("state");
    let (file, state) = (file.to_str().expect("text"), state.to_str().expect("text"));
    let cases: &[(&[&str], i32, &str)] = &[
        (&[], 2, "--id"),
        (&["--id", "a b", "--token-key", KEY], 2, "an id is 1 to 64"),
        (
            &["--id", "a", "--token-key", "12"],
            2,
            "64 hexadecimal digits",
        ),
        (&["--id", "a"], 2, "--collector"),
        (
            &["--id", "a", "--collector", "nonsense"],
            2,
            "is no collector",
        ),
        (
            &["--id", "a", "--collector", "http://127.0.0.1:1"],
            1,
            "--token-key",
        ),
        (
            &[
                "--id",
                "a",
                "--token-key",
                KEY,
                "--listen",
                "192.0.2.1",
                "--port",
                "7",
            ],
            1,
            "cannot listen on 192.0.2.1:7",
        ),
        (
            &[
                "--id",
                "a",
                "--token-key",
                KEY,
                "--certificate",
                file,
                "--key",
                file,
            ],
            1,
            "holds no certificate in PEM",
        ),
    ];
    for (options, code, words) in cases {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("walkabout"))
            .args(["--json", "serve", "--state", state])
            .args(*options)
            .output()
            .expect("run");
        assert_eq!(output.status.code(), Some(*code), "{options:?}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let message = document["error"]["message"].as_str().expect("a message");
        assert!(message.contains(words), "{options:?}: {message}");
    }
}
