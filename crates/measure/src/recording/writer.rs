//! What the recording thread does: it takes entries, writes them, and flushes every second.

use super::capture::Capture;
use super::table::Table;
use super::{Entry, PacketObservation, RecordError, manifest};
use model::record::{Event, LinkState, Message, Packet, Sample};
use model::{Manifest, Name};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// At most this much of the end of a run is lost when it is killed.
const FLUSH_PERIOD: Duration = Duration::from_secs(1);

/// The open files of a run folder.
pub struct Writer {
    folder: PathBuf,
    paths: Vec<Name>,
    pub(super) messages: Table<Message>,
    pub(super) samples: Table<Sample>,
    pub(super) packets: Table<Packet>,
    pub(super) links: Table<LinkState>,
    events_path: PathBuf,
    events: BufWriter<File>,
    captures: Vec<Capture>,
}

impl Writer {
    /// Creates every file of the folder but the manifest.
    pub fn create(folder: &Path, start: Duration, paths: &[Name]) -> Result<Writer, RecordError> {
        let events_path = folder.join("events.jsonl");
        let events = File::create(&events_path).map_err(|e| RecordError::io(&events_path, e))?;
        Ok(Writer {
            folder: folder.to_owned(),
            paths: paths.to_vec(),
            messages: Table::create(folder)?,
            samples: Table::create(folder)?,
            packets: Table::create(folder)?,
            links: Table::create(folder)?,
            events: BufWriter::new(events),
            events_path,
            captures: paths
                .iter()
                .map(|name| Capture::create(folder, name, start))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Writes entries until the end. After an error it goes on taking them, so that the
    /// run's memory stays bounded, and returns the error at the end.
    pub fn run(
        mut self,
        entries: &Receiver<Entry>,
        failed: &AtomicBool,
    ) -> Result<(), RecordError> {
        crate::priority::stay_in_background();
        let mut result = Ok(());
        let mut flush_at = Instant::now() + FLUSH_PERIOD;
        let last = loop {
            let wait = flush_at.saturating_duration_since(Instant::now());
            let written = match entries.recv_timeout(wait) {
                Ok(entry @ (Entry::Finish(_) | Entry::Abandon)) => break entry,
                Err(RecvTimeoutError::Disconnected) => break Entry::Abandon,
                Ok(_) if result.is_err() => continue,
                Ok(entry) => self.write(entry),
                Err(RecvTimeoutError::Timeout) => Ok(()),
            };
            if result.is_err() {
                flush_at = Instant::now() + FLUSH_PERIOD;
                continue;
            }
            let flushed = written.and_then(|()| {
                if Instant::now() < flush_at {
                    return Ok(());
                }
                flush_at = Instant::now() + FLUSH_PERIOD;
                self.flush()
            });
            if flushed.is_err() {
                failed.store(true, Ordering::Relaxed);
                result = flushed;
            }
        };
        result?;
        match last {
            Entry::Finish(manifest) => self.finish(&manifest),
            _ => self.flush(),
        }
    }

    fn write(&mut self, entry: Entry) -> Result<(), RecordError> {
        match entry {
            Entry::Message(row) => self.messages.push(&row),
            Entry::Sample(row) => self.samples.push(&row),
            Entry::Link(row) => self.links.push(&row),
            Entry::Event(event) => self.event(&event),
            Entry::Packets(packets) => packets.iter().try_for_each(|p| self.packet(p)),
            Entry::Finish(_) | Entry::Abandon => Ok(()),
        }
    }

    pub(super) fn event(&mut self, event: &Event) -> Result<(), RecordError> {
        serde_json::to_writer(&mut self.events, event)
            .map_err(std::io::Error::from)
            .and_then(|()| self.events.write_all(b"\n"))
            .map_err(|e| RecordError::io(&self.events_path, e))
    }

    pub(super) fn packet<H: Deref<Target = [u8]>>(
        &mut self,
        packet: &PacketObservation<H>,
    ) -> Result<(), RecordError> {
        let index = packet.path.0;
        // A path that was not named at the start has no files: a bug of the caller, and no
        // reason to lose the rest of the run.
        let (Some(path), Some(capture)) = (self.paths.get(index), self.captures.get_mut(index))
        else {
            debug_assert!(false, "packet on unknown path {index}");
            return Ok(());
        };
        capture.push(packet)?;
        self.packets.push(&packet.row(path))
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        self.messages.flush()?;
        self.samples.flush()?;
        self.packets.flush()?;
        self.links.flush()?;
        self.events
            .flush()
            .map_err(|e| RecordError::io(&self.events_path, e))?;
        self.captures.iter_mut().try_for_each(Capture::flush)
    }

    /// The manifest comes last: a folder that says `complete` has all its tables.
    pub(super) fn finish(mut self, last: &Manifest) -> Result<(), RecordError> {
        self.flush()?;
        self.messages.finish()?;
        self.samples.finish()?;
        self.packets.finish()?;
        self.links.finish()?;
        self.captures.into_iter().try_for_each(Capture::finish)?;
        manifest::write(&self.folder, last)
    }
}
