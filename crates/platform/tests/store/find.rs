//! Are runs found again, page by page, under every filter?

use crate::brute_force::{Model, passes};
use crate::place::{Place, on_both};
use crate::put::put_all;
use crate::sample;
use std::collections::BTreeSet;
use walkabout_platform::api::Filter;
use walkabout_platform::store::{NewRun, Store, StoreError};

on_both!(
    pages_are_complete_under_inserts,
    every_filter,
    times,
    counted_up_to_ten_thousand,
    what_cannot_be_understood
);

fn runs(seed: u64, count: usize) -> Vec<NewRun> {
    let random = &mut sample::random(seed);
    (0..count)
        .map(|i| sample::run(random, &format!("test {}", i / 8)))
        .collect()
}

async fn pages_are_complete_under_inserts(place: &Place) {
    let store = place.store().await;
    let old = runs(1, 130);
    put_all(&store, &old).await;
    let later = runs(2, 40);
    let mut filter = Filter {
        invalid: Some(true),
        limit: Some(20),
        ..Filter::default()
    };
    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    for later in later.chunks(5) {
        let page = store.list(&filter).await.unwrap();
        sizes.push(page.runs.len());
        seen.extend(page.runs);
        filter.after = page.next;
        if filter.after.is_none() {
            break;
        }
        // New ones come, and one that was to come goes.
        put_all(&store, later).await;
        if sizes.len() == 2 {
            let gone = old.iter().rev().find(|run| {
                let id = &run.summary.id;
                seen.iter().all(|seen| seen.id != *id)
            });
            let gone = gone.expect("some are left");
            let deleted = store.delete(&gone.summary.id, gone.secret_sha256).await;
            assert!(deleted.is_ok());
        }
    }
    assert_eq!(sizes, [20, 20, 20, 20, 20, 20, 9]);
    let times: Vec<_> = seen.iter().map(|run| time(&run.stored_at)).collect();
    assert!(times.windows(2).all(|pair| pair[0] >= pair[1]));
    let ids: BTreeSet<_> = seen.iter().map(|run| &run.id).collect();
    let old: BTreeSet<_> = old.iter().map(|run| &run.summary.id).collect();
    assert_eq!((ids.len(), ids.is_subset(&old)), (129, true));
}

fn time(text: &str) -> jiff::Timestamp {
    text.parse().expect("a time")
}

async fn stored(store: &Store, runs: &[NewRun]) -> Model {
    put_all(store, runs).await;
    let mut model = Model::default();
    // The newest first: their order is the store's.
    let mut filter = Filter {
        invalid: Some(true),
        limit: Some(200),
        ..Filter::default()
    };
    loop {
        let page = store.list(&filter).await.expect("it answers");
        for summary in page.runs {
            let run = runs.iter().find(|run| run.summary.id == summary.id);
            let mut run = run.expect("one of these").clone();
            run.summary = summary;
            model.runs.insert(0, run);
        }
        filter.after = page.next;
        if filter.after.is_none() {
            return model;
        }
    }
}

async fn every_filter(place: &Place) {
    let store = place.store().await;
    let model = stored(&store, &runs(3, 190)).await;
    assert_eq!(model.runs.len(), 190);
    let text = |set: fn(&mut Filter, Option<String>), value: &str| {
        let mut filter = Filter::default();
        set(&mut filter, Some(value.to_owned()));
        filter
    };
    let mut filters = vec![
        text(|f, v| f.test = v, "test 3"),
        text(|f, v| f.experiment = v, "walk"),
        text(|f, v| f.mode = v, "stable"),
        text(|f, v| f.server = v, "far"),
        text(|f, v| f.transport = v, "mptcp"),
        text(|f, v| f.policy = v, "backup"),
        text(|f, v| f.pattern = v, "bulk"),
        text(|f, v| f.family = v, "ipv6"),
        Filter::default(),
        Filter {
            invalid: Some(false),
            ..Filter::default()
        },
        Filter {
            delay_max_s: Some(0.5),
            ..Filter::default()
        },
        Filter {
            publish: Some(true),
            ..Filter::default()
        },
        Filter {
            publish: Some(false),
            ..Filter::default()
        },
    ];
    let both = Filter {
        transport: Some("mpquic".into()),
        server: Some("near".into()),
        publish: Some(true),
        ..Filter::default()
    };
    filters.push(both);
    for mut filter in filters {
        filter.limit = Some(200);
        for invalid in [filter.invalid, Some(true)] {
            filter.invalid = invalid;
            let expected = model.list(&filter);
            let some = 1..190;
            assert!(
                some.contains(&expected.len()) || filter.invalid == Some(true),
                "{filter:?} tells nothing apart"
            );
            let page = store.list(&filter).await.unwrap();
            assert_eq!(page.runs.iter().collect::<Vec<_>>(), expected, "{filter:?}");
            assert_eq!(page.total, expected.len() as u64);
            assert_eq!(page.next, None);
        }
        model.check(&filter, &store.compare(&filter).await.unwrap());
    }
    for nothing in [
        text(|f, v| f.transport = v, "carrier pigeon"),
        text(|f, v| f.test = v, "test 1000"),
        text(|f, v| f.server = v, ""),
        // A word of another column.
        text(|f, v| f.server = v, "walk"),
    ] {
        let page = store.list(&nothing).await.unwrap();
        assert_eq!((page.runs.len(), page.total, page.next), (0, 0, None));
        assert!(store.compare(&nothing).await.unwrap().arms.is_empty());
    }
}

async fn times(place: &Place) {
    let store = place.store().await;
    let model = stored(&store, &runs(4, 150)).await;
    let middle = &model.runs[75].summary.stored_at;
    let offset = time(middle)
        .to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)))
        .strftime("%Y-%m-%dT%H:%M:%S%.f%:z")
        .to_string();
    for at in [middle, &offset] {
        let of = |from: bool| {
            let at = Some(at.clone());
            let (from, to) = if from { (at, None) } else { (None, at) };
            Filter {
                from,
                to,
                invalid: Some(true),
                limit: Some(200),
                ..Filter::default()
            }
        };
        let mut sum = 0;
        for filter in [of(true), of(false)] {
            let page = store.list(&filter).await.unwrap();
            let expected = model.list(&filter);
            assert_eq!(page.runs.iter().collect::<Vec<_>>(), expected);
            sum += expected.len();
        }
        assert_eq!(sum, 150);
    }
    let before = Filter {
        to: Some("1970-01-01T00:00:00Z".into()),
        ..Filter::default()
    };
    assert!(!model.runs.iter().any(|run| passes(&run.summary, &before)));
    assert_eq!(store.list(&before).await.unwrap().total, 0);
}

async fn counted_up_to_ten_thousand(place: &Place) {
    let store = place.store().await;
    let mut run = runs(5, 1).remove(0);
    run.summary.invalid = None;
    run.summary.status = model::manifest::Status::Complete;
    put_all(&store, std::slice::from_ref(&run)).await;
    store.close().await;
    // More like it, all but their numbers and names.
    let columns = "test, started_at, stored_us, expires_s, experiment, mode, server, transport, \
         policy, pattern, family, port, status, invalid, counts, ended, networks, duration_us, \
         walkabout_version, platform, prefix, publish, delay_max_s, delay_max_censored, \
         delay_max_up_s, delay_max_up_censored, delay_max_down_s, delay_max_down_censored, \
         handover_sent_s, handover_sent_censored, cellular_cause, metrics, secret_sha256, \
         content_sha256";
    let more = |from: u32, to: u32| {
        format!(
            "WITH RECURSIVE n (i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i < {to}) \
             INSERT INTO runs (number, id, {columns}) SELECT i, 'run ' || i, {columns} \
             FROM n, (SELECT * FROM runs WHERE number = 1) AS one; \
             UPDATE counters SET value = {to} WHERE name = 'runs'"
        )
    };
    place.sql(&more(2, 10_000)).await;
    let store = place.store().await;
    let count = async || {
        let page = store.list(&Filter::default()).await.expect("it answers");
        (page.runs.len(), page.total, page.total_is_lower_bound)
    };
    assert_eq!(count().await, (50, 10_000, false));
    place.sql(&more(10_001, 10_001)).await;
    assert_eq!(count().await, (50, 10_000, true));
    assert_eq!(store.usage().await.unwrap().runs, 10_001);
    // All of them go: more than are kept in mind as gone.
    assert_eq!(store.expire(u64::MAX).await, Ok(10_001));
    assert_eq!(count().await, (0, 0, false));
    run.summary.id.push('b');
    put_all(&store, &[run]).await;
    assert_eq!(count().await, (1, 1, false));
}

async fn what_cannot_be_understood(place: &Place) {
    let store = place.store().await;
    let of = |set: fn(&mut Filter)| {
        let mut filter = Filter::default();
        set(&mut filter);
        filter
    };
    for (filter, says) in [
        (
            of(|f| f.from = Some("yesterday".into())),
            "`from` is `yesterday`",
        ),
        (
            of(|f| f.to = Some("2026-13-01".into())),
            "`to` is `2026-13-01`",
        ),
        (of(|f| f.after = Some("-1".into())), "`after` is `-1`"),
        (of(|f| f.after = Some("x' OR 1=1".into())), "`after` is"),
        (of(|f| f.delay_max_s = Some(f64::NAN)), "`delay_max_s`"),
    ] {
        let list = store.list(&filter).await.map(|_| ());
        let compare = store.compare(&filter).await.map(|_| ());
        assert_eq!(list, compare);
        match list {
            Err(StoreError::Query(what)) => assert!(what.contains(says), "{what}"),
            other => panic!("{filter:?}: {other:?}"),
        }
    }
    let page = |limit| {
        let limit = Some(limit);
        let filter = Filter {
            limit,
            ..Filter::default()
        };
        let store = store.clone();
        async move { store.list(&filter).await.expect("it answers").runs.len() }
    };
    put_all(&store, &runs(6, 260)).await;
    assert_eq!((page(0).await, page(u32::MAX).await), (1, 200));
}
