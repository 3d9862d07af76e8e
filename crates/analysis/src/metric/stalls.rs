//! For how long did a listener hear nothing? Of `radio` only.

use super::{Observed, Value};
use crate::energy::playout;
use crate::folder::RunFolder;

pub fn count(run: &RunFolder) -> Option<Value> {
    let played = playout::of(run)?;
    Some(Value::exact(played.stalls_us.len() as f64))
}

/// A lower bound when the run ended in a stall.
pub fn longest(run: &RunFolder) -> Option<Value> {
    let played = playout::of(run)?;
    let lengths = played.stalls_us.iter().map(|(from, to)| to - from);
    let longest = lengths.clone().max().unwrap_or(0);
    // What is cut off may have become the longest.
    Some(seconds(longest, played.is_stalled))
}

/// A lower bound when the run ended in a stall.
pub fn total(run: &RunFolder) -> Option<Value> {
    let played = playout::of(run)?;
    Some(seconds(played.stalled_us(), played.is_stalled))
}

/// From the request until it played; a lower bound when it never did.
pub fn start(run: &RunFolder) -> Option<Value> {
    let played = playout::of(run)?;
    let asked_us = played.levels_us.first().map_or(0, |(at, _)| *at);
    Some(match played.start_us {
        Some(us) => seconds(us, false),
        None => seconds(run.end_us().saturating_sub(asked_us), true),
    })
}

fn seconds(us: u64, censored: bool) -> Value {
    Value::Number(Observed {
        value: us as f64 / 1e6,
        censored,
    })
}
