//! How does a file get onto the disk whole or not at all, and for its owner alone?

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What a file that is being written is called at first; such a file counts for nothing.
const UNFINISHED: &str = ".unfinished-";
/// A file that was begun this long ago belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Writes `parts` as the file `name` in `folder`: under another name first, so that nobody ever sees
/// half of it. When this returns it survives a power cut.
///
/// # Errors
/// The system's; then there is no such file, or the one that was there before.
pub fn write(folder: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let unfinished = folder.join(format!("{UNFINISHED}{}", crate::token::random_hex::<8>()));
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.sync_all()?;
        fs::rename(&unfinished, folder.join(name))?;
        sync(folder)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

/// Makes what was renamed or removed in `folder` survive a power cut.
pub fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Removes what killed processes left unfinished.
pub fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let begun = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED.as_bytes());
        let age = entry
            .metadata()
            .and_then(|m| m.modified())
            .map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        if begun && age.is_ok_and(|age| age > ABANDONED) {
            // Another process may sweep as well.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}
