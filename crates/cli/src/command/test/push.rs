//! How do others watch a test while it runs? What is seen goes to the collector in the background, about
//! twice a second. A collector that is slow or out of reach never disturbs the test: what does not fit
//! the buffer is dropped.

use platform::api::{LiveBatch, LiveEvent, LiveItem};
use platform::client::{Collector, CollectorError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two batches.
const PERIOD: Duration = Duration::from_millis(500);
/// Items of one batch: the collector's bound.
const BATCH: usize = 2_000;
/// Items that wait at most: some minutes of what two runs show.
const BUFFER: usize = 20_000;
/// How long the test's end waits for the last batch: two exchanges that come to nothing, as the network
/// of the first may be the one that was just lost.
const FAREWELL: Duration = Duration::from_secs(6);
/// How long an exchange may take. What is late is of no use to who watches.
const EXCHANGE: Duration = Duration::from_secs(2);
/// The pause between two attempts once the test is over.
const LAST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause after batches that failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What every batch says.
#[derive(Clone, Debug)]
pub struct About {
    /// The test.
    pub test: String,
    /// The experiment's name.
    pub experiment: String,
    /// The server's id.
    pub server: String,
    /// A token of the test.
    pub token: String,
    /// What the paths are called there, by their names here: by their kinds, which say more to who watches
    /// than a name that somebody gave, of which only a code may be kept.
    pub paths: BTreeMap<String, String>,
}

#[derive(Default)]
struct Waiting {
    items: VecDeque<LiveItem>,
    over: bool,
    /// The thread has nothing more to do.
    ended: bool,
}

type Shared = Arc<(Mutex<Waiting>, Condvar)>;

/// The way to those who watch.
pub struct Push {
    shared: Shared,
    paths: BTreeMap<String, String>,
    thread: Option<JoinHandle<()>>,
}

impl Push {
    /// Starts to push to the collector at `url`.
    ///
    /// # Errors
    /// When that is no address.
    pub fn start(url: &str, about: About) -> Result<Push, CollectorError> {
        // Connections of its own: no upload waits for one.
        let collector = Collector::new(url, EXCHANGE)?;
        let shared: Shared = Arc::default();
        let paths = about.paths.clone();
        let theirs = shared.clone();
        let thread = std::thread::spawn(move || {
            push(&theirs, &collector, &about);
            let (waiting, changed) = &*theirs;
            waiting.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
            changed.notify_all();
        });
        Ok(Push {
            shared,
            paths,
            thread: Some(thread),
        })
    }

    /// Shows `items`; never waits.
    pub fn show(&self, items: impl IntoIterator<Item = LiveItem>) {
        let (waiting, _) = &*self.shared;
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let items = items.into_iter().map(|item| renamed(item, &self.paths));
        waiting.items.extend(items);
        let excess = waiting.items.len().saturating_sub(BUFFER);
        waiting.items.drain(..excess);
    }

    /// The test is over.
    pub fn over(&self) {
        let (waiting, changed) = &*self.shared;
        waiting.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        changed.notify_all();
    }

    /// Waits until those who watch know that it is over, for a short time.
    pub fn finish(mut self) {
        self.over();
        let (waiting, changed) = &*self.shared;
        let state = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let in_time = changed.wait_timeout_while(state, FAREWELL, |state| !state.ended);
        // A request under way ends with its own timeout, or with the process.
        let ended = in_time.is_ok_and(|(_, timeout)| !timeout.timed_out());
        if let Some(thread) = self.thread.take().filter(|_| ended) {
            let _ = thread.join();
        }
    }
}

/// `item` with the paths' names there.
fn renamed(mut item: LiveItem, names: &BTreeMap<String, String>) -> LiveItem {
    let rename = |path: &mut String| {
        if let Some(name) = names.get(path) {
            path.clone_from(name);
        }
    };
    match &mut item.event {
        LiveEvent::Started { paths, .. } => paths.iter_mut().for_each(rename),
        LiveEvent::PathInUse { path }
        | LiveEvent::Path { path, up: _ }
        | LiveEvent::Decision { path, .. }
        | LiveEvent::Signal { path, .. } => rename(path),
        LiveEvent::Message { .. } | LiveEvent::Waiting { .. } | LiveEvent::Ended { .. } => {}
    }
    item
}

fn push((waiting, changed): &(Mutex<Waiting>, Condvar), collector: &Collector, about: &About) {
    let mut pause = PERIOD;
    // When the test was over, and how often the last batches failed since.
    let mut farewell: Option<Instant> = None;
    loop {
        let begun = Instant::now();
        let mut state = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let pause = match (state.over, farewell) {
                (true, None) => Duration::ZERO,
                (true, Some(_)) => LAST_PAUSE,
                (false, _) => pause,
            };
            let left = (begun + pause).saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = state.items.len().min(BATCH);
        let over = state.over && count == state.items.len();
        let items: Vec<LiveItem> = state.items.drain(..count).collect();
        if state.over {
            farewell.get_or_insert(Instant::now());
        }
        drop(state);
        if items.is_empty() && !over {
            continue;
        }
        let batch = LiveBatch {
            test: about.test.clone(),
            experiment: about.experiment.clone(),
            server: about.server.clone(),
            token: about.token.clone(),
            items,
            over,
        };
        match collector.live(&batch) {
            Ok(()) if over => return,
            Ok(()) => pause = PERIOD,
            // Told that it is not wanted.
            Err(error @ CollectorError::Problem(_)) if !error.is_temporary() => return,
            Err(_) if farewell.is_some_and(|over| over.elapsed() > FAREWELL) => return,
            Err(_) => {
                // The oldest go first when the buffer is full.
                let mut state = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                for item in batch.items.into_iter().rev() {
                    if state.items.len() < BUFFER {
                        state.items.push_front(item);
                    }
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    /// Answers each request with the next status; hands the bodies out.
    fn collector(statuses: Vec<u16>) -> (String, Receiver<LiveBatch>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let (sender, bodies) = channel();
        std::thread::spawn(move || {
            for status in statuses {
                let (stream, _) = listener.accept().expect("a client");
                let mut reader = BufReader::new(stream);
                let mut length = 0;
                let mut line = String::new();
                while reader.read_line(&mut line).expect("a head") > 2 {
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().expect("a number");
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("a body");
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                reader
                    .get_mut()
                    .write_all(answer.as_bytes())
                    .expect("it reads");
                let _ = sender.send(serde_json::from_slice(&body).expect("a batch"));
            }
        });
        (url, bodies)
    }

    fn about() -> About {
        About {
            test: "0".repeat(32),
            experiment: "e".into(),
            server: "near".into(),
            token: "t".into(),
            paths: [("home".to_owned(), "wifi".to_owned())].into(),
        }
    }

    #[test]
    fn paths_are_shown_by_their_kinds() {
        let (url, bodies) = collector(vec![200, 200]);
        let push = Push::start(&url, about()).expect("an address");
        let path = "home".to_owned();
        let events = [
            LiveEvent::Started {
                transport: "mptcp".into(),
                policy: "backup".into(),
                pattern: "ping".into(),
                paths: vec![path.clone()],
            },
            LiveEvent::PathInUse { path: path.clone() },
            LiveEvent::Path { path, up: false },
        ];
        push.show(events.map(|event| LiveItem {
            run: "mptcp-backup".into(),
            time_us: 0,
            event,
        }));
        push.finish();
        let shown = bodies.recv().expect("a batch");
        let shown = serde_json::to_string(&shown.items).expect("JSON");
        assert!(!shown.contains("home"), "{shown}");
        assert_eq!(shown.matches("\"wifi\"").count(), 3, "{shown}");
    }

    fn items(from: u64, count: u64) -> impl Iterator<Item = LiveItem> {
        (from..from + count).map(|time_us| LiveItem {
            run: "quic".into(),
            time_us,
            event: LiveEvent::Waiting { waited_us: 1 },
        })
    }

    #[test]
    fn what_failed_is_sent_again_in_order_and_the_end_is_said() {
        let (url, bodies) = collector(vec![503, 200, 503, 200]);
        let push = Push::start(&url, about()).expect("an address");
        push.show(items(0, 3));
        let failed = bodies.recv().expect("a batch");
        push.show(items(3, 2));
        let again = bodies.recv().expect("a batch");
        push.finish();
        let refused = bodies.recv().expect("a batch");
        let last = bodies.recv().expect("a batch, said again");
        assert_eq!(refused, last);
        assert_eq!(failed.items.len(), 3);
        let times: Vec<u64> = again.items.iter().map(|item| item.time_us).collect();
        assert_eq!(times, [0, 1, 2, 3, 4]);
        assert_eq!((again.over, last.over, last.items.len()), (false, true, 0));
    }

    #[test]
    fn nobody_waits_for_a_collector_that_is_away() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        drop(listener);
        let push = Push::start(&url, about()).expect("an address");
        push.show(items(0, BUFFER as u64 * 2));
        let (waiting, _) = &*push.shared;
        let first = waiting
            .lock()
            .expect("whole")
            .items
            .front()
            .map(|item| item.time_us);
        // The thread may have taken a batch, and put it back or not yet.
        assert!(
            first.is_some_and(|first| first >= BUFFER as u64 - BATCH as u64),
            "{first:?}"
        );
        let start = Instant::now();
        push.finish();
        assert!(start.elapsed() < FAREWELL + EXCHANGE);
    }
}
