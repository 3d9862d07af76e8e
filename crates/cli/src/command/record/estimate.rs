//! What was each path like over time? Delay, loss and rate from what the stacks said of it, window by
//! window; where nothing was sent, nothing is known, and the last value holds.

use super::silence::{self, Silence};
use super::window::{WINDOW_US, count, delays};
use analysis::folder::RunFolder;
use model::record::{EventKind, Sample};
use model::scenario::FailureKind;
use model::{Direction, Name, PathKind, Side};
use serde_json::{Value, json};

/// What a path has that was never used: half a round trip of an ordinary cellular network.
const UNKNOWN_DELAY_US: u64 = 30_000;
/// What was found of a run.
#[derive(Debug)]
pub struct Estimate {
    /// Its paths, in order.
    pub paths: Vec<PathEstimate>,
    /// How long it lasted.
    pub duration_us: u64,
}

/// What was found of a path.
#[derive(Debug)]
pub struct PathEstimate {
    /// Its name.
    pub name: Name,
    /// What carried it.
    pub kind: PathKind,
    /// One-way delay, from when on; the first row is from the start.
    pub delay_us: Vec<(u64, u64)>,
    /// Whether the delay was ever measured.
    pub is_measured: bool,
    /// Client to server.
    pub up: LinkEstimate,
    /// Server to client.
    pub down: LinkEstimate,
    /// When it failed.
    pub failures: Vec<FailureEstimate>,
}

/// One direction.
#[derive(Debug, Default)]
pub struct LinkEstimate {
    /// Rate in bit/s from when on; empty when the traffic did not fill the link: then it is unlimited.
    pub rate_bps: Vec<(u64, u64)>,
    /// The most that was delivered in a window.
    pub best_bps: u64,
    /// Loss from when on; empty when too little was sent to tell.
    pub loss: Vec<(u64, f64)>,
}

/// When a path failed.
#[derive(Debug, PartialEq)]
pub struct FailureEstimate {
    /// From when.
    pub from_us: u64,
    /// Until when; to the end when absent.
    pub to_us: Option<u64>,
    /// How.
    pub kind: FailureKind,
    /// Which direction, if not both.
    pub direction: Option<Direction>,
}

impl Estimate {
    /// Of a run.
    ///
    /// # Errors
    /// When its samples tell nothing.
    pub fn of(run: &RunFolder) -> Result<Estimate, String> {
        let paths = &run.manifest.scenario.paths;
        if !run
            .samples
            .iter()
            .any(|s| s.path.is_some() && s.srtt_us.is_some())
        {
            return Err(
                "its samples say nothing of any path: was the run cut short, or never \
                        connected?"
                    .to_owned(),
            );
        }
        let last = run.samples.last().map_or(0, |s| s.time_us);
        let duration_us = run.end_us().max(last).max(WINDOW_US);
        let paths = paths.iter().map(|path| {
            let samples = run
                .samples
                .iter()
                .filter(|s| s.path.as_ref() == Some(&path.name));
            let samples: Vec<&Sample> = samples.collect();
            PathEstimate::of(run, &path.name, path.kind, &samples, duration_us)
        });
        Ok(Estimate {
            paths: paths.collect(),
            duration_us,
        })
    }
}

impl PathEstimate {
    fn of(
        run: &RunFolder,
        name: &Name,
        kind: PathKind,
        samples: &[&Sample],
        duration_us: u64,
    ) -> PathEstimate {
        let mut failures = visible(run, name);
        let silences = silence::of(samples, duration_us);
        let silent: Vec<FailureEstimate> = silences
            .iter()
            .filter_map(|silence| {
                let Silence {
                    from_us,
                    to_us,
                    direction,
                } = *silence;
                // What the host was told of is a failure of its own from then on.
                let told = failures
                    .iter()
                    .filter(|f| f.to_us.is_none_or(|to| to > from_us));
                let told = told.map(|f| f.from_us).min().unwrap_or(u64::MAX);
                let to_us =
                    Some(to_us.unwrap_or(duration_us).min(told)).filter(|to| *to < duration_us);
                (from_us < told).then_some(FailureEstimate {
                    from_us,
                    to_us,
                    kind: FailureKind::SilentLoss,
                    direction,
                })
            })
            .collect();
        failures.extend(silent);
        failures.sort_by_key(|f| f.from_us);
        let failed = |window: usize| {
            let (from, to) = (window as u64 * WINDOW_US, (window as u64 + 1) * WINDOW_US);
            let hits = |f: &FailureEstimate| f.from_us < to && f.to_us.is_none_or(|end| end > from);
            failures.iter().any(hits)
        };
        let windows = usize::try_from(duration_us.div_ceil(WINDOW_US))
            .unwrap_or(0)
            .max(1);
        let link = |sender: Side| {
            let windows = count(run, samples, sender, windows);
            LinkEstimate::of(&windows, &failed)
        };
        let delay_us = delays(samples, windows, &failed);
        PathEstimate {
            name: name.clone(),
            kind,
            is_measured: !delay_us.is_empty(),
            delay_us: match delay_us.is_empty() {
                true => vec![(0, UNKNOWN_DELAY_US)],
                false => delay_us,
            },
            up: link(Side::Client),
            down: link(Side::Server),
            failures,
        }
    }

    /// For people.
    pub fn in_words(&self) -> String {
        let PathEstimate {
            name,
            delay_us,
            is_measured,
            up,
            down,
            failures,
            kind: _,
        } = self;
        let delays = delay_us.iter().map(|(_, us)| *us as f64 / 1e3);
        let low = delays.clone().fold(f64::INFINITY, f64::min);
        let high = delays.fold(0.0, f64::max);
        let delay = match (is_measured, high - low < 0.1) {
            (false, _) => "delay unknown (never used)".to_owned(),
            (true, true) => format!("delay {low:.1} ms"),
            (true, false) => format!("delay {low:.1} to {high:.1} ms"),
        };
        let rate = |link: &LinkEstimate| match link.rate_bps.is_empty() {
            true => "unlimited".to_owned(),
            false => format!("up to {:.1} Mbit/s", link.best_bps as f64 / 1e6),
        };
        let loss = |link: &LinkEstimate| {
            let most = link.loss.iter().map(|(_, loss)| *loss).fold(0.0, f64::max);
            format!("{:.1} %", 100.0 * most)
        };
        format!(
            "{name}: {delay} one way; rate {} up, {} down; loss at most {} up, {} down; {} failure(s)",
            rate(up),
            rate(down),
            loss(up),
            loss(down),
            failures.len()
        )
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let link = |link: &LinkEstimate| {
            let LinkEstimate {
                rate_bps,
                best_bps,
                loss,
            } = link;
            json!({"rate_bps": rate_bps, "best_bps": best_bps, "loss": loss})
        };
        let failures = self.failures.iter().map(|failure| {
            let FailureEstimate {
                from_us,
                to_us,
                kind,
                direction,
            } = failure;
            json!({"from_us": from_us, "to_us": to_us, "kind": kind, "direction": direction})
        });
        json!({
            "path": self.name, "delay_us": self.delay_us, "is_measured": self.is_measured,
            "up": link(&self.up), "down": link(&self.down),
            "failures": failures.collect::<Vec<_>>(),
        })
    }
}

/// Times at which the host saw the path go and come back.
fn visible(run: &RunFolder, name: &Name) -> Vec<FailureEstimate> {
    let mut failures: Vec<FailureEstimate> = Vec::new();
    for event in run.events.iter().filter(|e| e.path.as_ref() == Some(name)) {
        let open = failures.last_mut().filter(|f| f.to_us.is_none());
        match (event.kind, open) {
            (EventKind::PathDown, None) => failures.push(FailureEstimate {
                from_us: event.time_us,
                to_us: None,
                kind: match &event.detail {
                    text if text.contains("carrier") => FailureKind::CarrierLoss,
                    text if text.contains("address") => FailureKind::AddressWithdrawn,
                    _ => FailureKind::InterfaceDown,
                },
                direction: None,
            }),
            (EventKind::PathUp, Some(open)) => open.to_us = Some(event.time_us),
            _ => {}
        }
    }
    // A flap within one window of the clock is none.
    failures.retain(|f| f.to_us.is_none_or(|to| to > f.from_us));
    failures
}
