//! How much has a network prefix had in this hour? Counted in the store, so that it holds across
//! collectors; taken from there in portions, so that an upload costs no second transaction.

use super::gate::lock;
use super::refusal::Refusal;
use crate::store::Store;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

/// The window of every quota.
const HOUR: Duration = Duration::from_secs(3_600);
/// The largest portion is this part of the limit. What several collectors leave unused of theirs is lost,
/// and should not matter; nor should what a collector leaves unused that is killed, which is why each
/// portion is at most twice the one before, beginning with what is needed.
const PORTIONS: u64 = 64;
/// Portions remembered at most.
const MOST_PORTIONS: usize = 100_000;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    Uploads,
    Tokens,
    TrafficBytes,
    LiveItems,
}

impl Of {
    fn word(self) -> &'static str {
        match self {
            Of::Uploads => "uploads",
            Of::Tokens => "tokens",
            Of::TrafficBytes => "bytes of test traffic",
            Of::LiveItems => "live items",
        }
    }
}

/// The quotas.
pub struct Quota {
    store: Store,
    portions: Mutex<HashMap<(Of, String), Portion>>,
}

#[derive(Clone, Copy)]
struct Portion {
    window: u64,
    left: u64,
    /// The last one taken, in this window or before.
    size: u64,
}

impl Quota {
    pub fn new(store: Store) -> Quota {
        Quota {
            store,
            portions: Mutex::default(),
        }
    }

    /// Takes `amount` of `prefix`'s `limit` in the hour of `now_s`.
    pub async fn take(
        &self,
        of: Of,
        prefix: &str,
        amount: u64,
        limit: u64,
        now_s: u64,
    ) -> Result<(), Refusal> {
        let window = now_s / HOUR.as_secs();
        let last = match self.take_from_portion(of, prefix, amount, window) {
            Ok(()) => return Ok(()),
            Err(last) => last,
        };
        let key = format!("{}:{prefix}", of.word());
        let portion = amount.max((2 * last).min(limit / PORTIONS));
        let spend = |amount| self.store.spend(&key, amount, limit, HOUR, now_s);
        let granted = match spend(portion).await? {
            true => portion,
            // Near the limit the rest is taken piece by piece.
            false if portion > amount && spend(amount).await? => amount,
            false => {
                let retry = HOUR.as_secs() - now_s % HOUR.as_secs();
                let what = of.word();
                let title = format!(
                    "your network prefix has had its {limit} {what} of this hour: try again then"
                );
                return Err(Refusal::too_many(
                    title,
                    u32::try_from(retry).unwrap_or(3_600),
                ));
            }
        };
        self.keep(of, prefix, window, granted, granted - amount);
        Ok(())
    }

    /// Takes `amount` from what is left of the last portion; if that is less, says how large it was.
    fn take_from_portion(&self, of: Of, prefix: &str, amount: u64, window: u64) -> Result<(), u64> {
        let mut portions = lock(&self.portions);
        match portions.get_mut(&(of, prefix.to_owned())) {
            Some(portion) if portion.window == window && portion.left >= amount => {
                portion.left -= amount;
                Ok(())
            }
            Some(portion) => Err(portion.size),
            None => Err(0),
        }
    }

    fn keep(&self, of: Of, prefix: &str, window: u64, size: u64, left: u64) {
        let mut portions = lock(&self.portions);
        if portions.len() >= MOST_PORTIONS {
            portions.retain(|_, portion| portion.window == window && portion.left > 0);
            if portions.len() >= MOST_PORTIONS {
                // Forgetting them loses quota of their prefixes, and bounds memory.
                portions.clear();
            }
        }
        let none = Portion {
            window,
            left: 0,
            size,
        };
        let portion = portions.entry((of, prefix.to_owned())).or_insert(none);
        if portion.window != window {
            *portion = none;
        }
        portion.left += left;
        portion.size = size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_collector_that_is_killed_again_and_again_uses_little_up() {
        let store = Store::open("sqlite::memory:").await.expect("in memory");
        for restart in 0..200 {
            // What is left of the portions of the one before is lost.
            let quota = Quota::new(store.clone());
            let taken = quota.take(Of::Uploads, "192.0.2.0/24", 1, 600, 0).await;
            assert!(taken.is_ok(), "refused after {restart} restarts");
        }
    }

    #[tokio::test]
    async fn the_limit_holds() {
        let store = Store::open("sqlite::memory:").await.expect("in memory");
        let quota = Quota::new(store);
        let mut taken = 0;
        while quota
            .take(Of::Tokens, "192.0.2.0/24", 1, 600, 0)
            .await
            .is_ok()
        {
            taken += 1;
            assert!(taken <= 600);
        }
        assert_eq!(taken, 600);
        // The next hour is another.
        let next = quota.take(Of::Tokens, "192.0.2.0/24", 1, 600, 3_600).await;
        assert!(next.is_ok());
    }
}
