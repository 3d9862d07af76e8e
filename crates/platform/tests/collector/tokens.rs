//! Who gets a token, and how many?

use super::rig::{Rig, TEST, from};
use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use walkabout_platform::api::{ProblemKind, TokenGranted};

async fn asked(rig: &Rig, change: impl FnOnce(&mut Value)) -> super::rig::Answer {
    let mut wanted = serde_json::to_value(rig.token_request().await).expect("JSON");
    change(&mut wanted);
    rig.post("/api/v1/tokens", &wanted).await
}

#[tokio::test]
async fn a_token_says_what_was_asked_for() {
    let rig = Rig::new().await;
    let granted = asked(&rig, |wanted| wanted["count"] = json!(3))
        .await
        .expect(200);
    let granted: TokenGranted = serde_json::from_slice(&granted.body).expect("granted");
    let key = rig.collector.token_key();
    let now = jiff::Timestamp::now().as_second() as u64;
    let claims: Vec<_> = granted
        .tokens
        .iter()
        .map(|token| key.verify(token, "near", now).expect("valid"))
        .collect();
    assert_eq!(claims.len(), 3);
    assert!(
        claims
            .iter()
            .all(|c| c.test == TEST && c.bytes == 1 << 20 && c.seconds == 60)
    );
    assert!(claims[0].id != claims[1].id && claims[1].id != claims[2].id);
    let expires: jiff::Timestamp = granted.expires_at.parse().expect("a time");
    assert_eq!(expires.as_second() as u64, claims[0].expires_s);
    assert!(key.verify(&granted.tokens[0], "far", now).is_err());
}

#[tokio::test]
async fn what_cannot_be_granted_is_refused() {
    let rig = Rig::new().await;
    let outdated = asked(&rig, |w| w["consent_version"] = json!("0000000000000000")).await;
    assert_eq!(
        outdated.expect(409).problem().kind,
        ProblemKind::ConsentOutdated
    );
    for (key, value) in [
        ("server", json!("far")),
        ("server", json!("../near")),
        ("test", json!("short")),
        ("test", json!(TEST.to_uppercase())),
        ("count", json!(0)),
        ("count", json!(65)),
        ("bytes", json!(0)),
        ("bytes", json!(u64::MAX)),
        ("seconds", json!(0)),
        ("seconds", json!(901)),
        ("seconds", json!(-1)),
        ("more", json!(1)),
    ] {
        let refused = asked(&rig, |wanted| wanted[key] = value.clone()).await;
        assert_eq!(
            refused.expect(422).problem().kind,
            ProblemKind::Invalid,
            "{key}: {value}"
        );
    }
}

#[tokio::test]
async fn a_prefix_has_its_share_and_others_theirs() {
    let rig = Rig::with_limits(|limits| {
        limits.tokens_per_hour = 5;
        limits.traffic_bytes_per_hour = 4 << 20;
    })
    .await;
    asked(&rig, |wanted| wanted["count"] = json!(4))
        .await
        .expect(200);
    let refused = asked(&rig, |wanted| wanted["count"] = json!(2))
        .await
        .expect(429);
    let problem = refused.problem();
    assert_eq!(problem.kind, ProblemKind::TooMany);
    let retry: u32 = refused.header("retry-after").parse().expect("seconds");
    assert_eq!(problem.retry_after_seconds, Some(retry));
    assert!((1..=3_600).contains(&retry));
    // One token is left; its bytes are not.
    let refused = asked(&rig, |_| {}).await.expect(429).problem();
    assert!(
        refused.title.contains("bytes of test traffic"),
        "{}",
        refused.title
    );

    let wanted = serde_json::to_vec(&rig.token_request().await).expect("JSON");
    let ask = |peer: &'static str| {
        let request = from(peer, Method::POST, "/api/v1/tokens").body(Body::from(wanted.clone()));
        rig.send(request.expect("a request"))
    };
    ask("192.0.2.200:1").await.expect(429);
    ask("198.51.100.1:1").await.expect(200);
    ask("[2001:db8:1:2::1]:1").await.expect(200);
}
