//! `fullmesh`: what if every path is used at once?
//!
//! As soon as a connection has its first established subflow, one is opened on each path that
//! is up. One that ended is opened again, at once when its path came back, otherwise at growing
//! intervals. The subflow of a path that went down is closed once another one works: noq keeps
//! data in flight on a path until it is closed. A path that dies *silently* is left alone - how
//! long the stack's own scheduler and timers take to leave it is what this manager shows.

use crate::requests::{At, Requests};
use crate::roles::label;
use crate::{Decision, PathManager, View};
use model::{PathIndex, PathKind, Time};
use std::time::Duration;

/// How often failed subflows are looked at; the shortest interval between attempts is 1 s.
const PERIOD: Duration = Duration::from_millis(500);

/// A subflow on every path.
#[derive(Debug, Default)]
pub struct Mesh {
    cellular_as_backup: bool,
    requests: Requests,
}

impl Mesh {
    /// All of them regular.
    pub fn fullmesh() -> Mesh {
        Mesh::default()
    }

    /// Those on cellular paths as backup.
    pub fn with_cellular_as_backup() -> Mesh {
        Mesh {
            cellular_as_backup: true,
            ..Mesh::default()
        }
    }
}

impl PathManager for Mesh {
    fn decide(&mut self, now: Time, view: &View, decisions: &mut Vec<Decision>) {
        self.requests.observe(now, view);
        for connection in &view.connections {
            let at = At {
                now,
                view,
                connection,
            };
            for (index, path) in view.paths.iter().enumerate() {
                let (index, kind) = (PathIndex(index), path.kind);
                if path.up {
                    let backup = self.cellular_as_backup && kind == PathKind::Cellular;
                    self.requests.open(at, index, backup, decisions, || {
                        format!("{} is up and has no subflow", label(view, index))
                    });
                } else {
                    self.requests.close(at, index, decisions, || {
                        format!("the interface of {} is down", label(view, index))
                    });
                }
            }
        }
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::stage::Stage;

    #[test]
    fn every_path_is_opened_and_opened_again_when_it_comes_back() {
        let mut stage = Stage::new(Box::new(Mesh::fullmesh()));
        stage.run(2_000);
        stage.set_up(0, false);
        stage.run(3_000);
        stage.set_up(0, true);
        stage.run(5_000);
        insta::assert_snapshot!(stage.story());
    }

    #[test]
    fn a_silently_dead_path_is_tried_at_growing_intervals_once_the_stack_gave_it_up() {
        let mut stage = Stage::new(Box::new(Mesh::fullmesh()));
        stage.kill(1);
        stage.run(120_000);
        insta::assert_snapshot!(stage.story());
    }
}
