//! For how long did nothing arrive?
//!
//! The gap is between packets with transport payload that any path delivered in one direction,
//! from the first message on. It ends with the last answer, or with the run when a message was
//! left without one: then the last gap is a lower bound. Payload of QUIC includes packets that
//! only acknowledge, because only the endpoints can tell them apart.
//!
//! Where packets were not captured, on real interfaces, what arrived is told by the counters of the
//! receiver's samples, to within 100 ms; a direction whose receiver has no samples is left out.

use super::activity::{is_sampled, rises};
use super::{Observed, Value};
use crate::folder::RunFolder;
use model::scenario::Traffic;
use model::{Direction, Side};

/// The longer of the directions that carry data all along.
pub fn longest(run: &RunFolder) -> Option<Value> {
    let directions: &[Direction] = match run.manifest.scenario.traffic.parts().0 {
        Traffic::Interactive(_) | Traffic::Ping(_) | Traffic::Request(_) => {
            &[Direction::Up, Direction::Down]
        }
        // Upwards there is one request, and silence.
        Traffic::Bulk(_) | Traffic::Radio(_) => &[Direction::Down],
        Traffic::Iperf(p) => p.direction.directions(),
        // Its pauses are longer than most failures.
        Traffic::Bursts(_) | Traffic::WithBackground(_) => return None,
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
    let mut arrivals = arrivals_ns(run, direction)?;
    arrivals.retain(|at| (start..=end).contains(at));
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

/// When payload arrived in `direction`, in nanoseconds; `None` when nobody counted it.
fn arrivals_ns(run: &RunFolder, direction: Direction) -> Option<Vec<u64>> {
    if is_sampled(run) {
        let receiver = match direction {
            Direction::Up => Side::Server,
            Direction::Down => Side::Client,
        };
        run.samples
            .iter()
            .find(|s| s.side == receiver && s.received_bytes.is_some())?;
        let rises = rises(run, receiver, |_| true, |s| s.received_bytes);
        return Some(rises.iter().map(|rise| rise.at_us * 1_000).collect());
    }
    let packets = run.packets.iter();
    let packets = packets.filter(|p| p.direction == direction && p.payload_bytes > 0);
    Some(packets.filter_map(|p| p.delivered_ns).collect())
}
