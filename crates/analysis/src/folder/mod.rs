//! What a run folder holds: the manifest and every row, whether the run ended or was killed.

mod find;
mod rows;
mod setting;

pub use find::find;
pub use setting::settings;

use crate::energy::Radios;
use model::manifest::Status;
use model::record::{
    CellError, Event, EventKind, FORMAT_VERSION, LinkState, Message, Packet, Sample,
};
use model::{Manifest, Name, PathKind, Side};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The manifest's file name: a folder that has it is a run.
const MANIFEST: &str = "manifest.json";
const EVENTS: &str = "events.jsonl";

/// Why a run folder can't be read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is no manifest, here or below.
    #[error("{} is no run folder and holds none: it has no {MANIFEST}", .0.display())]
    NotARun(PathBuf),
    /// A file can't be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Written by a later version.
    #[error(
        "{} has format version {found}, this walkabout reads versions up to {FORMAT_VERSION}: \
         use a newer walkabout",
        folder.display()
    )]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A file does not hold what it should.
    #[error("{} is damaged: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What was found.
        what: String,
    },
    /// A cell of a table does not hold what it should.
    #[error("{} is damaged: in row {row}, {source}", file.display())]
    Cell {
        /// The file.
        file: PathBuf,
        /// The row, from 0.
        row: usize,
        /// The cell.
        source: CellError,
    },
}

impl FolderError {
    fn damaged(file: &Path, what: impl ToString) -> FolderError {
        FolderError::Damaged {
            file: file.to_owned(),
            what: what.to_string(),
        }
    }

    fn read(file: &Path) -> impl FnOnce(io::Error) -> FolderError {
        let file = file.to_owned();
        move |source| FolderError::Read { file, source }
    }
}

/// A run, read into memory. Rows are in the order of their time.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Where it was read from.
    pub path: PathBuf,
    /// What it says about itself.
    pub manifest: Manifest,
    /// One row per message of the main traffic, by `sent_us`.
    pub messages: Vec<Message>,
    /// One row per message of the background, where there is one, by `sent_us`: it is in no metric of
    /// delays.
    pub background: Vec<Message>,
    /// One row per connection, path and time, by `time_us`.
    pub samples: Vec<Sample>,
    /// One row per packet and link, by `enqueued_ns`.
    pub packets: Vec<Packet>,
    /// One row per link and time, by `time_us`.
    pub links: Vec<LinkState>,
    /// What happened, by `time_us`.
    pub events: Vec<Event>,
    /// What could not be read of a run that was killed, in words; empty for a complete one.
    pub truncated: Vec<String>,
    /// The power models that its energies are computed with.
    pub radios: Radios,
}

impl RunFolder {
    /// Reads the run in `path`.
    ///
    /// # Errors
    /// When there is no run, when it was written by a later version, when a table of a
    /// complete run is missing, or when a file is damaged elsewhere than at the end of what a
    /// killed run had written.
    pub fn open(path: &Path) -> Result<RunFolder, FolderError> {
        let manifest = read_manifest(path)?;
        let ended = manifest.status != Status::Incomplete;
        let mut truncated = Vec::new();
        let run = RunFolder::of(
            path.to_owned(),
            manifest,
            rows::read(path, ended, &mut truncated)?,
            rows::read(path, ended, &mut truncated)?,
            rows::read(path, ended, &mut truncated)?,
            rows::read(path, ended, &mut truncated)?,
            read_events(path, ended, &mut truncated)?,
        );
        Ok(RunFolder { truncated, ..run })
    }

    /// A run that is in memory already; `path` is where it is or would be. The rows may come in
    /// any order.
    pub fn of(
        path: PathBuf,
        manifest: Manifest,
        messages: Vec<Message>,
        samples: Vec<Sample>,
        packets: Vec<Packet>,
        links: Vec<LinkState>,
        events: Vec<Event>,
    ) -> RunFolder {
        // The background's channel is behind those of the main traffic.
        let scenario = &manifest.scenario;
        let channels = scenario.traffic.channels() as u64;
        let is_main = |m: &Message| scenario.background.is_none() || m.channel < channels;
        let (messages, background) = messages.into_iter().partition(is_main);
        let mut run = RunFolder {
            path,
            manifest,
            messages,
            background,
            samples,
            packets,
            links,
            events,
            truncated: Vec::new(),
            radios: Radios::default(),
        };
        // Writers append rows when they are known: a message when it is answered, for one.
        run.messages.sort_by_key(|m| m.sent_us);
        run.background.sort_by_key(|m| m.sent_us);
        run.samples.sort_by_key(|s| s.time_us);
        run.packets.sort_by_key(|p| p.enqueued_ns);
        run.links.sort_by_key(|l| l.time_us);
        run.events.sort_by_key(|e| e.time_us);
        run
    }

    /// Whether the run ended as planned.
    pub fn is_complete(&self) -> bool {
        self.manifest.status == Status::Complete
    }

    /// What carries the path called `name`.
    pub fn kind(&self, name: &Name) -> Option<PathKind> {
        let paths = &self.manifest.scenario.paths;
        paths.iter().find(|p| p.name == *name).map(|p| p.kind)
    }

    /// The names of the paths of this kind, in the scenario's order.
    pub fn paths(&self, kind: PathKind) -> Vec<&Name> {
        let paths = self.manifest.scenario.paths.iter();
        paths.filter(|p| p.kind == kind).map(|p| &p.name).collect()
    }

    /// When the application ended, in microseconds: what was unanswered then is censored there.
    /// For a run that was cut short it is the last moment anything was recorded.
    pub fn end_us(&self) -> u64 {
        let stops = self.events.iter();
        let stop = stops
            .filter(|e| e.kind == EventKind::ApplicationStop && e.side != Some(Side::Server))
            .map(|e| e.time_us)
            .max();
        stop.unwrap_or_else(|| match self.manifest.status {
            Status::Complete => micros(self.manifest.scenario.duration.get()),
            Status::Incomplete | Status::Failed => self.last_us(),
        })
    }

    /// The last moment at which anything was recorded, in microseconds.
    fn last_us(&self) -> u64 {
        let messages = self.messages.iter().chain(&self.background);
        let messages = messages.map(|m| m.acked_us.unwrap_or(m.sent_us));
        let packets = self.packets.iter();
        let packets = packets.map(|p| p.delivered_ns.unwrap_or(p.enqueued_ns) / 1_000);
        messages
            .chain(packets)
            .chain(self.samples.iter().map(|s| s.time_us))
            .chain(self.links.iter().map(|l| l.time_us))
            .chain(self.events.iter().map(|e| e.time_us))
            .max()
            .unwrap_or(0)
    }
}

/// Whole microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn read_manifest(folder: &Path) -> Result<Manifest, FolderError> {
    let file = folder.join(MANIFEST);
    let text = fs::read_to_string(&file).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => FolderError::NotARun(folder.to_owned()),
        _ => FolderError::Read {
            file: file.clone(),
            source,
        },
    })?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| FolderError::damaged(&file, e))?;
    // Before anything else is looked at: a later version may have changed everything else.
    match value["format_version"].as_u64() {
        Some(found) if found > u64::from(FORMAT_VERSION) => {
            return Err(FolderError::Newer {
                folder: folder.to_owned(),
                found,
            });
        }
        Some(_) => {}
        None => return Err(FolderError::damaged(&file, "it has no `format_version`")),
    }
    serde_json::from_value(value).map_err(|e| FolderError::damaged(&file, e))
}

fn read_events(
    folder: &Path,
    ended: bool,
    truncated: &mut Vec<String>,
) -> Result<Vec<Event>, FolderError> {
    let file = folder.join(EVENTS);
    let bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !ended => return Ok(Vec::new()),
        Err(source) => return Err(FolderError::Read { file, source }),
    };
    let mut events = Vec::new();
    for (number, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(event) => events.push(event),
            Err(_) if !line.ends_with(b"\n") => {
                truncated.push(format!("{EVENTS}: the last line is cut short"));
            }
            Err(error) => {
                let what = format!("line {}: {error}", number + 1);
                return Err(FolderError::damaged(&file, what));
            }
        }
    }
    Ok(events)
}
