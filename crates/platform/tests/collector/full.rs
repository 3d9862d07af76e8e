//! What becomes of uploads when the disk under the database is full? They are refused in words, wait at the
//! client, and go through as soon as there is space: nobody has to restart anything.

use super::postgres::Postgres;
use super::sample;
use super::wire::{get, serve_with};
use nix::unistd::Uid;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use walkabout_platform::client::{Collector, CollectorError, Queue};

/// The environment variable with the folder that is a file system of its own.
const SMALL: &str = "WALKABOUT_TEST_SMALL_FOLDER";
/// Uploads that pages which are there already may take: far fewer.
const MOST: usize = 2_000;

/// Runs the ignored test `name` of this file where a folder is a file system of `mebibytes`.
fn in_a_small_file_system(name: &str, mebibytes: u32) {
    let folder = tempfile::Builder::new()
        // PostgreSQL's user has to get through.
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()
        .expect("a folder");
    // PostgreSQL refuses to run as root, so nobody becomes root here who is not; and root must stay able
    // to become PostgreSQL's user.
    let namespaces: &[&str] = match Uid::effective().is_root() {
        true => &["--mount"],
        false => &["--mount", "--user", "--map-current-user", "--keep-caps"],
    };
    let script = r#"mount -t tmpfs -o mode=755,size="$4"m none "$1" &&
        exec "$2" --exact "$3" --ignored --nocapture"#;
    let done = Command::new("unshare")
        .args(namespaces)
        .args(["sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().expect("this program"))
        .arg(format!("full::{name}"))
        .arg(mebibytes.to_string())
        .env(SMALL, folder.path())
        .output()
        .expect("`unshare` of util-linux");
    let said =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

fn small() -> PathBuf {
    std::env::var_os(SMALL)
        .expect("started by another test")
        .into()
}

/// Takes all the space there is in `folder`; the file that holds it.
fn fill(folder: &Path) -> PathBuf {
    let file = folder.join("ballast");
    let mut ballast = File::create(&file).expect("a file");
    // By pages of memory, which is what a file system in memory gives out.
    while ballast.write_all(&[7; 4_096]).is_ok() {}
    file
}

#[test]
fn sqlite() {
    in_a_small_file_system("on_a_full_disk_of_sqlite", 8);
}

#[test]
#[ignore = "started by `sqlite`"]
fn on_a_full_disk_of_sqlite() {
    let file = small().join("walkabout.db");
    on_a_full_disk(&format!("sqlite:{}", file.display()));
}

#[test]
fn postgres() {
    // A fresh server takes 40 MB.
    in_a_small_file_system("on_a_full_disk_of_postgres", 96);
}

#[test]
#[ignore = "started by `postgres`"]
fn on_a_full_disk_of_postgres() {
    let server = Postgres::start_in(&small());
    on_a_full_disk(&server.new_database());
}

/// The database at `url` is in [`SMALL`].
fn on_a_full_disk(url: &str) {
    let served = serve_with(|config| {
        config.database = url.to_owned();
        config.limits.uploads_per_hour = u32::MAX;
        config.limits.requests_per_second = u32::MAX;
    });
    let folder = tempfile::tempdir().expect("a folder");
    let queue = Queue::open(folder.path()).expect("a queue");
    let address = format!("http://{}", served.address);
    let collector = Collector::new(&address, Duration::from_secs(60)).expect("an address");
    let mut acknowledged = Vec::new();
    // Sends what waits; the run that was refused.
    let mut send = || {
        for sent in queue.send(&collector).expect("the queue is of use") {
            match sent.result {
                Ok(()) => acknowledged.push(sent.run.id),
                Err(CollectorError::Problem(problem)) => {
                    // For this reason and no other, with a time to come back.
                    let why =
                        "the collector has no space left: nothing was stored, try again later";
                    assert_eq!((problem.status, problem.title.as_str()), (503, why));
                    assert!(problem.retry_after_seconds.is_some(), "{problem:?}");
                    return Some(sent.run);
                }
                Err(error) => panic!("{error}"),
            }
        }
        None
    };
    let add = || queue.add(&address, &sample::upload()).expect("queued");
    for _ in 0..5 {
        add();
        assert_eq!(send(), None);
    }
    let ballast = fill(&small());
    let refused = (0..MOST).find_map(|_| {
        add();
        send()
    });
    let run = refused.expect("refused for lack of space");
    assert_eq!(
        queue.waiting().expect("readable"),
        std::slice::from_ref(&run)
    );
    // Once more, and for others: never another reason. Some pages may have come free.
    for _ in 0..10 {
        add();
        send();
    }
    assert_eq!(queue.refused().expect("readable"), []);
    // What was acknowledged is there, and can be read while nothing can be written.
    let assert_stored = |ids: &[String]| {
        for id in ids {
            let answer = served.ask(&get(&format!("/api/v1/runs/{id}")));
            assert!(answer.starts_with("HTTP/1.1 200"), "{id}: {answer}");
        }
    };
    assert_stored(&acknowledged);
    assert!(
        served
            .ask(&get("/api/v1/metadata"))
            .starts_with("HTTP/1.1 200")
    );

    std::fs::remove_file(ballast).expect("ours");
    add();
    let sent = queue.send(&collector).expect("the queue is of use");
    assert!(
        !sent.is_empty() && sent.iter().all(|sent| sent.result.is_ok()),
        "{sent:?}"
    );
    assert_eq!(queue.waiting().expect("readable"), []);
    acknowledged.extend(sent.into_iter().map(|sent| sent.run.id));
    assert!(acknowledged.contains(&run.id));
    assert_stored(&acknowledged);
    served.end();
}
