//! Which path carries the data? The one over which most bytes went since the samples before.

use model::Name;
use model::record::Sample;
use std::collections::BTreeMap;

/// More bytes in 100 ms than keep-alives and probes of unused paths need.
const IN_USE_BYTES: u64 = 1_000;

/// Bytes per path, to see which carries the data.
#[derive(Debug, Default)]
pub struct Carried {
    /// When the samples at hand were taken.
    time_us: u64,
    /// Bytes since the samples before, per path.
    since: BTreeMap<Name, u64>,
    /// Totals per connection and path.
    totals: BTreeMap<(u64, Name), u64>,
}

impl Carried {
    /// Takes a sample in; says which path carried most, when the samples before it were complete.
    pub fn add(&mut self, sample: &Sample) -> Option<Name> {
        let path = sample.path.clone()?;
        let mut busiest = None;
        // Samples of one moment come together; a later one closes them.
        if sample.time_us > self.time_us {
            let since = std::mem::take(&mut self.since);
            let most = since.into_iter().max_by_key(|(_, bytes)| *bytes);
            busiest = most
                .filter(|(_, bytes)| *bytes >= IN_USE_BYTES)
                .map(|(path, _)| path);
            self.time_us = sample.time_us;
        }
        let total = sample.sent_bytes.unwrap_or(0) + sample.received_bytes.unwrap_or(0);
        let before = self.totals.insert((sample.connection, path.clone()), total);
        let more = total.saturating_sub(before.unwrap_or(0));
        *self.since.entry(path).or_default() += more;
        busiest
    }
}
