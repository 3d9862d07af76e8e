//! Is in the database what the client's folder says? After a test of every transport and pattern.

use crate::collector::{Rest, without_nulls};
use crate::database::{self, Stored};
use crate::deployment::Deployment;
use analysis::folder::RunFolder;
use model::columns::Columns;
use model::record::{Event, Record};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The table that `rows` make as JSON, row by row, without the cells that have no value.
fn by_row<R: Record>(rows: Vec<R>) -> Vec<Value> {
    let count = rows.len();
    let columns = serde_json::to_value(Columns(rows)).expect("rows are JSON");
    let columns = columns.as_object().expect("a table by column");
    let row = |n: usize| {
        let cells = columns
            .iter()
            .map(|(name, values)| (name.clone(), values[n].clone()));
        without_nulls(Value::Object(cells.collect()))
    };
    (0..count).map(row).collect()
}

/// Asserts that two tables are the same, and says where they are not.
fn assert_same_rows(what: &str, theirs: &[Value], ours: &[Value]) {
    for (n, (their, our)) in theirs.iter().zip(ours).enumerate() {
        assert_eq!(
            their, our,
            "{what}, row {n}: the collector's, and the folder's"
        );
    }
    assert_eq!(theirs.len(), ours.len(), "rows of {what}");
}

/// What the collector keeps of an event: addresses are cut, and nothing else is left out.
fn kept(event: &Event) -> Value {
    let mut event = event.clone();
    event.detail = platform::privacy::scrub(&event.detail);
    event.cause = event.cause.as_deref().map(platform::privacy::scrub);
    let mut row = serde_json::to_value(&event).expect("an event is JSON");
    // A column like the others, where the folder's own form leaves an empty one out.
    row["detail"] = json!(event.detail);
    without_nulls(row)
}

/// The texts of an event that the collector did not keep.
fn left_out(theirs: &Value, ours: &Value) -> Vec<String> {
    let texts = ["detail", "cause"]
        .iter()
        .filter(|text| theirs[**text] != ours[**text]);
    texts
        .map(|text| format!("{} became {}", ours[*text], theirs[*text]))
        .collect()
}

/// Compares everything there is of a run: its row by SQL and by REST, its tables, its metrics.
pub fn assert_stored(
    deployment: &Deployment,
    rest: &Rest,
    stored: &[Stored],
    id: &str,
    folder: &Path,
) {
    let run = RunFolder::open(folder).unwrap_or_else(|error| panic!("{error}"));
    let name = folder.file_name().unwrap_or_default().display().to_string();
    let base = format!("/api/v1/runs/{id}");
    let summary = rest.json(&base);

    let of_id: Vec<&Stored> = stored
        .iter()
        .filter(|row| row.text("id") == Some(id))
        .collect();
    let [row] = &of_id[..] else {
        panic!("{name} ({id}) is stored {} times", of_id.len());
    };
    let live = run.manifest.live.as_ref().expect("a live run");
    let manifest = serde_json::to_value(&run.manifest).expect("a manifest is JSON");
    let expected = [
        ("test", json!(live.test)),
        ("experiment", json!(live.experiment)),
        ("mode", json!(live.mode)),
        ("server", json!(live.server)),
        ("family", json!(live.family)),
        ("ended", json!(live.ended)),
        ("invalid", json!(live.invalid)),
        ("transport", manifest["transport"].clone()),
        ("policy", manifest["policy"].clone()),
        ("pattern", json!(run.manifest.scenario.traffic.name())),
        ("status", manifest["status"].clone()),
        ("networks", json!("wifi+cellular")),
        ("walkabout_version", manifest["walkabout_version"].clone()),
    ];
    for (column, value) in expected {
        assert_eq!(json!(row.text(column)), value, "{name}: column {column}");
        assert_eq!(summary[column], value, "{name}: {column} by REST");
    }
    assert_eq!(summary["port"], live.port);
    assert_eq!(summary["duration_us"], run.end_us());
    assert_eq!(
        summary["metrics"], row.metrics,
        "{name}: metrics by REST and by SQL"
    );
    // Of the network it was uploaded from.
    let prefixes = [Some("10.81.1.0/24"), Some("10.81.2.0/24")];
    assert!(
        prefixes.contains(&row.text("prefix")),
        "{name}: {:?}",
        row.text("prefix")
    );
    assert_metrics(deployment, &name, folder, &row.metrics);

    let rows = |table: &str| rest.rows(&format!("{base}/{table}.json"));
    let tables = [
        ("messages", by_row(run.messages)),
        ("samples", by_row(run.samples)),
        ("links", by_row(run.links)),
        ("events", run.events.iter().map(kept).collect()),
    ];
    let words: BTreeSet<String> = rows("events")
        .iter()
        .zip(&tables[3].1)
        .flat_map(|(theirs, ours)| left_out(theirs, ours))
        .collect();
    assert!(
        words.is_empty(),
        "{name}: the collector leaves out what Walkabout says: {words:#?}"
    );
    for (table, ours) in &tables {
        assert_same_rows(&format!("{name}: {table}"), &rows(table), ours);
        let lines = rest.text(&format!("{base}/{table}.csv")).lines().count();
        // Cells may hold line breaks, so there may be more.
        assert!(lines > ours.len(), "{name}: {table}.csv has {lines} lines");
    }
    let report = rest.json(&format!("{base}/report"));
    assert!(report["format"].is_string(), "{name}: {report}");
}

/// The metrics that are stored are those `walkabout report --json` shows of the folder alone.
fn assert_metrics(deployment: &Deployment, name: &str, folder: &Path, stored: &Value) {
    let page = deployment.folder.join("report.html");
    let mut command = deployment.client(&["report", "--json"]);
    command.arg(folder).arg("--out").arg(page);
    let report = deployment.start_client(&mut command).finish().success();
    let cells = report["table"]["rows"][0]["cells"].as_object();
    let cells = cells.unwrap_or_else(|| panic!("{name}: {report}"));
    let shown = cells.iter().map(|(metric, cell)| {
        let value = match cell["counts"].as_object() {
            Some(words) => json!(words.keys().next()),
            None => cell["max"].clone(),
        };
        (metric.clone(), value)
    });
    let shown: serde_json::Map<String, Value> = shown.collect();
    assert_eq!(
        stored,
        &Value::Object(shown),
        "{name}: metrics stored, and shown by the report"
    );
}

/// The folders and ids of a test's runs.
pub fn uploaded(result: &Value, home: &Path) -> Vec<(String, PathBuf)> {
    let runs = result["runs"].as_array().expect("runs").iter().map(|run| {
        let id = run["id"]
            .as_str()
            .unwrap_or_else(|| panic!("not queued: {run}"));
        let folder = run["folder"].as_str().expect("a folder");
        (id.to_owned(), home.join(folder))
    });
    runs.collect()
}

/// Picks the nearest server, runs everything, uploads it; and it is all there.
pub fn the_database_holds_what_the_folder_says(deployment: &mut Deployment) {
    let mut command = deployment.test(&[
        "--consent",
        "agree",
        "--json",
        "--out",
        "desk",
        "--seed",
        "7",
    ]);
    let result = deployment.start_client(&mut command).finish().success();
    assert_eq!(result["server"], "near", "{result:#}");
    let pinged = result["pinged"].as_array().expect("servers").iter();
    let medians: Vec<u64> = pinged
        .map(|p| p["median_us"].as_u64().expect("an answer"))
        .collect();
    for (median, site) in medians.iter().zip(&deployment.ground.sites) {
        let round_trip = 2 * site.delay.as_micros() as u64;
        let range = round_trip..round_trip + 15_000;
        assert!(
            range.contains(median),
            "{}: {median} us, {range:?} expected",
            site.id
        );
    }
    let reached = result["reachability"].as_array().expect("attempts").iter();
    let ways: Vec<&Value> = reached.filter(|way| way["family"] == "ipv4").collect();
    assert_eq!(ways.len(), 8, "four transports at two ports: {result:#}");
    for way in ways {
        assert_eq!(way["outcome"], "reached", "{way}");
    }

    let runs = uploaded(&result, &deployment.home());
    let names: BTreeSet<String> = result["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| {
            assert_eq!(
                (&run["ended"], &run["invalid"]),
                (&json!("done"), &Value::Null),
                "{run}"
            );
            run["name"].as_str().expect("a name").to_owned()
        })
        .collect();
    let transports = ["tcp", "mptcp-backup", "quic", "mpquic-backup"];
    let expected = transports.iter().flat_map(|transport| {
        ["ping", "bulk", "interactive"].map(|pattern| format!("{transport}-{pattern}"))
    });
    assert_eq!(names, expected.collect());
    assert_eq!(
        result["uploads"]["stored"].as_array().map(Vec::len),
        Some(12),
        "{result:#}"
    );

    let (rest, stored) = (deployment.rest(), database::runs(&deployment.database));
    assert_eq!(stored.len(), 12);
    for (id, folder) in &runs {
        assert_stored(deployment, &rest, &stored, id, folder);
    }
    let test = result["test"].as_str().expect("an id");
    let page = rest.json(&format!("/api/v1/runs?test={test}"));
    assert_eq!(page["total"], 12, "{page}");
    let usage = rest.json("/api/v1/usage");
    assert_eq!(
        (&usage["runs"], &usage["tests"]),
        (&json!(12), &json!(1)),
        "{usage}"
    );
}
