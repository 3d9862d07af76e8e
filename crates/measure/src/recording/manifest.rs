//! How the manifest gets into the folder: whole or not at all.

use super::RecordError;
use jiff::Timestamp;
use model::Manifest;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

/// The manifest's file name.
const FILE: &str = "manifest.json";

/// Makes `folder` if it is missing; it must be empty.
pub fn prepare_folder(folder: &Path) -> Result<(), RecordError> {
    let unwritable = |source| RecordError::Unwritable {
        folder: folder.to_owned(),
        source,
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(RecordError::NotEmpty(folder.to_owned())),
            None => Ok(()),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(unwritable)
        }
        Err(error) => Err(unwritable(error)),
    }
}

/// The wall-clock time of the run's time zero, since 1970.
pub fn start_of(manifest: &Manifest) -> Result<Duration, RecordError> {
    let wrong = || RecordError::Start(manifest.started_at.clone());
    let start: Timestamp = manifest.started_at.parse().map_err(|_| wrong())?;
    let nanos = u64::try_from(start.as_nanosecond()).map_err(|_| wrong())?;
    Ok(Duration::from_nanos(nanos))
}

/// Writes the manifest under another name first, so that a reader never sees half of it.
pub fn write(folder: &Path, manifest: &Manifest) -> Result<(), RecordError> {
    let (file, temporary) = (folder.join(FILE), folder.join("manifest.json.partial"));
    let mut text = serde_json::to_string_pretty(manifest).map_err(|source| RecordError::Write {
        file: file.clone(),
        source: source.into(),
    })?;
    text.push('\n');
    let write = || {
        let mut target = File::create(&temporary)?;
        target.write_all(text.as_bytes())?;
        target.sync_data()?;
        fs::rename(&temporary, &file)
    };
    write().map_err(|source: std::io::Error| match source.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => RecordError::Unwritable {
            folder: folder.to_owned(),
            source,
        },
        _ => RecordError::io(&file, source),
    })
}
