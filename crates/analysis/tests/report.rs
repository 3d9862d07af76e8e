//! Does a report say what its runs hold, in a page that stands alone?

mod report_walk;

use model::manifest::Status;
use model::record::EventKind;
use model::scenario::Interactive;
use walkabout_analysis::folder::RunFolder;
use walkabout_analysis::report::{
    FORMAT, ReportData, ReportError, render, render_into, render_study,
};

const PAGE: &str =
    r#"<html><script type="application/json" id="walkabout-data">null</script></html>"#;

fn json(html: &str) -> serde_json::Value {
    let start = html.find("walkabout-data\">").expect("a placeholder") + 16;
    let end = start + html[start..].find("</script>").expect("an end");
    serde_json::from_str(&html[start..end]).expect("JSON")
}

/// Also writes the data where the page's own tests look for it, when told where.
#[test]
fn ten_runs_of_a_walk_stay_small_and_keep_every_message() {
    let runs = report_walk::runs(100);
    let data = ReportData::of(&runs);
    let text = serde_json::to_string(&data).unwrap();
    if let Some(file) = std::env::var_os("WALKABOUT_REPORT_FIXTURE") {
        std::fs::write(file, &text).unwrap();
    }
    assert!(text.len() < 3_000_000, "{} bytes", text.len());
    assert_eq!(data.format, FORMAT);

    let scenario = &data.scenarios[0];
    assert_eq!(scenario.runs.len(), 10);
    assert_eq!(scenario.results.rows.len(), 10);
    for (shown, run) in scenario.runs.iter().zip(&scenario.results.rows) {
        assert_eq!(
            (&shown.transport, &shown.policy),
            (&run.transport, &run.policy)
        );
        let run = runs
            .iter()
            .find(|r| r.manifest.transport == shown.transport && r.manifest.policy == shown.policy)
            .unwrap();
        let count = shown.up.delay_100us.len() + shown.down.delay_100us.len();
        assert_eq!(count, run.messages.len());
        let unanswered = shown.up.delay_100us.iter().chain(&shown.down.delay_100us);
        assert_eq!(
            unanswered.filter(|d| d.is_none()).count(),
            run.messages.iter().filter(|m| m.acked_us.is_none()).count()
        );
        let bytes: u64 = shown.usage.iter().flat_map(|u| &u.bytes).sum();
        assert_eq!(bytes, run.packets.iter().map(|p| p.size_bytes).sum::<u64>());
        assert_eq!(shown.events, run.events);
    }
}

#[test]
fn a_real_path_is_not_described_as_a_model() {
    let mut runs = report_walk::runs(100);
    let described = |runs: &[RunFolder]| {
        let data = ReportData::of(runs);
        data.scenarios[0].paths[0].up.clone()
    };
    assert!(described(&runs).contains("drop-tail"));
    for run in &mut runs {
        run.manifest.world = "live".to_owned();
    }
    assert_eq!(described(&runs), "a real network");
}

#[test]
fn the_findings_name_who_stalled_and_what_was_never_answered() {
    let findings = ReportData::of(&report_walk::runs(100)).scenarios[0]
        .findings
        .join("\n");
    insta::assert_snapshot!(findings);
}

#[test]
fn the_parameters_name_what_was_run() {
    let data = ReportData::of(&report_walk::runs(1_000));
    let scenario = &data.scenarios[0];
    let mut text = String::new();
    for parameter in &scenario.parameters {
        text.push_str(&format!("{}: {}\n", parameter.name, parameter.value));
    }
    for path in &scenario.paths {
        text.push_str(&format!(
            "{}: up {}, down {}; {}\n",
            path.name, path.up, path.down, path.over_time
        ));
    }
    text.push_str(&scenario.failures.join("\n"));
    insta::assert_snapshot!(text);
}

#[test]
fn flagged_runs_are_marked() {
    let data = ReportData::of(&report_walk::runs(1_000));
    let flags: Vec<_> = data.scenarios[0]
        .runs
        .iter()
        .filter(|run| !run.flags.is_empty())
        .map(|run| format!("{} {}: {}", run.transport, run.policy, run.flags.join("; ")))
        .collect();
    assert_eq!(
        flags,
        [
            "mpquic backup: the emulator missed its timing",
            "mpquic apple-interactive: incomplete: killed or still running; samples: missing",
        ]
    );
}

#[test]
fn runs_without_rows_are_a_report_too() {
    let mut run = report_walk::runs(10_000).remove(0);
    run.manifest.status = Status::Incomplete;
    let RunFolder {
        path: _,
        manifest: _,
        messages,
        samples,
        packets,
        links,
        events,
        truncated: _,
        background: _,
        radios: _,
    } = &mut run;
    messages.clear();
    samples.clear();
    packets.clear();
    links.clear();
    events.clear();
    let data = ReportData::of(&[run]);
    let shown = &data.scenarios[0].runs[0];
    assert_eq!(shown.end_ms, 0);
    assert!(shown.up.delay_100us.is_empty() && shown.usage.is_empty());
    assert!(ReportData::of(&[]).scenarios.is_empty());
}

#[test]
fn scenarios_are_kept_apart() {
    let mut runs = report_walk::runs(10_000);
    for run in &mut runs[5..] {
        run.manifest.scenario.name = "steady".into();
        run.manifest.scenario.traffic =
            model::scenario::Traffic::Interactive(Interactive::default());
    }
    let data = ReportData::of(&runs);
    let sizes: Vec<_> = data
        .scenarios
        .iter()
        .map(|s| (s.name.as_str(), s.runs.len()))
        .collect();
    assert_eq!(sizes, [("walk", 5), ("steady", 5)]);
}

#[test]
fn what_a_run_recorded_cannot_end_the_script_it_is_in() {
    let runs = report_walk::runs(10_000);
    let data = ReportData::of(&runs);
    let html = render_into(PAGE, &data).unwrap();
    assert_eq!(html.matches("</script>").count(), 1);
    assert!(!html.contains("<b>"));
    let events = &json(&html)["scenarios"][0]["runs"][1]["events"];
    assert!(events.as_array().unwrap().iter().any(|e| e["kind"]
        == serde_json::to_value(EventKind::PathClosed).unwrap()
        && e["detail"] == "<b>not markup</b></script>"));
}

#[test]
fn a_page_of_another_version_is_refused() {
    let data = ReportData::of(&[]);
    let error = render_into("<html></html>", &data).unwrap_err();
    assert!(matches!(error, ReportError::NoPlaceholder));
}

#[test]
fn without_the_page_the_error_says_what_to_do() {
    match render(&ReportData::of(&[])) {
        Ok(html) => assert_eq!(json(&html)["format"], FORMAT),
        Err(error) => assert!(error.to_string().contains("cargo xtask web"), "{error}"),
    }
}

#[test]
fn a_study_is_shown_by_the_same_page() {
    let study = serde_json::json!({
        "format": "walkabout.study-report/1",
        "name": "</script><b>not markup</b>",
    });
    let html = render_into(PAGE, &study).unwrap();
    assert_eq!(html.matches("</script>").count(), 1);
    assert_eq!(json(&html), study);
    match (render_study(&study), render(&ReportData::of(&[]))) {
        (Ok(html), Ok(_)) => assert_eq!(json(&html), study),
        (Err(error), Err(_)) => assert!(error.to_string().contains("cargo xtask web"), "{error}"),
        (study, runs) => panic!("{:?} {:?}", study.err(), runs.err()),
    }
}
