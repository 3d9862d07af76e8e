//! LIA: how do the subflows of a connection take together no more than one flow would? Their growth
//! is linked.
//!
//! RFC 6356. Slow start and falls are those of Reno, for each subflow; the threshold does not fall
//! below two segments.

use super::coupled::{Coupled, Coupling, Flow};
use super::table::Table;

/// LIA for a connection.
pub type Lia = Coupled<LinkedIncreases>;

/// The coupling of RFC 6356.
pub struct LinkedIncreases;

/// What limits the growth of all subflows.
pub struct Aggregate {
    /// Alpha over the sum of the windows, per byte.
    alpha_over_total: f64,
}

impl Coupling for LinkedIncreases {
    type Memory = ();
    type Shared = Aggregate;

    /// RFC 6356, section 4, equation 2: alpha = cwnd_total max(cwnd_i / rtt_i^2) /
    /// (sum(cwnd_i / rtt_i))^2.
    fn share(flows: &Table<Flow<()>>) -> Option<Aggregate> {
        let mut best: f64 = 0.0;
        let mut sum: f64 = 0.0;
        for flow in flows.values() {
            if let Some(rate) = flow.rate() {
                best = best.max(rate / flow.rtt);
                sum += rate;
            }
        }
        (sum > 0.0).then(|| Aggregate {
            alpha_over_total: best / (sum * sum),
        })
    }

    /// RFC 6356, section 3, equation 1: the smaller of alpha MSS_i / cwnd_total and
    /// MSS_i / cwnd_i.
    fn growth(flow: &Flow<()>, shared: &Aggregate) -> f64 {
        let reno = 1.0 / flow.window.bytes() as f64;
        flow.window.mss() as f64 * shared.alpha_over_total.min(reno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowId;

    const MSS: u64 = 1_000;

    #[test]
    fn growth_is_that_of_rfc_6356_by_hand() {
        let [a, b] = [0, 1].map(SubflowId::new);
        // 20 segments over 100 ms and 10 over 50 ms: both 200 segments a second.
        // alpha = 30 max(20 / 0.01, 10 / 0.0025) / (200 + 200)^2 = 30 x 4000 / 160000 = 0.75.
        let mut lia = Lia::default()
            .with(a, MSS, 20, 0.1, ())
            .with(b, MSS, 10, 0.05, ());
        let expected = 0.75 / 30.0;
        assert!((lia.factors(a).0 - expected).abs() < 1e-12);
        assert!((lia.factors(b).0 - expected).abs() < 1e-12);
        assert_eq!(lia.factors(a).1, 0.5);
    }

    #[test]
    fn no_subflow_grows_faster_than_reno() {
        let [a, b] = [0, 1].map(SubflowId::new);
        // alpha / total = (5 / 0.0001) / (500 + 100)^2 = 0.139 > 1 / 100: the second is held.
        let mut lia = Lia::default()
            .with(a, MSS, 5, 0.01, ())
            .with(b, MSS, 100, 1.0, ());
        assert!((lia.factors(a).0 - 50_000.0 / 360_000.0).abs() < 1e-12);
        assert!((lia.factors(b).0 - 0.01).abs() < 1e-12);
    }

    #[test]
    fn alone_it_is_reno() {
        let a = SubflowId::new(3);
        let mut lia = Lia::default().with(a, MSS, 25, 0.08, ());
        assert!((lia.factors(a).0 - 0.04).abs() < 1e-12);
        // And so it is before a round trip was measured.
        let mut lia = Lia::default().with(a, MSS, 25, 0.0, ());
        assert!((lia.factors(a).0 - 0.04).abs() < 1e-12);
    }
}
