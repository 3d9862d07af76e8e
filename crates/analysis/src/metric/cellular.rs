//! How much went over cellular, as the subscriber's meter counts it: IP bytes the client sent,
//! delivered or not, and IP bytes it received.

use super::Value;
use crate::folder::RunFolder;
use model::{Direction, PathKind};
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
