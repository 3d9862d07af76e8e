//! How does a run folder become the columns of a report?

use super::columns::{Detail, Grid, MOST_BINS, deltas, quantise};
use super::{FailureSpan, LinkSeries, LinkUse, Messages, PathSamples, Run, describe, energy};
use crate::folder::RunFolder;
use model::manifest::Status;
use model::record::{LinkState, Message, Sample};
use model::{Direction, Name, Side};
use std::collections::BTreeMap;

/// The shortest bin of bytes per link.
const USE_STEP_MS: u64 = 100;
/// The shortest bin of stack samples and queues, and the least time between two link states.
const STATE_STEP_MS: u64 = 200;
/// The shortest bin of the part of packets that cellular carried.
const PACKETS_STEP_MS: u64 = 500;
/// The least time between two levels of a play-out buffer.
const BUFFER_STEP_MS: u64 = 100;

impl Run {
    /// The columns of `run`.
    pub(super) fn of(run: &RunFolder, detail: Detail) -> Run {
        let manifest = &run.manifest;
        let end_ms = run.end_us() / 1_000;
        let state_step_ms = detail.step_ms(end_ms, STATE_STEP_MS);
        Run {
            transport: manifest.transport.clone(),
            policy: manifest.policy.clone(),
            repetition: manifest.repetition,
            seed: manifest.seed.0.to_string(),
            folder: run.path.file_name().map_or_else(
                || run.path.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            ),
            parameters: describe::run_parameters(run),
            flags: flags(run),
            end_ms,
            failures: failures(run),
            up: messages(&run.messages, Direction::Up),
            down: messages(&run.messages, Direction::Down),
            usage: usage(run, detail.step_ms(end_ms, USE_STEP_MS)),
            links: links(&run.links, state_step_ms),
            samples: samples(&run.samples, state_step_ms),
            radios: energy::radios(run),
            cellular_packets_e4: energy::cellular_packets(
                run,
                detail.step_ms(end_ms, PACKETS_STEP_MS),
            ),
            buffer: energy::buffered(run, detail.step_ms(end_ms, BUFFER_STEP_MS)),
            events: run.events.clone(),
        }
    }
}

fn flags(run: &RunFolder) -> Vec<String> {
    let manifest = &run.manifest;
    let mut flags = Vec::new();
    match manifest.status {
        Status::Complete => {}
        Status::Incomplete => flags.push("incomplete: killed or still running".to_owned()),
        Status::Failed => flags.push(format!(
            "failed: {}",
            manifest.error.as_deref().unwrap_or("no reason recorded")
        )),
    }
    if manifest.timing.is_some_and(|t| !t.kept) {
        flags.push("the emulator missed its timing".to_owned());
    }
    flags.extend(run.truncated.iter().cloned());
    flags
}

fn failures(run: &RunFolder) -> Vec<FailureSpan> {
    let onsets = &run.manifest.failure_onsets_us;
    let failures = run.manifest.scenario.failures.iter().zip(onsets);
    let ms = |us: u64| us as f64 / 1e3;
    failures
        .map(|(failure, &onset_us)| FailureSpan {
            path: failure.path.clone(),
            kind: describe::kind(failure.kind).to_owned(),
            direction: failure.direction,
            from_ms: ms(onset_us),
            to_ms: failure
                .duration
                .map(|d| ms(onset_us) + d.get().as_secs_f64() * 1e3),
        })
        .collect()
}

fn messages(rows: &[Message], direction: Direction) -> Messages {
    let rows = || rows.iter().filter(|m| m.direction == direction);
    Messages {
        sent_delta_100us: deltas(rows().map(|m| quantise(m.sent_us, 100))),
        delay_100us: rows()
            .map(|m| m.delay_us.map(|us| quantise(us, 100)))
            .collect(),
    }
}

fn usage(run: &RunFolder, step_ms: u64) -> Vec<LinkUse> {
    #[derive(Default)]
    struct Bytes {
        entered: Vec<u64>,
        dropped: BTreeMap<u64, u64>,
    }
    let mut links: BTreeMap<(&Name, Direction), Bytes> = BTreeMap::new();
    for packet in &run.packets {
        let bin = packet.enqueued_ns / 1_000_000 / step_ms;
        if bin >= MOST_BINS as u64 {
            continue;
        }
        let link = links.entry((&packet.path, packet.direction)).or_default();
        if link.entered.len() <= bin as usize {
            link.entered.resize(bin as usize + 1, 0);
        }
        link.entered[bin as usize] += packet.size_bytes;
        if packet.dropped.is_some() {
            *link.dropped.entry(bin).or_default() += packet.size_bytes;
        }
    }
    links
        .into_iter()
        .map(|((path, direction), bytes)| LinkUse {
            path: path.clone(),
            direction,
            step_ms,
            bytes: bytes.entered,
            dropped: bytes.dropped.into_iter().collect(),
        })
        .collect()
}

fn links(rows: &[LinkState], step_ms: u64) -> Vec<LinkSeries> {
    let mut links: BTreeMap<(&Name, Direction), Vec<&LinkState>> = BTreeMap::new();
    for row in rows {
        links
            .entry((&row.path, row.direction))
            .or_default()
            .push(row);
    }
    links
        .into_iter()
        .map(|((path, direction), rows)| {
            let kept = changes(&rows, step_ms);
            LinkSeries {
                path: path.clone(),
                direction,
                time_delta_ms: deltas(kept.iter().map(|r| r.time_us / 1_000)),
                rate_kbps: kept
                    .iter()
                    .map(|r| r.rate_bps.map(|bps| quantise(bps, 1_000)))
                    .collect(),
                delay_100us: kept.iter().map(|r| quantise(r.delay_us, 100)).collect(),
                loss_e4: kept.iter().map(|r| (r.loss * 1e4).round() as u64).collect(),
                up: kept.iter().map(|r| u8::from(r.up)).collect(),
                signal_ddbm: match kept.iter().any(|r| r.signal_dbm.is_some()) {
                    true => kept
                        .iter()
                        .map(|r| r.signal_dbm.map(|dbm| (dbm * 10.0).round() as i64))
                        .collect(),
                    false => Vec::new(),
                },
                queue_bytes: Grid::of(
                    step_ms,
                    rows.iter().map(|r| (r.time_us, Some(r.queue_bytes))),
                    u64::max,
                ),
            }
        })
        .collect()
}

/// The rows that say something new: never two within `step_ms`, except when the link goes up or
/// down; and always the last.
fn changes<'r>(rows: &[&'r LinkState], step_ms: u64) -> Vec<&'r LinkState> {
    let mut kept: Vec<&LinkState> = Vec::new();
    for (index, &row) in rows.iter().enumerate() {
        let Some(before) = kept.last() else {
            kept.push(row);
            continue;
        };
        let shown = |r: &LinkState| (r.rate_bps, r.delay_us, r.loss.to_bits(), r.signal_dbm);
        let is_due = row.time_us >= before.time_us.saturating_add(step_ms * 1_000);
        let is_last = index + 1 == rows.len();
        if row.up != before.up || is_last || (is_due && shown(row) != shown(before)) {
            kept.push(row);
        }
    }
    kept
}

fn samples(rows: &[Sample], step_ms: u64) -> Vec<PathSamples> {
    let mut views: BTreeMap<(Side, u64, Option<&Name>), Vec<&Sample>> = BTreeMap::new();
    for row in rows {
        views
            .entry((row.side, row.connection, row.path.as_ref()))
            .or_default()
            .push(row);
    }
    views
        .into_iter()
        .map(|((side, connection, path), rows)| {
            let grid = |of: fn(&Sample) -> Option<u64>, keep: fn(u64, u64) -> u64| {
                Grid::of(step_ms, rows.iter().map(|r| (r.time_us, of(r))), keep)
            };
            PathSamples {
                side,
                connection,
                path: path.cloned(),
                srtt_100us: grid(|r| r.srtt_us.map(|us| quantise(us, 100)), u64::max),
                rto_ms: grid(|r| r.rto_us.map(|us| quantise(us, 1_000)), u64::max),
                cwnd_bytes: grid(|r| r.cwnd_bytes, |_, new| new),
                in_flight_bytes: grid(|r| r.in_flight_bytes, u64::max),
            }
        })
        .collect()
}
