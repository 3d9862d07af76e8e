//! How a run is written down while it runs: one folder with a manifest, four tables, the
//! events and a packet capture per path.
//!
//! While the run lasts each table is an Arrow IPC stream (`messages.arrows`), written at least
//! every second, so that a run killed at any moment leaves what it had; when it ends the streams
//! become Parquet files (`messages.parquet`). Readers accept both.

mod capture;
mod folder;
mod head;
mod manifest;
mod sink;
mod table;
mod writer;

pub use folder::Folder;
pub use head::{Head, SNAP_LENGTH};
pub use sink::{Collected, Sink};

use model::record::{Event, LinkState, Message, Sample};
use model::{Direction, Manifest, Name, PathIndex, Time};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Why a run could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Another run, or something else, is there already.
    #[error(
        "the run folder {} exists and is not empty: name another one, or remove it", .0.display()
    )]
    NotEmpty(PathBuf),
    /// The folder can't be made or written to.
    #[error(
        "cannot write to the run folder {}: {source}; name a folder you may write to",
        folder.display()
    )]
    Unwritable {
        /// The folder.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No space is left.
    #[error(
        "the disk is full: {} holds only what was recorded before; free some space and run again",
        .0.display()
    )]
    DiskFull(PathBuf),
    /// Anything else that went wrong while writing a file.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The manifest's start is no moment.
    #[error(
        "the manifest's start `{0}` is not a time as in RFC 3339, such as 2026-01-31T12:00:00Z"
    )]
    Start(String),
    /// The writing thread panicked: a bug.
    #[error("the recording stopped by itself: the folder holds what was recorded before")]
    Stopped,
}

impl RecordError {
    /// An error of the operating system about `file`.
    fn io(file: &Path, source: io::Error) -> RecordError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                RecordError::DiskFull(file.to_owned())
            }
            _ => RecordError::Write {
                file: file.to_owned(),
                source: source.into(),
            },
        }
    }
}

/// What became of a packet that entered a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It left the link at this time.
    Delivered(Time),
    /// It was dropped at this time by this stage.
    Dropped(Time, &'static str),
    /// It was still inside when the run ended.
    Inside,
}

/// What became of one packet, and its first bytes: a copy, or `&[u8]` where it is written down at
/// once.
#[derive(Clone, Copy, Debug)]
pub struct PacketObservation<H = Head> {
    /// Over which path.
    pub path: PathIndex,
    /// In which direction.
    pub direction: Direction,
    /// The packet's number on this link, from 0. A packet that the link delivers twice is
    /// observed twice under one number.
    pub id: u64,
    /// Bytes of the IP packet.
    pub size: u32,
    /// When it entered the link.
    pub enqueued: Time,
    /// What became of it.
    pub fate: Fate,
    /// Its first bytes, at most [`SNAP_LENGTH`].
    pub head: H,
}

impl PacketObservation<&[u8]> {
    /// The same with a copy of the bytes.
    pub fn kept(&self) -> PacketObservation {
        PacketObservation {
            path: self.path,
            direction: self.direction,
            id: self.id,
            size: self.size,
            enqueued: self.enqueued,
            fate: self.fate,
            head: Head::new(self.head),
        }
    }
}

enum Entry {
    Message(Message),
    Sample(Sample),
    Link(LinkState),
    Event(Event),
    Packets(Vec<PacketObservation>),
    /// Write the final manifest and close the tables.
    Finish(Box<Manifest>),
    /// Write what is there and leave the folder incomplete.
    Abandon,
}

/// Where the parts of a run write what they see; cheap to clone, never blocks, never fails.
#[derive(Clone)]
pub struct Log {
    entries: mpsc::Sender<Entry>,
    failed: Arc<AtomicBool>,
}

impl Log {
    /// Rows of `packets`, and packets of the captures. Batches spare the channel: at high rates
    /// give some hundred at once.
    pub fn packets(&self, packets: Vec<PacketObservation>) {
        if !packets.is_empty() {
            self.send(Entry::Packets(packets));
        }
    }

    /// Whether writing has failed; [`Recorder::finish`] says why. A driver may end the run early.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn send(&self, entry: Entry) {
        // The receiver is gone only after `finish` or a drop of the recorder: late rows are
        // beyond the end of the run.
        let _ = self.entries.send(entry);
    }
}

/// The run folder being written, by a thread of its own.
///
/// Dropped without [`Recorder::finish`], it leaves a readable folder marked incomplete.
pub struct Recorder {
    log: Log,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

impl Recorder {
    /// Makes the folder and its files; `paths` are the scenario's, in its order. The manifest
    /// is written with the status `incomplete`, whatever `manifest` says.
    ///
    /// # Errors
    /// When the folder is not empty or can't be written to, or when `manifest.started_at` is no time.
    pub fn create(
        folder: &Path,
        manifest: &Manifest,
        paths: &[Name],
    ) -> Result<Recorder, RecordError> {
        manifest::prepare_folder(folder)?;
        let start = manifest::start_of(manifest)?;
        let mut incomplete = manifest.clone();
        incomplete.status = model::manifest::Status::Incomplete;
        manifest::write(folder, &incomplete)?;

        let (entries, receiver) = mpsc::channel();
        let failed = Arc::new(AtomicBool::new(false));
        let writer = writer::Writer::create(folder, start, paths)?;
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn({
                let failed = Arc::clone(&failed);
                move || writer.run(&receiver, &failed)
            })
            .map_err(|source| RecordError::Unwritable {
                folder: folder.to_owned(),
                source,
            })?;
        Ok(Recorder {
            log: Log { entries, failed },
            thread: Some(thread),
        })
    }

    /// A handle to write with.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    /// Closes the tables and writes the final manifest, as given. What was logged before is
    /// in the folder then; what is logged later is lost.
    ///
    /// # Errors
    /// The first error of the whole recording.
    pub fn finish(mut self, manifest: &Manifest) -> Result<(), RecordError> {
        self.end(Entry::Finish(Box::new(manifest.clone())))
    }

    fn end(&mut self, entry: Entry) -> Result<(), RecordError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.log.send(entry);
        thread.join().unwrap_or(Err(RecordError::Stopped))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // The error has no one to go to: the folder is incomplete and says so.
        let _ = self.end(Entry::Abandon);
    }
}
