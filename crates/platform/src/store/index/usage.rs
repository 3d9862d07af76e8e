//! How many runs are there, of what?

use super::super::StoreError;
use super::{Follower, Index, flag};
use crate::api::{Count, Usage};
use jiff::Timestamp;
use jiff::tz::Offset;
use std::collections::BTreeMap;

/// Days that are counted one by one.
const DAYS: usize = 30;

const DAY_US: i64 = 86_400_000_000;

impl Index {
    /// Counts; days end at `now_us`.
    fn usage(&self, now_us: i64) -> Usage {
        let today = now_us.div_euclid(DAY_US);
        let mut per_kind = vec![0; self.kinds.all().len()];
        let mut per_day = [0; DAYS];
        for entry in self.entries.iter().filter(|entry| !entry.is(flag::GONE)) {
            per_kind[entry.kind as usize] += 1;
            let ago = today - entry.stored_us.div_euclid(DAY_US);
            // From a collector whose clock is ahead: today.
            let ago = usize::try_from(ago.max(0)).unwrap_or(DAYS);
            if let Some(day) = per_day.get_mut(ago) {
                *day += 1;
            }
        }
        let mut counts: [BTreeMap<&str, u64>; 4] = Default::default();
        let (mut runs, mut invalid) = (0, 0);
        for (kind, count) in self.kinds.all().iter().zip(per_kind) {
            if count == 0 {
                continue;
            }
            runs += count;
            invalid += match kind.counts {
                true => 0,
                false => count,
            };
            for (of, word) in counts.iter_mut().zip(self.kinds.usage_words(kind)) {
                *of.entry(word).or_default() += count;
            }
        }
        let [platforms, networks, servers, transports] = counts.map(by_size);
        let per_day = (0_i64..).zip(per_day).collect::<Vec<_>>();
        Usage {
            runs,
            tests: self.tests.iter().filter(|test| test.runs > 0).count() as u64,
            invalid,
            per_day: per_day
                .into_iter()
                .rev()
                .map(|(ago, runs)| Count {
                    of: date(today - ago),
                    runs,
                })
                .collect(),
            platforms,
            networks,
            servers,
            transports,
        }
    }
}

/// The most frequent first.
fn by_size(counts: BTreeMap<&str, u64>) -> Vec<Count> {
    let of = |(of, runs): (&str, u64)| Count {
        of: of.to_owned(),
        runs,
    };
    let mut counts: Vec<Count> = counts.into_iter().map(of).collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.runs));
    counts
}

/// A day since 1970 as it is written: `2026-11-21`.
fn date(day: i64) -> String {
    let time = Timestamp::from_microsecond(day.saturating_mul(DAY_US)).unwrap_or_default();
    Offset::UTC.to_datetime(time).date().to_string()
}

impl Follower {
    /// Counts, by the clock of this machine.
    pub(in crate::store) async fn usage(&self) -> Result<Usage, StoreError> {
        let now_us = Timestamp::now().as_microsecond();
        self.ask(move |index| index.usage(now_us)).await
    }
}
