//! What becomes of a run that is stored, stored again, or deleted?

use crate::place::{Place, on_both};
use crate::sample;
use walkabout_platform::api::{Filter, MetricValue, RunSummary};
use walkabout_platform::store::{Deletion, Put};

on_both!(
    stored_once,
    deleted_stays_deleted,
    expired_runs_go,
    any_text_and_number,
    many_at_once
);

/// Everything.
fn all() -> Filter {
    Filter {
        invalid: Some(true),
        limit: Some(200),
        ..Filter::default()
    }
}

/// `stored`, but for the time.
fn as_put(stored: RunSummary) -> RunSummary {
    assert!(stored.stored_at.ends_with('Z'), "{}", stored.stored_at);
    RunSummary {
        stored_at: String::new(),
        ..stored
    }
}

async fn stored_once(place: &Place) {
    let store = place.store().await;
    let random = &mut sample::random(1);
    let run = sample::run(random, "a");
    assert_eq!(store.put(&run).await, Ok(Put::Stored));
    assert_eq!(store.put(&run).await, Ok(Put::AlreadyStored));
    let (summary, document) = store.get(&run.summary.id).await.unwrap().unwrap();
    assert_eq!(as_put(summary), run.summary);
    assert_eq!(document, run.document);

    let mut other = run.clone();
    other.content_sha256[0] ^= 1;
    other.document = vec![1, 2, 3];
    assert_eq!(store.put(&other).await, Ok(Put::Conflict));
    // Who has another secret is somebody else.
    let mut thief = run.clone();
    thief.secret_sha256[0] ^= 1;
    assert_eq!(store.put(&thief).await, Ok(Put::Conflict));

    let (_, document) = store.get(&run.summary.id).await.unwrap().unwrap();
    assert_eq!(document, run.document);
    let page = store.list(&all()).await.unwrap();
    assert_eq!((page.runs.len(), page.total), (1, 1));
    assert_eq!(store.get("none").await, Ok(None));

    // Another program's view after a restart.
    store.close().await;
    let store = place.store().await;
    assert_eq!(store.put(&run).await, Ok(Put::AlreadyStored));
    assert_eq!(store.list(&all()).await.unwrap(), page);
}

async fn deleted_stays_deleted(place: &Place) {
    let store = place.store().await;
    let random = &mut sample::random(2);
    let (run, other) = (sample::run(random, "a"), sample::run(random, "a"));
    for run in [&run, &other] {
        assert_eq!(store.put(run).await, Ok(Put::Stored));
    }
    let id = &run.summary.id;
    let delete = |id: &str, secret| {
        let (store, id) = (store.clone(), id.to_owned());
        async move { store.delete(&id, secret).await }
    };
    assert_eq!(delete(id, other.secret_sha256).await, Ok(Deletion::Refused));
    assert_eq!(store.put(&run).await, Ok(Put::AlreadyStored));
    assert_eq!(
        delete("none", run.secret_sha256).await,
        Ok(Deletion::NotFound)
    );
    assert_eq!(delete(id, run.secret_sha256).await, Ok(Deletion::Deleted));
    assert_eq!(delete(id, run.secret_sha256).await, Ok(Deletion::NotFound));
    assert_eq!(store.put(&run).await, Ok(Put::Deleted));
    assert_eq!(store.get(id).await, Ok(None));
    let page = store.list(&all()).await.unwrap();
    let ids: Vec<_> = page.runs.iter().map(|run| &run.id).collect();
    assert_eq!((ids, page.total), (vec![&other.summary.id], 1));

    store.close().await;
    let store = place.store().await;
    assert_eq!(store.put(&run).await, Ok(Put::Deleted));
    assert_eq!(store.list(&all()).await.unwrap().total, 1);
}

async fn expired_runs_go(place: &Place) {
    let store = place.store().await;
    let random = &mut sample::random(3);
    // More than go in one transaction.
    let runs: Vec<_> = (0..1_100)
        .map(|i| {
            let mut run = sample::run(random, &format!("test {}", i / 4));
            run.expires_s = 100 + i;
            run.document.truncate(10);
            run
        })
        .collect();
    put_all(&store, &runs).await;
    assert_eq!(store.list(&all()).await.unwrap().total, 1_100);
    assert_eq!(store.expire(99).await, Ok(0));
    assert_eq!(store.expire(100 + 1_049).await, Ok(1_050));
    assert_eq!(store.expire(100 + 1_049).await, Ok(0));
    let page = store.list(&all()).await.unwrap();
    assert_eq!((page.runs.len(), page.total), (50, 50));
    let mut left: Vec<_> = page.runs.iter().map(|run| &run.id).collect();
    let mut expected: Vec<_> = runs[1_050..].iter().map(|run| &run.summary.id).collect();
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(store.usage().await.unwrap().runs, 50);
    assert_eq!(store.get(&runs[0].summary.id).await, Ok(None));
    // An expired run is no deleted one.
    assert_eq!(store.put(&runs[0]).await, Ok(Put::Stored));
}

async fn any_text_and_number(place: &Place) {
    let store = place.store().await;
    let mut run = sample::run(&mut sample::random(4), "a");
    run.summary.test = "'; DROP TABLE runs; --".into();
    run.summary.experiment = "\u{1f}\0<script>alert(1)</script>\u{10ffff}".into();
    run.summary.server = String::new();
    run.summary.networks = "%s $1 ? \\".into();
    run.summary.duration_us = u64::MAX;
    run.expires_s = u64::MAX;
    run.document = (0..=255).collect();
    let number = |value, censored| MetricValue::Number { value, censored };
    for (name, value) in [
        ("delay-max", f64::NAN),
        ("delay-max-up", f64::INFINITY),
        ("delay-max-down", 5e-324),
        ("gap-longest", -0.1),
    ] {
        run.summary.metrics.insert(name.into(), number(value, true));
    }
    let word = MetricValue::Word("\0\"".into());
    run.summary.metrics.insert("quote".into(), word.clone());
    assert_eq!(store.put(&run).await, Ok(Put::Stored));
    let (stored, document) = store.get(&run.summary.id).await.unwrap().unwrap();
    assert_eq!(document, run.document);
    assert_eq!(stored.test, run.summary.test);
    assert_eq!(
        stored.experiment,
        "\u{fffd}\u{fffd}<script>alert(1)</script>\u{10ffff}"
    );
    assert_eq!(stored.duration_us, i64::MAX as u64);
    assert_eq!(stored.metrics.get("delay-max"), None);
    assert_eq!(stored.metrics.get("delay-max-up"), None);
    let tiny = number(5e-324, true);
    assert_eq!(stored.metrics.get("delay-max-down"), Some(&tiny));
    assert_eq!(stored.metrics.get("quote"), Some(&word));
    let test = Filter {
        test: Some(run.summary.test.clone()),
        ..all()
    };
    assert_eq!(store.list(&test).await.unwrap().runs, [stored]);
}

async fn many_at_once(place: &Place) {
    let store = place.store().await;
    let random = &mut sample::random(5);
    let runs: Vec<_> = (0..300).map(|_| sample::run(random, "a")).collect();
    // Each twice, at once.
    let puts = runs.iter().chain(&runs).map(|run| {
        let (store, run) = (store.clone(), run.clone());
        tokio::spawn(async move { store.put(&run).await })
    });
    let puts: Vec<_> = puts.collect();
    let mut stored = 0;
    for put in puts {
        match put.await.expect("no panic") {
            Ok(Put::Stored) => stored += 1,
            other => assert_eq!(other, Ok(Put::AlreadyStored)),
        }
    }
    assert_eq!(stored, 300);
    assert_eq!(store.usage().await.unwrap().runs, 300);
}

/// Stores `runs`, which are new.
pub async fn put_all(
    store: &walkabout_platform::store::Store,
    runs: &[walkabout_platform::store::NewRun],
) {
    for some in runs.chunks(64) {
        let puts: Vec<_> = some
            .iter()
            .map(|run| {
                let (store, run) = (store.clone(), run.clone());
                tokio::spawn(async move { store.put(&run).await })
            })
            .collect();
        for put in puts {
            assert_eq!(put.await.expect("no panic"), Ok(Put::Stored));
        }
    }
}
