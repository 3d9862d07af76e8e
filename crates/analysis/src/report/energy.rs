//! How do the states of the radios, the packets of cellular and a play-out buffer become columns?

use super::columns::{Grid, deltas, quantise};
use crate::energy::{self, State, activity, playout};
use crate::folder::RunFolder;
use model::{Name, PathKind};
use serde::Serialize;
use std::collections::BTreeSet;

/// What the radio of one path did: a row per state, which holds until the next row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RadioStates {
    /// The path.
    pub path: Name,
    /// The power model's name.
    pub model: &'static str,
    /// The states that occur, with what each takes.
    pub states: Vec<StatePower>,
    /// When, since the row before.
    pub time_delta_ms: Vec<u64>,
    /// Which state, by its place in `states`.
    pub state: Vec<usize>,
}

/// A radio's state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatePower {
    /// Its name.
    pub name: &'static str,
    /// What it takes on average, in a tenth of a mW.
    pub power_100uw: u64,
}

/// The play-out buffer of a stream, by what it held at some moments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Buffered {
    /// When, since the row before.
    pub time_delta_ms: Vec<u64>,
    /// How much it held, as playing time.
    pub level_ms: Vec<u64>,
    /// The path of the last packet with payload that was received before, by its place in the scenario;
    /// nothing where none was captured.
    pub path: Vec<Option<usize>>,
    /// When it stalled and when it went on.
    pub stalls_ms: Vec<(u64, u64)>,
}

pub(super) fn radios(run: &RunFolder) -> Vec<RadioStates> {
    let paths = run.manifest.scenario.paths.iter();
    let states = paths.filter_map(|path| {
        let trace = energy::of(run, path)?;
        let occurring: BTreeSet<State> = trace.intervals.iter().map(|i| i.state).collect();
        let occurring: Vec<State> = occurring.into_iter().collect();
        let place = |state| occurring.iter().position(|other| *other == state);
        let power = |state| {
            let interval = trace.intervals.iter().find(|i| i.state == state);
            interval.map_or(0.0, |interval| interval.power_mw)
        };
        Some(RadioStates {
            path: path.name.clone(),
            model: trace.model.name,
            states: occurring
                .iter()
                .map(|&state| StatePower {
                    name: state.name(),
                    power_100uw: (power(state) * 10.0).round() as u64,
                })
                .collect(),
            time_delta_ms: deltas(trace.intervals.iter().map(|i| i.from_ns / 1_000_000)),
            state: trace
                .intervals
                .iter()
                .filter_map(|i| place(i.state))
                .collect(),
        })
    });
    states.collect()
}

/// The part of all packets so far that cellular carried, per 10,000: at the end of each bin of `step_ms`.
/// Nothing where there is no cellular path, or no packets were captured.
pub(super) fn cellular_packets(run: &RunFolder, step_ms: u64) -> Grid {
    let paths = &run.manifest.scenario.paths;
    if paths.iter().all(|p| p.kind != PathKind::Cellular) {
        return Grid::default();
    }
    let mut moments: Vec<(u64, bool)> = Vec::new();
    for path in paths {
        let Some(activity) = activity(run, &path.name).filter(|a| a.is_exact) else {
            return Grid::default();
        };
        let is_cellular = path.kind == PathKind::Cellular;
        moments.extend(activity.moments_ns.iter().map(|&ns| (ns, is_cellular)));
    }
    moments.sort_unstable();
    let end_us = run.end_us();
    let (mut cellular, mut all) = (0, 0);
    let rows = moments.into_iter().map(|(ns, is_cellular)| {
        all += 1;
        cellular += u64::from(is_cellular);
        (ns / 1_000, Some(cellular * 10_000 / all))
    });
    Grid::of(
        step_ms,
        rows.take_while(|(us, _)| *us <= end_us),
        |_, new| new,
    )
}

/// The play-out buffer of a run of `radio`, at most one row in `step_ms`.
pub(super) fn buffered(run: &RunFolder, step_ms: u64) -> Option<Buffered> {
    let played = playout::of(run)?;
    let paths = &run.manifest.scenario.paths;
    let mut received: Vec<(u64, usize)> = run
        .packets
        .iter()
        .filter(|p| p.direction == model::Direction::Down && p.payload_bytes > 0)
        .filter_map(|p| {
            let place = paths.iter().position(|path| path.name == p.path)?;
            Some((p.delivered_ns? / 1_000, place))
        })
        .collect();
    received.sort_unstable();
    // A bin keeps its lowest level: a stall is never hidden.
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for (us, level) in played.levels_us {
        let bin = us / 1_000 / step_ms;
        match rows.last_mut() {
            Some(last) if last.0 / 1_000 / step_ms == bin => {
                if level < last.1 {
                    *last = (us, level);
                }
            }
            _ => rows.push((us, level)),
        }
    }
    let path = |us: u64| {
        let before = received.partition_point(|(at, _)| *at <= us);
        Some(received[before.checked_sub(1)?].1)
    };
    Some(Buffered {
        time_delta_ms: deltas(rows.iter().map(|(us, _)| us / 1_000)),
        level_ms: rows.iter().map(|(_, us)| quantise(*us, 1_000)).collect(),
        path: rows.iter().map(|(us, _)| path(*us)).collect(),
        stalls_ms: played
            .stalls_us
            .iter()
            .map(|(from, to)| (from / 1_000, to / 1_000))
            .collect(),
    })
}
