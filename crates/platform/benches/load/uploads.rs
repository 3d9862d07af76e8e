//! How many uploads a second does the collector acknowledge, and after how long?

use super::child::{Child, SERVER_ID};
use super::document::Document;
use super::figures::{Taken, load_average, median, peak_bytes, quantiles, rounded};
use super::{Wanted, say};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use walkabout_platform::api::{TokenRequest, UploadState};
use walkabout_platform::client::Collector;
use walkabout_platform::token::random_hex;

/// Rates that are offered, uploads a second.
const RATES: [u64; 2] = [300, 400];

/// Uploads that may be under way at an offered rate. More would wait for their turn here; as their time
/// counts from when they were due, they are not forgotten.
const UNDER_WAY: usize = 128;

/// Clients that upload one run after the other, for the most that is possible.
const CLOSED: usize = 16;

/// Runs of a test, uploaded over one connection.
const RUNS: u64 = 8;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the offered uploads come.
#[derive(Clone, Copy)]
enum Offer {
    /// So many a second, whatever becomes of them.
    Open(u64),
    /// Each when the one before is acknowledged.
    Closed,
}

/// A client that uploads what it measured.
struct Device<'d> {
    url: &'d str,
    documents: &'d [Document],
    collector: Collector,
    /// Runs of its test that are to be uploaded.
    left: u64,
}

/// What became of the uploads of a round.
#[derive(Default)]
struct Outcome {
    /// From when each was due to its acknowledgement.
    took: Vec<Duration>,
    /// How late each was begun: what is not the collector's fault, unless it holds all clients up.
    late: Vec<Duration>,
    failed: Vec<String>,
}

impl<'d> Device<'d> {
    fn new(url: &'d str, documents: &'d [Document]) -> Device<'d> {
        let collector = Collector::new(url, PATIENCE).expect("an address");
        Device {
            url,
            documents,
            collector,
            left: 0,
        }
    }

    /// Sees to it that there is a run to upload: if not, the next device asks for its tokens.
    fn measure(&mut self, runs: u64) -> Result<(), String> {
        if self.left > 0 {
            return Ok(());
        }
        *self = Device::new(self.url, self.documents);
        let metadata = self.collector.metadata().map_err(|e| e.to_string())?;
        let request = TokenRequest {
            server: SERVER_ID.into(),
            test: random_hex::<16>(),
            consent_version: metadata.consent.version,
            bytes: 1 << 20,
            seconds: 60,
            count: RUNS as u32,
        };
        self.collector.tokens(&request).map_err(|e| e.to_string())?;
        self.left = runs;
        Ok(())
    }

    fn upload(&mut self, number: u64) -> Result<(), String> {
        self.left -= 1;
        let document = &self.documents[number as usize % self.documents.len()];
        let (id, secret) = (random_hex::<16>(), random_hex::<32>());
        let stored = self.collector.upload(&id, &secret, &document.sent);
        match stored.map_err(|e| e.to_string())?.state {
            UploadState::Stored => Ok(()),
            UploadState::AlreadyStored => Err("stored before it was sent".into()),
        }
    }
}

/// Uploads for `time`.
fn round(url: &str, documents: &[Document], offer: Offer, time: Duration) -> Outcome {
    let next = AtomicU64::new(0);
    let threads = match offer {
        Offer::Open(_) => UNDER_WAY,
        Offer::Closed => CLOSED,
    };
    // Until then every client has its tokens.
    let start = Instant::now() + Duration::from_secs(1);
    let work = |thread: usize| {
        let mut outcome = Outcome::default();
        let mut device = Device::new(url, documents);
        // Not all end their tests at once.
        let mut runs = 1 + thread as u64 % RUNS;
        loop {
            if let Err(error) = device.measure(runs) {
                outcome.failed.push(error);
                // Not in a circle without end.
                device.left = 1;
            }
            runs = RUNS;
            let number = next.fetch_add(1, Ordering::Relaxed);
            let due = match offer {
                Offer::Open(rate) => {
                    start + Duration::from_secs(1).mul_f64(number as f64 / rate as f64)
                }
                Offer::Closed => start.max(Instant::now()),
            };
            if due >= start + time {
                return outcome;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let late = due.elapsed();
            match device.upload(number) {
                Ok(()) => {
                    outcome.took.push(due.elapsed());
                    outcome.late.push(late);
                }
                Err(error) => outcome.failed.push(error),
            }
        }
    };
    let mut all = Outcome::default();
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let thread = thread::Builder::new()
                    .stack_size(512 * 1_024)
                    .spawn_scoped(scope, move || work(thread));
                thread.expect("a thread")
            })
            .collect();
        for thread in threads {
            let Outcome { took, late, failed } = thread.join().expect("no panic");
            all.took.extend(took);
            all.late.extend(late);
            all.failed.extend(failed);
        }
    });
    all
}

/// A round's results.
fn results(outcome: &Outcome, seconds: f64, cpus: Value) -> Value {
    let mut result = quantiles(&outcome.took);
    result["per_second"] = json!(rounded(outcome.took.len() as f64 / seconds));
    result["begun_late"] = quantiles(&outcome.late);
    result["failed"] = json!(outcome.failed.len());
    if let Some(first) = outcome.failed.first() {
        result["failed_first"] = json!(first);
    }
    let each_ms = cpus["measured"].as_f64().map(|cpus| {
        let seconds = cpus * seconds / outcome.took.len().max(1) as f64;
        rounded(seconds * 1_000.0)
    });
    result["processor_ms_per_upload"] = json!(each_ms);
    result["processors"] = cpus;
    result["load_average"] = json!(load_average());
    result
}

/// The uploads onto the database at `url`.
pub fn bench(url: &str, documents: &[Document], wanted: &Wanted) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Child::collector(url, folder.path());
    let collector = child.said("url");
    let mut acknowledged = 0;
    let mut measured = |offer, time: Duration| {
        let before = Taken::now(child.pid());
        let begun = Instant::now();
        let outcome = round(&collector, documents, offer, time);
        // The first second is that of the tokens.
        let seconds = begun.elapsed().as_secs_f64() - 1.0;
        let cpus = Taken::now(child.pid()).since(&before);
        acknowledged += outcome.took.len() as u64;
        let result = results(&outcome, seconds, cpus);
        (outcome, result)
    };
    measured(Offer::Open(100), Duration::from_secs(2));

    let offers = RATES.map(|rate| (format!("offered_{rate}_per_second"), Offer::Open(rate)));
    let most = ("as_fast_as_16_clients_can".to_owned(), Offer::Closed);
    let offers: Vec<_> = offers.into_iter().chain([most]).collect();
    let mut rounds: Vec<(Outcome, Vec<Value>)> =
        offers.iter().map(|_| Default::default()).collect();
    for _ in 0..wanted.rounds {
        for ((name, offer), (all, results)) in offers.iter().zip(&mut rounds) {
            let (outcome, result) = measured(*offer, wanted.time);
            say(name, &result);
            all.took.extend(outcome.took);
            results.push(result);
        }
    }
    let mut report = serde_json::Map::new();
    for ((name, _), (all, rounds)) in offers.iter().zip(rounds) {
        let of = |key: &str| {
            let values = rounds.iter().filter_map(|round| round[key].as_f64());
            median(values.collect())
        };
        let medians = json!({
            "per_second": of("per_second"), "p50_ms": of("p50_ms"),
            "p99_ms": of("p99_ms"), "max_ms": of("max_ms"),
            "processor_ms_per_upload": of("processor_ms_per_upload"),
        });
        let all = quantiles(&all.took);
        let result = json!({"median_of_rounds": medians, "all_rounds": all, "rounds": rounds});
        report.insert(name.clone(), result);
    }
    let stored = runs(&collector);
    assert_eq!(
        stored, acknowledged,
        "what is stored is what was acknowledged"
    );
    report.insert("stored".into(), json!(stored));
    report.insert(
        "collector_peak_bytes".into(),
        json!(peak_bytes(child.pid())),
    );
    Value::Object(report)
}

/// How many runs the collector says it has.
fn runs(url: &str) -> u64 {
    let answer = ureq::get(format!("{url}/api/v1/usage")).call();
    let usage = answer.expect("an answer").body_mut().read_to_string();
    let usage: Value = serde_json::from_str(&usage.expect("a text")).expect("JSON");
    usage["runs"].as_u64().expect("a number")
}
