//! What is said, and what is kept, when the database is not as it should be?

use crate::place::{Place, block_on, on_both, shared_server, sqlite_url};
use crate::postgres::Postgres;
use crate::put::put_all;
use crate::sample;
use nix::sys::signal::Signal;
use std::path::Path;
use std::process::Command;
use walkabout_platform::api::Filter;
use walkabout_platform::store::{Put, Store, StoreError};

on_both!(
    a_newer_schema,
    a_migration_that_stopped_half_way,
    another_migration
);

async fn error(url: &str) -> StoreError {
    Store::open(url).await.expect_err("it does not open")
}

async fn a_newer_schema(place: &Place) {
    place.store().await.close().await;
    place
        .sql(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             SELECT 9999, 'from the future', success, checksum, 0 FROM _sqlx_migrations",
        )
        .await;
    let error = error(&place.url).await;
    assert!(matches!(error, StoreError::Schema(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("9999") && text.contains("newer"), "{text}");
}

async fn a_migration_that_stopped_half_way(place: &Place) {
    place.store().await.close().await;
    place
        .sql("UPDATE _sqlx_migrations SET success = false")
        .await;
    for _ in 0..2 {
        let error = error(&place.url).await;
        assert!(matches!(error, StoreError::Schema(_)), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("half way") && text.contains("backup"),
            "{text}"
        );
    }
    // The lock was given back.
    place
        .sql("UPDATE _sqlx_migrations SET success = true")
        .await;
    place.store().await.ping().await.expect("it answers");
}

async fn another_migration(place: &Place) {
    place.store().await.close().await;
    let bytes = match place.url.starts_with("sqlite") {
        true => "X'616263'",
        false => "'abc'::BYTEA",
    };
    let sql = format!("UPDATE _sqlx_migrations SET checksum = {bytes}");
    place.sql(&sql).await;
    let error = error(&place.url).await;
    assert!(matches!(error, StoreError::Schema(_)), "{error:?}");
}

#[test]
fn what_is_no_database() {
    block_on(async {
        for url in [
            "",
            "walkabout.db",
            "mysql://host/db",
            "postgres:host",
            "http://a/b",
        ] {
            let error = error(url).await;
            assert!(matches!(error, StoreError::Url(_)), "{url}: {error:?}");
        }
        let secret = error("mysql://user:hunter2@host/db").await.to_string();
        assert!(!secret.contains("hunter2"), "{secret}");
    });
}

#[test]
fn files_that_are_no_database() {
    block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("none/walkabout.db");
        let missing = error(&sqlite_url(&file)).await;
        assert!(matches!(missing, StoreError::Refused(_)), "{missing:?}");

        let file = folder.path().join("text");
        std::fs::write(&file, "This is no database. ".repeat(100)).expect("written");
        let text = error(&sqlite_url(&file)).await;
        assert!(matches!(text, StoreError::Damaged(_)), "{text:?}");

        let file = folder.path().join("walkabout.db");
        Store::open(&sqlite_url(&file))
            .await
            .expect("it opens")
            .close()
            .await;
        let read_only = error(&format!("{}?mode=ro", sqlite_url(&file))).await;
        assert!(matches!(read_only, StoreError::Refused(_)), "{read_only:?}");
        assert!(read_only.to_string().contains("readonly"), "{read_only}");
    });
}

#[test]
fn in_memory() {
    block_on(async {
        let store = Store::open("sqlite::memory:").await.expect("it opens");
        let other = Store::open("sqlite::memory:").await.expect("it opens");
        put_all(&store, &[sample::run(&mut sample::random(1), "a")]).await;
        assert_eq!(store.usage().await.unwrap().runs, 1);
        assert_eq!(other.usage().await.unwrap().runs, 0);
    });
}

#[test]
fn servers_that_refuse_or_do_not_answer() {
    block_on(async {
        let server = shared_server();
        let no_such = error(&server.url("no_such")).await;
        assert!(matches!(no_such, StoreError::Refused(_)), "{no_such:?}");
        let nobody = server.url("postgres").replace("postgres@", "nobody@");
        let nobody = error(&nobody).await;
        assert!(matches!(nobody, StoreError::Refused(_)), "{nobody:?}");

        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("postgres://a@localhost/b?host={}", folder.path().display());
        let absent = error(&url).await;
        assert!(matches!(absent, StoreError::Unavailable(_)), "{absent:?}");
    });
}

/// Whether the store answers `Unavailable` to everything.
async fn check_unavailable(store: &Store, random: &mut rand_pcg::Pcg64) {
    let put = store.put(&sample::run(random, "a")).await.map(|_| ());
    let list = store.list(&Filter::default()).await.map(|_| ());
    let spend = store
        .spend("a", 1, 2, std::time::Duration::from_secs(9), 0)
        .await;
    for answer in [put, list, spend.map(|_| ()), store.ping().await] {
        let error = answer.expect_err("it is not there");
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    }
}

#[test]
fn a_server_restarted() {
    block_on(async {
        let server = Postgres::start();
        let store = Store::open(&server.new_database()).await.expect("it opens");
        let random = &mut sample::random(2);
        let mut kept = Vec::new();
        for signal in [Signal::SIGINT, Signal::SIGQUIT] {
            // Under load: what was acknowledged is there afterwards.
            let runs: Vec<_> = (0..200).map(|_| sample::run(random, "a")).collect();
            let puts: Vec<_> = runs
                .iter()
                .map(|run| {
                    let (store, run) = (store.clone(), run.clone());
                    tokio::spawn(async move { store.put(&run).await })
                })
                .collect();
            let (mut acknowledged, mut stopped) = (0, false);
            for (run, put) in runs.iter().zip(puts) {
                match put.await.expect("no panic") {
                    Ok(put) => {
                        assert_eq!(put, Put::Stored);
                        kept.push(run.clone());
                        acknowledged += 1;
                    }
                    Err(error) => assert!(matches!(error, StoreError::Unavailable(_)), "{error}"),
                }
                if acknowledged == 20 && !stopped {
                    stopped = true;
                    server.stop(signal);
                }
            }
            assert!(stopped);
            check_unavailable(&store, random).await;
            server.run();
            store.ping().await.expect("it answers again");
            for run in &kept {
                assert_eq!(store.put(run).await, Ok(Put::AlreadyStored));
            }
            let all = Filter {
                invalid: Some(true),
                ..Filter::default()
            };
            // Those that were stored but not acknowledged may be there.
            assert!(store.list(&all).await.unwrap().total >= kept.len() as u64);
        }
        store.close().await;
        check_unavailable(&store, random).await;
    });
}

/// Runs the ignored test `name` of this file in namespaces with a file system of 3 MiB of its own.
fn in_a_small_file_system(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let script =
        r#"mount -t tmpfs -o size=3m none "$1" && exec "$2" --exact "$3" --ignored --nocapture"#;
    let done = Command::new("unshare")
        .args(["-Urm", "sh", "-c", script, "sh"])
        .args([
            folder.path(),
            &program,
            Path::new(&format!("faults::{name}")),
        ])
        .env(SMALL, folder.path())
        .output()
        .expect("`unshare` of util-linux");
    let said =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

/// The environment variable with the folder.
const SMALL: &str = "WALKABOUT_TEST_SMALL_FOLDER";

fn small_file() -> std::path::PathBuf {
    let folder = std::env::var_os(SMALL).expect("started by another test");
    Path::new(&folder).join("walkabout.db")
}

#[test]
fn a_full_disk() {
    in_a_small_file_system("on_a_full_disk");
}

#[test]
#[ignore = "started by `a_full_disk`"]
fn on_a_full_disk() {
    block_on(async {
        let url = sqlite_url(&small_file());
        let store = Store::open(&url).await.expect("it opens");
        let random = &mut sample::random(3);
        let mut kept = Vec::new();
        let full = loop {
            let mut run = sample::run(random, "a");
            run.document = vec![7; 100_000];
            match store.put(&run).await {
                Ok(put) => assert_eq!(put, Put::Stored),
                Err(error) => break error,
            }
            kept.push(run);
            assert!(kept.len() < 100, "3 MiB hold 10 MB");
        };
        assert!(matches!(full, StoreError::Full(_)), "{full:?}");
        assert!(kept.len() > 3);
        // Still readable, also after a restart, and of use again when there is space.
        for run in &kept {
            assert!(store.get(&run.summary.id).await.unwrap().is_some());
        }
        assert_eq!(store.usage().await.unwrap().runs, kept.len() as u64);
        store.close().await;
        let folder = std::env::var(SMALL).expect("set");
        let grown = Command::new("mount")
            .args(["-o", "remount,size=20m", &folder])
            .status()
            .expect("mount");
        assert!(grown.success());
        let store = Store::open(&url).await.expect("it opens");
        for run in &kept {
            assert_eq!(store.put(run).await, Ok(Put::AlreadyStored));
        }
        put_all(&store, &[sample::run(random, "a")]).await;
    });
}

#[test]
fn a_file_system_that_is_read_only() {
    in_a_small_file_system("on_a_file_system_that_is_read_only");
}

#[test]
#[ignore = "started by `a_file_system_that_is_read_only`"]
fn on_a_file_system_that_is_read_only() {
    block_on(async {
        let url = sqlite_url(&small_file());
        Store::open(&url).await.expect("it opens").close().await;
        let folder = std::env::var(SMALL).expect("set");
        let turned = Command::new("mount")
            .args(["-o", "remount,ro", &folder])
            .status()
            .expect("mount");
        assert!(turned.success());
        let error = error(&url).await;
        assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
    });
}
