//! Who watches which running test? One task per watched test asks the store for what is new, for all
//! its watchers together; several collectors on one database each do so for theirs.

use crate::api::LiveItem;
use crate::collector::gate::{Full, Inside, PerPrefix, lock};
use crate::collector::state::now_s;
use crate::store::{Numbered, Store, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::broadcast;

/// How often the store is asked: what is seen is passed on within half a second.
const PERIOD: Duration = Duration::from_millis(200);
/// Every how many periods is looked whether the test goes on.
const PERIODS_PER_LOOK: u32 = 25;
/// Items read from the store at once; it may have to look at as many batches.
const PAGE: u32 = 100;
/// Items a watcher may fall behind by.
const BEHIND: usize = 4_096;

/// Something for a watcher.
#[derive(Clone, Debug)]
pub enum News {
    /// An item.
    Item(Arc<Numbered>),
    /// The test is over: nothing more comes.
    Over,
}

/// The watched tests.
pub struct Hub {
    store: Store,
    places: PerPrefix,
    tests: Mutex<HashMap<String, broadcast::Sender<News>>>,
}

impl Hub {
    pub fn new(store: Store, most: u32, most_per_prefix: u32) -> Arc<Hub> {
        Arc::new(Hub {
            store,
            places: PerPrefix::new(most, most_per_prefix),
            tests: Mutex::default(),
        })
    }

    /// A watcher's place.
    pub fn enter(&self, prefix: &str) -> Result<Inside, Full> {
        self.places.enter(prefix)
    }

    /// How many watch.
    pub fn watchers(&self) -> usize {
        self.places.count()
    }

    /// Items of `test` after `sequence`, as many as are read at once.
    pub async fn after(&self, test: &str, sequence: i64) -> Result<Vec<Numbered>, StoreError> {
        self.store.live_after(test, sequence, PAGE).await
    }

    /// Whether `test` was heard of lately.
    pub async fn is_running(&self, test: &str) -> Result<bool, StoreError> {
        let running = self.store.running(now_s()).await?;
        Ok(running.iter().any(|t| t.test == test))
    }

    /// What comes of `test` from now on: everything after `sequence` if nobody watched it yet, else what
    /// comes after this call, and the caller reads from the store what lies between.
    pub fn follow(self: &Arc<Self>, test: &str, sequence: i64) -> broadcast::Receiver<News> {
        let mut tests = lock(&self.tests);
        if let Some(sender) = tests.get(test) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BEHIND);
        tests.insert(test.to_owned(), sender.clone());
        let hub = Arc::clone(self);
        tokio::spawn(hub.poll(test.to_owned(), sequence, sender));
        receiver
    }

    async fn poll(
        self: Arc<Self>,
        test: String,
        mut sequence: i64,
        sender: broadcast::Sender<News>,
    ) {
        let mut turn = tokio::time::interval(PERIOD);
        turn.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut periods = 0_u32;
        while !self.is_abandoned(&test, &sender) {
            turn.tick().await;
            periods += 1;
            let items = match self.after(&test, sequence).await {
                Ok(items) => items,
                Err(error) => {
                    tracing::warn!(%error, "live items cannot be read");
                    continue;
                }
            };
            let none = items.is_empty();
            for item in items {
                sequence = item.sequence;
                // Without receivers the next look ends this task.
                let _ = sender.send(News::Item(Arc::new(item)));
            }
            let look = none && periods.is_multiple_of(PERIODS_PER_LOOK);
            if look && matches!(self.is_running(&test).await, Ok(false)) {
                lock(&self.tests).remove(&test);
                let _ = sender.send(News::Over);
                return;
            }
        }
    }

    /// Whether nobody watches any more; nobody can come in between, as the test is forgotten at once.
    fn is_abandoned(&self, test: &str, sender: &broadcast::Sender<News>) -> bool {
        let mut tests = lock(&self.tests);
        let abandoned = sender.receiver_count() == 0;
        if abandoned {
            tests.remove(test);
        }
        abandoned
    }
}

/// The text of an item for watchers.
pub fn json(item: &LiveItem) -> String {
    // An item is text and numbers.
    serde_json::to_string(item).unwrap_or_default()
}
