//! Does the client's queue lose nothing and send nothing twice, whatever the collector answers and
//! whenever the process is killed?

mod fake_collector;

use fake_collector::{Answer, Fake};
use model::scenario::builtin;
use model::{Manifest, Scenario, Seed, World};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use walkabout_platform::api::{TokenRequest, UPLOAD_FORMAT, Upload};
use walkabout_platform::client::{Collector, CollectorError, Queue, Sent};

const TIMEOUT: Duration = Duration::from_secs(5);

/// An upload that nothing but its repetition tells from others.
fn upload(repetition: u64) -> Upload {
    let text = builtin::find("steady").expect("built in");
    let scenario = Scenario::parse(text, "steady").expect("valid");
    let manifest = Manifest {
        repetition,
        ..Manifest::new(World::Live, &scenario, "mptcp", "backup", Seed(1))
    };
    Upload {
        format: UPLOAD_FORMAT.to_owned(),
        manifest,
        messages: Default::default(),
        samples: Default::default(),
        links: Default::default(),
        events: Vec::new(),
    }
}

fn repetition(document: &[u8]) -> u64 {
    let json = zstd::decode_all(document).expect("zstd");
    let upload: Upload = serde_json::from_slice(&json).expect("an upload");
    upload.manifest.repetition
}

fn collector(fake: &Fake) -> Collector {
    Collector::new(&fake.url(), TIMEOUT).expect("an address")
}

/// A process that begins has the files of the one it comes from, with their locks, until it is another
/// program: none begins while runs are sent.
static FORKS: RwLock<()> = RwLock::new(());

fn send(queue: &Queue, collector: &Collector) -> Vec<Sent> {
    let _none = FORKS.read().unwrap_or_else(PoisonError::into_inner);
    queue.send(collector).expect("usable")
}

fn queue(folder: &Path) -> Queue {
    Queue::open(folder).expect("a queue")
}

#[test]
fn runs_are_sent_in_their_order_and_their_secrets_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let (fake, queue) = (Fake::start(), queue(folder.path()));
    let added: Vec<_> = (0..3)
        .map(|n| queue.add(&fake.url(), &upload(n)).expect("room"))
        .collect();
    let other = queue.add("http://other.example", &upload(9)).expect("room");
    assert_eq!(queue.waiting().expect("readable").len(), 4);
    let sent = send(&queue, &collector(&fake));
    assert!(sent.iter().all(|s| s.result.is_ok()), "{sent:?}");
    let requests = fake.requests();
    let order: Vec<u64> = requests.iter().map(|r| repetition(&r.body)).collect();
    assert_eq!(order, [0, 1, 2]);
    for (run, request) in added.iter().zip(&requests) {
        assert_eq!(request.line, format!("PUT /api/v1/runs/{}", run.id));
        assert_eq!(request.header("walkabout-secret"), Some(&*run.secret));
        assert_eq!(request.header("content-encoding"), Some("zstd"));
    }
    assert_eq!(queue.waiting().expect("readable"), [other]);
    let mut kept = queue.sent().expect("readable");
    kept.sort_by_key(|run| added.iter().position(|a| a.id == run.id));
    assert_eq!(kept, added);
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(folder.path().join("sent")).expect("a folder") {
        let mode = entry.expect("an entry").metadata().expect("a file");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn temporary_errors_leave_a_run_waiting_and_permanent_ones_put_it_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let (fake, queue) = (Fake::start(), queue(folder.path()));
    let runs: Vec<_> = (0..2)
        .map(|n| queue.add(&fake.url(), &upload(n)).expect("room"))
        .collect();
    let collector = Collector::new(&fake.url(), Duration::from_millis(300)).expect("an address");
    let temporary = [
        Answer::Problem(429, "too-many"),
        Answer::Problem(503, "unavailable"),
        Answer::Plain(502, "<html>a proxy</html>".to_owned()),
        // The login page of a Wi-Fi.
        Answer::Plain(200, "<html>welcome to the hotel</html>".to_owned()),
        Answer::Plain(302, "".to_owned()),
        Answer::Close,
        Answer::Silence,
        Answer::Half,
    ];
    for answer in temporary {
        fake.answer_next(answer.clone());
        let before = fake.requests().len();
        let sent = send(&queue, &collector);
        assert_eq!((sent.len(), &sent[0].run), (1, &runs[0]), "{answer:?}");
        let error = sent[0].result.as_ref().expect_err("not stored");
        assert!(error.is_temporary(), "{answer:?}: {error}");
        assert_eq!(
            fake.requests().len(),
            before + 1,
            "{answer:?}: no other was tried"
        );
        assert_eq!(queue.waiting().expect("readable"), runs, "{answer:?}");
    }
    fake.answer_next(Answer::Problem(409, "consent-outdated"));
    let sent = send(&queue, &collector);
    assert!(matches!(
        &sent[..],
        [refused, stored] if stored.result.is_ok()
            && matches!(&refused.result, Err(CollectorError::Problem(p)) if p.status == 409)
    ));
    assert_eq!(queue.waiting().expect("readable"), []);
    let refused = queue.refused().expect("readable");
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].run, runs[0]);
    assert!(
        refused[0].why.contains("title of 409"),
        "{}",
        refused[0].why
    );
    assert_eq!(queue.sent().expect("readable"), runs[1..]);
}

#[test]
fn an_unreachable_collector_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = queue(folder.path());
    // A port nobody listens on: it was ours until a moment ago.
    let url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("bound"))
    };
    queue.add(&url, &upload(0)).expect("room");
    let collector = Collector::new(&url, TIMEOUT).expect("an address");
    let sent = send(&queue, &collector);
    let error = sent[0].result.as_ref().expect_err("nobody there");
    assert!(
        error.is_temporary() && error.to_string().contains(&url),
        "{error}"
    );
    assert_eq!(queue.waiting().expect("readable").len(), 1);
}

#[test]
fn two_processes_never_send_the_same_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::start();
    let first = queue(folder.path());
    for n in 0..20 {
        first.add(&fake.url(), &upload(n)).expect("room");
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // Descriptors of its own, as another process has.
                let queue = queue(folder.path());
                send(&queue, &collector(&fake));
            });
        }
    });
    let mut seen: Vec<u64> = fake
        .requests()
        .iter()
        .map(|r| repetition(&r.body))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
    assert_eq!(first.waiting().expect("readable"), []);
}

#[test]
fn a_damaged_file_is_put_aside_and_the_others_are_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let (fake, queue) = (Fake::start(), queue(folder.path()));
    queue.add(&fake.url(), &upload(0)).expect("room");
    let damaged = folder.path().join("waiting/00000000000000000000-x.run");
    std::fs::write(damaged, b"{\"format\":").expect("our folder");
    let sent = send(&queue, &collector(&fake));
    assert_eq!(sent.len(), 1);
    assert!(sent[0].result.is_ok());
    let why = folder.path().join("refused/00000000000000000000-x.why");
    assert!(
        std::fs::read_to_string(why)
            .expect("a reason")
            .starts_with("damaged")
    );
}

#[test]
fn what_is_withdrawn_is_sent_no_more_and_can_still_be_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (fake, queue) = (Fake::start(), queue(folder.path()));
    let run = queue.add(&fake.url(), &upload(0)).expect("room");
    let stays = queue.add(&fake.url(), &upload(1)).expect("room");
    let error = queue.withdraw("no such run").expect_err("none");
    assert!(
        error
            .to_string()
            .contains("only the machine that measured it"),
        "{error}"
    );
    assert!(queue.withdraw("").is_err(), "two begin so");
    assert_eq!(queue.withdraw(&run.id[..8]).expect("it waits"), run);
    assert_eq!(queue.waiting().expect("readable"), [stays]);
    let collector = collector(&fake);
    collector.delete(&run.id, &run.secret).expect("deleted");
    let request = fake.requests().pop().expect("a request");
    assert_eq!(request.line, format!("DELETE /api/v1/runs/{}", run.id));
    assert_eq!(request.header("walkabout-secret"), Some(&*run.secret));
    queue.forget(&run.id).expect("forgotten");
    assert!(queue.withdraw(&run.id).is_err());
}

#[test]
fn what_is_no_collector_is_said_so() {
    let fake = Fake::start();
    let collector = collector(&fake);
    fake.answer_next(Answer::Plain(200, "<html>hello</html>".to_owned()));
    let error = collector.metadata().expect_err("a page");
    assert!(
        matches!(error, CollectorError::NotACollector { .. }),
        "{error}"
    );
    fake.answer_next(Answer::Plain(
        200,
        r#"{"tokens":["a"],"expires_at":"2030-01-01T00:00:00Z"}"#.to_owned(),
    ));
    let request = TokenRequest {
        server: "near".into(),
        test: "0".repeat(32),
        consent_version: "1".into(),
        bytes: 1,
        seconds: 1,
        count: 2,
    };
    let error = collector.tokens(&request).expect_err("one too few");
    assert!(error.to_string().contains("1 tokens, where 2"), "{error}");
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    use rustls::pki_types::PrivatePkcs8KeyDer;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .expect("a pair");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut tls = rustls::ServerConnection::new(config.into()).expect("a server");
        tls.complete_io(&mut stream).expect_err("it goes away")
    });
    let collector = Collector::new(&format!("https://localhost:{port}"), TIMEOUT);
    let error = collector
        .expect("an address")
        .metadata()
        .expect_err("refused");
    assert!(error.to_string().contains("certificate"), "{error}");
    server.join().expect("it saw the client go");
}

/// Not a test of its own: the process that [`killed_at_any_moment`] kills. It queues runs, says so, and
/// sends them.
#[test]
fn the_process_that_is_killed() {
    let Ok(folder) = std::env::var("WALKABOUT_TEST_QUEUE") else {
        return;
    };
    let (folder, url) = folder.split_once('|').expect("two parts");
    let (queue, collector) = (
        queue(Path::new(folder)),
        Collector::new(url, TIMEOUT).expect("an address"),
    );
    for n in 0.. {
        let run = queue.add(url, &upload(n)).expect("room");
        println!("queued {}", run.id);
        if n % 3 == 2 {
            queue.send(&collector).expect("usable");
        }
    }
}

#[test]
fn killed_at_any_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::start();
    let mut queued = Vec::new();
    for round in 0..40 {
        let alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "the_process_that_is_killed", "--nocapture"])
            .env(
                "WALKABOUT_TEST_QUEUE",
                format!("{}|{}", folder.path().display(), fake.url()),
            )
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(alone);
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        // It is killed after its Nth run was queued; where exactly in what follows, chance decides.
        let mut said = 0;
        let mut note = |line: String, queued: &mut Vec<String>| {
            if let Some(id) = line.strip_prefix("queued ") {
                queued.push(id.to_owned());
                said += 1;
            }
            said
        };
        for line in &mut lines {
            if note(line.expect("UTF-8"), &mut queued) > round % 7 {
                break;
            }
        }
        child.kill().expect("SIGKILL");
        child.wait().expect("it is gone");
        // What it had said before it was killed counts as queued.
        for line in lines.map_while(Result::ok) {
            note(line, &mut queued);
        }
    }
    let queue = queue(folder.path());
    let sent = send(&queue, &collector(&fake));
    assert!(sent.iter().all(|s| s.result.is_ok()), "{sent:?}");
    assert_eq!(queue.waiting().expect("readable"), []);
    assert_eq!(queue.refused().expect("readable"), []);
    let stored = fake.stored();
    let kept = queue.sent().expect("readable");
    for id in &queued {
        assert!(stored.contains_key(id), "{id} was lost");
    }
    // Each is kept once, with what deletes it; one the process had no time to mention is no loss.
    assert_eq!(kept.len(), stored.len());
    assert!(kept.iter().all(|run| stored[&run.id] == run.secret));
    assert!(queued.len() >= 40, "{} queued", queued.len());
}
