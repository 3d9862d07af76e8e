//! What becomes of a run when the client is killed in the middle of it? A note says where it is recorded and
//! where it was to go; whoever runs `walkabout test` next queues what is there.
//!
//! ```text
//! under-way/ID.json   a `Note`, locked (flock) by the process that measures; ID is the run's at the collector
//! ```
//! Only runs that were agreed to be uploaded have one.

use super::places::Places;
use super::upload;
use crate::failure::Failure;
use model::Manifest;
use model::live::Ended;
use model::manifest::Status;
use nix::fcntl::{Flock, FlockArg};
use platform::client::{Queue, write_durably};
use platform::token::random_hex;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What the manifest says of such a run.
const CUT_SHORT: &str = "the program that measured was ended before the run was over: what it had recorded \
    until then is kept";
/// A note that is being written.
const UNFINISHED: &str = ".unfinished-";

#[derive(Serialize, Deserialize)]
struct Note {
    /// The run's folder, absolute.
    folder: PathBuf,
    /// The collector's address.
    collector: String,
}

/// A run under way. Its note stays, for the next to find, unless it is over.
pub struct UnderWay {
    /// The run's id at the collector.
    pub id: String,
    /// The run's folder.
    pub folder: PathBuf,
    file: PathBuf,
    _lock: Flock<File>,
}

impl UnderWay {
    /// Writes down that the run in `folder` begins, which is to go to the collector at `url`.
    pub fn begin(places: &Places, url: &str, folder: &Path) -> Result<UnderWay, Failure> {
        let notes = places.under_way();
        let write = || -> io::Result<UnderWay> {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(&notes)?;
            let id = random_hex::<16>();
            let note = Note {
                folder: std::path::absolute(folder)?,
                collector: url.to_owned(),
            };
            // Locked before it can be found.
            let (unfinished, file) = (
                notes.join(format!("{UNFINISHED}{id}")),
                notes.join(format!("{id}.json")),
            );
            let mut options = OpenOptions::new();
            let open = options.write(true).create_new(true).mode(0o600);
            let lock = Flock::lock(open.open(&unfinished)?, FlockArg::LockExclusiveNonblock);
            let lock = lock.map_err(|(_, errno)| io::Error::from(errno))?;
            (&*lock).write_all(&serde_json::to_vec(&note)?)?;
            lock.sync_all()?;
            fs::rename(&unfinished, &file)?;
            File::open(&notes)?.sync_all()?;
            Ok(UnderWay {
                id,
                folder: folder.to_owned(),
                file,
                _lock: lock,
            })
        };
        write().map_err(|e| Failure::failed(format!("{}: cannot be written: {e}", notes.display())))
    }

    /// It is queued, or there is nothing to queue.
    pub fn over(self) {
        // At worst it is found again, and not queued twice.
        let _ = fs::remove_file(&self.file);
    }
}

/// Queues the runs of processes that are gone, and says so.
pub fn queue(places: &Places) -> Result<(), Failure> {
    let notes = match fs::read_dir(places.under_way()) {
        Ok(notes) => notes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let folder = places.under_way();
            return Err(Failure::failed(format!("{}: {error}", folder.display())));
        }
    };
    let mut files: Vec<PathBuf> = notes.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let queue = places.queue()?;
    for file in files {
        let Some(id) = file.file_stem().map(|id| id.to_string_lossy().into_owned()) else {
            continue;
        };
        let is_note = file.extension().is_some_and(|e| e == "json");
        let Some(_lock) = is_note.then(|| take(&file)).flatten() else {
            continue;
        };
        let note = fs::read(&file).ok();
        let note = note.and_then(|text| serde_json::from_slice::<Note>(&text).ok());
        match note.map(|note| (take_over(&queue, &id, &note), note)) {
            Some((Ok(true), note)) => eprintln!(
                "an earlier test was ended in the middle of a run: what {} holds is marked as incomplete and \
                 queued as {id} (--delete {id} deletes it)",
                note.folder.display()
            ),
            Some((Ok(false), _)) | None => {}
            // It may be of use yet: the next test tries again.
            Some((Err(why), note)) => {
                eprintln!("{}: not queued: {why}", note.folder.display());
                continue;
            }
        }
        let _ = fs::remove_file(&file);
    }
    Ok(())
}

/// The lock on a note, if no process that lives has it.
fn take(file: &Path) -> Option<Flock<File>> {
    let opened = File::open(file).ok()?;
    let inode = opened.metadata().ok()?.ino();
    let lock = Flock::lock(opened, FlockArg::LockExclusiveNonblock).ok()?;
    // Who had it may have removed the note since it was opened.
    let is_there = fs::metadata(file).is_ok_and(|now| now.ino() == inode);
    is_there.then_some(lock)
}

/// Marks what a killed process recorded, and queues it; whether there is anything.
fn take_over(queue: &Queue, id: &str, note: &Note) -> Result<bool, String> {
    let Note { folder, collector } = note;
    let text = match fs::read(folder.join("manifest.json")) {
        Ok(text) => text,
        // It ended before it began, or the user threw it away.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.to_string()),
    };
    let mut manifest: Manifest = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    if manifest.status == Status::Incomplete && manifest.error.is_none() {
        manifest.error = Some(CUT_SHORT.to_owned());
        if let Some(live) = &mut manifest.live {
            live.ended = Some(Ended::Failed);
        }
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(|e| e.to_string())?;
        text.push(b'\n');
        write_durably(folder, "manifest.json", &[&text]).map_err(|e| e.to_string())?;
    }
    upload::keep(queue, collector, id, folder)?;
    Ok(true)
}
