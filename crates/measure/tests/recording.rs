//! Does what a run logs come back from its folder, whether it finished, was dropped, was killed
//! or ran out of disk?

mod logged;

use analysis::folder::RunFolder;
use logged::{captured, create, link, manifest, message, packet, sample, skip};
use model::manifest::Status;
use model::record::{Event, EventKind, Message};
use model::{Direction, Time};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use walkabout_measure::recording::{Fate, RecordError, Recorder, Sink};

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_finished_run_comes_back_whole() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("runs/now/tcp");
    let recorder = create(&folder).unwrap();
    let mut log = recorder.log();
    // More than a batch, and from another thread.
    let messages: Vec<Message> = (0..40_000).map(message).collect();
    let writer = std::thread::spawn({
        let (mut log, messages) = (log.clone(), messages.clone());
        move || messages.into_iter().for_each(|m| log.message(m))
    });
    log.sample(sample(100_000));
    log.link(link(5));
    let mut event = Event::new(Time::from_millis(3), EventKind::Decision, "open cellular");
    event.cause = Some("retransmissions rose from 3 to 4".into());
    log.event(event.clone());
    let at = Time::from_millis;
    log.packets(vec![
        packet(0, Direction::Up, at(1), Fate::Delivered(at(11)), 1_452),
        packet(
            1,
            Direction::Up,
            at(2),
            Fate::Dropped(at(4), "drop-tail"),
            1_452,
        ),
        packet(0, Direction::Down, at(3), Fate::Inside, 52),
    ]);
    writer.join().unwrap();
    let mut last = manifest(Status::Complete);
    last.peak_memory_bytes = Some(7);
    recorder.finish(&last).unwrap();
    log.message(message(0)); // Beyond the end: lost, and no harm.

    let run = RunFolder::open(&folder).unwrap();
    assert_eq!(run.manifest, last);
    assert_eq!(run.messages, messages);
    assert_eq!(run.samples, [sample(100_000)]);
    assert_eq!(run.links, [link(5)]);
    assert_eq!(run.events, [event]);
    let packets: Vec<_> = run
        .packets
        .iter()
        .map(|p| (p.payload_bytes, p.delivered_ns, p.dropped.as_deref()))
        .collect();
    assert_eq!(
        packets,
        [
            (1_400, Some(11_000_000), None),
            (1_400, None, Some("drop-tail")),
            (0, None, None)
        ]
    );
    assert_eq!(
        files(&folder),
        [
            "cellular.pcapng",
            "events.jsonl",
            "links.parquet",
            "manifest.json",
            "messages.parquet",
            "packets.parquet",
            "samples.parquet",
            "wifi.pcapng",
        ]
    );
}

#[test]
fn the_streams_and_tables_name_themselves() {
    let root = tempfile::tempdir().unwrap();
    let recorder = create(root.path()).unwrap();
    let file = File::open(root.path().join("links.arrows")).unwrap();
    let reader = arrow_ipc::reader::StreamReader::try_new(file, None).unwrap();
    let check = |metadata: &std::collections::HashMap<String, String>| {
        assert_eq!(metadata["walkabout.table"], "links");
        assert_eq!(metadata["walkabout.format_version"], "1");
    };
    check(reader.schema().metadata());
    recorder.finish(&manifest(Status::Complete)).unwrap();
    let file = File::open(root.path().join("links.parquet")).unwrap();
    let parquet =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    check(parquet.schema().metadata());
}

#[test]
fn a_dropped_recorder_leaves_what_it_had() {
    let root = tempfile::tempdir().unwrap();
    let recorder = create(root.path()).unwrap();
    (0..10).for_each(|id| recorder.log().message(message(id)));
    recorder
        .log()
        .event(Event::new(Time::ZERO, EventKind::Note, "begun"));
    drop(recorder);
    let run = RunFolder::open(root.path()).unwrap();
    assert_eq!(run.manifest.status, Status::Incomplete);
    assert_eq!(run.messages.len(), 10);
    assert_eq!(run.events.len(), 1);
    // The stream has no end: it is read to its last row without complaint.
    assert_eq!(run.truncated, [] as [&str; 0]);

    // Cut in the last batch, as a kill in the middle of a write does.
    let file = File::options()
        .write(true)
        .open(root.path().join("messages.arrows"))
        .unwrap();
    file.set_len(file.metadata().unwrap().len() - 100).unwrap();
    let run = RunFolder::open(root.path()).unwrap();
    assert_eq!(run.messages, []);
    assert_eq!(run.truncated, ["messages.arrows: cut short after 0 rows"]);
}

/// Runs the test called `name` of this program in a process of its own, in which it sees
/// `folder` as [`child_folder`].
fn child(name: &str, folder: &Path, wrapper: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match wrapper {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
    };
    command
        .args(["--exact", name, "--nocapture"])
        .env("WALKABOUT_TEST_FOLDER", folder)
        .stdin(Stdio::piped());
    command
}

/// The folder of a child, `None` in the test run itself.
fn child_folder() -> Option<PathBuf> {
    std::env::var_os("WALKABOUT_TEST_FOLDER").map(Into::into)
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn child_that_records_until_it_is_killed() {
    let Some(folder) = child_folder() else { return };
    let recorder = create(&folder).unwrap();
    let mut log = recorder.log();
    (0..10).for_each(|id| log.message(message(id)));
    log.sample(sample(1));
    log.event(Event::new(Time::ZERO, EventKind::Note, "begun"));
    let at = Time::from_millis;
    log.packets(vec![packet(0, Direction::Up, at(1), Fate::Inside, 52)]);
    // Until the parent is gone, should it fail to kill.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

#[test]
fn a_killed_run_is_there_up_to_the_last_second() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let mut command = child("child_that_records_until_it_is_killed", &folder, &[]);
    let process = Killed(command.stdout(Stdio::null()).spawn().unwrap());
    let deadline = Instant::now() + Duration::from_secs(30);
    // Nothing tells when another process has written: look until it has.
    let (_never, tick) = mpsc::channel::<()>();
    loop {
        let run = RunFolder::open(&folder);
        if run.is_ok_and(|r| r.messages.len() == 10 && !r.packets.is_empty()) {
            break;
        }
        assert!(Instant::now() < deadline, "nothing was written");
        let _ = tick.recv_timeout(Duration::from_millis(20));
    }
    drop(process); // SIGKILL.
    let run = RunFolder::open(&folder).unwrap();
    assert!(!run.is_complete());
    assert_eq!(run.messages, (0..10).map(message).collect::<Vec<_>>());
    assert_eq!(
        (run.samples.len(), run.events.len(), run.packets.len()),
        (1, 1, 1)
    );
    assert_eq!(captured(&folder.join("wifi.pcapng")).len(), 1);
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("thesis.tex"), "years of work").unwrap();
    let error = create(root.path()).err().unwrap();
    assert!(matches!(error, RecordError::NotEmpty(_)));
    assert!(error.to_string().contains("is not empty"), "{error}");
    assert_eq!(files(root.path()), ["thesis.tex"]);
}

#[test]
fn an_unwritable_folder_is_one_clear_error() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    for folder in [file.join("run"), file, "/proc/walkabout".into()] {
        let error = create(&folder).err().unwrap();
        assert!(matches!(error, RecordError::Unwritable { .. }), "{error:?}");
        assert!(
            error.to_string().contains(&*folder.to_string_lossy()),
            "{error}"
        );
    }
}

#[test]
fn a_start_that_is_no_time_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut manifest = manifest(Status::Incomplete);
    manifest.started_at = "yesterday".into();
    let error = Recorder::create(root.path(), &manifest, &[]).err().unwrap();
    assert!(error.to_string().contains("`yesterday`"), "{error}");
}

#[test]
fn child_on_a_small_disk() {
    let Some(folder) = child_folder() else { return };
    let recorder = create(&folder.join("run")).unwrap();
    let log = recorder.log();
    let at = Time::from_millis;
    (0..5_000).for_each(|id| {
        log.packets(vec![packet(id, Direction::Up, at(id), Fate::Inside, 1_452)]);
    });
    let error = recorder.finish(&manifest(Status::Complete)).unwrap_err();
    assert!(matches!(error, RecordError::DiskFull(_)), "{error:?}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(log.has_failed());
    let run = RunFolder::open(&folder.join("run")).unwrap();
    assert!(!run.is_complete());
    println!("the disk was full");
}

#[test]
fn a_full_disk_is_one_clear_error() {
    let root = tempfile::tempdir().unwrap();
    let mount = format!(
        "mount -t tmpfs -o size=400k none '{}' && exec \"$@\"",
        root.path().display()
    );
    let namespaces = ["unshare", "-Urm", "sh", "-c", &mount, "sh"];
    let works = Command::new("unshare").args(["-Urm", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        return skip("no disk of a chosen size without user namespaces (unshare -Urm)");
    }
    let mut command = child("child_on_a_small_disk", root.path(), &namespaces);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("the disk was full"),
        "{output:?}"
    );
}

#[test]
fn an_interactive_run_of_110_s_is_small() {
    let root = tempfile::tempdir().unwrap();
    let recorder = create(root.path()).unwrap();
    let mut log = recorder.log();
    // Per tick of 100 ms: 2 messages, 30 packets, 12 samples and 4 link states.
    for tick in 0..1_100 {
        let now = Time::from_millis(tick * 100);
        (0..2).for_each(|i| log.message(message(tick * 2 + i)));
        (0..12).for_each(|_| log.sample(sample(now.as_micros())));
        (0..4).for_each(|_| log.link(link(now.as_micros())));
        let packets = (0..30).map(|i| {
            let jitter = Duration::from_nanos((tick * 7_919 + i * 104_729) % 3_000_000);
            let at = now + Duration::from_micros(i * 900) + jitter;
            let direction = [Direction::Up, Direction::Down][(i % 2) as usize];
            let fate = Fate::Delivered(at + Duration::from_millis(20) + jitter);
            packet(
                tick * 30 + i,
                direction,
                at,
                fate,
                52 + 1_400 * (i % 3 / 2) as u32,
            )
        });
        log.packets(packets.collect());
    }
    recorder.finish(&manifest(Status::Complete)).unwrap();
    let mut total = 0;
    for name in files(root.path()) {
        let bytes = fs::metadata(root.path().join(&name)).unwrap().len();
        println!("{name}: {bytes} bytes");
        total += bytes;
    }
    assert!(total < 10_000_000, "{total} bytes");
    let run = RunFolder::open(root.path()).unwrap();
    assert_eq!(run.packets.len(), 33_000);
}
