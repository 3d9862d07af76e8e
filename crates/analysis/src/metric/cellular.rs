//! How much went over cellular, as the subscriber's meter counts it: IP bytes the client sent,
//! delivered or not, and IP bytes it received. Where packets were not captured, on real interfaces,
//! the bytes that the stack counted: without headers (TCP), without those of IP and UDP (QUIC).

use super::Value;
use super::activity::{is_sampled, rises};
use crate::folder::RunFolder;
use model::record::Sample;
use model::{Direction, Name, PathKind, Side};
use std::collections::HashSet;

pub fn bytes(run: &RunFolder) -> Option<Value> {
    let (cellular, _) = counted(run)?;
    Some(Value::exact(cellular as f64))
}

pub fn share(run: &RunFolder) -> Option<Value> {
    let (cellular, all) = counted(run)?;
    (all > 0).then(|| Value::exact(cellular as f64 / all as f64))
}

/// Bytes on cellular and on all paths; `None` in a scenario without cellular.
fn counted(run: &RunFolder) -> Option<(u64, u64)> {
    let paths = &run.manifest.scenario.paths;
    if paths.iter().all(|p| p.kind != PathKind::Cellular) {
        return None;
    }
    if is_sampled(run) {
        return Some(counted_by_samples(run));
    }
    let (mut cellular, mut all) = (0, 0);
    let mut sent = HashSet::new();
    for packet in &run.packets {
        let path = paths.iter().position(|p| p.name == packet.path);
        let seen = match packet.direction {
            // A packet that the uplink delivered twice has two rows; it was sent once.
            Direction::Up => sent.insert((path, packet.id)),
            Direction::Down => packet.delivered_ns.is_some(),
        };
        if seen {
            all += packet.size_bytes;
            if path.is_some_and(|p| paths[p].kind == PathKind::Cellular) {
                cellular += packet.size_bytes;
            }
        }
    }
    Some((cellular, all))
}

/// The same by the client's counters.
fn counted_by_samples(run: &RunFolder) -> (u64, u64) {
    let carried = |of: &dyn Fn(Option<&Name>) -> bool| -> u64 {
        let counters: [fn(&Sample) -> Option<u64>; 2] = [|s| s.sent_bytes, |s| s.received_bytes];
        let rises = counters.map(|counter| rises(run, Side::Client, of, counter));
        rises.iter().flatten().map(|rise| rise.amount).sum()
    };
    let cellular = run.paths(PathKind::Cellular);
    let over_cellular = carried(&|path| path.is_some_and(|path| cellular.contains(&path)));
    // The rows about whole connections count the same bytes once more.
    (over_cellular, carried(&|path| path.is_some()))
}
