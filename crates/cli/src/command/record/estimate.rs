//! What was each path like over time? Delay, loss and rate from what the stacks said of it, window by
//! window; where nothing was sent, nothing is known, and the last value holds.

use super::silence::{self, Silence};
use analysis::folder::RunFolder;
use model::record::{EventKind, Sample};
use model::scenario::{FailureKind, Traffic};
use model::{Direction, Name, PathKind, Side};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A window: long enough for a few packets of `interactive`, short enough for a walk.
pub const WINDOW_US: u64 = 1_000_000;
/// How many windows' packets are taken together for a loss rate, and whose smallest round trip counts.
const SMOOTH: usize = 5;
/// Fewer packets than this give no loss rate.
const FEWEST_PACKETS: u64 = 20;
/// A delay that differs by less than this, and by less than a tenth, is the same.
const DELAY_STEP_US: u64 = 2_000;
/// A loss rate that differs by less than this is the same.
const LOSS_STEP: f64 = 0.02;
/// What a path has that was never used: half a round trip of an ordinary cellular network.
const UNKNOWN_DELAY_US: u64 = 30_000;
/// Nothing is slower: a rate of zero is a failure.
const LOWEST_BPS: u64 = 10_000;

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

/// What happened in one window on one path in one direction.
#[derive(Clone, Copy, Default)]
struct Window {
    sent_packets: u64,
    lost_packets: u64,
    delivered_bytes: u64,
    /// The sender had more to send than the path took.
    is_filled: bool,
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

/// Half the smallest smoothed round trip around each window, where it changed.
fn delays(samples: &[&Sample], windows: usize, failed: &dyn Fn(usize) -> bool) -> Vec<(u64, u64)> {
    let mut smallest: Vec<Option<u64>> = vec![None; windows];
    for sample in samples {
        let window = (sample.time_us / WINDOW_US) as usize;
        // The server's stack times the same round trip; either tells.
        let (Some(srtt), Some(least)) = (sample.srtt_us, smallest.get_mut(window)) else {
            continue;
        };
        if srtt > 0 && sample.state == "established" && !failed(window) {
            *least = Some(least.map_or(srtt, |l| l.min(srtt)));
        }
    }
    let mut changes: Vec<(u64, u64)> = Vec::new();
    for window in 0..windows {
        let around = smallest[window.saturating_sub(SMOOTH / 2)..]
            .iter()
            .take(SMOOTH);
        let Some(rtt) = around.flatten().min() else {
            continue;
        };
        let delay = rtt / 2 / 100 * 100;
        let is_news = changes.last().is_none_or(|(_, before)| {
            let step = before.abs_diff(delay);
            step >= DELAY_STEP_US && step * 10 >= *before
        });
        if is_news {
            let from = if changes.is_empty() {
                0
            } else {
                window as u64 * WINDOW_US
            };
            changes.push((from, delay));
        }
    }
    changes
}

/// Counts what `sender` sent over the path, window by window.
fn count(run: &RunFolder, samples: &[&Sample], sender: Side, windows: usize) -> Vec<Window> {
    let mut counted = vec![Window::default(); windows];
    let has_sender = samples.iter().any(|s| s.side == sender);
    // Where the receiver tells, what it received was delivered; else what was sent and not sent again.
    let has_receiver = samples
        .iter()
        .any(|s| s.side != sender && s.received_bytes.is_some());
    let endless = !matches!(
        run.manifest.scenario.traffic,
        Traffic::Interactive(_) | Traffic::Ping(_)
    );
    let mut before: BTreeMap<(bool, u64), &Sample> = BTreeMap::new();
    for sample in samples {
        let is_sender = sample.side == sender;
        let earlier = before.insert((is_sender, sample.connection), sample);
        let Some(window) = counted.get_mut((sample.time_us / WINDOW_US) as usize) else {
            continue;
        };
        let more = |of: fn(&Sample) -> Option<u64>| {
            let total = of(sample).unwrap_or(0);
            total.saturating_sub(earlier.and_then(of).unwrap_or(0))
        };
        if is_sender {
            window.sent_packets += more(|s| s.sent_packets);
            let again = more(|s| s.retransmitted_packets);
            window.lost_packets += again.max(more(|s| s.lost_packets));
            let queued = sample.unsent_bytes.is_some_and(|bytes| bytes > 0);
            let full = sample.in_flight_bytes.zip(sample.cwnd_bytes);
            let full = full.is_some_and(|(flight, window)| flight * 10 >= window * 8 && window > 0);
            window.is_filled |= endless && (queued || full);
            if !has_receiver {
                window.delivered_bytes += more(|s| s.sent_bytes);
            }
        } else {
            let bytes = more(|s| s.received_bytes);
            window.delivered_bytes += bytes;
            // A download whose sender says nothing is as fast as the path.
            window.is_filled |= endless && !has_sender && bytes > 0;
        }
    }
    counted
}

impl LinkEstimate {
    fn of(windows: &[Window], failed: &dyn Fn(usize) -> bool) -> LinkEstimate {
        let bps = |window: &Window| window.delivered_bytes * 8 * 1_000_000 / WINDOW_US;
        let best_bps = windows.iter().map(bps).max().unwrap_or(0);
        let mut rate_bps: Vec<(u64, u64)> = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            if !window.is_filled || failed(number) {
                continue;
            }
            let rate = bps(window).max(LOWEST_BPS) / 1_000 * 1_000;
            let is_news = rate_bps
                .last()
                .is_none_or(|(_, b)| b.abs_diff(rate) * 5 >= *b);
            if is_news {
                let from = if rate_bps.is_empty() {
                    0
                } else {
                    number as u64 * WINDOW_US
                };
                rate_bps.push((from, rate));
            }
        }
        let mut loss: Vec<(u64, f64)> = Vec::new();
        for number in 0..windows.len() {
            let from = number.saturating_sub(SMOOTH / 2);
            let around = (from..windows.len()).take(SMOOTH).filter(|w| !failed(*w));
            let (mut sent, mut lost) = (0, 0);
            for window in around.map(|w| windows[w]) {
                sent += window.sent_packets;
                lost += window.lost_packets;
            }
            if sent < FEWEST_PACKETS || failed(number) {
                continue;
            }
            let rate = (1e3 * lost as f64 / sent as f64).round().min(1e3) / 1e3;
            let is_news = loss.last().is_none_or(|(_, before)| {
                (before - rate).abs() >= LOSS_STEP || (rate == 0.0 && *before > 0.0)
            });
            if is_news {
                let from = if loss.is_empty() {
                    0
                } else {
                    number as u64 * WINDOW_US
                };
                loss.push((from, rate));
            }
        }
        LinkEstimate {
            rate_bps,
            best_bps,
            loss,
        }
    }
}
