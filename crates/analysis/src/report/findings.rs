//! What do the results say in plain words?

use crate::metric::Observed;
use crate::table::{Cell, Row};
use std::cmp::Ordering;

/// A message that waited this long is called a stall, in seconds.
const STALL_S: f64 = 1.0;

/// A sentence each, about the rows of one scenario.
pub(super) fn findings(rows: &[&Row]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (metric, whose) in [
        ("delay-max-up", "from the client (up)"),
        ("delay-max-down", "from the server (down)"),
    ] {
        sentences.extend(extremes(rows, metric, whose));
    }
    sentences.extend(stalls(rows));
    let flagged: usize = rows.iter().map(|row| row.notes.len()).sum();
    let runs: usize = rows.iter().map(|row| row.runs).sum();
    if flagged > 0 {
        sentences.push(format!(
            "Read with care: {flagged} of {runs} runs ended early or missed their timing; the table says which."
        ));
    }
    sentences
}

/// Who waited least and who longest.
fn extremes(rows: &[&Row], metric: &str, whose: &str) -> Option<String> {
    let mut worst: Vec<(&Row, Observed)> = rows
        .iter()
        .filter_map(|row| Some((*row, largest(row, metric)?)))
        .collect();
    worst.sort_by(|(_, a), (_, b)| by_size(a, b));
    // A run that was killed early, or ran late, must not win.
    let sound = worst.iter().find(|(row, _)| row.notes.is_empty());
    let (_, best) = sound.or(worst.first())?;
    let (_, longest) = worst.last()?;
    let repeated = match rows.iter().any(|row| row.runs > 1) {
        true => " in the worst of its runs",
        false => "",
    };
    let names = |of: &Observed, flagged_too: bool| {
        let same = worst.iter().filter(|(row, delay)| {
            words(*delay) == words(*of) && (flagged_too || row.notes.is_empty())
        });
        same.map(|(row, _)| name(row))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if worst.len() == 1 {
        return Some(format!(
            "Messages {whose}: {} waited at most {}{repeated}.",
            names(best, true),
            words(*best)
        ));
    }
    Some(format!(
        "Messages {whose}: the longest wait was shortest with {} ({}){repeated}, and longest with {} ({}).",
        names(best, sound.is_none()),
        words(*best),
        names(longest, true),
        words(*longest)
    ))
}

/// Who stalled, for how long, and what was never answered.
fn stalls(rows: &[&Row]) -> Vec<String> {
    let measured = rows.iter().any(|row| {
        largest(row, "delay-max-up")
            .or(largest(row, "delay-max-down"))
            .is_some()
    });
    let mut sentences = Vec::new();
    for row in rows {
        let mut parts = Vec::new();
        for (direction, delay, unanswered) in [
            ("up", "delay-max-up", "unanswered-up"),
            ("down", "delay-max-down", "unanswered-down"),
        ] {
            let Some(longest) = largest(row, delay) else {
                continue;
            };
            let open = largest(row, unanswered).map_or(0.0, |n| n.value);
            if longest.value < STALL_S && open == 0.0 {
                continue;
            }
            let mut part = format!("{direction} {}", words(longest));
            if open > 0.0 {
                part.push_str(&format!(", {open:.0} never answered"));
            }
            parts.push((longest.value, part));
        }
        if parts.is_empty() {
            continue;
        }
        let stalled = parts.iter().any(|(longest, _)| *longest >= STALL_S);
        let texts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
        sentences.push(format!(
            "{} {}: {}.",
            name(row),
            match stalled {
                true => "stalled",
                false => "ended with messages still open",
            },
            texts.join("; ")
        ));
    }
    if sentences.is_empty() && measured {
        sentences.push("Nobody stalled: every message was answered within a second.".to_owned());
    }
    sentences
}

fn largest(row: &Row, metric: &str) -> Option<Observed> {
    match row.cells.get(metric)? {
        Cell::Numbers { max, .. } => Some(*max),
        Cell::Words { .. } => None,
    }
}

/// At equal values a lower bound is the larger one.
fn by_size(a: &Observed, b: &Observed) -> Ordering {
    a.value
        .total_cmp(&b.value)
        .then(a.censored.cmp(&b.censored))
}

/// `mptcp backup`, as on the command line.
fn name(row: &Row) -> String {
    format!("{} {}", row.transport, row.policy)
}

/// `341 ms`, `at least 12.3 s`.
fn words(delay: Observed) -> String {
    let number = match delay.value {
        v if v < 1.0 => format!("{:.0} ms", v * 1e3),
        v if v < 10.0 => format!("{v:.2} s"),
        v => format!("{v:.1} s"),
    };
    match delay.censored {
        true => format!("at least {number}"),
        false => number,
    }
}
