//! How long did a finite transfer take?

use super::{Observed, Value};
use crate::folder::RunFolder;
use model::scenario::Traffic;

/// From the first request to the last byte of the last answer; `None` for traffic that has no
/// end of its own. A lower bound when answers are missing.
pub fn time(run: &RunFolder) -> Option<Value> {
    if !matches!(
        run.manifest.scenario.traffic,
        Traffic::Bulk(_) | Traffic::Ping(_)
    ) {
        return None;
    }
    let first = run.messages.iter().map(|m| m.sent_us).min()?;
    let answered = run.messages.iter().map(|m| m.acked_us);
    let last = answered.collect::<Option<Vec<u64>>>();
    let until = match &last {
        Some(acked) => acked.iter().copied().max()?,
        None => run.end_us(),
    };
    Some(Value::Number(Observed {
        value: until.saturating_sub(first) as f64 / 1e6,
        censored: last.is_none(),
    }))
}
