//! Several collectors on one PostgreSQL database: one and the same to whoever asks, also when the
//! database goes away for a while.

use super::postgres::Postgres;
use super::rig::{Rig, id};
use super::sample;
use nix::sys::signal::Signal;
use serde_json::json;
use walkabout_platform::api::ProblemKind;

/// Two collectors with one key.
async fn pair(url: &str) -> [Rig; 2] {
    let change = |config: &mut walkabout_platform::collector::Config| {
        config.database = url.to_owned();
        config.limits.tokens_per_hour = 6;
    };
    let first = Rig::with(change).await;
    let key = first.folder.path().join("collector.key");
    let second = Rig::with(|config| {
        change(config);
        config.key = key;
    });
    let second = second.await;
    [first, second]
}

#[tokio::test]
async fn what_one_stores_the_other_shows() {
    let postgres = Postgres::start();
    let [here, there] = pair(&postgres.new_database()).await;
    here.put(&id(1), &sample::json()).await.expect(201);
    there.put(&id(1), &sample::json()).await.expect(200);
    let run = format!("/api/v1/runs/{}", id(1));
    there.get(&run).await.expect(200);
    let report = there.get(&format!("{run}/report")).await.expect(200).json();
    assert_eq!(report["format"], "walkabout.report/1");
    assert_eq!(here.collector.token_key(), there.collector.token_key());

    // The prefix has six tokens of both together.
    let wanted = serde_json::to_value(here.token_request().await).expect("JSON");
    for _ in 0..3 {
        here.post("/api/v1/tokens", &wanted).await.expect(200);
        there.post("/api/v1/tokens", &wanted).await.expect(200);
    }
    here.post("/api/v1/tokens", &wanted)
        .await
        .expect(429)
        .problem();
    there
        .post("/api/v1/tokens", &wanted)
        .await
        .expect(429)
        .problem();
}

#[tokio::test]
async fn without_its_database_it_says_so_and_goes_on_when_it_is_back() {
    let postgres = Postgres::start();
    let [rig, _] = pair(&postgres.new_database()).await;
    rig.put(&id(1), &sample::json()).await.expect(201);
    postgres.stop(Signal::SIGQUIT);
    let refused = rig.put(&id(2), &sample::json()).await.expect(503);
    assert_eq!(refused.problem().kind, ProblemKind::Unavailable);
    assert!(!refused.header("retry-after").is_empty());
    rig.get("/healthz").await.expect(503).problem();
    // What needs no database is served.
    rig.get("/api/v1/metadata").await.expect(200);

    postgres.run();
    let mut other = sample::json();
    other["manifest"]["live"]["position"] = json!(1);
    let stored = async {
        while rig.put(&id(2), &other).await.status != 201 {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(30);
    tokio::time::timeout(patience, stored)
        .await
        .expect("stored again");
    rig.get("/healthz").await.expect(200);
    rig.get(&format!("/api/v1/runs/{}", id(1)))
        .await
        .expect(200);
}
