//! How is the host's Multipath TCP put into the hands of a process, and given back?
//!
//! What was there before is written to a file first, so that it can be put back after the process
//! was killed: by its next start, or by `walkabout oracle restore`.

use crate::transport::kernel::sysctl;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
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
    /// A sysctl.
    #[error(transparent)]
    Set(#[from] crate::transport::kernel::SetupError),
}

impl TakenOver {
    /// Puts the paths of the connections made from now on into the hands of this process, having
    /// written to `kept` what was set before. A file that is there already, of a process that was
    /// killed, stays: it has what the host's owner had set.
    pub fn take(kept: &Path) -> Result<TakenOver, TakeOverError> {
        if !kept.exists() {
            let before = SETTINGS
                .into_iter()
                .filter_map(|n| Some((n, sysctl::read(n)?)));
            let before: BTreeMap<&str, String> = before.collect();
            keep(kept, &before).map_err(|source| TakeOverError::Keep {
                path: kept.to_owned(),
                source,
            })?;
        }
        let taken = TakenOver {
            kept: kept.to_owned(),
        };
        sysctl::set("net.mptcp.enabled", "1")?;
        sysctl::set_path_manager(true)?;
        Ok(taken)
    }
}

impl Drop for TakenOver {
    fn drop(&mut self) {
        // What cannot be put back stays written down.
        let _ = restore(&self.kept);
    }
}

/// Written beside it and renamed: whoever reads it finds all of it.
fn keep(path: &Path, before: &BTreeMap<&str, String>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(&serde_json::to_vec(before)?)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// Puts back what `kept` says and removes the file; what was put back, nothing when there is no
/// such file.
pub fn restore(kept: &Path) -> Result<Vec<String>, TakeOverError> {
    let wrong = |source| TakeOverError::Kept {
        path: kept.to_owned(),
        source,
    };
    let text = match fs::read(kept) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error)),
    };
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
