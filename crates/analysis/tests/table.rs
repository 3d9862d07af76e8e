//! Is the result table what its runs say?

mod written;

use model::Direction::{Down, Up};
use model::manifest::{Status, Timing};
use walkabout_analysis::folder::RunFolder;
use walkabout_analysis::table::{Table, Text};
use written::Run;

/// One run that stalls to its end, three of MPTCP with one late, one that failed.
fn runs() -> Vec<RunFolder> {
    let mut runs = Vec::new();
    let mut failed = Run::new("mpquic", "fullmesh").message(Up, 0, Some(25));
    failed.manifest.status = Status::Failed;
    failed.manifest.error = Some("the server did not answer".into());
    runs.push(failed.read());
    for repetition in 0..3 {
        let delay = 300 + 100 * repetition;
        let mut run = Run::new("mptcp", "backup")
            .message(Up, 0, Some(20))
            .message(Up, 5_000, Some(5_000 + delay))
            .message(Down, 5_000, Some(5_040))
            .packet("wifi", Up, 0, 1_948, None)
            .packet("wifi", Up, 5_000, 1_948, Some("blackhole"))
            .packet("cellular", Up, 5_250, 1_948, None)
            .sample(0, 5_100, |_| {})
            .sample(0, 5_200, |s| s.timeouts = Some(repetition % 2));
        run.manifest.repetition = repetition;
        run.manifest.timing = Some(Timing {
            packets: 3,
            lateness_p50_ns: 20_000,
            lateness_p99_ns: if repetition == 2 { 812_000 } else { 90_000 },
            lateness_max_ns: 900_000,
            bound_p99_ns: 500_000,
            kept: repetition != 2,
        });
        runs.push(run.read());
    }
    let stalled = Run::new("tcp", "single")
        .message(Up, 0, Some(20))
        .message(Up, 5_000, None)
        .message(Down, 4_000, Some(4_030))
        .packet("wifi", Up, 0, 1_948, None);
    runs.push(stalled.read());
    runs
}

fn drawn(text: &Text) -> String {
    let mut drawn = String::new();
    for part in &text.parts {
        // A head stands over several lines on a terminal, and over one here.
        let head: Vec<String> = part.head.iter().map(|h| h.replace('\n', " ")).collect();
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                let cells = part.rows.iter().map(|row| row[column].len());
                cells.max().unwrap_or(0).max(head[column].len())
            })
            .collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).zip(&part.is_number);
            let cells = cells.map(|((cell, &width), number)| match number {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
            cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned() + "\n"
        };
        drawn.push_str(&line(&head));
        drawn.extend(part.rows.iter().map(|row| line(row)));
    }
    for (number, note) in text.notes.iter().enumerate() {
        drawn.push_str(&format!("[{}] {note}\n", number + 1));
    }
    drawn
}

#[test]
fn as_text() {
    insta::assert_snapshot!(drawn(&Table::of(&runs()).text()));
}

#[test]
fn as_json() {
    let json = serde_json::to_string_pretty(&Table::of(&runs()).rows).unwrap();
    insta::assert_snapshot!(json);
}

#[test]
fn json_names_its_version_and_units() {
    let json = serde_json::to_value(Table::of(&runs())).unwrap();
    assert_eq!(json["schema"], "walkabout.table/1");
    let columns = json["columns"].as_array().unwrap();
    let column = columns
        .iter()
        .find(|c| c["name"] == "delay-max-up")
        .unwrap();
    assert_eq!(column["unit"], "s");
}

#[test]
fn rows_name_their_scenario_when_there_are_several() {
    let one = Run::new("tcp", "single").message(Up, 0, Some(20));
    let mut other = Run::new("tcp", "single").message(Up, 0, Some(30));
    other.manifest.scenario.name = "another".into();
    let table = Table::of(&[one.read(), other.read()]);
    let text = table.text();
    assert_eq!(text.parts[0].rows[1][0], "another tcp single");
    assert_eq!(Table::of(&[]).text().parts[0].rows.len(), 0);
}

#[test]
fn every_printed_column_is_a_metric() {
    for name in walkabout_analysis::table::columns() {
        assert!(
            walkabout_analysis::metric::list::find(name).is_some(),
            "{name}"
        );
    }
}
