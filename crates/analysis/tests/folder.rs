//! Is a run folder read whole, and as far as it goes when the run was killed?

mod written;

use model::manifest::Status;
use model::record::{EventKind, Message, Packet, Record, Sample};
use model::{Direction, PathKind};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs;
use std::path::{Path, PathBuf};
use walkabout_analysis::folder::{FolderError, RunFolder, find};
use written::{Run, write_stream};

fn filled() -> Run {
    Run::new("mptcp", "backup")
        .message(Direction::Down, 300, None)
        .message(Direction::Up, 100, Some(130))
        .packet("cellular", Direction::Up, 20, 500, Some("drop-tail"))
        .packet("wifi", Direction::Up, 10, 500, None)
        .sample(0, 100, |s| s.path = None)
        .wifi(0, true)
        .event(EventKind::PathDown, "wifi", 900)
        .event(EventKind::Connected, "wifi", 20)
}

#[test]
fn a_complete_run_comes_back_by_time() {
    let written = filled();
    let run = written.read();
    assert!(run.is_complete());
    assert_eq!(run.manifest, written.manifest);
    assert_eq!(run.samples, written.samples);
    assert_eq!(run.links, written.links);
    assert_eq!(run.messages[0], written.messages[1]);
    assert_eq!(run.packets[0], written.packets[1]);
    assert_eq!(run.events[0], written.events[1]);
    assert_eq!(run.kind(&"cellular".into()), Some(PathKind::Cellular));
    assert_eq!(run.kind(&"lan".into()), None);
    assert!(run.truncated.is_empty());
}

/// A folder as a killed run leaves it: streams of two batches, the messages' second cut in half.
fn killed(folder: &Path) {
    let mut run = filled();
    run.manifest.status = Status::Incomplete;
    run.write(folder);
    for table in [Message::TABLE, Packet::TABLE, Sample::TABLE, "links"] {
        fs::remove_file(folder.join(format!("{table}.parquet"))).unwrap();
    }
    write_stream(folder, &[&run.messages[..1]]);
    let first = fs::metadata(folder.join("messages.arrows")).unwrap().len();
    write_stream(folder, &[&run.messages[..1], &run.messages[1..]]);
    let whole = fs::metadata(folder.join("messages.arrows")).unwrap().len();
    cut(&folder.join("messages.arrows"), (first + whole) / 2);
    write_stream(folder, &[run.packets.as_slice()]);
    cut(
        &folder.join("events.jsonl"),
        fs::metadata(folder.join("events.jsonl")).unwrap().len() - 5,
    );
}

fn cut(file: &Path, length: u64) {
    let file = fs::File::options().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_killed_run_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path());
    let run = RunFolder::open(folder.path()).unwrap();
    assert!(!run.is_complete());
    assert_eq!(run.messages, filled().messages[..1]);
    assert_eq!(run.packets.len(), 2);
    assert_eq!(run.events, filled().events[..1]);
    assert_eq!(run.samples, []);
    assert_eq!(
        run.truncated,
        [
            "messages.arrows: cut short after 1 rows",
            "samples: missing",
            "links: missing",
            "events.jsonl: the last line is cut short",
        ]
    );
    assert_eq!(run.end_us(), 900_000);
}

#[test]
fn a_stream_cut_anywhere_gives_whole_rows() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path());
    let stream = folder.path().join("packets.arrows");
    for length in (0..fs::metadata(&stream).unwrap().len()).rev() {
        cut(&stream, length);
        let run = RunFolder::open(folder.path()).unwrap();
        assert!(run.packets.is_empty() || run.packets.len() == 2, "{length}");
    }
}

#[test]
fn a_complete_run_without_a_table_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    filled().write(folder.path());
    fs::remove_file(folder.path().join("samples.parquet")).unwrap();
    let error = RunFolder::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("samples.parquet"), "{error}");
}

#[test]
fn a_later_format_is_refused_with_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let later = r#"{"format_version": 7, "everything": "else has changed"}"#;
    fs::write(folder.path().join("manifest.json"), later).unwrap();
    let error = RunFolder::open(folder.path()).unwrap_err();
    assert!(matches!(error, FolderError::Newer { found: 7, .. }));
    assert!(
        error.to_string().contains("use a newer walkabout"),
        "{error}"
    );
}

/// The data sequence numbers came later than the format: a folder without them has none.
#[test]
fn a_folder_of_before_a_column_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = filled();
    let before = run.packets.clone();
    for packet in &mut run.packets {
        (packet.dsn, packet.data_ack) = (Some(u64::MAX), Some(7));
    }
    run.write(folder.path());
    let read = RunFolder::open(folder.path()).unwrap();
    assert!(read.packets.iter().all(|p| p.dsn == Some(u64::MAX)));
    assert!(read.packets.iter().all(|p| p.data_ack == Some(7)));
    without_columns(&folder.path().join("packets.parquet"), &["dsn", "data_ack"]);
    let read = RunFolder::open(folder.path()).unwrap();
    assert!(read.packets.iter().eq([&before[1], &before[0]]));
    // What may not be missing is missed.
    without_columns(&folder.path().join("packets.parquet"), &["enqueued_ns"]);
    let error = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it has no column `enqueued_ns`"), "{error}");
}

/// Writes a table anew without some of its columns.
fn without_columns(file: &Path, names: &[&str]) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(file).unwrap());
    let batches: Vec<_> = reader.unwrap().build().unwrap().collect();
    let batch = batches.into_iter().next().unwrap().unwrap();
    let schema = batch.schema();
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|&i| !names.contains(&schema.field(i).name().as_str()))
        .collect();
    let batch = batch.project(&kept).unwrap();
    let target = fs::File::create(file).unwrap();
    let mut writer = ArrowWriter::try_new(target, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn damage_is_named() {
    let folder = tempfile::tempdir().unwrap();
    filled().write(folder.path());
    let events = folder.path().join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, format!("{{}}\n{text}")).unwrap();
    let error = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("events.jsonl is damaged: line 1"), "{error}");
    fs::write(&events, text).unwrap();

    fs::write(folder.path().join("links.parquet"), b"no table").unwrap();
    let error = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("links.parquet is damaged"), "{error}");

    // The rows of another table: a column is missing, and named.
    let messages = folder.path().join("messages.parquet");
    fs::copy(messages, folder.path().join("links.parquet")).unwrap();
    let error = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it has no column `time_us`"), "{error}");
}

#[test]
fn runs_are_found_below_what_is_named() {
    let root = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> = [
        "runs/2026/tcp-single",
        "runs/2026/quic-single",
        "runs/2025/tcp",
    ]
    .iter()
    .map(|name| root.path().join(name))
    .collect();
    for run in &runs {
        filled().write(run);
    }
    fs::create_dir(root.path().join("runs/empty")).unwrap();
    let found = find(&[root.path().join("runs")]).unwrap();
    assert!(found.iter().eq([&runs[2], &runs[1], &runs[0]]), "{found:?}");
    // Named twice, listed once, in the order of naming.
    let found = find(&[&runs[0], &root.path().join("runs/2026")]).unwrap();
    assert!(found.iter().eq([&runs[0], &runs[1]]), "{found:?}");
    let error = find(&[root.path().join("runs/empty")]).unwrap_err();
    assert!(matches!(error, FolderError::NotARun(_)));
    assert!(find(&[root.path().join("nowhere")]).is_err());
}
