//! What waits to be uploaded? A folder with a file per run, durable before it counts as queued, sent once
//! a network is there, kept until the collector has acknowledged it.

use super::{Collector, CollectorError};
use crate::api::Upload;
use std::path::{Path, PathBuf};

/// The queue in a folder.
#[derive(Clone, Debug)]
pub struct Queue {}

/// Why the queue can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct QueueError {
    /// The file or folder.
    pub file: PathBuf,
    /// What is wrong.
    pub what: String,
}

/// A run that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The run's id.
    pub id: String,
    /// What deletes it.
    pub secret: String,
    /// Which collector it is for.
    pub collector: String,
}

/// What became of a run when the queue was emptied.
#[derive(Debug)]
pub struct Sent {
    /// The run.
    pub run: Queued,
    /// Acknowledged, or why not; after a temporary error it waits on, after another it is put aside.
    pub result: Result<(), CollectorError>,
}

#[expect(unused_variables, reason = "skeleton")]
impl Queue {
    /// The queue in `folder`, made if need be.
    pub fn open(folder: &Path) -> Result<Queue, QueueError> {
        todo!()
    }

    /// Queues `upload`; when this returns it survives a power cut.
    pub fn add(&self, collector: &str, upload: &Upload) -> Result<Queued, QueueError> {
        todo!()
    }

    /// What waits.
    pub fn waiting(&self) -> Result<Vec<Queued>, QueueError> {
        todo!()
    }

    /// Sends what waits for `collector`, the oldest first, until one meets a temporary error. Two
    /// processes may do so at once: each run is sent by one of them.
    pub fn send(&self, collector: &Collector) -> Result<Vec<Sent>, QueueError> {
        todo!()
    }
}
