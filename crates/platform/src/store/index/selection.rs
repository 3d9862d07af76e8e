//! Which runs does a filter let pass, and which of them are on a page?

use super::super::{StoreError, run};
use super::{Entry, Follower, Index, flag};
use crate::api::{Filter, RunPage};
use jiff::Timestamp;

/// Runs on a page unless asked otherwise, and at most.
const PAGE: u32 = 50;
const MOST: u32 = 200;

/// Up to where runs are counted.
pub(super) const COUNTED: u64 = 10_000;

/// A filter that was understood.
#[derive(Clone, Debug)]
pub(in crate::store) struct Selection {
    filter: Filter,
    from_us: i64,
    to_us: i64,
    /// Runs with smaller numbers than this are on the page.
    before: i64,
}

/// What passes a filter, by the kinds of an index.
pub(super) struct Passing {
    /// By kind.
    kinds: Vec<bool>,
    test: Option<u32>,
    from_us: i64,
    to_us: i64,
    delay_max_s: Option<f64>,
}

impl Selection {
    /// What `filter` asks for.
    pub(in crate::store) fn new(filter: &Filter) -> Result<Selection, StoreError> {
        if filter.delay_max_s.is_some_and(f64::is_nan) {
            let what = "`delay_max_s` is no number of seconds";
            return Err(StoreError::Query(what.into()));
        }
        let before = match filter.after.as_deref() {
            None => i64::MAX,
            Some(after) => after.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                StoreError::Query(format!(
                    "`after` is `{after}`: give the `next` of the page before, or leave it out"
                ))
            })?,
        };
        Ok(Selection {
            from_us: time("from", filter.from.as_deref())?.unwrap_or(i64::MIN),
            to_us: time("to", filter.to.as_deref())?.unwrap_or(i64::MAX),
            before,
            filter: filter.clone(),
        })
    }

    /// Only runs that count.
    pub(super) fn that_count(mut self) -> Selection {
        self.filter.invalid = None;
        self
    }

    /// What passes; `None` when nothing can.
    pub(super) fn passing(&self, index: &Index) -> Option<Passing> {
        let kinds = index.kinds.matching(&self.filter);
        let test = match &self.filter.test {
            Some(test) => Some(index.test(test)?),
            None => None,
        };
        kinds.contains(&true).then_some(Passing {
            kinds,
            test,
            from_us: self.from_us,
            to_us: self.to_us,
            delay_max_s: self.filter.delay_max_s,
        })
    }

    fn limit(&self) -> usize {
        self.filter.limit.unwrap_or(PAGE).clamp(1, MOST) as usize
    }
}

/// Microseconds since 1970 of an RFC 3339 time, rounded up: a run stored in the same microsecond but
/// before is not at or after it.
fn time(key: &str, text: Option<&str>) -> Result<Option<i64>, StoreError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let time: Timestamp = text.parse().map_err(|_| {
        StoreError::Query(format!(
            "`{key}` is `{text}`: write a time like 2026-11-21T08:00:00Z"
        ))
    })?;
    let up = i64::from(time.subsec_nanosecond().rem_euclid(1_000) > 0);
    Ok(Some(time.as_microsecond() + up))
}

impl Passing {
    pub(super) fn lets(&self, entry: &Entry) -> bool {
        self.kinds[entry.kind as usize]
            && !entry.is(flag::GONE)
            && (self.from_us..self.to_us).contains(&entry.stored_us)
            && self.test.is_none_or(|test| test == entry.test)
            && self
                .delay_max_s
                .is_none_or(|least| entry.delay_max.0 >= least)
    }

    /// Whether runs of this kind may pass.
    pub(super) fn lets_kind(&self, kind: usize) -> bool {
        self.kinds[kind]
    }

    /// The only test that passes.
    pub(super) fn only_test(&self) -> Option<u32> {
        self.test
    }
}

/// The runs of a page, as far as the index knows them.
#[derive(Debug, Default)]
struct Page {
    numbers: Vec<i64>,
    total: u64,
    more_in_all: bool,
    more_pages: bool,
}

impl Index {
    fn page(&self, selection: &Selection) -> Page {
        let mut page = Page::default();
        let Some(passing) = selection.passing(self) else {
            return page;
        };
        let passes = |entry: &&Entry| passing.lets(entry);
        let counted = self.entries.iter().rev().filter(passes);
        // One more than is counted tells that there are more.
        page.total = counted.take(COUNTED as usize + 1).count() as u64;
        page.more_in_all = page.total > COUNTED;
        page.total = page.total.min(COUNTED);

        let end = self
            .entries
            .partition_point(|e| e.number < selection.before);
        let mut below = self.entries[..end].iter().rev().filter(passes);
        let numbers = below.by_ref().map(|entry| entry.number);
        page.numbers = numbers.take(selection.limit()).collect();
        page.more_pages = below.next().is_some();
        page
    }
}

impl Follower {
    /// The explorer's page.
    pub(in crate::store) async fn list(&self, selection: Selection) -> Result<RunPage, StoreError> {
        let page = self.ask(move |index| index.page(&selection)).await?;
        Ok(RunPage {
            runs: run::summaries(&self.database, &page.numbers).await?,
            total: page.total,
            total_is_lower_bound: page.more_in_all,
            next: match page.more_pages {
                true => page.numbers.last().map(i64::to_string),
                false => None,
            },
        })
    }
}
