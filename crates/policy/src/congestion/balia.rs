//! BALIA: how do coupled subflows stay both friendly to others and quick to use what becomes free?
//!
//! Peng, Walid, Hwang and Low, "Multipath TCP: Analysis, design, and implementation" (IEEE/ACM
//! Transactions on Networking 24(1), 2016), and draft-walid-mptcp-congestion-control-04. Slow start
//! is that of Reno, for each subflow.

use super::coupled::{Coupled, Coupling, Flow};
use super::table::Table;

/// BALIA for a connection.
pub type Balia = Coupled<BalancedLinkedAdaptation>;

/// The coupling of draft-walid-mptcp-congestion-control-04.
pub struct BalancedLinkedAdaptation;

/// Largest alpha by which half of the window is multiplied in a fall (the draft, section 3).
const ALPHA_MAX: f64 = 1.5;

/// The rates of all subflows, bytes a second.
pub struct Rates {
    largest: f64,
    sum: f64,
}

impl Rates {
    /// alpha_r = max(x_k) / x_r; at least 1.
    fn alpha(&self, flow: &Flow<()>) -> Option<f64> {
        flow.rate().map(|rate| self.largest / rate)
    }
}

impl Coupling for BalancedLinkedAdaptation {
    type Memory = ();
    type Shared = Rates;

    fn share(flows: &Table<Flow<()>>) -> Option<Rates> {
        let rates = flows.values().filter_map(Flow::rate);
        let sum = rates.clone().sum();
        let largest = rates.fold(0.0, f64::max);
        (sum > 0.0).then_some(Rates { largest, sum })
    }

    /// For each acknowledgement x_r / rtt_r / (sum x_k)^2 (1 + alpha_r) / 2 (4 + alpha_r) / 5 (the
    /// draft, section 3), here per byte and segment size.
    fn growth(flow: &Flow<()>, shared: &Rates) -> f64 {
        let Some(alpha) = shared.alpha(flow) else {
            return 0.0;
        };
        let x = shared.largest / alpha;
        let linked = x / flow.rtt / (shared.sum * shared.sum);
        flow.window.mss() as f64 * linked * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0)
    }

    /// A fall takes w_r / 2 min(alpha_r, 1.5) (the draft, section 3).
    fn kept(flow: &Flow<()>, shared: Option<&Rates>) -> f64 {
        let alpha = shared.and_then(|s| s.alpha(flow)).unwrap_or(1.0);
        1.0 - alpha.min(ALPHA_MAX) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowId;

    const MSS: u64 = 1_000;

    #[test]
    fn growth_and_fall_are_those_of_the_draft_by_hand() {
        let [a, b] = [0, 1].map(SubflowId::new);
        // x = 200 and 100 segments a second; alpha = 1 and 2.
        let mut balia = Balia::default()
            .with(a, MSS, 20, 0.1, ())
            .with(b, MSS, 5, 0.05, ());
        // 200 / 0.1 / 300^2 x 1 x 1.
        let (growth, kept) = balia.factors(a);
        assert!((growth - 2_000.0 / 90_000.0).abs() < 1e-12);
        assert_eq!(kept, 0.5);
        // 100 / 0.05 / 300^2 x 3/2 x 6/5; three quarters are taken.
        let (growth, kept) = balia.factors(b);
        assert!((growth - 2_000.0 / 90_000.0 * 1.8).abs() < 1e-12);
        assert_eq!(kept, 0.25);
    }

    #[test]
    fn alone_it_is_reno() {
        let a = SubflowId::new(3);
        let mut balia = Balia::default().with(a, MSS, 25, 0.08, ());
        let (growth, kept) = balia.factors(a);
        assert!((growth - 0.04).abs() < 1e-12);
        assert_eq!(kept, 0.5);
    }
}
