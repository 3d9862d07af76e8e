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

/// The share of the messages of both directions that were answered; `None` without messages.
pub fn answered(run: &RunFolder) -> Option<Value> {
    let answered = run.messages.iter().filter(|m| m.acked_us.is_some()).count();
    let all = run.messages.len();
    (all > 0).then(|| Value::exact(answered as f64 / all as f64))
}
