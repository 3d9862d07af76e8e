//! Which rate does the sender choose at a signal, and with which does it retry?

use super::fading::quantiles_db;
use super::phy::{ATTEMPTS, MCS, frame_error};
use std::sync::OnceLock;

/// The packet size for which rates are chosen and losses expected, in bytes.
pub const NOMINAL: usize = 1500;

/// How the sender works at a local mean of the signal, and what it expects of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation {
    /// The scheme with which a packet is tried first, an index of [`MCS`].
    pub scheme: usize,
    /// Expected goodput of a saturated link over the fastest rate, likewise.
    pub goodput: f64,
    /// Expected loss after all retries, when these meet one fade.
    pub loss: f64,
}

impl Operation {
    /// The scheme of the transmission with this index (from 0).
    ///
    /// Like the retry chains of Linux's minstrel (net/mac80211/rc80211_minstrel_ht.c): a few
    /// attempts at the rate of the best throughput, then slower ones, at last the most robust.
    pub fn scheme_of(&self, attempt: usize) -> usize {
        match attempt {
            0 | 1 => self.scheme,
            2 | 3 => self.scheme.saturating_sub(1),
            _ => 0,
        }
    }
}

/// Nothing gets through at this signal in dBm, even in the best of fades.
const WEAKEST: f64 = -110.0;
/// Nothing is lost at this signal in dBm but in fades deeper than 40 dB.
const STRONGEST: f64 = -20.0;
/// Signals by half decibels from [`WEAKEST`].
const SIGNALS: usize = ((STRONGEST - WEAKEST) * 2.0) as usize + 1;

/// What a sender knows beyond the line of sight, and within: a function of the signal alone,
/// worked out when first asked for.
static BEYOND: Table = Table::new(false);
static WITHIN: Table = Table::new(true);

struct Table {
    line_of_sight: bool,
    fades_db: OnceLock<Vec<f64>>,
    known: [OnceLock<Operation>; SIGNALS],
}

impl Table {
    const fn new(line_of_sight: bool) -> Table {
        Table {
            line_of_sight,
            fades_db: OnceLock::new(),
            known: [const { OnceLock::new() }; SIGNALS],
        }
    }
}

/// What the link does at a local mean of `signal_dbm`, under a sender that knows the best rate for
/// each signal, as one does that keeps statistics of its frames: over the fades of many frames,
/// but not the fade of the next.
pub fn at(signal_dbm: f64, line_of_sight: bool) -> Operation {
    let table = if line_of_sight { &WITHIN } else { &BEYOND };
    let clamped = signal_dbm.clamp(WEAKEST, STRONGEST);
    let index = ((clamped - WEAKEST) * 2.0).round() as usize;
    *table.known[index].get_or_init(|| {
        let fades_db = table
            .fades_db
            .get_or_init(|| quantiles_db(table.line_of_sight));
        expect(WEAKEST + index as f64 / 2.0, fades_db)
    })
}

/// The best first scheme at `signal_dbm`, and what it leads to on average over `fades_db`. A
/// packet's attempts are taken to meet the same fade: the first, fast ones do, which decide the
/// choice; for the last, slow ones it is the worst case.
fn expect(signal_dbm: f64, fades_db: &[f64]) -> Operation {
    let mut best = Operation {
        scheme: 0,
        goodput: 0.0,
        loss: 1.0,
    };
    let errors: Vec<[f64; MCS.len()]> = fades_db
        .iter()
        .map(|fade| MCS.map(|mcs| frame_error(signal_dbm + fade - mcs.sensitivity_dbm, NOMINAL)))
        .collect();
    let count = fades_db.len() as f64;
    for scheme in 0..MCS.len() {
        let candidate = Operation { scheme, ..best };
        let (mut goodput, mut loss) = (0.0, 0.0);
        for errors in &errors {
            // Airtime over that at the fastest rate, and the probability to come this far.
            let (mut airtime, mut failed) = (0.0, 1.0);
            for attempt in 0..ATTEMPTS {
                let mcs = candidate.scheme_of(attempt);
                airtime += failed * 10.0 / f64::from(MCS[mcs].tenths);
                failed *= errors[mcs];
                if failed < 1e-9 {
                    break;
                }
            }
            goodput += (1.0 - failed) / airtime;
            loss += failed;
        }
        if goodput / count > best.goodput {
            best = Operation {
                scheme,
                goodput: goodput / count,
                loss: loss / count,
            };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weaker_signals_mean_slower_rates_and_more_loss() {
        for line_of_sight in [true, false] {
            let operations: Vec<Operation> = (-115..-15)
                .map(|dbm| at(f64::from(dbm), line_of_sight))
                .collect();
            for (weaker, stronger) in operations.iter().zip(&operations[1..]) {
                assert!(
                    weaker.goodput <= stronger.goodput,
                    "{weaker:?} {stronger:?}"
                );
                // A bolder first rate may cost a little reliability.
                assert!(
                    weaker.loss >= stronger.loss - 1e-3,
                    "{weaker:?} {stronger:?}"
                );
            }
            assert!(operations[0].loss > 0.999);
            let best = operations[operations.len() - 1];
            assert!(best.goodput > 0.999 && best.loss < 1e-3, "{best:?}");
        }
    }
}
