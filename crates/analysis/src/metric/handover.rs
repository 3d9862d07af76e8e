//! How long did Wi-Fi and cellular overlap?
//!
//! The handover lasts from the first data the client sent over cellular to its last activity
//! over Wi-Fi: the last packet it sent, or the last it received. It is negative when it was
//! abrupt. Where the Wi-Fi came back later, only what was before its return counts.
//!
//! Data over cellular are, for TCP, packets with payload. QUIC encrypts what is data and what
//! only probes a path: there the transport's own `first-data` event tells, and packets with
//! payload only when a recording has no such event.
//!
//! Where packets were not captured, on real interfaces, the counters of the samples stand for them:
//! then both ends of the duration are known to within 100 ms.

use super::Value;
use super::activity::{is_sampled, rises as counted};
use crate::folder::{RunFolder, micros};
use model::record::{EventKind, Sample};
use model::{Direction, Name, PathKind, Side};

/// Definition (a): to the last packet, data or not, the client sent over Wi-Fi.
pub fn sent(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Up)
}

/// Definition (b): to the last packet the client received over Wi-Fi.
pub fn received(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Down)
}

fn of(run: &RunFolder, direction: Direction) -> Option<Value> {
    let begin = first_cellular_data_ns(run)?;
    let back = returns_us(run).into_iter().map(|us| us * 1_000);
    let limit = back.filter(|&back| back > begin).min().unwrap_or(u64::MAX);
    let activity = wifi_activity_ns(run, direction);
    let last = activity.into_iter().filter(|&at| at < limit).max()?;
    Some(Value::exact((last as f64 - begin as f64) / 1e9))
}

/// When the client sent (up) or received (down) something over Wi-Fi, in nanoseconds.
fn wifi_activity_ns(run: &RunFolder, direction: Direction) -> Vec<u64> {
    let wifi = run.paths(PathKind::Wifi);
    if is_sampled(run) {
        let counters: &[fn(&Sample) -> Option<u64>] = match direction {
            // Packets without data as well, where the stack counts them.
            Direction::Up => &[|s| s.sent_packets, |s| s.sent_bytes],
            Direction::Down => &[|s| s.received_bytes],
        };
        let on_wifi = |path: Option<&Name>| path.is_some_and(|path| wifi.contains(&path));
        let rises = counters
            .iter()
            .flat_map(|counter| counted(run, Side::Client, on_wifi, counter));
        return rises.map(|rise| rise.at_us * 1_000).collect();
    }
    let packets = run.packets.iter();
    let packets = packets.filter(|p| p.direction == direction && wifi.contains(&&p.path));
    packets
        .filter_map(|p| match direction {
            Direction::Up => Some(p.enqueued_ns),
            Direction::Down => p.delivered_ns,
        })
        .collect()
}

/// When the client first sent application data over cellular, in nanoseconds.
pub fn first_cellular_data_ns(run: &RunFolder) -> Option<u64> {
    let cellular = run.paths(PathKind::Cellular);
    if payload_is_encrypted(run) || is_sampled(run) {
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
    if is_sampled(run) {
        let on_cellular = |path: Option<&Name>| path.is_some_and(|path| cellular.contains(&path));
        let sent = counted(run, Side::Client, on_cellular, |s| s.sent_bytes);
        return sent.iter().map(|rise| rise.at_us * 1_000).min();
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
