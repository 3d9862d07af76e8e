//! What did sessions that are over record? Kept for their clients until the token expires, the oldest
//! making room for the newest.

use measure::Clock;
use model::live::SessionRecords;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Bytes in memory of all records.
const MAX_BYTES: usize = 512 << 20;

/// The records of sessions that are over, by token.
#[derive(Default)]
pub(super) struct Archive {
    kept: HashMap<String, Kept>,
    /// In the order of their ends.
    order: VecDeque<String>,
    bytes: usize,
}

struct Kept {
    records: Arc<SessionRecords>,
    clock: Clock,
    expires_s: u64,
    bytes: usize,
    fetched: bool,
}

impl Archive {
    /// Keeps `records` of about `bytes` until `expires_s`; `clock` is the session's, and `fetched` says
    /// that nobody waits for them.
    pub(super) fn keep(
        &mut self,
        token: String,
        records: SessionRecords,
        clock: Clock,
        expires_s: u64,
        bytes: usize,
        fetched: bool,
    ) {
        let kept = Kept {
            records: Arc::new(records),
            clock,
            expires_s,
            bytes,
            fetched,
        };
        self.bytes += bytes;
        self.kept.insert(token.clone(), kept);
        self.order.push_back(token);
        while self.bytes > MAX_BYTES && self.order.len() > 1 {
            self.drop_oldest();
        }
    }

    /// The records of a token's session, and the session's time now, in microseconds.
    pub(super) fn fetch(&mut self, token: &str) -> Option<(Arc<SessionRecords>, u64)> {
        let kept = self.kept.get_mut(token)?;
        kept.fetched = true;
        Some((Arc::clone(&kept.records), kept.clock.now().as_micros()))
    }

    /// Whether a session with this token is over.
    pub(super) fn has(&self, token: &str) -> bool {
        self.kept.contains_key(token)
    }

    /// Whether somebody's records wait.
    pub(super) fn has_unfetched(&self) -> bool {
        self.kept.values().any(|kept| !kept.fetched)
    }

    /// Drops what expired.
    pub(super) fn forget(&mut self, now_s: u64) {
        let expired = |kept: &Kept| kept.expires_s <= now_s;
        if !self.kept.values().any(expired) {
            return;
        }
        self.kept.retain(|_, kept| !expired(kept));
        self.order.retain(|token| self.kept.contains_key(token));
        self.bytes = self.kept.values().map(|kept| kept.bytes).sum();
    }

    fn drop_oldest(&mut self) {
        if let Some(token) = self.order.pop_front()
            && let Some(kept) = self.kept.remove(&token)
        {
            self.bytes -= kept.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::recorder::empty;
    use model::Time;

    fn records() -> SessionRecords {
        empty().snapshot(Time::ZERO, Vec::new(), &[], None)
    }

    #[test]
    fn the_oldest_make_room_and_the_expired_go() {
        let mut archive = Archive::default();
        let clock = Clock::start();
        for (n, expires_s) in [(0, 100), (1, 200), (2, 300)] {
            let token = format!("t{n}");
            archive.keep(token, records(), clock, expires_s, MAX_BYTES / 2, false);
        }
        assert_eq!(
            ["t0", "t1", "t2"].map(|t| archive.has(t)),
            [false, true, true]
        );
        assert!(archive.has_unfetched());
        assert!(archive.fetch("t1").is_some() && archive.fetch("t2").is_some());
        assert!(!archive.has_unfetched());
        archive.forget(200);
        assert_eq!(["t1", "t2"].map(|t| archive.has(t)), [false, true]);
        assert_eq!((archive.bytes, archive.order.len()), (MAX_BYTES / 2, 1));
    }
}
