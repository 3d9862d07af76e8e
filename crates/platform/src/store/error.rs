//! Why could the store not do it? Every error of a driver becomes one of a few that say what to do.

use sqlx::migrate::MigrateError;

/// Why the store could not do it. Nothing was changed, save where a connection was lost in the very
/// moment of a commit: then it may have been. Every operation may be repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Not a database URL.
    #[error("`{0}` is no database: write sqlite:FILE or postgres://USER@HOST/DATABASE")]
    Url(String),
    /// It does not answer, or closed the connection; later it may.
    #[error("the database does not answer: {0}")]
    Unavailable(String),
    /// There is no space left.
    #[error("the database is full: {0}")]
    Full(String),
    /// Its schema is of a newer version, or a migration stopped half way.
    #[error("the database's schema does not fit: {0}")]
    Schema(String),
    /// It is there, but not to be used: a wrong password, no such database, a file that is read-only.
    #[error("the database refuses: {0}")]
    Refused(String),
    /// A filter that can't be understood: a fault of who asks.
    #[error("{0}")]
    Query(String),
    /// What is stored can't be read, or a bug.
    #[error("the database holds what it should not: {0}")]
    Damaged(String),
}

impl StoreError {
    /// The connection's end of the store is gone.
    pub(super) fn closed() -> StoreError {
        StoreError::Unavailable("the store was closed".into())
    }

    /// Whether the next of several transactions would meet the same error.
    pub(super) fn meets_all(&self) -> bool {
        matches!(
            self,
            StoreError::Unavailable(_) | StoreError::Full(_) | StoreError::Refused(_)
        )
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> StoreError {
        use sqlx::Error as E;
        match error {
            E::Database(error) => of_database(&*error),
            E::Migrate(error) => (*error).into(),
            // What answers is no PostgreSQL, or stopped in the middle.
            E::Io(_) | E::Tls(_) | E::Protocol(_) | E::WorkerCrashed | E::BeginFailed => {
                StoreError::Unavailable(error.to_string())
            }
            E::PoolTimedOut => StoreError::Unavailable(
                "no connection within the time that is waited for one".into(),
            ),
            E::PoolClosed => StoreError::closed(),
            E::Configuration(error) => StoreError::Refused(error.to_string()),
            other => StoreError::Damaged(other.to_string()),
        }
    }
}

/// What an error of the database means.
fn of_database(error: &dyn sqlx::error::DatabaseError) -> StoreError {
    let (text, code) = (error.to_string(), error.code().unwrap_or_default());
    let of = match error.try_downcast_ref::<sqlx::sqlite::SqliteError>() {
        Some(_) => of_sqlite(code.parse().unwrap_or(1)),
        None => of_postgres(&code),
    };
    of(text)
}

/// By SQLite's extended result code (<https://www.sqlite.org/rescode.html>).
fn of_sqlite(code: i32) -> fn(String) -> StoreError {
    /// `SQLITE_IOERR_SHMSIZE`: the index of the log can't grow.
    const IOERR_SHMSIZE: i32 = 4874;
    match (code, code & 0xff) {
        // SQLITE_FULL.
        (IOERR_SHMSIZE, _) | (_, 13) => StoreError::Full,
        // SQLITE_PERM, READONLY, CANTOPEN, AUTH.
        (_, 3 | 8 | 14 | 23) => StoreError::Refused,
        // SQLITE_BUSY, LOCKED, NOMEM, INTERRUPT, IOERR, PROTOCOL.
        (_, 5 | 6 | 7 | 9 | 10 | 15) => StoreError::Unavailable,
        _ => StoreError::Damaged,
    }
}

/// By PostgreSQL's SQLSTATE (its manual, appendix A).
fn of_postgres(state: &str) -> fn(String) -> StoreError {
    match state {
        // disk_full
        "53100" => StoreError::Full,
        // read_only_sql_transaction (a standby), insufficient_privilege, invalid_catalog_name
        "25006" | "42501" | "3D000" => StoreError::Refused,
        // query_canceled, idle_in_transaction_session_timeout, lock_not_available
        "57014" | "25P03" | "55P03" => StoreError::Unavailable,
        _ => match state.get(..2) {
            // Invalid authorization.
            Some("28") => StoreError::Refused,
            // Connection, rollback (serialization, deadlock), resources, operator intervention, system.
            Some("08" | "40" | "53" | "57" | "58") => StoreError::Unavailable,
            _ => StoreError::Damaged,
        },
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> StoreError {
        match error {
            MigrateError::Execute(error) => error.into(),
            MigrateError::ExecuteMigration(error, version) => match StoreError::from(error) {
                StoreError::Damaged(what) => {
                    StoreError::Schema(format!("migration {version} failed: {what}"))
                }
                other => other,
            },
            MigrateError::VersionMissing(version) => StoreError::Schema(format!(
                "it is of version {version}, which this program does not know: a newer one has upgraded \
                 it. Run that one, or restore the backup made before the upgrade"
            )),
            MigrateError::VersionMismatch(version) => StoreError::Schema(format!(
                "its migration {version} is not this program's: was the database made by a development \
                 version? Use another database"
            )),
            MigrateError::Dirty(version) => StoreError::Schema(format!(
                "migration {version} stopped half way: restore the backup made before the upgrade"
            )),
            other => StoreError::Schema(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_are_hard_to_provoke() {
        let text = String::new;
        for (code, error) in [
            (13, StoreError::Full(text())),
            (4874, StoreError::Full(text())),
            // SQLITE_BUSY_SNAPSHOT, SQLITE_IOERR_FSYNC, SQLITE_READONLY_DIRECTORY, SQLITE_CORRUPT_INDEX
            (517, StoreError::Unavailable(text())),
            (1034, StoreError::Unavailable(text())),
            (1544, StoreError::Refused(text())),
            (779, StoreError::Damaged(text())),
        ] {
            assert_eq!(of_sqlite(code)(text()), error, "{code}");
        }
        for (state, error) in [
            ("53100", StoreError::Full(text())),
            ("53300", StoreError::Unavailable(text())),
            ("57P03", StoreError::Unavailable(text())),
            ("40P01", StoreError::Unavailable(text())),
            ("25006", StoreError::Refused(text())),
            ("28P01", StoreError::Refused(text())),
            ("42601", StoreError::Damaged(text())),
            ("", StoreError::Damaged(text())),
        ] {
            assert_eq!(of_postgres(state)(text()), error, "{state}");
        }
    }
}
