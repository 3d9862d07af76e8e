//! What came of a test: the table, the report, what was uploaded and what deletes it.

use super::reach::Reach;
use super::setting::Setting;
use super::show::Style;
use super::stream;
use super::upload;
use crate::command::report;
use crate::failure::{Failure, conclude};
use measure::world::live::RunEnd;
use model::Seed;
use model::live::{Ended, Mode};
use platform::api::Experiment;
use platform::client::{Collector, Queue};
use serde_json::{Value, json};
use std::path::Path;

/// A run that took place.
#[derive(Debug)]
pub struct Done {
    /// Its name within the test.
    pub name: String,
    /// How it ended.
    pub end: RunEnd,
    /// Its id at the collector, once it is queued, or why it is not; absent with `--no-upload`.
    pub queued: Option<Result<String, String>>,
}

/// A test that is over.
pub struct Outcome<'t> {
    /// Its id.
    pub test: &'t str,
    /// The experiment.
    pub experiment: &'t Experiment,
    /// What the order was drawn from.
    pub seed: Seed,
    /// The server and the way there.
    pub setting: &'t Setting<'t>,
    /// How many runs there were to be.
    pub planned: usize,
    /// The runs.
    pub done: Vec<Done>,
    /// What the walk says of the access point (mobile mode).
    pub reach: Option<Reach>,
    /// The folder.
    pub out: &'t Path,
}

/// An end's word, as in manifests.
pub fn ended_word(ended: Ended) -> &'static str {
    match ended {
        Ended::Done => "done",
        Ended::WifiLost => "wifi-lost",
        Ended::WifiChanged => "wifi-changed",
        Ended::InterfacesChanged => "interfaces-changed",
        Ended::Stopped => "stopped",
        Ended::Failed => "failed",
    }
}

/// Why a test ended, in words; the first reason that is not plain.
fn explained(done: &[Done], planned: usize) -> Option<String> {
    let ended = done
        .iter()
        .map(|done| done.end.ended)
        .find(|e| *e != Ended::Done)?;
    let left = match planned.saturating_sub(done.len()) {
        0 => String::new(),
        left => format!(" {left} of {planned} runs were not begun."),
    };
    let why = match ended {
        Ended::Done => return None,
        Ended::WifiLost => "The test ended when the Wi-Fi was lost, as it should.",
        Ended::WifiChanged => "The test ended when the Wi-Fi went to a network of another name.",
        Ended::InterfacesChanged => {
            "The test ended because the interfaces changed: the run of that moment does not count."
        }
        Ended::Stopped => "The test was stopped; what was measured until then is kept.",
        Ended::Failed => "Not every run came to its end.",
    };
    Some(format!("{why}{left}"))
}

impl Outcome<'_> {
    /// Writes the report, uploads what is in the queue, if there is one, and prints it all.
    pub fn conclude(
        self,
        queue: Option<&Queue>,
        collector: &Collector,
        style: Style,
    ) -> Result<(), Failure> {
        let quiet = style != Style::People;
        let recorded = self
            .done
            .iter()
            .any(|d| d.end.folder.join("manifest.json").is_file());
        if !recorded {
            let _ = std::fs::remove_dir(self.out);
            return Err(self
                .failed()
                .unwrap_or_else(|| Failure::failed("nothing was measured")));
        }
        let written = report::write(&[self.out.to_owned()], None, quiet);
        if !quiet {
            match &written {
                Ok(written) => written.print(self.out),
                Err(failure) => eprintln!("no report: {}", failure.message),
            }
            let lines = self.reach.as_ref().map(Reach::lines).unwrap_or_default();
            lines.iter().for_each(|line| println!("{line}"));
            if let Some(why) = explained(&self.done, self.planned) {
                println!("{why}");
            }
        }
        let mut result = self.to_json();
        if let (Value::Object(result), Ok(written)) = (&mut result, &written)
            && let Value::Object(written) = written.to_json(self.out)
        {
            result.extend(written);
        }
        self.keep(&result)?;
        let uploaded = match queue {
            Some(queue) => Some(upload::send(queue, collector)?),
            None => None,
        };
        if let Some(uploaded) = uploaded.as_ref().filter(|_| !quiet) {
            uploaded.print(collector.url());
        }
        result["uploads"] = json!(uploaded.as_ref().map(upload::Uploaded::to_json));
        let failure = self.failed().or(written.err());
        let failure = failure.or(uploaded.and_then(|uploaded| uploaded.failure()));
        match style {
            Style::People => conclude(None, failure),
            Style::Silent => conclude(Some(result), failure),
            Style::Stream => {
                println!("{}", stream::other("result", result));
                conclude(None, failure)
            }
        }
    }

    /// The facts of the test beside its runs, for whoever opens the folder later.
    fn keep(&self, result: &Value) -> Result<(), Failure> {
        let mut facts = result.clone();
        if let Value::Object(facts) = &mut facts {
            facts.remove("table");
            facts.insert("format".to_owned(), json!("walkabout.test/1"));
        }
        let file = self.out.join("test.json");
        std::fs::write(&file, format!("{facts:#}\n"))
            .map_err(|e| Failure::failed(format!("{}: cannot be written: {e}", file.display())))
    }

    fn to_json(&self) -> Value {
        let Outcome {
            test,
            experiment,
            seed,
            setting,
            planned,
            done,
            reach,
            out: _,
        } = self;
        let runs = done.iter().map(|done| {
            let Done { name, end, queued } = done;
            let RunEnd {
                folder,
                ended,
                invalid,
                error,
                refused: _,
            } = end;
            json!({"name": name, "folder": folder, "ended": ended, "invalid": invalid, "error": error,
                   "id": queued.as_ref().and_then(|queued| queued.as_ref().ok()),
                   "not_queued": queued.as_ref().and_then(|queued| queued.as_ref().err())})
        });
        let mode = match experiment.mode {
            Mode::Stable => "stable",
            Mode::Mobile => "mobile",
        };
        json!({
            "test": test, "experiment": experiment.name, "mode": mode, "seed": seed,
            "server": setting.server.id, "family": setting.family(), "port": setting.address.port(),
            "pinged": setting.pinged, "reachability": setting.reachability, "traps": setting.traps,
            "planned": planned, "runs": runs.collect::<Vec<_>>(),
            "why": explained(done, *planned), "reach": reach,
        })
    }

    /// What makes the command fail: a run that failed, or that does not count.
    fn failed(&self) -> Option<Failure> {
        let wrong = self.done.iter().filter_map(|done| {
            let not_queued = done
                .queued
                .as_ref()
                .and_then(|queued| queued.as_ref().err());
            let why = done
                .end
                .error
                .as_ref()
                .or(done.end.invalid.as_ref())
                .or(not_queued)?;
            Some((done.name.as_str(), why.as_str()))
        });
        let wrong: Vec<(&str, &str)> = wrong.collect();
        let (_, first) = wrong.first()?;
        let reasons = match wrong.iter().all(|(_, why)| why == first) {
            // One cause is said once.
            true => (*first).to_owned(),
            false => {
                let each = wrong.iter().map(|(name, why)| format!("{name}: {why}"));
                each.collect::<Vec<_>>().join("; ")
            }
        };
        Some(Failure::failed(format!(
            "{} of {} runs failed or do not count: {reasons}",
            wrong.len(),
            self.planned
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_explained() {
        let done = |ended| Done {
            name: "mptcp".into(),
            end: RunEnd {
                folder: "runs/x/mptcp".into(),
                ended,
                invalid: None,
                error: None,
                refused: None,
            },
            queued: None,
        };
        assert_eq!(explained(&[done(Ended::Done)], 1), None);
        let all = [
            Ended::WifiLost,
            Ended::WifiChanged,
            Ended::InterfacesChanged,
            Ended::Stopped,
        ];
        let lines = all.map(|ended| explained(&[done(Ended::Done), done(ended)], 4));
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        assert_eq!(lines.len(), 4);
        assert!(
            lines
                .iter()
                .all(|line| line.ends_with("2 of 4 runs were not begun.")),
            "{lines:?}"
        );
        // The words are those of the manifest.
        for ended in [Ended::Done, Ended::WifiLost, Ended::Failed, Ended::Stopped] {
            assert_eq!(json!(ended), ended_word(ended));
        }
    }
}
