//! How long did Wi-Fi and cellular overlap?
//!
//! The handover lasts from the first data the client sent over cellular to its last activity
//! over Wi-Fi: the last packet it sent, or the last it received. It is negative when it was
//! abrupt. Where the Wi-Fi came back later, only what was before its return counts.
//!
//! Data over cellular are, for TCP, packets with payload. QUIC encrypts what is data and what
//! only probes a path: there the transport's own `first-data` event tells, and packets with
//! payload only when a recording has no such event.

use super::Value;
use crate::folder::{RunFolder, micros};
use model::record::{EventKind, Packet};
use model::{Direction, Name, PathKind, Side};

/// Definition (a): to the last packet, data or not, the client sent over Wi-Fi.
pub fn sent(run: &RunFolder) -> Option<Value> {
    of(run, |p| {
        (p.direction == Direction::Up).then_some(p.enqueued_ns)
    })
}

/// Definition (b): to the last packet the client received over Wi-Fi.
pub fn received(run: &RunFolder) -> Option<Value> {
    of(run, |p| {
        (p.direction == Direction::Down).then_some(p.delivered_ns)?
    })
}

fn of(run: &RunFolder, activity_ns: impl Fn(&Packet) -> Option<u64>) -> Option<Value> {
    let begin = first_cellular_data_ns(run)?;
    let wifi = run.paths(PathKind::Wifi);
    let back = returns_us(run).into_iter().map(|us| us * 1_000);
    let limit = back.filter(|&back| back > begin).min().unwrap_or(u64::MAX);
    let packets = run.packets.iter().filter(|p| wifi.contains(&&p.path));
    let last = packets
        .filter_map(activity_ns)
        .filter(|&at| at < limit)
        .max()?;
    Some(Value::exact((last as f64 - begin as f64) / 1e9))
}

/// When the client first sent application data over cellular, in nanoseconds.
pub fn first_cellular_data_ns(run: &RunFolder) -> Option<u64> {
    let cellular = run.paths(PathKind::Cellular);
    if payload_is_encrypted(run) {
        let mut first_data = run
            .events
            .iter()
            .filter(|e| e.kind == EventKind::FirstData && e.side != Some(Side::Server))
            .peekable();
        if first_data.peek().is_some() {
            let over_cellular = first_data
                .filter(|e| e.path.as_ref().is_some_and(|p| cellular.contains(&p)))
                .map(|e| e.time_us * 1_000);
            return over_cellular.min();
        }
    }
    let packets = run.packets.iter();
    packets
        .filter(|p| p.direction == Direction::Up && p.payload_bytes > 0)
        .filter(|p| cellular.contains(&&p.path))
        .map(|p| p.enqueued_ns)
        .min()
}

/// Whether packets do not show what is data.
fn payload_is_encrypted(run: &RunFolder) -> bool {
    run.manifest.transport.contains("quic")
}

/// When a Wi-Fi path came back after it had been gone, in microseconds: the repair of a
/// failure, a link that goes up again, or the host's own word.
fn returns_us(run: &RunFolder) -> Vec<u64> {
    let wifi = run.paths(PathKind::Wifi);
    let failures = run.manifest.scenario.failures.iter();
    let onsets = run.manifest.failure_onsets_us.iter();
    let repairs = failures
        .zip(onsets)
        .filter(|(failure, _)| wifi.contains(&&failure.path))
        .filter_map(|(failure, onset)| Some(onset + micros(failure.duration?.get())));
    let mut returns: Vec<u64> = repairs.collect();
    for name in wifi {
        for direction in [Direction::Up, Direction::Down] {
            let states = run.links.iter();
            let states = states.filter(|l| l.path == *name && l.direction == direction);
            returns.extend(rises(states.map(|l| (l.time_us, l.up))));
        }
        returns.extend(rises(host_view(run, name)));
    }
    returns
}

/// When the client noticed that a path is gone (`false`) or usable (`true`).
fn host_view<'r>(run: &'r RunFolder, name: &'r Name) -> impl Iterator<Item = (u64, bool)> + 'r {
    let events = run.events.iter();
    events
        .filter(move |e| e.path.as_ref() == Some(name) && e.side != Some(Side::Server))
        .filter_map(|e| match e.kind {
            EventKind::PathUp => Some((e.time_us, true)),
            EventKind::PathDown => Some((e.time_us, false)),
            _ => None,
        })
}

/// When a state turned from `false` to `true`.
fn rises(states: impl Iterator<Item = (u64, bool)>) -> Vec<u64> {
    let mut was_up = true;
    let mut rises = Vec::new();
    for (time, up) in states {
        if up && !was_up {
            rises.push(time);
        }
        was_up = up;
    }
    rises
}
