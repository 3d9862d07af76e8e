//! Are the items of a running test passed on in one order, and quotas held?

use crate::place::{Place, on_both};
use std::time::Duration;
use walkabout_platform::api::{LiveBatch, LiveEvent, LiveItem};
use walkabout_platform::store::{Numbered, Store};

on_both!(
    in_one_order,
    running_for_half_a_minute,
    never_more_than_the_limit,
    spent_per_window
);

fn batch(test: &str, run: &str, times: std::ops::Range<u64>) -> LiveBatch {
    LiveBatch {
        test: test.into(),
        experiment: "walk".into(),
        server: "near".into(),
        token: "a token".into(),
        items: times
            .map(|time_us| LiveItem {
                run: run.into(),
                time_us,
                event: LiveEvent::Waiting { waited_us: time_us },
            })
            .collect(),
        over: false,
    }
}

async fn in_one_order(place: &Place) {
    const WRITERS: u64 = 4;
    const BATCHES: u64 = 25;
    let stores = [place.store().await, place.store().await];
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = stores[writer as usize % 2].clone();
            tokio::spawn(async move {
                for i in 0..BATCHES {
                    let batch = batch("a", &format!("run {writer}"), i * 3..i * 3 + 3);
                    store.push_live(&batch, 1_000).await.expect("it is taken");
                }
            })
        })
        .collect();
    // Who follows misses nothing: no number appears below one that was seen.
    let mut followed: Vec<Numbered> = Vec::new();
    let all = (WRITERS * BATCHES * 3) as usize;
    while followed.len() < all {
        let last = followed.last().map_or(0, |item| item.sequence);
        let new = stores[1]
            .live_after("a", last, 7)
            .await
            .expect("it answers");
        assert!(new.len() <= 7);
        followed.extend(new);
    }
    for writer in writers {
        writer.await.expect("no panic");
    }
    let rises = |pair: &[Numbered]| pair[0].sequence < pair[1].sequence;
    assert!(followed.windows(2).all(rises));
    assert_eq!(
        stores[0].live_after("a", 0, 10_000).await,
        Ok(followed.clone())
    );
    assert_eq!(stores[0].live_after("b", 0, 10_000).await, Ok(vec![]));
    for writer in 0..WRITERS {
        let run = format!("run {writer}");
        let times: Vec<u64> = followed
            .iter()
            .filter(|item| item.item.run == run)
            .map(|item| item.item.time_us)
            .collect();
        assert_eq!(times, (0..BATCHES * 3).collect::<Vec<_>>(), "{run}");
    }
}

async fn running_for_half_a_minute(place: &Place) {
    let store = place.store().await;
    let push = |batch: LiveBatch, now_s| {
        let store = store.clone();
        async move { store.push_live(&batch, now_s).await.expect("it is taken") }
    };
    push(batch("old", "tcp", 0..2), 1_000).await;
    push(batch("new", "mptcp", 0..2), 1_010).await;
    push(batch("old", "quic", 0..0), 1_012).await;
    push(batch("old", "quic", 0..1), 1_020).await;
    let running = store.running(1_040).await.unwrap();
    let names: Vec<_> = running.iter().map(|test| &test.test[..]).collect();
    assert_eq!(names, ["new", "old"]);
    assert_eq!(running[1].runs, ["tcp", "quic"]);
    assert_eq!(running[1].since, "1970-01-01T00:16:40Z");
    assert_eq!(running[1].heard_at, "1970-01-01T00:17:00Z");
    assert_eq!(running[1].experiment, "walk");
    assert_eq!(running[1].server, "near");
    // `new` was last heard of 31 s ago.
    let tests = async |now_s| -> Vec<String> {
        let running = store.running(now_s).await.expect("it answers");
        running.into_iter().map(|test| test.test).collect()
    };
    assert_eq!(tests(1_041).await, ["old"]);
    let mut last = batch("old", "tcp", 2..3);
    last.over = true;
    push(last, 1_042).await;
    assert_eq!(tests(1_042).await, Vec::<String>::new());
    // Its items are still there, for an hour.
    assert_eq!(store.live_after("old", 0, 100).await.unwrap().len(), 4);
    store.expire(1_042 + 3_600).await.unwrap();
    assert_eq!(store.live_after("old", 0, 100).await.unwrap().len(), 1);
    store.expire(1_043 + 3_600).await.unwrap();
    assert_eq!(store.live_after("old", 0, 100).await, Ok(vec![]));
}

const HOUR: Duration = Duration::from_secs(3_600);

async fn spends(store: &Store, key: &str, amount: u64, limit: u64, now_s: u64) -> bool {
    let spent = store.spend(key, amount, limit, HOUR, now_s).await;
    spent.expect("it answers")
}

async fn never_more_than_the_limit(place: &Place) {
    let stores = [place.store().await, place.store().await];
    let tasks: Vec<_> = (0..80)
        .map(|i| {
            let store = stores[i % 2].clone();
            let key = ["192.0.2.0/24", "2001:db8:1::/48"][i / 2 % 2];
            tokio::spawn(async move { (key, spends(&store, key, 3, 50, 7_200).await) })
        })
        .collect();
    let mut taken = std::collections::BTreeMap::new();
    for task in tasks {
        let (key, done) = task.await.expect("no panic");
        *taken.entry(key).or_insert(0) += u32::from(done);
    }
    // 16 times 3 of 50, by 40 tasks each.
    assert!(taken.values().all(|count| *count == 16), "{taken:?}");
    // What is left can still be taken.
    assert!(spends(&stores[0], "192.0.2.0/24", 2, 50, 7_200).await);
    assert!(!spends(&stores[1], "192.0.2.0/24", 1, 50, 7_200).await);
}

async fn spent_per_window(place: &Place) {
    let store = &place.store().await;
    assert!(!spends(store, "a", 11, 10, 0).await);
    assert!(spends(store, "a", 10, 10, 3_599).await);
    assert!(!spends(store, "a", 1, 10, 0).await);
    assert!(spends(store, "a", 0, 10, 0).await);
    assert!(spends(store, "b", 1, 10, 0).await);
    assert!(spends(store, "a", 1, 10, 3_600).await);
    assert!(spends(store, "c", u64::MAX, u64::MAX, 0).await);
    assert!(!spends(store, "c", u64::MAX, u64::MAX, 0).await);
    store.expire(3_600).await.unwrap();
    // The first window is forgotten, the second is not.
    assert!(spends(store, "a", 10, 10, 0).await);
    assert!(!spends(store, "a", 10, 10, 3_600).await);
}
