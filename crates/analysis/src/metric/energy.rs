//! What did the radios take, by their power model?
//!
//! Over all paths of a kind; `None` without such a path, or where nothing tells what it carried.

use super::{Observed, Value};
use crate::energy::{self, Trace, activity};
use crate::folder::RunFolder;
use model::PathKind;

pub fn cellular(run: &RunFolder) -> Option<Value> {
    all(run, PathKind::Cellular)
}

pub fn wifi(run: &RunFolder) -> Option<Value> {
    all(run, PathKind::Wifi)
}

pub fn cellular_above_idle(run: &RunFolder) -> Option<Value> {
    let traces = traces(run, PathKind::Cellular)?;
    let above = traces.iter().map(|t| t.energy(t.end_ns).above_idle_j);
    Some(Value::exact(above.sum()))
}

pub fn cellular_power(run: &RunFolder) -> Option<Value> {
    power(run, PathKind::Cellular)
}

pub fn wifi_power(run: &RunFolder) -> Option<Value> {
    power(run, PathKind::Wifi)
}

pub fn cellular_promotions(run: &RunFolder) -> Option<Value> {
    let traces = traces(run, PathKind::Cellular)?;
    let promotions: u64 = traces.iter().map(|t| t.promotions).sum();
    Some(Value::exact(promotions as f64))
}

/// Above idle, until the first failure of the scenario sets in; `None` without one.
pub fn cellular_before_failure(run: &RunFolder) -> Option<Value> {
    let onset_us = run.manifest.failure_onsets_us.iter().min()?;
    let until_ns = onset_us.saturating_mul(1_000);
    let traces = traces(run, PathKind::Cellular)?;
    let above = traces.iter().map(|t| t.energy(until_ns).above_idle_j);
    Some(Value::exact(above.sum()))
}

/// Packets of cellular paths in those of all, counted at the client; `None` where none were captured.
pub fn cellular_packets(run: &RunFolder) -> Option<Value> {
    let paths = &run.manifest.scenario.paths;
    let (mut cellular, mut all) = (0, 0);
    for path in paths {
        let activity = activity(run, &path.name).filter(|a| a.is_exact)?;
        all += activity.moments_ns.len();
        if path.kind == PathKind::Cellular {
            cellular += activity.moments_ns.len();
        }
    }
    let has_cellular = paths.iter().any(|p| p.kind == PathKind::Cellular);
    let share = || Value::exact(cellular as f64 / all as f64);
    (has_cellular && all > 0).then(share)
}

fn all(run: &RunFolder, kind: PathKind) -> Option<Value> {
    let traces = traces(run, kind)?;
    let energies = traces.iter().map(|t| t.energy(t.end_ns).all_j);
    Some(Value::exact(energies.sum()))
}

fn power(run: &RunFolder, kind: PathKind) -> Option<Value> {
    let powers = traces(run, kind)?;
    let powers = powers.iter().map(Trace::mean_mw);
    let value = powers.sum::<Option<f64>>()?;
    Some(Value::Number(Observed {
        value,
        censored: false,
    }))
}

/// What each radio of this kind did; `None` of none.
fn traces(run: &RunFolder, kind: PathKind) -> Option<Vec<Trace>> {
    let paths = run.manifest.scenario.paths.iter();
    let traces = paths
        .filter(|path| path.kind == kind)
        .map(|path| energy::of(run, path));
    let traces = traces.collect::<Option<Vec<Trace>>>()?;
    (!traces.is_empty()).then_some(traces)
}

/// By the battery, else by the whole platform, else by its processors: whatever tells most of the host.
pub fn measured(run: &RunFolder) -> Option<Value> {
    let measured = &run.manifest.live.as_ref()?.measured_energy;
    let widest = measured.iter().min_by_key(|energy| energy.source)?;
    Some(Value::exact(widest.measured_j))
}
