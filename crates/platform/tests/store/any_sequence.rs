//! After any sequence of uploads, deletions and expiries: does the store answer as its definitions say?

use crate::brute_force::Model;
use crate::place::{Place, block_on};
use crate::sample;
use proptest::prelude::*;
use walkabout_platform::api::{Count, Filter};
use walkabout_platform::store::{Deletion, Put, Store};

#[derive(Clone, Debug)]
enum Step {
    /// Stores new runs, some of them of tests that are known.
    Put { runs: usize },
    /// Stores one that is there, or was, again.
    PutAgain(prop::sample::Index),
    /// Deletes one that is there, or was.
    Delete(prop::sample::Index),
    /// Deletes those whose time is over by this.
    Expire { now_s: u64 },
    /// Compares all answers under a filter; a second store, which may have missed much, answers too.
    Check(Box<Filter>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1usize..40).prop_map(|runs| Step::Put { runs }),
        1 => any::<prop::sample::Index>().prop_map(Step::PutAgain),
        3 => any::<prop::sample::Index>().prop_map(Step::Delete),
        1 => (900u64..1_200).prop_map(|now_s| Step::Expire { now_s }),
        3 => filter().prop_map(|filter| Step::Check(filter.into())),
    ];
    prop::collection::vec(step, 1..25)
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop::option::weighted(0.2, prop::sample::select(words).prop_map(str::to_owned))
}

fn filter() -> impl Strategy<Value = Filter> {
    let words = (
        one_of(&["test 0", "test 3", "no such"]),
        one_of(&["desk", "walk"]),
        one_of(&["stable", "mobile"]),
        one_of(&["near", "far", "nowhere"]),
        one_of(&["tcp", "mptcp", "mpquic"]),
        one_of(&["single", "backup"]),
        one_of(&["interactive", "bulk"]),
        one_of(&["ipv4", "ipv6"]),
    );
    let values = (
        prop::option::weighted(0.3, any::<bool>()),
        prop::option::weighted(0.2, 0.05..3.0),
        prop::option::weighted(0.2, any::<bool>()),
        prop::option::weighted(0.5, 1u32..30),
    );
    (words, values).prop_map(|(words, (invalid, delay_max_s, publish, limit))| {
        let (test, experiment, mode, server, transport, policy, pattern, family) = words;
        Filter {
            test,
            experiment,
            mode,
            server,
            transport,
            policy,
            pattern,
            family,
            invalid,
            delay_max_s,
            publish,
            limit,
            ..Filter::default()
        }
    })
}

async fn walk(place: &Place, steps: Vec<Step>, seed: u64) {
    let (store, second) = (place.store().await, place.store().await);
    let random = &mut sample::random(seed);
    let mut model = Model::default();
    let (mut gone, mut tests) = (Vec::new(), 0);
    for step in steps {
        match step {
            Step::Put { runs } => {
                for i in 0..runs {
                    tests += usize::from(i % 5 == 0);
                    let mut run = sample::run(random, &format!("test {}", tests % 12));
                    assert_eq!(store.put(&run).await, Ok(Put::Stored));
                    let (stored, _) = store.get(&run.summary.id).await.unwrap().unwrap();
                    run.summary = stored;
                    model.runs.push(run);
                }
            }
            Step::PutAgain(at) => {
                let known = model.runs.len();
                if known + gone.len() == 0 {
                    continue;
                }
                let (run, expected) = match at.index(known + gone.len()) {
                    at if at < known => (&model.runs[at], Put::AlreadyStored),
                    at => (&gone[at - known], Put::Deleted),
                };
                assert_eq!(second.put(run).await, Ok(expected));
            }
            Step::Delete(at) if !model.runs.is_empty() => {
                let run = model.runs.remove(at.index(model.runs.len()));
                let deleted = second.delete(&run.summary.id, run.secret_sha256).await;
                assert_eq!(deleted, Ok(Deletion::Deleted));
                gone.push(run);
            }
            Step::Delete(_) => {}
            Step::Expire { now_s } => {
                let before = model.runs.len();
                model.runs.retain(|run| run.expires_s > now_s);
                let expired = (before - model.runs.len()) as u64;
                assert_eq!(store.expire(now_s).await, Ok(expired));
            }
            Step::Check(filter) => check(&store, &model, *filter).await,
        }
    }
    for store in [&store, &second, &place.store().await] {
        check(store, &model, Filter::default()).await;
    }
}

async fn check(store: &Store, model: &Model, mut filter: Filter) {
    let expected = model.list(&filter);
    let limit = filter.limit.unwrap_or(50) as usize;
    let mut found = Vec::new();
    loop {
        let page = store.list(&filter).await.expect("it answers");
        assert_eq!(page.total, expected.len() as u64, "{filter:?}");
        assert!(!page.total_is_lower_bound);
        let full = page.runs.len() == limit;
        found.extend(page.runs);
        filter.after = page.next;
        assert!(full || filter.after.is_none());
        if filter.after.is_none() {
            break;
        }
    }
    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter:?}");
    model.check(&filter, &store.compare(&filter).await.expect("it answers"));

    let mut usage = store.usage().await.expect("it answers");
    let per_day = std::mem::take(&mut usage.per_day);
    assert_eq!(usage, model.usage());
    assert_eq!(per_day.len(), 30);
    // All of it is of today, or, at midnight, of yesterday.
    let recent: u64 = per_day[28..].iter().map(|day: &Count| day.runs).sum();
    assert_eq!(recent, usage.runs);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sqlite(steps in steps(), seed: u64) {
        block_on(walk(&Place::sqlite(), steps, seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn postgres(steps in steps(), seed: u64) {
        block_on(walk(&Place::postgres(), steps, seed));
    }
}
