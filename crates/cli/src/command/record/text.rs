//! How is what was found written down as a scenario, with what is known and what is assumed?

use super::estimate::{Estimate, FailureEstimate, LinkEstimate, PathEstimate};
use analysis::folder::RunFolder;
use model::Direction;
use model::units::{BitRate, Span};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The scenario's name: the folder's, as far as names go.
pub fn name(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let parts = folder
        .iter()
        .rev()
        .take(2)
        .map(|part| part.to_string_lossy());
    let parts: Vec<_> = parts.collect();
    // A run folder is called after its protocol; the test's folder says more.
    let joined = parts
        .iter()
        .rev()
        .map(|p| &**p)
        .collect::<Vec<_>>()
        .join("-");
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') => c,
        _ => '-',
    };
    let name: String = joined.chars().map(plain).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    match name.is_empty() {
        true => "recorded".to_owned(),
        false => name.to_owned(),
    }
}

/// The scenario's TOML.
pub fn scenario(name: &str, run: &RunFolder, estimate: &Estimate) -> String {
    let manifest = &run.manifest;
    let protocol = format!("{} under {}", manifest.transport, manifest.policy);
    let mut text = String::new();
    let mut line = |content: String| {
        text.push_str(&content);
        text.push('\n');
    };
    line(format!(
        "# Recorded from a run over {protocol} in the {} world ({}).",
        manifest.world, manifest.started_at
    ));
    line("# What is said here was seen by that run's stacks: delay is half the smallest smoothed round trip".into());
    line("# around each second, in both directions alike; loss is what was sent again of what was sent.".into());
    line("# Queues were not seen: they have the default limit.".into());
    line(String::new());
    line(format!("name = {}", quoted(name)));
    line(format!(
        "summary = {}",
        quoted(&format!("Recorded: {protocol}, {}", summary(run)))
    ));
    line(format!(
        "duration = \"{}\"",
        span(estimate.duration_us.div_ceil(100_000) * 100_000)
    ));
    line(String::new());
    line("transports = [\"tcp\", \"mptcp\", \"quic\", \"mpquic\"]".into());
    line(
        "policies = [\"fullmesh\", \"backup\", \"apple-interactive\", \"break-before-make\"]"
            .into(),
    );
    if !manifest.scenario.family.is_default() {
        line("family = \"ipv6\"".into());
    }
    line(String::new());
    line(traffic(run));
    for path in &estimate.paths {
        line(String::new());
        line(of_path(path));
    }
    let duration = estimate.duration_us;
    for path in &estimate.paths {
        for failure in path.failures.iter().filter(|f| f.from_us < duration) {
            line(String::new());
            line(of_failure(path, failure));
        }
    }
    text
}

fn summary(run: &RunFolder) -> String {
    let summary = run.manifest.scenario.summary.replace(['\n', '\r'], " ");
    match summary.trim() {
        "" => "real interfaces".to_owned(),
        words => words.to_owned(),
    }
}

/// `[traffic.NAME]` and its parameters.
fn traffic(run: &RunFolder) -> String {
    let traffic = &run.manifest.scenario.traffic;
    let mut text = format!("[traffic.{}]", traffic.name());
    if let Ok(Value::Object(pattern)) = serde_json::to_value(traffic)
        && let Some(Value::Object(parameters)) = pattern.into_iter().next().map(|(_, p)| p)
    {
        for (key, value) in parameters.into_iter().filter(|(_, value)| !value.is_null()) {
            // Strings and numbers are written alike in JSON and TOML.
            let _ = write!(text, "\n{key} = {value}");
        }
    }
    text
}

fn of_path(path: &PathEstimate) -> String {
    let PathEstimate {
        name,
        kind,
        delay_us,
        is_measured,
        up,
        down,
        failures: _,
    } = path;
    let mut text = format!(
        "[[path]]\nname = {}\nkind = \"{}\"\n",
        quoted(name.as_str()),
        crate::command::test::kind_word(*kind)
    );
    let first_delay = delay_us.first().map_or(0, |(_, us)| *us);
    for (key, link) in [("up", up), ("down", down)] {
        let _ = write!(text, "\n[path.{key}]\n");
        let _ = match link.rate_bps.first() {
            Some((_, bps)) => writeln!(
                text,
                "rate = \"{}\"           # a lower bound: what was delivered while the traffic filled it",
                BitRate::from_bits_per_second(*bps)
            ),
            None => writeln!(
                text,
                "# rate: unlimited, as the traffic did not fill it (at most {:.2} Mbit/s was delivered)",
                link.best_bps as f64 / 1e6
            ),
        };
        let unknown = match is_measured {
            true => "",
            false => "             # assumed: the run never used this path",
        };
        let _ = writeln!(text, "delay = \"{}\"{unknown}", span(first_delay));
        match link.loss.first() {
            Some((_, loss)) if *loss > 0.0 => {
                let _ = writeln!(text, "loss = {loss:?}");
            }
            Some(_) => {}
            None => text.push_str("# loss: too little was sent to tell\n"),
        }
    }
    for change in changes(path) {
        let _ = write!(text, "\n{change}");
    }
    text.trim_end().to_owned()
}

/// Each `[[path.change]]`, in order of time.
fn changes(path: &PathEstimate) -> Vec<String> {
    let mut all: Vec<(u64, String)> = Vec::new();
    for (at, us) in path.delay_us.iter().skip(1) {
        all.push((*at, format!("delay = \"{}\"\n", span(*us))));
    }
    for (direction, link) in [("up", &path.up), ("down", &path.down)] {
        let LinkEstimate {
            rate_bps,
            best_bps: _,
            loss,
        } = link;
        for (at, bps) in rate_bps.iter().skip(1) {
            let rate = BitRate::from_bits_per_second(*bps);
            all.push((
                *at,
                format!("direction = \"{direction}\"\nrate = \"{rate}\"\n"),
            ));
        }
        for (at, loss) in loss.iter().skip(1) {
            all.push((
                *at,
                format!("direction = \"{direction}\"\nloss = {loss:?}\n"),
            ));
        }
    }
    all.sort_by_key(|(at, _)| *at);
    let change =
        |(at, what): (u64, String)| format!("[[path.change]]\nat = \"{}\"\n{what}", span(at));
    all.into_iter().map(change).collect()
}

fn of_failure(path: &PathEstimate, failure: &FailureEstimate) -> String {
    let FailureEstimate {
        from_us,
        to_us,
        kind,
        direction,
    } = failure;
    let kind = serde_json::to_value(kind).unwrap_or_default();
    let mut text = format!(
        "[[failure]]\npath = {}\nkind = {kind}\nat = \"{}\"",
        quoted(path.name.as_str()),
        span(*from_us)
    );
    if let Some(direction) = direction {
        let word = match direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        let _ = write!(text, "\ndirection = \"{word}\"");
    }
    match to_us {
        Some(to) => {
            let _ = write!(text, "\nduration = \"{}\"", span(to - from_us));
        }
        None => text.push_str("\n# No `duration`: it was not seen to work again."),
    }
    text
}

/// To a tenth of a millisecond below ten, and to a millisecond above: more was not seen.
fn span(us: u64) -> Span {
    let step = if us < 10_000 { 100 } else { 1_000 };
    Span::from(Duration::from_micros(us / step * step))
}

/// A basic string of TOML, which escapes as JSON does.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
