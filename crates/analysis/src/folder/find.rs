//! Which runs are below the folders a user names.

use super::{FolderError, MANIFEST};
use std::fs;
use std::path::{Path, PathBuf};

/// Levels below a named folder that are searched: `runs/STAMP/RUN`, and one to spare.
const LEVELS: usize = 3;

/// The run folders among `paths` and below them, each once, in the order of `paths` and then
/// of their names.
///
/// # Errors
/// When a path holds no run at all, or can't be read.
pub fn find<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>, FolderError> {
    let mut runs: Vec<PathBuf> = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let mut below = Vec::new();
        search(path, LEVELS, &mut below)?;
        if below.is_empty() {
            return Err(FolderError::NotARun(path.to_owned()));
        }
        below.retain(|run| !runs.contains(run));
        runs.append(&mut below);
    }
    Ok(runs)
}

fn search(folder: &Path, levels: usize, runs: &mut Vec<PathBuf>) -> Result<(), FolderError> {
    if folder.join(MANIFEST).is_file() {
        runs.push(folder.to_owned());
        return Ok(());
    }
    if levels == 0 {
        return Ok(());
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(FolderError::read(folder))? {
        let path = entry.map_err(FolderError::read(folder))?.path();
        if path.is_dir() && !path.is_symlink() {
            folders.push(path);
        }
    }
    folders.sort();
    folders
        .iter()
        .try_for_each(|folder| search(folder, levels - 1, runs))
}
