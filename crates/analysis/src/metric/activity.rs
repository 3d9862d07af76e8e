//! When did a path carry something, where no packets were captured? By the counters of the samples:
//! to within a sample's period, 100 ms.

use crate::folder::RunFolder;
use model::record::Sample;
use model::{Name, Side};
use std::collections::BTreeMap;

/// A counter that went up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rise {
    /// The first sample that shows it, in microseconds.
    pub at_us: u64,
    /// By how much.
    pub amount: u64,
}

/// Whether only the samples tell what the paths carried: no packets are captured on real interfaces.
pub fn is_sampled(run: &RunFolder) -> bool {
    run.packets.is_empty() && !run.samples.is_empty()
}

/// The rises of `counter` in the samples of `side` about paths that `of` accepts, by time. A counter
/// that is lower than before belongs to a new subflow, and began at zero.
pub fn rises(
    run: &RunFolder,
    side: Side,
    of: impl Fn(Option<&Name>) -> bool,
    counter: impl Fn(&Sample) -> Option<u64>,
) -> Vec<Rise> {
    let mut last: BTreeMap<(u64, Option<&Name>), u64> = BTreeMap::new();
    let mut rises = Vec::new();
    let samples = run.samples.iter().filter(|s| s.side == side);
    for sample in samples.filter(|s| of(s.path.as_ref())) {
        let Some(value) = counter(sample) else {
            continue;
        };
        let key = (sample.connection, sample.path.as_ref());
        let before = last.insert(key, value).unwrap_or(0);
        let amount = value.checked_sub(before).unwrap_or(value);
        if amount > 0 {
            rises.push(Rise {
                at_us: sample.time_us,
                amount,
            });
        }
    }
    rises
}
