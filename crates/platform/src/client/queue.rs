//! What waits to be uploaded? A folder with a file per run, durable before it counts as queued, sent once
//! a network is there, kept until the collector has acknowledged it.
//!
//! ```text
//! waiting/NUMBER-ID.run   a line of JSON (`Head`), then the upload as JSON compressed with zstd
//! sent/ID.json            the same line: what deletes a run that was acknowledged
//! refused/NUMBER-ID.run   what the collector will not take, and
//! refused/NUMBER-ID.why   the reason
//! ```
//! A file gets its name when it is whole, and a run leaves `waiting` when its secret is in `sent`: a
//! process may be killed anywhere in between, and the worst is that a run is sent again under the same
//! id, which the collector acknowledges without storing it twice. Who sends a run holds a lock (flock) on
//! its file, which ends with the process.

use super::{Collector, CollectorError, durable};
use crate::api::Upload;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const FORMAT: &str = "walkabout.queued/1";
const WAITING: &str = "waiting";
const SENT: &str = "sent";
const REFUSED: &str = "refused";

/// How hard zstd tries: its own default, about 10:1 for what runs consist of.
const LEVEL: i32 = 3;

/// The queue in a folder.
#[derive(Clone, Debug)]
pub struct Queue {
    folder: PathBuf,
}

/// Why the queue can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct QueueError {
    /// The file or folder.
    pub file: PathBuf,
    /// What is wrong.
    pub what: String,
}

impl QueueError {
    fn at(file: &Path) -> impl Fn(io::Error) -> QueueError {
        let file = file.to_owned();
        move |error| QueueError {
            file: file.clone(),
            what: error.to_string(),
        }
    }
}

/// A run that waits, or that was acknowledged.
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

/// A run that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The run.
    pub run: Queued,
    /// What the collector said.
    pub why: String,
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    id: String,
    secret: String,
    collector: String,
    /// RFC 3339.
    queued_at: String,
}

impl From<Head> for Queued {
    fn from(head: Head) -> Queued {
        let Head {
            format: _,
            id,
            secret,
            collector,
            queued_at: _,
        } = head;
        Queued {
            id,
            secret,
            collector,
        }
    }
}

/// A file of the queue, read.
struct Entry {
    head: Head,
    document: Vec<u8>,
}

impl Entry {
    fn read(mut file: &File) -> Result<Entry, String> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(0);
        let head: Head = serde_json::from_slice(&bytes[..end]).map_err(|e| e.to_string())?;
        if head.format != FORMAT {
            return Err(format!("it is a `{}`, not a `{FORMAT}`", head.format));
        }
        let document = bytes.split_off(end + 1);
        Ok(Entry { head, document })
    }
}

impl Queue {
    /// The queue in `folder`, made if need be, for its owner alone.
    pub fn open(folder: &Path) -> Result<Queue, QueueError> {
        for part in [WAITING, SENT, REFUSED] {
            let part = folder.join(part);
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(&part).map_err(QueueError::at(&part))?;
            durable::sweep(&part).map_err(QueueError::at(&part))?;
        }
        let folder = folder.to_owned();
        Ok(Queue { folder })
    }

    /// Queues `upload`; when this returns it survives a power cut.
    pub fn add(&self, collector: &str, upload: &Upload) -> Result<Queued, QueueError> {
        self.add_as(&crate::token::random_hex::<16>(), collector, upload)
    }

    /// The same under an `id` that was drawn before: a run that was queued under it already, whatever became
    /// of it since, is not queued again.
    pub fn add_as(&self, id: &str, collector: &str, upload: &Upload) -> Result<Queued, QueueError> {
        let mut known = self.waiting()?;
        known.extend(self.sent()?);
        known.extend(self.refused()?.into_iter().map(|refused| refused.run));
        if let Some(queued) = known.into_iter().find(|run| run.id == id) {
            return Ok(queued);
        }
        let folder = self.folder.join(WAITING);
        let failed = QueueError::at(&folder);
        let document = serde_json::to_vec(upload).map_err(|e| failed(e.into()))?;
        let document = zstd::encode_all(&document[..], LEVEL).map_err(&failed)?;
        let now = jiff::Timestamp::now();
        let head = Head {
            format: FORMAT.to_owned(),
            id: id.to_owned(),
            secret: crate::token::random_hex::<32>(),
            collector: collector.to_owned(),
            queued_at: now.to_string(),
        };
        // Later than what waits already, even if the clock went back.
        let names = self.names(WAITING)?;
        let newest = names.iter().filter_map(|name| number(name)).max();
        let now = u128::try_from(now.as_nanosecond()).unwrap_or(0);
        let number = now.max(newest.map_or(0, |n| n + 1));
        let mut line = serde_json::to_vec(&head).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        let name = format!("{number:020}-{}.run", head.id);
        durable::write(&folder, &name, &[&line, &document]).map_err(failed)?;
        Ok(head.into())
    }

    /// What waits, the oldest first.
    pub fn waiting(&self) -> Result<Vec<Queued>, QueueError> {
        let mut waiting = Vec::new();
        for name in self.names(WAITING)? {
            // One that another process has just sent is no error.
            let file = File::open(self.folder.join(WAITING).join(&name));
            let entry = file.map(|file| Entry::read(&file));
            if let Ok(Ok(entry)) = entry {
                waiting.push(entry.head.into());
            }
        }
        Ok(waiting)
    }

    /// What was acknowledged and can be deleted.
    pub fn sent(&self) -> Result<Vec<Queued>, QueueError> {
        let folder = self.folder.join(SENT);
        let mut sent = Vec::new();
        for name in self.names(SENT)? {
            let file = folder.join(&name);
            let text = fs::read(&file).map_err(QueueError::at(&file))?;
            let head: Head = serde_json::from_slice(&text).map_err(|e| QueueError {
                file,
                what: e.to_string(),
            })?;
            sent.push(head.into());
        }
        Ok(sent)
    }

    /// What was put aside, with the reason.
    pub fn refused(&self) -> Result<Vec<Refused>, QueueError> {
        let folder = self.folder.join(REFUSED);
        let mut refused = Vec::new();
        for name in self.names(REFUSED)? {
            let Some(stem) = name.strip_suffix(".run") else {
                continue;
            };
            let why = fs::read_to_string(folder.join(format!("{stem}.why"))).unwrap_or_default();
            let file = File::open(folder.join(&name)).map_err(QueueError::at(&folder))?;
            if let Ok(entry) = Entry::read(&file) {
                let (run, why) = (entry.head.into(), why.trim_end().to_owned());
                refused.push(Refused { run, why });
            }
        }
        Ok(refused)
    }

    /// Sends what waits for `collector`, the oldest first, until one meets a temporary error. Two
    /// processes may do so at once: each run is sent by one of them.
    pub fn send(&self, collector: &Collector) -> Result<Vec<Sent>, QueueError> {
        let mut sent = Vec::new();
        for name in self.names(WAITING)? {
            let Some(file) = self.claim(&name)? else {
                continue;
            };
            let entry = match Entry::read(&file) {
                Ok(entry) => entry,
                Err(what) => {
                    self.put_aside(&name, &format!("damaged: {what}"))?;
                    continue;
                }
            };
            if entry.head.collector != collector.url() {
                continue;
            }
            let Entry { head, document } = entry;
            let result = collector.upload(&head.id, &head.secret, &document);
            let is_temporary = matches!(&result, Err(error) if error.is_temporary());
            match &result {
                Ok(_) => self.keep(&name, &head)?,
                Err(_) if is_temporary => {}
                Err(error) => self.put_aside(&name, &error.to_string())?,
            }
            sent.push(Sent {
                run: head.into(),
                result: result.map(drop),
            });
            if is_temporary {
                break;
            }
        }
        Ok(sent)
    }

    /// The run whose id begins with `beginning`; what of it still waited, or was put aside, is sent no
    /// more. Whether it ever reached the collector only that can say.
    ///
    /// # Errors
    /// When there is none or several, or when it is being sent right now.
    pub fn withdraw(&self, beginning: &str) -> Result<Queued, QueueError> {
        let wrong = |what: String| QueueError {
            file: self.folder.clone(),
            what,
        };
        let mut found = self.waiting()?;
        found.extend(self.sent()?);
        found.extend(self.refused()?.into_iter().map(|refused| refused.run));
        found.retain(|run| run.id.starts_with(beginning));
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup();
        let run = match &found[..] {
            [run] => run.clone(),
            [] => {
                return Err(wrong(format!(
                    "no run `{beginning}` was queued here: only the machine that measured it has what \
                     deletes it"
                )));
            }
            several => {
                let several = several.len();
                return Err(wrong(format!("{several} runs begin with `{beginning}`")));
            }
        };
        for part in [WAITING, REFUSED] {
            for name in self.names(part)? {
                if !name.ends_with(&format!("-{}.run", run.id)) {
                    continue;
                }
                let file = self.folder.join(part).join(&name);
                let taken = match part {
                    WAITING => self.claim(&name)?,
                    _ => File::open(&file).ok(),
                };
                let Some(taken) = taken else {
                    return Err(wrong(format!("{} is being sent: try again", run.id)));
                };
                let entry = Entry::read(&taken).map_err(wrong)?;
                self.keep_secret(&entry.head)?;
                self.remove(part, &name)?;
            }
        }
        Ok(run)
    }

    /// Forgets a run that is deleted.
    pub fn forget(&self, id: &str) -> Result<(), QueueError> {
        self.remove(SENT, &format!("{id}.json"))
    }

    /// The names in a part of the queue, in order; unfinished files have none.
    fn names(&self, part: &str) -> Result<Vec<String>, QueueError> {
        let folder = self.folder.join(part);
        let failed = QueueError::at(&folder);
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(&failed)? {
            let name = entry.map_err(&failed)?.file_name();
            let name = name.to_string_lossy();
            let is_ours = if part == SENT { ".json" } else { ".run" };
            if !name.starts_with('.') && name.ends_with(is_ours) {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The file of a run that waits, for this process alone as long as it is open; `None` when another
    /// process has it, or had it.
    fn claim(&self, name: &str) -> Result<Option<File>, QueueError> {
        let path = self.folder.join(WAITING).join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(QueueError::at(&path)(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(QueueError::at(&path)(error)),
        }
        // Who had the lock before may have removed the file after it was opened here.
        let inode = file.metadata().map_err(QueueError::at(&path))?.ino();
        let is_there = fs::metadata(&path).is_ok_and(|now| now.ino() == inode);
        Ok(is_there.then_some(file))
    }

    /// A run was acknowledged: its secret is kept, then it waits no more.
    fn keep(&self, name: &str, head: &Head) -> Result<(), QueueError> {
        self.keep_secret(head)?;
        self.remove(WAITING, name)
    }

    fn keep_secret(&self, head: &Head) -> Result<(), QueueError> {
        let folder = self.folder.join(SENT);
        let failed = QueueError::at(&folder);
        let mut line = serde_json::to_vec(head).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        durable::write(&folder, &format!("{}.json", head.id), &[&line]).map_err(failed)
    }

    fn put_aside(&self, name: &str, why: &str) -> Result<(), QueueError> {
        let (waiting, refused) = (self.folder.join(WAITING), self.folder.join(REFUSED));
        let reason = format!("{}.why", name.trim_end_matches(".run"));
        let why = format!("{why}\n");
        durable::write(&refused, &reason, &[why.as_bytes()])
            .and_then(|()| fs::rename(waiting.join(name), refused.join(name)))
            .and_then(|()| durable::sync(&refused))
            .and_then(|()| durable::sync(&waiting))
            .map_err(QueueError::at(&refused))
    }

    /// Removes a file, if it is there.
    fn remove(&self, part: &str, name: &str) -> Result<(), QueueError> {
        let folder = self.folder.join(part);
        let removed = match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => durable::sync(&folder),
        };
        removed.map_err(QueueError::at(&folder.join(name)))
    }
}

/// The number in a file's name.
fn number(name: &str) -> Option<u128> {
    name.split_once('-')?.0.parse().ok()
}
