//! How does a run get from its folder to the collector, and how is it deleted there?

use super::places::Places;
use crate::failure::Failure;
use crate::interrupt;
use analysis::folder::RunFolder;
use model::Manifest;
use model::columns::Columns;
use platform::api::{UPLOAD_FORMAT, Upload};
use platform::client::{Collector, CollectorError, Queue, Queued, Sent};
use platform::privacy::scrub;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a collector that cannot be reached is tried: after a walk the routes may still be settling.
const TRIES: u32 = 4;

/// What is handed in of the run in `folder`; addresses in its texts are cut first.
pub fn document(folder: &Path) -> Result<Upload, Failure> {
    let run = RunFolder::open(folder).map_err(Failure::failed)?;
    let RunFolder {
        path: _,
        manifest,
        mut messages,
        background,
        samples,
        // Captured packets stay on this machine.
        packets: _,
        links,
        mut events,
        truncated: _,
        radios: _,
    } = run;
    messages.extend(background);
    for event in &mut events {
        event.detail = scrub(&event.detail);
        event.cause = event.cause.as_deref().map(scrub);
    }
    Ok(Upload {
        format: UPLOAD_FORMAT.to_owned(),
        manifest: scrubbed(manifest),
        messages: Columns(messages),
        samples: Columns(samples),
        links: Columns(links),
        events,
    })
}

fn scrubbed(mut manifest: Manifest) -> Manifest {
    manifest.error = manifest.error.as_deref().map(scrub);
    for reason in &mut manifest.skipped {
        *reason = scrub(reason);
    }
    if let Some(live) = &mut manifest.live {
        live.invalid = live.invalid.as_deref().map(scrub);
        for trap in &mut live.traps {
            *trap = scrub(trap);
        }
    }
    manifest
}

/// Queues the run in `folder` for the collector at `url` under `id`, once.
///
/// # Errors
/// In words, when it cannot be read, or the queue not written.
pub fn keep(queue: &Queue, url: &str, id: &str, folder: &Path) -> Result<(), String> {
    let document = document(folder).map_err(|failure| failure.message)?;
    match queue.add_as(id, url, &document) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("it could not be queued: {error}")),
    }
}

/// What became of runs that were to be uploaded.
#[derive(Debug, Default)]
pub struct Uploaded {
    /// Acknowledged.
    pub stored: Vec<Queued>,
    /// Put aside, with the reason.
    pub refused: Vec<(Queued, String)>,
    /// What waits still.
    pub waiting: Vec<Queued>,
    /// Why it waits.
    pub why: Option<String>,
}

/// Sends what waits for `collector`; one that cannot be reached is tried a few times.
pub fn send(queue: &Queue, collector: &Collector) -> Result<Uploaded, Failure> {
    let stop = interrupt::flag();
    let mut uploaded = Uploaded::default();
    for attempt in 0..TRIES {
        uploaded.why = None;
        for Sent { run, result } in queue.send(collector).map_err(Failure::failed)? {
            match result {
                Ok(()) => uploaded.stored.push(run),
                Err(error) if error.is_temporary() => uploaded.why = Some(said(&error)),
                Err(error) => uploaded.refused.push((run, error.to_string())),
            }
        }
        let last = attempt + 1 == TRIES || stop.load(Ordering::Relaxed);
        if uploaded.why.is_none() || last {
            break;
        }
        std::thread::sleep(Duration::from_secs(1 << attempt));
    }
    uploaded.waiting = queue.waiting().map_err(Failure::failed)?;
    uploaded
        .waiting
        .retain(|run| run.collector == collector.url());
    Ok(uploaded)
}

/// An error, and when to try again.
fn said(error: &CollectorError) -> String {
    let after = match error {
        CollectorError::Problem(problem) => problem.retry_after_seconds,
        _ => None,
    };
    match after {
        Some(seconds) => format!("{error} (again in {seconds} s)"),
        None => error.to_string(),
    }
}

impl Uploaded {
    /// For programs.
    pub fn to_json(&self) -> Value {
        let ids = |runs: &[Queued]| runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
        let refused = self
            .refused
            .iter()
            .map(|(run, why)| json!({"run": run.id, "why": why}));
        json!({
            "stored": ids(&self.stored),
            "refused": refused.collect::<Vec<_>>(),
            "waiting": ids(&self.waiting),
            "why_waiting": self.why,
        })
    }

    /// For people.
    pub fn print(&self, collector: &str) {
        for run in &self.stored {
            eprintln!(
                "uploaded  {}   (walkabout test --delete {} deletes it)",
                run.id, run.id
            );
        }
        for (run, why) in &self.refused {
            eprintln!("refused   {}   {why}", run.id);
        }
        if let Some(why) = &self.why {
            eprintln!("{why}");
        }
        if !self.waiting.is_empty() {
            let (count, plural) = match self.waiting.len() {
                1 => ("1 run".to_owned(), "s"),
                many => (format!("{many} runs"), ""),
            };
            eprintln!(
                "{count} wait{plural} to be uploaded: walkabout test --upload-only --collector {collector}"
            );
        }
    }

    /// What makes the command fail.
    pub fn failure(&self) -> Option<Failure> {
        let (run, why) = self.refused.first()?;
        Some(Failure::failed(format!(
            "the collector does not take {}: {why}; its folder is as it was",
            run.id
        )))
    }
}

/// `--upload-only`: sends what waits, for one collector or for each.
pub fn only(places: &Places, url: Option<&str>, timeout: Duration) -> Result<Value, Failure> {
    let queue = places.queue()?;
    let mut urls: Vec<String> = match url {
        Some(url) => vec![url.to_owned()],
        None => {
            let waiting = queue.waiting().map_err(Failure::failed)?;
            waiting.into_iter().map(|run| run.collector).collect()
        }
    };
    urls.sort();
    urls.dedup();
    let mut all = Vec::new();
    let mut failure = None;
    for url in urls {
        let collector = Collector::new(&url, timeout).map_err(Failure::usage)?;
        let uploaded = send(&queue, &collector)?;
        let mut json = uploaded.to_json();
        json["collector"] = json!(collector.url());
        uploaded.print(collector.url());
        let waits = |why: &String| Failure::failed(format!("not everything was uploaded: {why}"));
        failure = failure
            .or(uploaded.failure())
            .or(uploaded.why.as_ref().map(waits));
        all.push(json);
    }
    if all.is_empty() {
        eprintln!("nothing waits to be uploaded");
    }
    let json = json!({"uploads": all});
    match failure {
        None => Ok(json),
        Some(failure) => Err(Failure {
            result: Some(Box::new(json)),
            ..failure
        }),
    }
}

/// `--delete RUN`: what waits is not sent any more, and the collector deletes what it has.
pub fn delete(places: &Places, run: &str, timeout: Duration) -> Result<Value, Failure> {
    let is_id = (4..=32).contains(&run.len()) && run.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_id {
        return Err(Failure::usage(format!(
            "--delete {run}: the id of a run was expected, or its first digits (at least 4)"
        )));
    }
    let queue = places.queue()?;
    let run = queue
        .withdraw(&run.to_lowercase())
        .map_err(Failure::usage)?;
    let collector = Collector::new(&run.collector, timeout).map_err(Failure::failed)?;
    let was_there = match collector.delete(&run.id, &run.secret) {
        Ok(()) => true,
        Err(CollectorError::Problem(problem)) if problem.status == 404 => false,
        Err(error) => {
            return Err(Failure::failed(format!(
                "{} is not deleted: {error}; it is sent no more, and can be deleted later",
                run.id
            )));
        }
    };
    queue.forget(&run.id).map_err(Failure::failed)?;
    match was_there {
        true => eprintln!("{} is deleted at {}", run.id, run.collector),
        false => eprintln!("{} is not (or no more) stored at {}", run.id, run.collector),
    }
    Ok(json!({"deleted": run.id, "collector": run.collector, "was_stored": was_there}))
}
