//! OLIA: how do coupled subflows balance congestion without being slow to react? Growth moves from
//! the subflow with the largest window to the best one.
//!
//! Khalili, Gast, Popovic and Le Boudec, "MPTCP is not Pareto-optimal" (CoNEXT 2012 and IEEE/ACM
//! Transactions on Networking 21(5), 2013), and draft-khalili-mptcp-congestion-control-05. The best
//! subflow is the one on which Reno would get most, by l / rtt^2 as in the paper and in the Multipath
//! TCP kernel of UCLouvain, where l is the larger of the bytes acknowledged since the last loss and
//! between the two last ones. Slow start and falls are those of Reno, for each subflow.

use super::coupled::{Coupled, Coupling, Flow};
use super::table::Table;

/// OLIA for a connection.
pub type Olia = Coupled<OpportunisticLinkedIncreases>;

/// The coupling of draft-khalili-mptcp-congestion-control-05.
pub struct OpportunisticLinkedIncreases;

/// Bytes acknowledged.
#[derive(Clone, Copy, Default, Debug)]
pub struct BetweenLosses {
    /// Between the last two losses (l1).
    before: u64,
    /// Since the last loss (l2).
    since: u64,
    /// What `since` was when the sets were last looked at.
    looked_at: u64,
}

impl BetweenLosses {
    fn l(&self) -> u64 {
        self.before.max(self.since)
    }
}

/// The sets of the draft, section 3, and what all subflows share.
pub struct Sets {
    /// Sum of window over round-trip time, bytes a second.
    sum: f64,
    /// The largest window, bytes.
    largest: u64,
    /// The best l / rtt^2.
    best: f64,
    /// Subflows (all_paths),
    all: f64,
    /// those with the largest window (max_w_paths),
    with_largest: f64,
    /// and the best ones that are not among these (collected_paths).
    collected: f64,
}

/// What Reno would get, squared and up to a factor.
fn quality(flow: &Flow<BetweenLosses>) -> f64 {
    flow.memory.l() as f64 / (flow.rtt * flow.rtt)
}

impl Sets {
    /// The draft, section 3: 1 / |collected| / |all| for the collected, the negative of 1 / |max_w|
    /// / |all| for those with the largest window while there are collected ones, else 0. In segments
    /// a window.
    fn alpha(&self, flow: &Flow<BetweenLosses>) -> f64 {
        if self.collected == 0.0 {
            0.0
        } else if flow.window.bytes() == self.largest {
            -1.0 / (self.all * self.with_largest)
        } else if quality(flow) == self.best {
            1.0 / (self.all * self.collected)
        } else {
            0.0
        }
    }
}

impl Coupling for OpportunisticLinkedIncreases {
    type Memory = BetweenLosses;
    type Shared = Sets;

    fn share(flows: &Table<Flow<BetweenLosses>>) -> Option<Sets> {
        let measured = flows.values().filter(|f| f.rtt > 0.0);
        let mut sets = Sets {
            sum: 0.0,
            largest: 0,
            best: 0.0,
            all: 0.0,
            with_largest: 0.0,
            collected: 0.0,
        };
        for flow in measured.clone() {
            sets.sum += flow.window.bytes() as f64 / flow.rtt;
            sets.largest = sets.largest.max(flow.window.bytes());
            sets.best = sets.best.max(quality(flow));
            sets.all += 1.0;
        }
        for flow in measured {
            if flow.window.bytes() == sets.largest {
                sets.with_largest += 1.0;
            } else if quality(flow) == sets.best {
                sets.collected += 1.0;
            }
        }
        (sets.sum > 0.0).then_some(sets)
    }

    /// For each byte acknowledged MSS_r ((w_r / rtt_r^2) / (sum w_p / rtt_p)^2 + alpha_r / w_r) (the
    /// draft, section 3).
    fn growth(flow: &Flow<BetweenLosses>, shared: &Sets) -> f64 {
        let window = flow.window.bytes() as f64;
        let linked = window / (flow.rtt * flow.rtt) / (shared.sum * shared.sum);
        flow.window.mss() as f64 * (linked + shared.alpha(flow) / window)
    }

    fn acked(memory: &mut BetweenLosses, bytes: u64) -> bool {
        memory.since = memory.since.saturating_add(bytes);
        // Which subflow is best changes only where the larger of the two grows; not much within an
        // eighth of it.
        let much =
            memory.since > memory.before && memory.since - memory.looked_at > memory.since / 8;
        if much {
            memory.looked_at = memory.since;
        }
        much
    }

    fn lost(memory: &mut BetweenLosses) {
        memory.before = memory.since;
        memory.since = 0;
        memory.looked_at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowId;

    const MSS: u64 = 1_000;

    fn memory(before: u64, since: u64) -> BetweenLosses {
        BetweenLosses {
            before,
            since,
            looked_at: since,
        }
    }

    /// Growth less the linked part, as a multiple of a segment a window.
    fn alphas<const N: usize>(flows: [(u64, f64, BetweenLosses); N]) -> [f64; N] {
        let mut olia = Olia::default();
        for (i, (segments, rtt, memory)) in flows.into_iter().enumerate() {
            olia = olia.with(SubflowId::new(i), MSS, segments, rtt, memory);
        }
        let sum: f64 = flows.iter().map(|(w, rtt, _)| *w as f64 / rtt).sum();
        std::array::from_fn(|i| {
            let (segments, rtt, _) = flows[i];
            let window = segments as f64;
            let growth = olia.factors(SubflowId::new(i)).0;
            let alpha = (growth - window / (rtt * rtt) / (sum * sum)) * window;
            (alpha * 1e9).round() / 1e9
        })
    }

    #[test]
    fn the_best_with_a_small_window_takes_from_the_largest() {
        // l / rtt^2: 4000 / 0.01 against 2000 / 0.0025: the second is better.
        let flows = [(20, 0.1, memory(4_000, 1)), (10, 0.05, memory(1, 2_000))];
        assert_eq!(alphas(flows), [-0.5, 0.5]);
    }

    #[test]
    fn nothing_moves_while_the_best_has_the_largest_window() {
        let flows = [(20, 0.1, memory(9_000, 1)), (10, 0.05, memory(1, 2_000))];
        assert_eq!(alphas(flows), [0.0, 0.0]);
    }

    #[test]
    fn sets_of_several_share() {
        // The first two have the largest window, the last two are best, the third is neither.
        let flows = [
            (20, 0.1, memory(1_000, 0)),
            (20, 0.1, memory(2_000, 0)),
            (5, 0.1, memory(500, 0)),
            (10, 0.1, memory(8_000, 0)),
            (12, 0.1, memory(0, 8_000)),
        ];
        assert_eq!(alphas(flows), [-0.1, -0.1, 0.0, 0.1, 0.1]);
    }

    #[test]
    fn alone_it_is_reno() {
        let a = SubflowId::new(3);
        let mut olia = Olia::default().with(a, MSS, 25, 0.08, memory(0, 0));
        assert!((olia.factors(a).0 - 0.04).abs() < 1e-12);
    }

    #[test]
    fn losses_shift_the_distances() {
        let mut memory = BetweenLosses::default();
        OpportunisticLinkedIncreases::acked(&mut memory, 700);
        OpportunisticLinkedIncreases::lost(&mut memory);
        OpportunisticLinkedIncreases::acked(&mut memory, 300);
        assert_eq!((memory.before, memory.since, memory.l()), (700, 300, 700));
        OpportunisticLinkedIncreases::acked(&mut memory, 500);
        assert_eq!(memory.l(), 800);
    }
}
