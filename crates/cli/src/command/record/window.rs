//! What happened on a path second by second, and what of it was news?

use super::estimate::LinkEstimate;
use analysis::folder::RunFolder;
use model::Side;
use model::record::Sample;
use model::scenario::Traffic;
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
/// Nothing is slower: a rate of zero is a failure.
const LOWEST_BPS: u64 = 10_000;

/// What happened in one window on one path in one direction.
#[derive(Clone, Copy, Default)]
pub struct Window {
    sent_packets: u64,
    lost_packets: u64,
    delivered_bytes: u64,
    /// The sender had more to send than the path took.
    is_filled: bool,
}

/// Half the smallest smoothed round trip around each window, where it changed.
pub fn delays(
    samples: &[&Sample],
    windows: usize,
    failed: &dyn Fn(usize) -> bool,
) -> Vec<(u64, u64)> {
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
pub fn count(run: &RunFolder, samples: &[&Sample], sender: Side, windows: usize) -> Vec<Window> {
    let mut counted = vec![Window::default(); windows];
    let has_sender = samples.iter().any(|s| s.side == sender);
    // Where the receiver tells, what it received was delivered; else what was sent and not sent again.
    let has_receiver = samples
        .iter()
        .any(|s| s.side != sender && s.received_bytes.is_some());
    let endless = matches!(
        run.manifest.scenario.traffic,
        Traffic::Bulk(_) | Traffic::Iperf(_)
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
    /// Of one direction's windows; `failed` are those of which nothing can be said.
    pub fn of(windows: &[Window], failed: &dyn Fn(usize) -> bool) -> LinkEstimate {
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
