//! For how long did nothing arrive?
//!
//! The gap is between packets with transport payload that any path delivered in one direction,
//! from the first message on. It ends with the last answer, or with the run when a message was
//! left without one: then the last gap is a lower bound. Payload of QUIC includes packets that
//! only acknowledge, because only the endpoints can tell them apart.

use super::{Observed, Value};
use crate::folder::RunFolder;
use model::Direction;
use model::scenario::Traffic;

/// The longer of the directions that carry data all along.
pub fn longest(run: &RunFolder) -> Option<Value> {
    let directions: &[Direction] = match run.manifest.scenario.traffic {
        Traffic::Interactive(_) | Traffic::Ping(_) => &[Direction::Up, Direction::Down],
        // Upwards there is one request, and silence.
        Traffic::Bulk(_) => &[Direction::Down],
    };
    let gaps = directions.iter().filter_map(|&d| in_direction(run, d));
    gaps.max_by(|a, b| a.value.total_cmp(&b.value))
        .map(Value::Number)
}

fn in_direction(run: &RunFolder, direction: Direction) -> Option<Observed> {
    let start = run.messages.iter().map(|m| m.sent_us).min()? * 1_000;
    let stalled = run.messages.iter().any(|m| m.acked_us.is_none());
    let end = match stalled {
        true => run.end_us(),
        false => run.messages.iter().filter_map(|m| m.acked_us).max()?,
    } * 1_000;
    let packets = run.packets.iter();
    let mut arrivals: Vec<u64> = packets
        .filter(|p| p.direction == direction && p.payload_bytes > 0)
        .filter_map(|p| p.delivered_ns)
        .filter(|at| (start..=end).contains(at))
        .collect();
    arrivals.sort_unstable();

    let mut longest = Observed {
        value: 0.0,
        censored: false,
    };
    let mut before = start;
    for (at, is_end) in arrivals.iter().map(|&at| (at, false)).chain([(end, true)]) {
        let value = at.saturating_sub(before) as f64 / 1e9;
        if value > longest.value {
            longest = Observed {
                value,
                censored: is_end && stalled,
            };
        }
        before = at;
    }
    Some(longest)
}
