//! Who may come in now? Bounds on what happens at once, in all and per network prefix, so that one
//! prefix cannot take everything and memory stays bounded.

use super::{Limits, refusal::Refusal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Uploads that are unpacked at once at most: each may take some hundred megabytes for a moment.
const UNPACKED_AT_ONCE: usize = 4;

/// How long a query or an upload waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bounds on work.
pub struct Gates {
    /// Uploads that arrive: each may hold its compressed bytes.
    pub uploads: PerPrefix,
    /// Uploads that are unpacked and read: each may hold its expanded bytes.
    unpacking: Arc<Semaphore>,
    queries: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl Gates {
    pub fn new(limits: &Limits) -> Gates {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let semaphore = |n: u32| Arc::new(Semaphore::new(n as usize));
        Gates {
            uploads: PerPrefix::new(limits.uploads_at_once, limits.uploads_at_once_per_prefix),
            unpacking: Arc::new(Semaphore::new(processors.min(UNPACKED_AT_ONCE))),
            queries: semaphore(limits.queries_at_once),
            exports: semaphore(limits.exports_at_once),
        }
    }

    /// A turn to unpack an upload.
    pub async fn unpack(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        turn(&self.unpacking).await
    }

    /// A turn to ask the store for much.
    pub async fn query(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        turn(&self.queries).await
    }

    /// A turn to export; there is no waiting for it.
    pub fn export(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let permit = Arc::clone(&self.exports).try_acquire_owned();
        permit.map_err(|_| Refusal::unavailable("other exports are running: try again later", 30))
    }
}

async fn turn(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let permit = Arc::clone(semaphore).acquire_owned();
    match tokio::time::timeout(PATIENCE, permit).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Refusal::unavailable(
            "the collector is busy: try again later",
            10,
        )),
    }
}

/// A bound on how many there are at once, in all and per prefix.
#[derive(Clone)]
pub struct PerPrefix(Arc<Counts>);

struct Counts {
    most: usize,
    most_per_prefix: usize,
    now: Mutex<(usize, HashMap<String, usize>)>,
}

/// Which bound was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// That of the prefix.
    Prefix,
    /// That of all.
    All,
}

/// One of those that are counted; dropped, it counts no more.
pub struct Inside {
    counts: Arc<Counts>,
    prefix: String,
}

impl PerPrefix {
    pub fn new(most: u32, most_per_prefix: u32) -> PerPrefix {
        PerPrefix(Arc::new(Counts {
            most: most as usize,
            most_per_prefix: most_per_prefix as usize,
            now: Mutex::default(),
        }))
    }

    /// One more from `prefix`, if there is room.
    pub fn enter(&self, prefix: &str) -> Result<Inside, Full> {
        let mut now = lock(&self.0.now);
        let (all, prefixes) = &mut *now;
        if *all >= self.0.most {
            return Err(Full::All);
        }
        let of_prefix = prefixes.get(prefix).copied().unwrap_or(0);
        if of_prefix >= self.0.most_per_prefix {
            return Err(Full::Prefix);
        }
        *all += 1;
        prefixes.insert(prefix.to_owned(), of_prefix + 1);
        Ok(Inside {
            counts: Arc::clone(&self.0),
            prefix: prefix.to_owned(),
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.0.now).0
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut now = lock(&self.counts.now);
        let (all, prefixes) = &mut *now;
        *all -= 1;
        if let Some(count) = prefixes.get_mut(&self.prefix) {
            *count -= 1;
            if *count == 0 {
                prefixes.remove(&self.prefix);
            }
        }
    }
}

/// How many requests a prefix may make over time: a token bucket each (RFC 2697's idea, for requests).
pub struct Pace {
    per_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

/// Prefixes remembered at most; when there are more, those whose bucket is full again are forgotten.
const MOST_BUCKETS: usize = 100_000;
/// Requests that may come at once, in seconds of the average.
const BURST_S: f64 = 4.0;

impl Pace {
    pub fn new(per_second: u32) -> Pace {
        Pace {
            per_second: f64::from(per_second),
            buckets: Mutex::default(),
        }
    }

    /// Takes one request of `prefix` into account; the refusal says when to come again.
    pub fn admit(&self, prefix: &str, now: Instant) -> Result<(), Refusal> {
        let full = self.per_second * BURST_S;
        let mut buckets = lock(&self.buckets);
        if buckets.len() >= MOST_BUCKETS {
            let refilled = Duration::from_secs_f64(BURST_S);
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at) < refilled);
            if buckets.len() >= MOST_BUCKETS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(prefix.to_owned()).or_insert(Bucket {
            left: full,
            at: now,
        });
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * self.per_second).min(full);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Refusal::too_many(
                "too many requests from your network prefix: wait a little",
                1,
            ));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

/// The data of a mutex; a panic elsewhere left counters that are still counters.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_prefix_leaves_room_for_others() {
        let gate = PerPrefix::new(3, 2);
        let first = gate.enter("a").ok();
        let second = gate.enter("a").ok();
        assert_eq!(gate.enter("a").err(), Some(Full::Prefix));
        let other = gate.enter("b").ok();
        assert!(first.is_some() && other.is_some());
        assert_eq!(gate.enter("c").err(), Some(Full::All));
        drop(second);
        assert!(gate.enter("a").is_ok());
        drop((first, other));
        assert_eq!(gate.count(), 0);
        assert!(lock(&gate.0.now).1.is_empty());
    }

    #[test]
    fn a_bucket_fills_again() {
        let pace = Pace::new(10);
        let start = Instant::now();
        let admitted = (0..100).filter(|_| pace.admit("a", start).is_ok()).count();
        assert_eq!(admitted, 40);
        assert!(pace.admit("b", start).is_ok(), "others are served");
        let later = start + Duration::from_millis(250);
        let admitted = (0..100).filter(|_| pace.admit("a", later).is_ok()).count();
        assert_eq!(admitted, 2);
    }
}
