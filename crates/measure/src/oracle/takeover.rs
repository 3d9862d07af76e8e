//! How is the host's Multipath TCP put into the hands of a process, and given back?
//!
//! What was there before is written to a file first, so that it can be put back after the process
//! was killed: by its next start, or by `walkabout oracle restore`.

use crate::transport::kernel::sysctl;
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is set; the older name of the path manager's choice (before Linux 6.15) last.
const SETTINGS: [&str; 3] = [
    "net.mptcp.enabled",
    "net.mptcp.path_manager",
    "net.mptcp.pm_type",
];

/// Whether a process manages the paths of the connections made from now on.
pub fn is_userspace() -> bool {
    match sysctl::read("net.mptcp.path_manager") {
        Some(name) => name == "userspace",
        None => sysctl::read("net.mptcp.pm_type").as_deref() == Some("1"),
    }
}

/// The host's settings, put back when this is dropped.
#[derive(Debug)]
pub struct TakenOver {
    kept: PathBuf,
    /// Locked as long as the process lives: nobody else puts back what is kept here.
    file: File,
    given_back: bool,
}

/// Why the host could not be taken over or given back.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverError {
    /// What was there before cannot be written down.
    #[error("cannot keep the host's settings in {path}: {source}; give another file by `kept`")]
    Keep {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file does not have what it should have.
    #[error(
        "{path} has no settings that could be put back: {source}; see what `sysctl net.mptcp` says, and remove the file"
    )]
    Kept {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// Another one has it.
    #[error(
        "another oracle runs and has taken this host over (it holds {path}); end that one, which puts everything \
         back: `systemctl stop walkabout-oracle`, or Ctrl-C where it runs"
    )]
    Running {
        /// The file.
        path: PathBuf,
    },
    /// A sysctl.
    #[error(transparent)]
    Set(#[from] crate::transport::kernel::SetupError),
}

impl TakenOver {
    /// Puts the paths of the connections made from now on into the hands of this process, having
    /// written to `kept` what was set before. A file that is there already, of a process that was
    /// killed, stays: it has what the host's owner had set.
    pub fn take(kept: &Path) -> Result<TakenOver, TakeOverError> {
        let keep_failed = |source| TakeOverError::Keep {
            path: kept.to_owned(),
            source,
        };
        let file = loop {
            if let Some(file) = hold(kept)? {
                break file;
            }
            let before = SETTINGS
                .into_iter()
                .filter_map(|n| Some((n, sysctl::read(n)?)));
            keep(kept, &before.collect()).map_err(keep_failed)?;
        };
        let taken = TakenOver {
            kept: kept.to_owned(),
            file,
            given_back: false,
        };
        sysctl::set("net.mptcp.enabled", "1")?;
        sysctl::set_path_manager(true)?;
        Ok(taken)
    }

    /// Puts back what was set before; what that was.
    ///
    /// # Errors
    /// What could not be put back stays written down.
    pub fn give_back(mut self) -> Result<Vec<String>, TakeOverError> {
        self.given_back = true;
        put_back(&self.kept, &mut self.file)
    }
}

impl Drop for TakenOver {
    fn drop(&mut self) {
        if !self.given_back {
            let _ = put_back(&self.kept, &mut self.file);
        }
    }
}

/// Written beside it and renamed: whoever reads it finds all of it.
fn keep(path: &Path, before: &BTreeMap<&str, String>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec(before)?)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// The file `kept`, locked; `None` when there is none.
fn hold(kept: &Path) -> Result<Option<File>, TakeOverError> {
    let wrong = |source| TakeOverError::Kept {
        path: kept.to_owned(),
        source,
    };
    let number = |of: io::Result<fs::Metadata>| of.map(|m| (m.dev(), m.ino())).ok();
    loop {
        let file = match File::open(kept) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = kept.to_owned();
                return Err(TakeOverError::Running { path });
            }
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
        }
        // The one who had it may have removed it meanwhile, and another one written a new one.
        if number(file.metadata()) == number(fs::metadata(kept)) {
            return Ok(Some(file));
        }
    }
}

/// Puts back what `kept` says and removes the file; what was put back, nothing when there is no
/// such file.
///
/// # Errors
/// The file is unreadable, a setting cannot be made, or a daemon that runs holds it.
pub fn restore(kept: &Path) -> Result<Vec<String>, TakeOverError> {
    match hold(kept)? {
        Some(mut file) => put_back(kept, &mut file),
        None => Ok(Vec::new()),
    }
}

/// What the locked `file` at `kept` says is put back, and the file removed.
fn put_back(kept: &Path, file: &mut File) -> Result<Vec<String>, TakeOverError> {
    let wrong = |source| TakeOverError::Kept {
        path: kept.to_owned(),
        source,
    };
    let mut text = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut text))
        .map_err(wrong)?;
    let before: BTreeMap<String, String> =
        serde_json::from_slice(&text).map_err(|error| wrong(error.into()))?;
    let mut done = Vec::new();
    for name in SETTINGS {
        if let Some(value) = before.get(name)
            && sysctl::read(name).is_some_and(|now| now != *value)
        {
            sysctl::set(name, value)?;
            done.push(format!("{name}={value}"));
        }
    }
    fs::remove_file(kept).map_err(wrong)?;
    Ok(done)
}
