//! Every route: what it answers, and what it says when it does not.

use super::rig::{Rig, SECRET, TEST, id, request};
use super::sample;
use axum::body::Body;
use axum::http::Method;
use serde_json::json;
use walkabout_platform::api::{Metadata, ProblemKind, RunPage, RunSummary, Stored, UploadState};
use walkabout_platform::collector::openapi;

#[tokio::test]
async fn metadata_says_what_a_client_needs() {
    let rig = Rig::new().await;
    let metadata: Metadata = rig.metadata().await;
    assert_eq!(metadata.servers[0].id, "near");
    let names: Vec<&str> = metadata
        .experiments
        .iter()
        .map(|e| e.name.as_str())
        .collect();
    assert_eq!(names, ["stable", "mobile"]);
    assert_eq!(metadata.token_key, rig.collector.token_key().to_string());
    assert!(metadata.consent.text.contains("365 days"));
    assert!(metadata.now.parse::<jiff::Timestamp>().is_ok());
}

#[tokio::test]
async fn a_run_is_stored_once_and_deleted_for_good() {
    let rig = Rig::new().await;
    let stored = rig.put(&id(1), &sample::json()).await.expect(201);
    let stored: Stored = serde_json::from_slice(&stored.body).expect("stored");
    assert_eq!((stored.id, stored.state), (id(1), UploadState::Stored));

    let again = rig.put(&id(1), &sample::json()).await.expect(200);
    assert_eq!(again.json()["state"], "already-stored");
    let packed = zstd::encode_all(sample::json().to_string().as_bytes(), 3).expect("packed");
    let again = rig.put_bytes(&id(1), packed, "zstd").await.expect(200);
    assert_eq!(
        again.json()["state"],
        "already-stored",
        "the same content, packed"
    );

    let mut other = sample::json();
    other["manifest"]["live"]["position"] = json!(1);
    let problem = rig.put(&id(1), &other).await.expect(409).problem();
    assert_eq!(problem.kind, ProblemKind::Conflict);

    let path = format!("/api/v1/runs/{}", id(1));
    let delete = |secret: String| {
        let request = request(Method::DELETE, &path).header("walkabout-secret", secret);
        rig.send(request.body(Body::empty()).expect("a request"))
    };
    delete("11".repeat(32)).await.expect(403).problem();
    delete("short".into()).await.expect(400).problem();
    delete(SECRET.into()).await.expect(204);
    delete(SECRET.into()).await.expect(404).problem();
    rig.get(&path).await.expect(404).problem();
    rig.put(&id(1), &sample::json()).await.expect(410).problem();
    let without = request(Method::DELETE, &path).body(Body::empty());
    rig.send(without.expect("a request"))
        .await
        .expect(401)
        .problem();
}

#[tokio::test]
async fn the_explorer_shows_what_was_uploaded() {
    let rig = Rig::new().await;
    for n in 1..=3 {
        let mut upload = sample::json();
        upload["manifest"]["live"]["position"] = json!(n);
        rig.put(&id(n), &upload).await.expect(201);
    }
    let run = rig
        .get(&format!("/api/v1/runs/{}", id(2)))
        .await
        .expect(200);
    let run: RunSummary = serde_json::from_slice(&run.body).expect("a run");
    assert_eq!(
        (run.test.as_str(), run.experiment.as_str()),
        (TEST, "mobile")
    );
    assert_eq!((run.mode.as_str(), run.server.as_str()), ("mobile", "near"));
    assert_eq!(
        (run.transport.as_str(), run.policy.as_str()),
        ("mptcp", "backup")
    );
    assert_eq!(
        (run.pattern.as_str(), run.family.as_str()),
        ("interactive", "ipv4")
    );
    assert_eq!(run.started_at, "2026-11-21T10:31:00Z");
    assert_eq!(run.networks, "wifi+cellular");
    assert_eq!(run.ended.as_deref(), Some("wifi-lost"));
    assert_eq!((run.duration_us, run.publish), (9_990_000, true));
    let longest = serde_json::to_value(&run.metrics["delay-max"]).expect("JSON");
    assert_eq!(longest, json!({"value": 1.2, "censored": false}));

    let page = rig
        .get("/api/v1/runs?limit=2&transport=mptcp")
        .await
        .expect(200);
    let page: RunPage = serde_json::from_slice(&page.body).expect("a page");
    assert_eq!((page.runs.len(), page.total), (2, 3));
    let after = page.next.expect("another page");
    let rest = rig
        .get(&format!("/api/v1/runs?limit=2&after={after}"))
        .await
        .expect(200);
    let rest: RunPage = serde_json::from_slice(&rest.body).expect("a page");
    assert_eq!((rest.runs.len(), rest.next), (1, None));
    let none = rig.get("/api/v1/runs?delay_max_s=1.3").await.expect(200);
    assert_eq!(none.json()["total"], 0);

    for wrong in [
        "limit=0",
        "limit=201",
        "limit=-1",
        "from=yesterday",
        "delay_max_s=NaN",
        "colour=red",
        "publish=perhaps",
        "after=%00",
        "test=a&test=b",
    ] {
        let answer = rig.get(&format!("/api/v1/runs?{wrong}")).await;
        assert_eq!(
            answer.expect(400).problem().kind,
            ProblemKind::Invalid,
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_run_comes_back_as_report_tables_and_exports() {
    let rig = Rig::new().await;
    rig.put(&id(1), &sample::json()).await.expect(201);
    let mut other = sample::json();
    other["manifest"]["transport"] = json!("mpquic");
    other["manifest"]["live"]["consent"]["publish"] = json!(false);
    rig.put(&id(2), &other).await.expect(201);

    let run = format!("/api/v1/runs/{}", id(1));
    let report = rig.get(&format!("{run}/report")).await.expect(200).json();
    assert_eq!(report["format"], "walkabout.report/1");
    assert_eq!(
        report["scenarios"][0]["runs"]
            .as_array()
            .expect("runs")
            .len(),
        1
    );
    let report = rig
        .get(&format!("{run}/report?test={TEST}"))
        .await
        .expect(200)
        .json();
    assert_eq!(
        report["scenarios"][0]["runs"]
            .as_array()
            .expect("runs")
            .len(),
        2
    );
    rig.get(&format!("{run}/report?test={}", id(9)))
        .await
        .expect(404)
        .problem();
    rig.get(&format!("{run}/report?x=1"))
        .await
        .expect(400)
        .problem();

    let csv = rig.get(&format!("{run}/messages.csv")).await.expect(200);
    assert!(csv.header("content-type").starts_with("text/csv"));
    assert!(csv.header("content-disposition").contains("-messages.csv"));
    assert_eq!(csv.text().lines().count(), 201);
    assert!(csv.text().starts_with("channel,id,direction,size_bytes"));
    let lines = rig.get(&format!("{run}/events.json")).await.expect(200);
    assert_eq!(lines.text().lines().count(), 4);
    let first: serde_json::Value =
        serde_json::from_str(lines.text().lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["kind"], "application-start");
    for table in ["messages", "samples", "links", "events"] {
        let parquet = rig.get(&format!("{run}/{table}.parquet")).await.expect(200);
        assert_eq!(&parquet.body[..4], b"PAR1", "{table}");
    }
    for file in [
        "messages.xlsx",
        "secrets.csv",
        "messages",
        "..%2fmessages.csv",
    ] {
        rig.get(&format!("{run}/{file}"))
            .await
            .expect(404)
            .problem();
    }

    let export = rig.get("/api/v1/export/runs.csv").await.expect(200);
    let lines: Vec<String> = export.text().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "only what was agreed to be published");
    assert!(lines[1].starts_with(&id(1)));
    assert!(lines[0].contains("delay_max_s,delay_max_is_lower_bound"));
    let export = rig
        .get("/api/v1/export/runs.json?publish=false")
        .await
        .expect(200);
    assert_eq!(export.text().lines().count(), 1, "whatever is asked for");
    let export = rig
        .get("/api/v1/export/runs.parquet?transport=tcp")
        .await
        .expect(200);
    assert_eq!(
        &export.body[..4],
        b"PAR1",
        "empty, and readable all the same"
    );
    rig.get("/api/v1/export/runs.xml")
        .await
        .expect(404)
        .problem();
    rig.get("/api/v1/export/tests.csv")
        .await
        .expect(404)
        .problem();
}

#[tokio::test]
async fn an_export_goes_through_all_pages_and_ends_at_its_limit() {
    let rig = Rig::with_limits(|limits| limits.export_runs = 230).await;
    for n in 0..250 {
        let mut upload = sample::json();
        upload["manifest"]["repetition"] = json!(n);
        rig.put(&id(n + 1), &upload).await.expect(201);
    }
    let export = rig.get("/api/v1/export/runs.csv").await.expect(200);
    let text = export.text();
    let mut ids: Vec<&str> = text.lines().skip(1).map(|line| &line[..32]).collect();
    assert_eq!(ids.len(), 230);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 230, "each once");
}

#[tokio::test]
async fn comparison_and_usage_count_what_is_there() {
    let rig = Rig::new().await;
    rig.put(&id(1), &sample::json()).await.expect(201);
    let usage = rig.get("/api/v1/usage").await.expect(200).json();
    assert_eq!(usage["runs"], 1);
    assert_eq!(usage["platforms"], json!([{"of": "Linux", "runs": 1}]));
    assert_eq!(usage["servers"], json!([{"of": "near", "runs": 1}]));
    let comparison = rig
        .get("/api/v1/compare?experiment=mobile")
        .await
        .expect(200)
        .json();
    assert_eq!(comparison["arms"][0]["arm"]["transport"], "mptcp");
    rig.get("/api/v1/compare?limit=x")
        .await
        .expect(400)
        .problem();
}

#[tokio::test]
async fn an_operator_sees_how_it_goes() {
    let rig = Rig::new().await;
    assert_eq!(rig.get("/healthz").await.expect(200).text(), "ok\n");
    rig.put(&id(1), &sample::json()).await.expect(201);
    rig.get("/api/v1/runs/x").await.expect(400);
    let metrics = rig.get("/metrics").await.expect(200).text();
    let put = r#"walkabout_requests_total{method="PUT",route="/api/v1/runs/{id}",status="201"} 1"#;
    assert!(metrics.contains(put), "{metrics}");
    assert!(metrics.contains(r#"walkabout_uploads_total{state="stored"} 1"#));
    assert!(metrics.contains(r#"walkabout_refusals_total{reason="invalid"} 1"#));
    assert!(metrics.contains(r#"walkabout_request_seconds_count{route="/api/v1/runs/{id}"} 2"#));
    assert!(!metrics.contains(&id(1)), "routes, not what was asked for");
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_with_every_header() {
    let rig = Rig::new().await;
    let missing = rig.get("/api/v2/metadata").await.expect(404);
    assert_eq!(missing.problem().kind, ProblemKind::NotFound);
    let wrong = request(Method::PATCH, "/api/v1/metadata").body(Body::empty());
    let wrong = rig.send(wrong.expect("a request")).await.expect(405);
    wrong.problem();
    assert!(wrong.header("allow").contains("GET"));
    for answer in [&missing, &wrong, &rig.get("/api/v1/metadata").await] {
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
}

#[tokio::test]
async fn the_description_is_the_one_of_the_routes() {
    let rig = Rig::new().await;
    let served = rig.get("/api/v1/openapi.json").await.expect(200).json();
    let printed = serde_json::to_value(openapi()).expect("JSON");
    assert_eq!(served, printed);
    let mut paths: Vec<&str> = served["paths"]
        .as_object()
        .expect("paths")
        .keys()
        .map(String::as_str)
        .collect();
    paths.sort_unstable();
    let described = [
        "/api/v1/compare",
        "/api/v1/export/{file}",
        "/api/v1/live",
        "/api/v1/live/{test}/events",
        "/api/v1/metadata",
        "/api/v1/runs",
        "/api/v1/runs/{id}",
        "/api/v1/runs/{id}/report",
        "/api/v1/runs/{id}/{file}",
        "/api/v1/tokens",
        "/api/v1/usage",
        "/healthz",
        "/metrics",
    ];
    assert_eq!(paths, described);
    for schema in [
        "Upload",
        "Problem",
        "RunSummary",
        "LiveBatch",
        "TokenRequest",
        "Metadata",
    ] {
        assert!(
            served["components"]["schemas"][schema].is_object(),
            "{schema}"
        );
    }
}
