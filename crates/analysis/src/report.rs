//! What does a report contain? The data of one self-contained page, columnar and quantised, so
//! that ten runs of two minutes stay below 3 MB; [`render`] puts it into the page.
//!
//! The page itself (Svelte and uPlot, in `web/`) is built by `cargo xtask web` and embedded.
//! `web/src/data/types.ts` mirrors the types here; change both together, and [`FORMAT`] when
//! an older page could no longer read the data.

mod bundle;
mod columns;
mod describe;
mod energy;
mod findings;
mod results;
mod run;

pub use bundle::{ReportError, render, render_into, render_study};
pub use columns::Grid;
pub use energy::{Buffered, RadioStates, StatePower};
pub use results::{ResultColumn, ResultRow, Results};

use crate::folder::{RunFolder, settings};
use crate::table;
use model::record::Event;
use model::{Direction, Name, PathKind, Side};
use serde::Serialize;

/// The version of the report's data.
pub const FORMAT: &str = "walkabout.report/1";

/// Everything a report shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportData {
    /// [`FORMAT`] of the writer.
    pub format: &'static str,
    /// The scenarios that were run, one after the other on the page.
    pub scenarios: Vec<ScenarioReport>,
}

/// What a report shows of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioReport {
    /// The scenario's name.
    pub name: String,
    /// The scenario's one line.
    pub summary: String,
    /// What the runs have in common: seed, duration, traffic, kernel, versions ...
    pub parameters: Vec<Parameter>,
    /// The scenario's paths, in its order.
    pub paths: Vec<PathDescription>,
    /// What fails, a sentence each.
    pub failures: Vec<String>,
    /// How long the application runs, in milliseconds.
    pub duration_ms: u64,
    /// The results, a row per transport and policy.
    pub results: Results,
    /// The results in plain words, a sentence each.
    pub findings: Vec<String>,
    /// The runs, in the order of the result's rows and of their repetitions.
    pub runs: Vec<Run>,
}

impl ReportData {
    /// The report of `runs`.
    pub fn of(runs: &[RunFolder]) -> ReportData {
        let table = table::Table::of(runs);
        let mut names: Vec<&str> = Vec::new();
        for row in &table.rows {
            if !names.contains(&row.scenario.as_str()) {
                names.push(&row.scenario);
            }
        }
        let detail = columns::Detail::of(runs.len());
        let settings = settings(runs);
        let scenarios = names.iter().map(|name| {
            let rows: Vec<&table::Row> =
                table.rows.iter().filter(|r| r.scenario == *name).collect();
            let place = |run: &RunFolder| {
                let manifest = &run.manifest;
                let is_row = |row: &&table::Row| {
                    row.transport == manifest.transport && row.policy == manifest.policy
                };
                (rows.iter().position(is_row), manifest.repetition)
            };
            let of_setting = runs.iter().zip(&settings);
            let mut runs: Vec<&RunFolder> = of_setting
                .filter(|(_, setting)| setting == name)
                .map(|(run, _)| run)
                .collect();
            runs.sort_by_key(|run| place(run));
            // A row exists because a run does.
            let manifest = &runs[0].manifest;
            let scenario = &manifest.scenario;
            let describe = |path| describe::path(path, &manifest.world);
            ScenarioReport {
                name: (*name).to_owned(),
                summary: scenario.summary.clone(),
                parameters: describe::parameters(&runs),
                paths: scenario.paths.iter().map(describe).collect(),
                failures: scenario.failures.iter().map(describe::failure).collect(),
                duration_ms: u64::try_from(scenario.duration.get().as_millis()).unwrap_or(u64::MAX),
                results: Results::of(&rows),
                findings: findings::findings(&rows),
                runs: runs.iter().map(|run| Run::of(run, detail)).collect(),
            }
        });
        ReportData {
            format: FORMAT,
            scenarios: scenarios.collect(),
        }
    }
}

/// A name and its value, in words with units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// What.
    pub name: String,
    /// How much.
    pub value: String,
}

/// A path of the scenario, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathDescription {
    /// The scenario's name for it.
    pub name: Name,
    /// What carries it.
    pub kind: PathKind,
    /// Client to server: rate, delay, loss, queue.
    pub up: String,
    /// Server to client.
    pub down: String,
    /// What changes over time; empty when nothing does.
    pub over_time: String,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The transport's name.
    pub transport: String,
    /// The path manager's name.
    pub policy: String,
    /// Which repetition, from 0.
    pub repetition: u64,
    /// The seed, as text: JavaScript's numbers end at 2^53.
    pub seed: String,
    /// The run folder, as the user named it.
    pub folder: String,
    /// Stack, congestion controller, device, timing ...
    pub parameters: Vec<Parameter>,
    /// Why the run is to be read with care, in words.
    pub flags: Vec<String>,
    /// When the last thing happened, in milliseconds: unanswered messages wait until here.
    pub end_ms: u64,
    /// Each failure of the scenario under this seed.
    pub failures: Vec<FailureSpan>,
    /// Messages the client sent.
    pub up: Messages,
    /// Messages the server sent.
    pub down: Messages,
    /// What entered each link.
    pub usage: Vec<LinkUse>,
    /// How each link was.
    pub links: Vec<LinkSeries>,
    /// How each stack saw each path.
    pub samples: Vec<PathSamples>,
    /// What the radio of each path did, by its power model.
    pub radios: Vec<RadioStates>,
    /// The part of all packets so far that cellular carried, per 10,000.
    pub cellular_packets_e4: Grid,
    /// The play-out buffer, where a stream was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffered>,
    /// What happened.
    pub events: Vec<Event>,
}

/// When a path failed, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureSpan {
    /// Which path.
    pub path: Name,
    /// `silent-loss`, `carrier-loss` ...
    pub kind: String,
    /// Which direction, if not both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// When it set in.
    pub from_ms: f64,
    /// When it was over, if before the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_ms: Option<f64>,
}

/// The messages of one direction, in the order they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// When each was sent, since the one before (the first: since the run's start), in 100 us.
    pub sent_delta_100us: Vec<u64>,
    /// How long the answer took, in 100 us; `None` when it never came.
    pub delay_100us: Vec<Option<u64>>,
}

/// Bytes per bin that entered one link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkUse {
    /// The link's path.
    pub path: Name,
    /// The link's direction.
    pub direction: Direction,
    /// Width of a bin; the first begins at 0.
    pub step_ms: u64,
    /// Bytes of IP packets that entered the link in each bin.
    pub bytes: Vec<u64>,
    /// Of these, bytes the link dropped, as pairs of bin and bytes; bins without are left out.
    pub dropped: Vec<(u64, u64)>,
}

/// The state of one link, a row per change: each value holds until the next row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSeries {
    /// The link's path.
    pub path: Name,
    /// The link's direction.
    pub direction: Direction,
    /// When, since the row before.
    pub time_delta_ms: Vec<u64>,
    /// Configured rate; `None` is unlimited.
    pub rate_kbps: Vec<Option<u64>>,
    /// Configured one-way delay.
    pub delay_100us: Vec<u64>,
    /// Probability of loss, in parts per 10,000.
    pub loss_e4: Vec<u64>,
    /// 1 when the link carries anything at all.
    pub up: Vec<u8>,
    /// Received signal in a tenth of a dBm; empty when no walk drives the link.
    pub signal_ddbm: Vec<Option<i64>>,
    /// The fullest the queue was in each bin, in bytes.
    pub queue_bytes: Grid,
}

/// How one end's stack saw one path of one connection, on a common grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathSamples {
    /// Whose view.
    pub side: Side,
    /// The connection within the run.
    pub connection: u64,
    /// The path; absent for the whole connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Name>,
    /// Smoothed round-trip time, in 100 us; the largest of each bin.
    pub srtt_100us: Grid,
    /// Retransmission (TCP) or probe (QUIC) timeout; the largest of each bin.
    pub rto_ms: Grid,
    /// Congestion window; the last of each bin.
    pub cwnd_bytes: Grid,
    /// In flight; the largest of each bin.
    pub in_flight_bytes: Grid,
}
