//! An empty database of either kind, and what a test does to it behind the store's back.

use crate::postgres::Postgres;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use walkabout_platform::store::Store;

/// Where a test works.
pub struct Place {
    pub url: String,
    _kept: Kept,
}

/// What goes when the test is over.
enum Kept {
    Folder(#[expect(dead_code, reason = "kept until it is dropped")] tempfile::TempDir),
    Server(#[expect(dead_code, reason = "kept until it is dropped")] Arc<Postgres>),
}

/// The server that the tests of this process share: it ends with the last that uses it.
pub fn shared_server() -> Arc<Postgres> {
    static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Postgres::start());
        *shared = Arc::downgrade(&server);
        server
    })
}

impl Place {
    pub fn sqlite() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        Place {
            url: sqlite_url(&folder.path().join("walkabout.db")),
            _kept: Kept::Folder(folder),
        }
    }

    pub fn postgres() -> Place {
        let server = shared_server();
        Place {
            url: server.new_database(),
            _kept: Kept::Server(server),
        }
    }

    pub async fn store(&self) -> Store {
        Store::open(&self.url).await.expect("the database opens")
    }

    /// Executes statements behind the store's back.
    pub async fn sql(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.url.starts_with("sqlite") {
            true => {
                let options: sqlx::sqlite::SqliteConnectOptions = self.url.parse().expect("a URL");
                let mut connection = options.connect().await.expect("it opens");
                connection.execute(sql).await.expect("it is executed");
                connection.close().await.expect("it closes");
            }
            false => {
                let options: sqlx::postgres::PgConnectOptions = self.url.parse().expect("a URL");
                let mut connection = options.connect().await.expect("it opens");
                connection.execute(sql).await.expect("it is executed");
                connection.close().await.expect("it closes");
            }
        }
    }
}

pub fn sqlite_url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// Runs `test` with threads of its own.
pub fn block_on<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test)
}

/// Each test in both databases.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $test() {
                let place = crate::place::Place::sqlite();
                crate::place::block_on(super::$test(&place));
            })*
        }
        mod postgres {
            $(#[test]
            fn $test() {
                let place = crate::place::Place::postgres();
                crate::place::block_on(super::$test(&place));
            })*
        }
    };
}
pub(crate) use on_both;
