//! How many messages had no answer when the run ended?

use super::Value;
use crate::folder::RunFolder;
use model::Direction;

pub fn up(run: &RunFolder) -> Option<Value> {
    count(run, Direction::Up)
}

pub fn down(run: &RunFolder) -> Option<Value> {
    count(run, Direction::Down)
}

/// `None` when the direction had no messages at all.
fn count(run: &RunFolder, direction: Direction) -> Option<Value> {
    let messages = || run.messages.iter().filter(|m| m.direction == direction);
    messages().next()?;
    let unanswered = messages().filter(|m| m.acked_us.is_none()).count();
    Some(Value::exact(unanswered as f64))
}
