//! Who hands in runs while everything is killed? A process with a queue of its own, as a device has it.

use crate::deployment::URL;
use crate::processes::PATIENCE;
use analysis::folder::RunFolder;
use model::columns::Columns;
use platform::api::{UPLOAD_FORMAT, Upload};
use platform::client::{Collector, Queue};
use platform::token::random_hex;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs that wait in the queue before no more are added.
const AHEAD: usize = 5;

/// Takes in what a device said: lines `acknowledged RUN TEST`, the test empty where it does not know.
pub fn take_acknowledged(lines: &[String], acknowledged: &mut BTreeMap<String, String>) {
    for line in lines {
        if let ["acknowledged", run, test] = line.split(' ').collect::<Vec<_>>()[..] {
            acknowledged.insert(run.to_owned(), test.to_owned());
        }
    }
}

/// `--device load|drain HOME TEMPLATE`: a device that hands in runs; killed at any moment.
pub fn run(arguments: &[&str]) -> ExitCode {
    let [mode, home, template] = arguments else {
        return ExitCode::from(2);
    };
    let queue = Queue::open(Path::new(home)).expect("a queue");
    let collector = Collector::new(URL, Duration::from_secs(5)).expect("an address");
    let run = RunFolder::open(Path::new(template)).expect("a run");
    let mut upload = Upload {
        format: UPLOAD_FORMAT.to_owned(),
        manifest: run.manifest,
        messages: Columns(run.messages),
        samples: Columns(run.samples),
        links: Columns(run.links),
        events: run.events,
    };
    let mut tests: BTreeMap<String, String> = BTreeMap::new();
    let begin = Instant::now();
    let mut why = String::new();
    loop {
        let waiting = queue.waiting().expect("readable").len();
        if *mode == "load" {
            for _ in waiting..AHEAD {
                let test = random_hex::<16>();
                upload
                    .manifest
                    .live
                    .as_mut()
                    .expect("a live run")
                    .test
                    .clone_from(&test);
                let queued = queue.add(URL, &upload).expect("room");
                tests.insert(queued.id, test);
            }
        } else if waiting == 0 {
            return ExitCode::SUCCESS;
        } else if begin.elapsed() > PATIENCE / 2 {
            eprintln!("{waiting} runs are still waiting: {why}");
            return ExitCode::FAILURE;
        }
        for sent in queue.send(&collector).expect("readable") {
            match sent.result {
                // A run that was queued before this process began is known by its id only.
                Ok(()) => {
                    let test = tests.remove(&sent.run.id).unwrap_or_default();
                    println!("acknowledged {} {test}", sent.run.id);
                }
                Err(error) if error.is_temporary() => {
                    why = error.to_string();
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => eprintln!("{}: {error}", sent.run.id),
            }
        }
    }
}
