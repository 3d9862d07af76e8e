//! Who may ask a daemon for its state, and how is it told?

use super::daemon::OracleError;
use super::status::Status;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long somebody who asked for the status may take to read it.
const READER_PATIENCE: Duration = Duration::from_secs(2);
/// So many may be reading it.
const READERS: usize = 8;

/// Where the status is asked for; gone when this is dropped.
pub(super) struct Door {
    pub(super) listener: UnixListener,
    path: PathBuf,
    readers: Arc<AtomicUsize>,
}

impl Door {
    /// Opens it; what a daemon that was killed has left there is removed.
    pub(super) fn open(path: &Path) -> Result<Door, OracleError> {
        let failed = |source| OracleError::Socket {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // One that answers is another daemon's; one that does not is a killed one's.
        if UnixStream::connect(path).is_ok() {
            return Err(OracleError::Running {
                path: path.to_owned(),
            });
        }
        match std::fs::symlink_metadata(path) {
            Ok(there) if there.file_type().is_socket() => {
                std::fs::remove_file(path).map_err(failed)?;
            }
            Ok(_) => {
                let text = "a file is there that is no socket";
                return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, text)));
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        // Whom this host talks to is nobody else's business.
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner_only).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Door {
            listener,
            path: path.to_owned(),
            readers: Arc::default(),
        })
    }

    /// Writes the status to whoever waits for it, each in a thread of its own: a slow reader holds
    /// up nobody.
    pub(super) fn answer(&self, status: impl Fn() -> Status) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.readers.load(Ordering::Relaxed) >= READERS {
                continue;
            }
            let Ok(mut text) = serde_json::to_vec(&status()) else {
                continue;
            };
            text.push(b'\n');
            let readers = self.readers.clone();
            readers.fetch_add(1, Ordering::Relaxed);
            let write = move || {
                let _ = stream.set_nonblocking(false);
                let _ = stream.set_write_timeout(Some(READER_PATIENCE));
                let _ = (&stream).write_all(&text);
                readers.fetch_sub(1, Ordering::Relaxed);
            };
            let thread = std::thread::Builder::new().name("status".to_owned());
            if thread.spawn(write).is_err() {
                self.readers.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
