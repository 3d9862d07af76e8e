//! Which runs of a study are done? One line each, appended as they end, so that a study that was
//! killed goes on where it was.

use super::outcome::Outcome;
use crate::failure::Failure;
use serde_json::Value;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// One line per run that ended.
const JOURNAL: &str = "journal.jsonl";
/// What the runs are, as resolved when the study began.
const PLAN: &str = "plan.json";

/// The journal of a study under way. Its lock keeps other processes away until it is dropped.
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens or begins the journal in the folder `out` of a study whose resolved form is `plan`,
    /// of `runs` runs; also gives what is done, by place.
    ///
    /// # Errors
    /// When the folder holds something else or another study, is in use by another process, or
    /// cannot be written.
    pub fn open(
        out: &Path,
        plan: &Value,
        runs: usize,
    ) -> Result<(Journal, Vec<Option<Outcome>>), Failure> {
        let path = out.join(JOURNAL);
        if !path.exists() {
            crate::command::run::input::claim(out)?;
        }
        let cannot = |what: &'static str| {
            let path = path.clone();
            move |e: io::Error| Failure::failed(format!("{}: {what}: {e}", path.display()))
        };
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(cannot("cannot be opened"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::failed(format!(
                    "{} is in use by another walkabout; wait until it has ended, or choose \
                     another folder with --out",
                    out.display()
                )));
            }
            Err(TryLockError::Error(e)) => return Err(cannot("cannot be locked")(e)),
        }
        let (done, whole) = read(&mut file, &path, runs)?;
        let fresh = done.iter().all(Option::is_none);
        same_plan(out, plan, fresh)?;
        // The process may have been killed while it wrote: what is cut short is done again.
        file.set_len(whole).map_err(cannot("cannot be shortened"))?;
        Ok((Journal { file, path }, done))
    }

    /// Writes down what came of the run at `place`.
    ///
    /// # Errors
    /// When there is no room, say.
    pub fn append(&mut self, place: usize, outcome: &Outcome) -> Result<(), Failure> {
        let line = outcome.line(place).map_err(Failure::failed)?;
        self.file.write_all(line.as_bytes()).map_err(|e| {
            Failure::failed(format!(
                "{}: cannot be written: {e}; make room and start the study again, it goes on \
                 where it was",
                self.path.display()
            ))
        })
    }
}

/// What is done, by place, and the bytes of the whole lines.
fn read(file: &mut File, path: &Path, runs: usize) -> Result<(Vec<Option<Outcome>>, u64), Failure> {
    let mut done = vec![None; runs];
    let (mut whole, mut number) = (0, 0);
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = reader
            .read_until(b'\n', &mut line)
            .map_err(|e| Failure::failed(format!("{}: cannot be read: {e}", path.display())))?;
        if !line.ends_with(b"\n") {
            return Ok((done, whole));
        }
        number += 1;
        let damaged = |what: String| {
            Failure::failed(format!(
                "{}:{number}: damaged: {what}; choose another folder with --out",
                path.display()
            ))
        };
        let (place, outcome) = Outcome::read(&line).map_err(damaged)?;
        let slot = done
            .get_mut(place)
            .ok_or_else(|| damaged(format!("there is no run {place} of {runs}")))?;
        slot.get_or_insert(outcome);
        whole += bytes as u64;
    }
}

/// Leaves the plan in the folder, or checks that the one there is the same.
fn same_plan(out: &Path, plan: &Value, fresh: bool) -> Result<(), Failure> {
    let path = out.join(PLAN);
    let failed = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
    let text = serde_json::to_string_pretty(plan).map_err(|e| failed(&e))? + "\n";
    match fs::read_to_string(&path) {
        Ok(found) if found == text => Ok(()),
        Ok(found) => {
            let found: Value = serde_json::from_str(&found).unwrap_or_default();
            Err(Failure::usage(format!(
                "{} holds another study ({}); go on with that one, or choose another folder with \
                 --out",
                out.display(),
                difference(&found, plan)
            )))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound && fresh => {
            // Under another name first, so that half a plan is never taken for one.
            let new = out.join("plan.json.new");
            fs::write(&new, text)
                .and_then(|()| fs::rename(&new, &path))
                .map_err(|e| failed(&e))
        }
        Err(e) => Err(failed(&e)),
    }
}

/// In which of their parts two plans differ, in words.
fn difference(there: &Value, here: &Value) -> String {
    let (Some(there), Some(here)) = (there.as_object(), here.as_object()) else {
        return "its plan.json is damaged".to_owned();
    };
    let differing = here
        .iter()
        .filter(|(key, value)| there.get(*key) != Some(value));
    let parts: Vec<String> = differing
        .map(|(key, value)| match (there.get(key), value) {
            (Some(there), Value::Array(_) | Value::Object(_)) if !there.is_null() => {
                format!("other {key}")
            }
            (Some(there), _) => format!("{key} {there} there, {value} here"),
            (None, _) => format!("no {key} there"),
        })
        .collect();
    match parts.is_empty() {
        true => "its plan.json differs".to_owned(),
        false => parts.join("; "),
    }
}
