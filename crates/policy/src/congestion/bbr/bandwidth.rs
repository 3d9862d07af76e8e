//! What is the largest delivery rate of the last round trips?

/// Round trips a sample counts: a cycle of gains and two more (Linux: bbr_bw_rtts; draft-cardwell-
/// iccrg-bbr-congestion-control-00, section 4.1.1.3, BtlBwFilterLen).
const ROUNDS: usize = 10;

/// The largest rate of the last ten round trips that had one.
///
/// Samples grow old by new ones only: while the application limits the rate there are none, and the
/// old ones stay.
#[derive(Clone, Debug, Default)]
pub struct MaxRate {
    /// The largest rate of a round, and which round that was.
    rounds: [(u64, u64); ROUNDS],
    max: u64,
}

impl MaxRate {
    /// The largest rate, bytes a second; 0 before the first.
    pub fn get(&self) -> u64 {
        self.max
    }

    /// A sample of round `round`, which never falls.
    pub fn insert(&mut self, round: u64, rate: u64) {
        let slot = &mut self.rounds[(round % ROUNDS as u64) as usize];
        let is_new_round = slot.1 != round;
        if is_new_round || rate > slot.0 {
            *slot = (rate, round);
        }
        if is_new_round {
            let recent = |(_, of): &&(u64, u64)| of + ROUNDS as u64 > round;
            let rates = self.rounds.iter().filter(recent).map(|(rate, _)| *rate);
            self.max = rates.max().unwrap_or(rate);
        } else {
            self.max = self.max.max(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_for_ten_rounds_with_samples() {
        let mut max = MaxRate::default();
        max.insert(1, 900);
        max.insert(1, 100);
        for round in 2..=10 {
            max.insert(round, 100 + round);
            assert_eq!(max.get(), 900, "{round}");
        }
        max.insert(11, 50);
        assert_eq!(max.get(), 110);
        // Fifty rounds without samples: the old ones are gone with the first new one.
        max.insert(61, 7);
        assert_eq!(max.get(), 7);
        max.insert(61, 9);
        assert_eq!(max.get(), 9);
    }
}
