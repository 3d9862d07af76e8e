//! Do several collectors on one database see the same, at once?

use crate::place::{Place, on_both};
use crate::put::put_all;
use crate::sample;
use walkabout_platform::api::Filter;
use walkabout_platform::store::{Deletion, Put, Store};

on_both!(
    opened_at_once,
    each_sees_the_other,
    one_that_missed_removals,
    one_whose_database_went_back,
    the_same_run_at_both
);

async fn total(store: &Store) -> u64 {
    let filter = Filter {
        invalid: Some(true),
        ..Filter::default()
    };
    store.list(&filter).await.expect("it answers").total
}

async fn opened_at_once(place: &Place) {
    let opening: Vec<_> = (0..6)
        .map(|_| {
            let url = place.url.clone();
            tokio::spawn(async move { Store::open(&url).await })
        })
        .collect();
    let random = &mut sample::random(1);
    for (i, store) in opening.into_iter().enumerate() {
        let store = store.await.expect("no panic").expect("it opens");
        store.ping().await.expect("it answers");
        put_all(&store, &[sample::run(random, "a")]).await;
        assert_eq!(total(&store).await, i as u64 + 1);
    }
}

async fn each_sees_the_other(place: &Place) {
    let (one, two) = (place.store().await, place.store().await);
    let random = &mut sample::random(2);
    for i in 0..20 {
        let (here, there) = if i % 2 == 0 {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let mut run = sample::run(random, "a");
        run.expires_s = i;
        put_all(here, std::slice::from_ref(&run)).await;
        assert_eq!(total(there).await, 1);
        assert_eq!(there.put(&run).await, Ok(Put::AlreadyStored));
        if i % 3 == 0 {
            assert_eq!(there.expire(i).await, Ok(1));
        } else {
            let deleted = there.delete(&run.summary.id, run.secret_sha256).await;
            assert_eq!(deleted, Ok(Deletion::Deleted));
        }
        assert_eq!((total(here).await, total(there).await), (0, 0));
    }
}

async fn one_that_missed_removals(place: &Place) {
    let (one, two) = (place.store().await, place.store().await);
    let random = &mut sample::random(3);
    let runs: Vec<_> = (0..10).map(|_| sample::run(random, "a")).collect();
    put_all(&one, &runs).await;
    assert_eq!((total(&one).await, total(&two).await), (10, 10));
    for run in &runs[..4] {
        let deleted = one.delete(&run.summary.id, run.secret_sha256).await;
        assert_eq!(deleted, Ok(Deletion::Deleted));
    }
    // So many went that they are no longer remembered one by one.
    place
        .sql(
            "DELETE FROM removals; UPDATE counters SET value = \
             (SELECT value FROM counters WHERE name = 'runs') WHERE name = 'removals-forgotten'",
        )
        .await;
    put_all(&one, &[sample::run(random, "a")]).await;
    assert_eq!((total(&one).await, total(&two).await), (7, 7));
}

async fn one_whose_database_went_back(place: &Place) {
    let store = place.store().await;
    let random = &mut sample::random(4);
    let runs: Vec<_> = (0..5).map(|_| sample::run(random, "a")).collect();
    put_all(&store, &runs).await;
    assert_eq!(total(&store).await, 5);
    // As after restoring a backup.
    place
        .sql(
            "DELETE FROM runs WHERE number > 3; \
             UPDATE counters SET value = 3 WHERE name = 'runs'",
        )
        .await;
    assert_eq!(total(&store).await, 3);
    put_all(&store, &[sample::run(random, "a")]).await;
    assert_eq!(total(&store).await, 4);
}

async fn the_same_run_at_both(place: &Place) {
    let stores = [place.store().await, place.store().await];
    let random = &mut sample::random(5);
    for _ in 0..20 {
        let run = sample::run(random, "a");
        let puts = stores.each_ref().map(|store| {
            let (store, run) = (store.clone(), run.clone());
            tokio::spawn(async move { store.put(&run).await })
        });
        let mut done = Vec::new();
        for put in puts {
            done.push(put.await.expect("no panic").expect("it answers"));
        }
        done.sort_by_key(|put| *put != Put::Stored);
        assert_eq!(done, [Put::Stored, Put::AlreadyStored]);
    }
    assert_eq!(total(&stores[0]).await, 20);
}
