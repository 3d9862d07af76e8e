//! What becomes of uploads that mean harm?

use super::rig::{Rig, from, id, request};
use super::sample;
use axum::body::{Body, Bytes};
use axum::http::Method;
use serde_json::{Value, json};
use std::io::Read;
use std::time::{Duration, Instant};
use walkabout_platform::api::ProblemKind;

fn packed(source: impl Read) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    std::io::copy(&mut { source }, &mut encoder).expect("packed");
    encoder.finish().expect("packed")
}

#[tokio::test]
async fn bombs_cost_little() {
    let rig = Rig::new().await;
    let begin = Instant::now();
    let zeros = packed(std::io::repeat(0).take(1 << 30));
    assert!(zeros.len() < 200_000);
    let refused = rig.put_bytes(&id(1), zeros, "zstd").await.expect(413);
    assert_eq!(refused.problem().kind, ProblemKind::TooLarge);
    // A bomb of JSON: a table that is all commas.
    let table = br#"{"format":"walkabout.upload/1","samples":{"time_us":[0"#;
    let commas = packed((&table[..]).chain(std::io::repeat(b',').take(40 << 20)));
    rig.put_bytes(&id(1), commas, "zstd")
        .await
        .expect(422)
        .problem();
    // Nothing of a window of 128 MiB is allocated for whoever asks for one.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(27).expect("a window");
    encoder.long_distance_matching(true).expect("a window");
    std::io::copy(&mut std::io::repeat(b' ').take(10 << 20), &mut encoder).expect("packed");
    let wide = encoder.finish().expect("packed");
    rig.put_bytes(&id(1), wide, "zstd")
        .await
        .expect(400)
        .problem();
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test]
async fn deep_nesting_is_cut_off() {
    let rig = Rig::new().await;
    for deep in ["[".repeat(1 << 20), r#"{"manifest":"#.repeat(1 << 18)] {
        let problem = rig
            .put_bytes(&id(1), deep.into_bytes(), "identity")
            .await
            .expect(422);
        assert!(problem.problem().title.contains("nested deeper"));
    }
    let deep = "[".repeat(4_000);
    for path in ["/api/v1/tokens", "/api/v1/live"] {
        let post = request(Method::POST, path).body(Body::from(deep.clone()));
        let answer = rig.send(post.expect("a request")).await;
        assert!(matches!(answer.status.as_u16(), 400 | 422), "{answer:?}");
        answer.problem();
    }
}

#[tokio::test]
async fn too_much_is_refused_before_it_is_read() {
    let rig = Rig::with_limits(|limits| limits.upload_bytes = 1 << 20).await;
    let path = format!("/api/v1/runs/{}", id(1));
    let put = |body: Body| {
        let put = request(Method::PUT, &path)
            .header("walkabout-secret", super::rig::SECRET)
            .body(body);
        put.expect("a request")
    };
    // By its announced length: no byte of the body is asked for.
    let never = tokio_stream::pending::<Result<Bytes, std::io::Error>>();
    let mut announced = put(Body::from_stream(never));
    announced
        .headers_mut()
        .insert("content-length", (2 << 20).into());
    rig.send(announced).await.expect(413).problem();
    // By what comes: an endless body ends.
    let endless = tokio_stream::iter(std::iter::repeat_with(|| {
        Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 4_096]))
    }));
    rig.send(put(Body::from_stream(endless)))
        .await
        .expect(413)
        .problem();
    let large = request(Method::POST, "/api/v1/tokens").body(Body::from(vec![b' '; 100_000]));
    rig.send(large.expect("a request"))
        .await
        .expect(413)
        .problem();
}

#[tokio::test]
async fn what_is_no_run_is_refused_with_the_reason() {
    let rig = Rig::new().await;
    let cases: &[(&str, Value, &str)] = &[
        ("/format", json!("walkabout.upload/2"), "walkabout.upload/1"),
        ("/more", json!(1), "unknown field"),
        ("/manifest/format_version", json!(99), "99"),
        ("/manifest/world", json!("virtual"), "manifest.world"),
        ("/manifest/live", Value::Null, "manifest.live"),
        ("/manifest/transport", json!("pigeon"), "manifest.transport"),
        ("/manifest/policy", json!("none"), "manifest.policy"),
        (
            "/manifest/started_at",
            json!("yesterday"),
            "manifest.started_at",
        ),
        ("/manifest/scenario/duration", json!("2 days"), "days"),
        (
            "/manifest/scenario/duration",
            json!("1500 min"),
            "manifest.scenario.duration",
        ),
        (
            "/manifest/scenario/path",
            json!([]),
            "manifest.scenario.path",
        ),
        (
            "/manifest/failure_onsets_us",
            json!([1]),
            "failure_onsets_us",
        ),
        ("/manifest/live/test", json!("x"), "manifest.live.test"),
        ("/manifest/live/port", json!(0), "port"),
        (
            "/manifest/live/consent/version",
            json!("1"),
            "consent.version",
        ),
        (
            "/manifest/live/networks/0/network_hash",
            json!("MyNet"),
            "network_hash",
        ),
        ("/manifest/live/networks/0/path", json!("moon"), "path"),
        (
            "/manifest/live/networks/0/signal_dbm",
            json!(1e300),
            "signal_dbm",
        ),
        (
            "/manifest/live/location/latitude_deg",
            json!(91),
            "location",
        ),
        ("/manifest/live/traps", json!(vec!["x"; 65]), "traps"),
        (
            "/messages/sent_us/3",
            json!(1_000_000_000_u64),
            "messages: row 3",
        ),
        ("/messages/acked_us/4", json!(5), "messages: row 4"),
        ("/messages/acked_us/4", Value::Null, "messages: row 4"),
        ("/messages/size_bytes/5", json!(u64::MAX), "messages: row 5"),
        ("/messages/path/6", json!("moon"), "messages: row 6"),
        ("/messages/direction/0", json!("left"), "row 0"),
        ("/messages/id/0", json!(-1), "integer"),
        ("/samples/state/0", json!("dancing"), "samples: row 0"),
        ("/samples/time_us/1", json!(u64::MAX), "samples: row 1"),
        ("/links/loss/0", json!(1.5), "links: row 0"),
        ("/links/path/0", json!("moon"), "links: row 0"),
        ("/events/0/time_us", json!(u64::MAX), "event 0"),
        ("/events/0/kind", json!("party"), "unknown variant"),
        ("/events/2/detail", json!("x".repeat(2_001)), "event 2"),
        (
            "/events/2/detail",
            json!("x".repeat(10_000)),
            "text of more than",
        ),
    ];
    for (place, value, said) in cases {
        let mut upload = sample::json();
        match upload.pointer_mut(place) {
            Some(text) => *text = value.clone(),
            None => upload["more"] = value.clone(),
        }
        let problem = rig.put(&id(1), &upload).await.expect(422).problem();
        assert!(problem.title.contains(said), "{place}: {}", problem.title);
    }
    for not_json in [
        "",
        "{",
        "[1,2",
        "\u{0}",
        "{\"format\": \"walkabout.upload/1\"} x",
    ] {
        let answer = rig.put_bytes(&id(1), not_json.into(), "identity").await;
        assert!(matches!(answer.status.as_u16(), 400 | 422), "{not_json:?}");
        answer.problem();
    }
    for encoding in ["gzip", "br", "zstd, zstd", "ZSTD"] {
        let refused = rig
            .put_bytes(&id(1), b"{}".to_vec(), encoding)
            .await
            .expect(415);
        assert_eq!(refused.problem().kind, ProblemKind::UnknownEncoding);
    }
    rig.put_bytes(&id(1), b"no zstd".to_vec(), "zstd")
        .await
        .expect(400)
        .problem();
    // Nothing of all this was stored.
    assert_eq!(rig.get("/api/v1/usage").await.expect(200).json()["runs"], 0);
}

#[tokio::test]
async fn rows_are_bounded() {
    let rig = Rig::with_limits(|limits| limits.upload_rows = 199).await;
    let problem = rig.put(&id(1), &sample::json()).await.expect(422).problem();
    assert!(
        problem.title.contains("messages: 200 rows"),
        "{}",
        problem.title
    );
}

#[tokio::test]
async fn paths_lead_nowhere_else() {
    let rig = Rig::new().await;
    let long = "0".repeat(33);
    let upper = "A".repeat(32);
    let quoted = format!("{}%27", &long[..31]);
    for id in [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "%ff",
        "a",
        &long,
        &upper,
        &quoted,
        "'%20OR%201=1--",
        "%F0%9F%8F%A0",
    ] {
        for below in ["", "/report", "/messages.csv"] {
            let answer = rig.get(&format!("/api/v1/runs/{id}{below}")).await;
            assert!(
                matches!(answer.status.as_u16(), 400 | 404),
                "{id}{below}: {answer:?}"
            );
            answer.problem();
        }
        let answer = rig.put(id, &sample::json()).await;
        assert!(
            matches!(answer.status.as_u16(), 400 | 404),
            "{id}: {answer:?}"
        );
        let answer = rig.get(&format!("/api/v1/live/{id}/events")).await;
        assert!(
            matches!(answer.status.as_u16(), 400 | 404),
            "{id}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn a_flood_from_one_prefix_leaves_others_served() {
    let rig = Rig::with_limits(|limits| {
        limits.requests_per_second = 10;
        limits.uploads_per_hour = 20;
    })
    .await;
    let get = |peer: &'static str| {
        let get = from(peer, Method::GET, "/api/v1/usage").body(Body::empty());
        rig.send(get.expect("a request"))
    };
    let mut refused = 0;
    for _ in 0..200 {
        let answer = get("192.0.2.1:1000").await;
        if answer.status == 429 {
            assert_eq!(answer.header("retry-after"), "1");
            answer.problem();
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
    get("192.0.2.99:1").await.expect(429);
    get("192.0.3.1:1").await.expect(200);
    get("[2001:db8::1]:1").await.expect(200);

    // Uploads count over the hour, however slowly they come.
    let upload = sample::json().to_string();
    let put = |peer: &'static str, n: u64| {
        let put = from(peer, Method::PUT, &format!("/api/v1/runs/{}", id(n)))
            .header("walkabout-secret", super::rig::SECRET)
            .body(Body::from(upload.clone()));
        rig.send(put.expect("a request"))
    };
    for n in 1..=20 {
        put("198.51.100.1:1", n).await.expect(201);
    }
    put("198.51.100.2:1", 21).await.expect(429).problem();
    put("203.0.113.1:1", 22).await.expect(201);
}

#[tokio::test]
async fn a_body_that_breaks_off_stores_nothing() {
    let rig = Rig::new().await;
    let broken = tokio_stream::iter([
        Ok(Bytes::from_static(b"{\"format\"")),
        Err(std::io::Error::other("gone")),
    ]);
    let put = request(Method::PUT, &format!("/api/v1/runs/{}", id(1)))
        .header("walkabout-secret", super::rig::SECRET)
        .body(Body::from_stream(broken));
    rig.send(put.expect("a request"))
        .await
        .expect(400)
        .problem();
    assert_eq!(rig.get("/api/v1/usage").await.expect(200).json()["runs"], 0);
}
