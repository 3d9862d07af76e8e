//! How is a run written down that keeps no one waiting? At once, in the thread that makes the
//! rows: nothing depends on how fast the disk is, so equal rows give equal files.

use super::writer::Writer;
use super::{PacketObservation, RecordError, Sink, manifest};
use model::manifest::Status;
use model::record::{Event, LinkState, Message, Sample};
use model::{Manifest, Name};
use std::path::Path;

/// A run folder that is written as the rows come. Dropped without [`Folder::finish`] it is
/// readable and marked incomplete.
pub struct Folder {
    writer: Writer,
    /// The first error; what comes after it is not written.
    result: Result<(), RecordError>,
}

impl Folder {
    /// As [`super::Recorder::create`].
    ///
    /// # Errors
    /// When the folder is not empty or can't be written to.
    pub fn create(
        folder: &Path,
        manifest: &Manifest,
        paths: &[Name],
    ) -> Result<Folder, RecordError> {
        manifest::prepare_folder(folder)?;
        let start = manifest::start_of(manifest)?;
        let mut incomplete = manifest.clone();
        incomplete.status = Status::Incomplete;
        manifest::write(folder, &incomplete)?;
        Ok(Folder {
            writer: Writer::create(folder, start, paths)?,
            result: Ok(()),
        })
    }

    /// Closes the tables and writes the final manifest, as given.
    ///
    /// # Errors
    /// The first error of the whole recording.
    pub fn finish(self, manifest: &Manifest) -> Result<(), RecordError> {
        self.result?;
        self.writer.finish(manifest)
    }

    fn write(&mut self, write: impl FnOnce(&mut Writer) -> Result<(), RecordError>) {
        if self.result.is_ok() {
            self.result = write(&mut self.writer);
        }
    }
}

impl Sink for Folder {
    fn message(&mut self, message: Message) {
        self.write(|w| w.messages.push(&message));
    }
    fn sample(&mut self, sample: Sample) {
        self.write(|w| w.samples.push(&sample));
    }
    fn link(&mut self, state: LinkState) {
        self.write(|w| w.links.push(&state));
    }
    fn event(&mut self, event: Event) {
        self.write(|w| w.event(&event));
    }
    fn packet(&mut self, _: &Name, packet: &PacketObservation<&[u8]>) {
        self.write(|w| w.packet(packet));
    }
}
