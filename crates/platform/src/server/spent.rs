//! Which tokens were used? Written down, durably, before a session begins, so that a restart does not
//! forget.
//!
//! ```text
//! spent-tokens    one line per token: its id, a space, when it expires (seconds since 1970)
//! ```
//! One thread writes, and what comes in while it waits for the disk goes with the next write.

use super::ServerError;
use nix::fcntl::{Flock, FlockArg};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// The file, in the folder of the state.
const FILE: &str = "spent-tokens";
/// Ids are kept this long after they expired: a clock that is set back does not make them good again.
const KEEP_S: u64 = 3_600;
/// More tokens than this at once are not accepted; 80 MB in memory.
const MAX: usize = 1_000_000;
/// The file is written anew when it has this many lines more than are still needed.
const SLACK: usize = 10_000;

/// Takes the folder of the state into use: made if need be, and locked against another server.
pub(super) fn claim(folder: &Path) -> Result<Flock<File>, ServerError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(folder)
        .map_err(|e| wrong(folder, format!("it cannot be made: {e}")))?;
    let file = folder.join("lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let opened = options
        .open(&file)
        .map_err(|e| wrong(&file, format!("it cannot be opened: {e}")))?;
    Flock::lock(opened, FlockArg::LockExclusiveNonblock).map_err(|_| {
        wrong(
            &file,
            "another server uses this folder: give each its own".into(),
        )
    })
}

/// Seconds since 1970.
pub(super) fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What is asked of the writer.
struct Add {
    id: String,
    expires_s: u64,
    done: oneshot::Sender<Result<bool, String>>,
}

/// The tokens that were used.
#[derive(Debug)]
pub(super) struct Spent(mpsc::Sender<Add>);

impl Spent {
    /// Reads the file in `folder` and starts the writer.
    pub(super) fn open(folder: &Path) -> Result<Spent, ServerError> {
        let file = folder.join(FILE);
        let failed = |e: io::Error| wrong(&file, format!("it cannot be used: {e}"));
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(error)),
        };
        let known = parse(&text, now_s()).map_err(|line| {
            let what = format!("line {line} is damaged; without it used tokens would be accepted again until they expire: wait that long and remove the file, or restore it");
            wrong(&file, what)
        })?;
        let mut writer = Writer {
            log: rewrite(&file, &known).map_err(failed)?,
            file: file.clone(),
            lines: known.len(),
            known,
        };
        let (sender, orders) = mpsc::channel();
        std::thread::Builder::new()
            .name("spent-tokens".into())
            .spawn(move || writer.work(&orders))
            .map_err(failed)?;
        Ok(Spent(sender))
    }

    /// Writes down that the token `id` is used. When this says `true` it survives a power cut; `false`
    /// means that it was used before.
    pub(super) async fn add(&self, id: &str, expires_s: u64) -> Result<bool, String> {
        let (done, answer) = oneshot::channel();
        let id = id.to_owned();
        let gone = || "the writer is gone".to_owned();
        let add = Add {
            id,
            expires_s,
            done,
        };
        self.0.send(add).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// The ids and when they expire; an error is the number of a line that makes no sense. A last line
/// without its end was never acknowledged.
fn parse(text: &[u8], now_s: u64) -> Result<HashMap<String, u64>, usize> {
    let mut known = HashMap::new();
    let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    for (number, line) in text[..whole].split(|b| *b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let line = std::str::from_utf8(line).ok();
        let entry = line.and_then(|line| {
            let (id, expires) = line.split_once(' ')?;
            let hex = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
            Some((id, expires.parse::<u64>().ok()?)).filter(|_| hex)
        });
        let (id, expires_s) = entry.ok_or(number + 1)?;
        if expires_s.saturating_add(KEEP_S) > now_s {
            known.insert(id.to_owned(), expires_s);
        }
    }
    Ok(known)
}

/// Writes the file anew, as a whole, and opens it for more.
fn rewrite(file: &Path, known: &HashMap<String, u64>) -> io::Result<File> {
    let temporary = file.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut log = options.open(&temporary)?;
    let mut text = String::new();
    for (id, expires_s) in known {
        text += &format!("{id} {expires_s}\n");
    }
    log.write_all(text.as_bytes())?;
    log.sync_all()?;
    fs::rename(&temporary, file)?;
    // The rename itself lasts only when the folder is written.
    File::open(file.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(log)
}

struct Writer {
    log: File,
    file: PathBuf,
    known: HashMap<String, u64>,
    lines: usize,
}

impl Writer {
    fn work(&mut self, orders: &mpsc::Receiver<Add>) {
        while let Ok(first) = orders.recv() {
            let mut answers = Vec::new();
            let mut text = String::new();
            for add in std::iter::once(first).chain(orders.try_iter()) {
                let answer = self.take(&add, &mut text);
                answers.push((add, answer));
            }
            let written = match text.is_empty() {
                true => Ok(()),
                false => self.write(&text),
            };
            for (add, answer) in answers {
                let answer = match (&written, answer) {
                    (Err(error), Ok(true)) => {
                        self.known.remove(&add.id);
                        Err(error.to_string())
                    }
                    (_, answer) => answer,
                };
                // Whoever asked may be gone; the token is spent all the same.
                let _ = add.done.send(answer);
            }
        }
    }

    fn take(&mut self, add: &Add, text: &mut String) -> Result<bool, String> {
        if self.known.contains_key(&add.id) {
            return Ok(false);
        }
        if self.known.len() >= MAX {
            self.forget(now_s());
        }
        if self.known.len() >= MAX {
            return Err(format!(
                "{MAX} tokens that have not expired were used already"
            ));
        }
        self.known.insert(add.id.clone(), add.expires_s);
        *text += &format!("{} {}\n", add.id, add.expires_s);
        Ok(true)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let lines = text.lines().count();
        if self.lines + lines > self.known.len() + SLACK {
            self.forget(now_s());
        }
        if self.lines + lines > self.known.len() + SLACK {
            self.log = rewrite(&self.file, &self.known)?;
            self.lines = self.known.len();
            return Ok(());
        }
        let appended = self
            .log
            .write_all(text.as_bytes())
            .and_then(|()| self.log.sync_data());
        match appended {
            Ok(()) => self.lines += lines,
            // Half a line may be there: the next write starts from a whole file.
            Err(_) => self.lines = usize::MAX / 2,
        }
        appended
    }

    fn forget(&mut self, now_s: u64) {
        self.known
            .retain(|_, expires_s| expires_s.saturating_add(KEEP_S) > now_s);
    }
}

fn wrong(file: &Path, what: String) -> ServerError {
    let file = file.to_owned();
    ServerError::File { file, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::random_hex;

    #[tokio::test]
    async fn what_was_used_stays_used_across_restarts_until_it_expired() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b, old) = (random_hex::<16>(), random_hex::<16>(), random_hex::<16>());
        let later = now_s() + 600;
        let spent = Spent::open(folder.path()).expect("opened");
        assert_eq!(spent.add(&a, later).await, Ok(true));
        assert_eq!(spent.add(&a, later).await, Ok(false));
        assert_eq!(spent.add(&old, 1_000).await, Ok(true));
        drop(spent);

        // A crash in the middle of a line: it was not acknowledged.
        let file = folder.path().join(FILE);
        let mut text = fs::read(&file).expect("the file");
        text.extend_from_slice(b.as_bytes());
        fs::write(&file, &text).expect("written");
        let spent = Spent::open(folder.path()).expect("opened again");
        assert_eq!(spent.add(&a, later).await, Ok(false));
        assert_eq!(spent.add(&b, later).await, Ok(true));
        let text = fs::read_to_string(&file).expect("the file");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(&old));

        fs::write(&file, "rubbish\n").expect("written");
        let error = Spent::open(folder.path()).expect_err("damaged").to_string();
        assert!(error.contains("line 1 is damaged"), "{error}");
    }

    #[test]
    fn a_token_that_cannot_be_written_down_is_not_used_and_the_file_recovers() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE);
        fs::write(&file, "").expect("written");
        let mut writer = Writer {
            // Opened to be read: every write fails, as on a disk that is full.
            log: File::open(&file).expect("opened"),
            file: file.clone(),
            known: HashMap::new(),
            lines: 0,
        };
        let id = random_hex::<16>();
        let mut add = || {
            let (orders, inbox) = mpsc::channel();
            let (done, answer) = oneshot::channel();
            let (id, expires_s) = (id.clone(), now_s() + 600);
            let add = Add {
                id,
                expires_s,
                done,
            };
            orders.send(add).expect("sent");
            drop(orders);
            writer.work(&inbox);
            answer.blocking_recv().expect("an answer")
        };
        assert!(add().is_err());
        assert_eq!((add(), add()), (Ok(true), Ok(false)));
        assert_eq!(
            fs::read_to_string(&file).expect("the file").lines().count(),
            1
        );
        assert!(writer.known.contains_key(&id));
    }

    #[test]
    fn a_folder_serves_one_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        let first = claim(&state).expect("free");
        let error = claim(&state).expect_err("taken").to_string();
        assert!(error.contains("another server uses this folder"), "{error}");
        drop(first);
        claim(&state).expect("free again");
    }
}
