//! How long did a message wait for its answer?
//!
//! The delay of a message is from its first byte handed to the transport to the last byte of
//! its answer. A message without an answer counts with the time it had waited when the run
//! ended, as a lower bound.

use super::quantile::quantile;
use super::{Observed, Value};
use crate::folder::RunFolder;
use model::Direction;

/// Over both directions; a lower bound when the message it rests on had no answer.
pub fn max(run: &RunFolder) -> Option<Value> {
    let mut both = delays(run, Direction::Up);
    both.append(&mut delays(run, Direction::Down));
    quantile(&both, 1.0).map(Value::Number)
}

pub fn max_up(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Up, 1.0)
}

pub fn max_down(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Down, 1.0)
}

pub fn median_up(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Up, 0.5)
}

pub fn median_down(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Down, 0.5)
}

pub fn p95_up(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Up, 0.95)
}

pub fn p95_down(run: &RunFolder) -> Option<Value> {
    of(run, Direction::Down, 0.95)
}

fn of(run: &RunFolder, direction: Direction, p: f64) -> Option<Value> {
    quantile(&delays(run, direction), p).map(Value::Number)
}

/// The delay of every message of a direction, over all connections, in seconds.
pub fn delays(run: &RunFolder, direction: Direction) -> Vec<Observed> {
    let end = run.end_us();
    let messages = run.messages.iter().filter(|m| m.direction == direction);
    messages
        .map(|message| {
            let until = message.acked_us.unwrap_or(end);
            Observed {
                value: until.saturating_sub(message.sent_us) as f64 / 1e6,
                censored: message.acked_us.is_none(),
            }
        })
        .collect()
}
