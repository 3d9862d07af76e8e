//! `single`: what does a connection do that never leaves its path?
//!
//! It opens nothing and closes nothing: the multipath transports on the path they start on,
//! to be compared with their single-path relatives.

use crate::{Decision, PathManager, View};
use model::Time;
use std::time::Duration;

/// Leaves everything as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Single;

impl PathManager for Single {
    fn decide(&mut self, _: Time, _: &View, _: &mut Vec<Decision>) {}

    fn period(&self) -> Option<Duration> {
        None
    }
}
