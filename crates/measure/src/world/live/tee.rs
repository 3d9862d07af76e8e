//! Where the rows of a live run go: into its folder, and to who watches.

use super::LiveRecord;
use crate::recording::{Log, PacketObservation, Sink};
use model::record::{Event, EventKind, LinkState, Message, Sample};
use model::{Name, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// From this wait on it is told that a message waits.
const WAITS_LONG: Duration = Duration::from_millis(200);

const NOT_YET: u64 = u64::MAX;

/// The sink of one run; cheap to clone.
#[derive(Clone)]
pub struct Tee {
    log: Log,
    watch: Sender<LiveRecord>,
    run: String,
    /// When the application began, in microseconds; [`NOT_YET`] before.
    began_us: Arc<AtomicU64>,
}

impl Tee {
    /// Rows of the run labelled `run` go to `log` and to `watch`.
    pub fn new(log: Log, watch: Sender<LiveRecord>, run: String) -> Tee {
        Tee {
            log,
            watch,
            run,
            began_us: Arc::new(AtomicU64::new(NOT_YET)),
        }
    }

    /// When the application began, if it has: the server has a session then.
    pub fn began(&self) -> Option<Time> {
        let at = self.began_us.load(Ordering::Relaxed);
        (at != NOT_YET).then(|| Time::from_micros(at))
    }

    /// The folder alone.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    fn tell(&self, record: impl FnOnce(String) -> LiveRecord) {
        // Who watches may have gone; the folder is what counts.
        let _ = self.watch.send(record(self.run.clone()));
    }
}

impl Sink for Tee {
    fn message(&mut self, message: Message) {
        self.log.message(message.clone());
        self.tell(|run| LiveRecord::Message { run, message });
    }
    fn sample(&mut self, sample: Sample) {
        self.log.sample(sample.clone());
        self.tell(|run| LiveRecord::Sample { run, sample });
    }
    fn link(&mut self, state: LinkState) {
        self.log.link(state);
    }
    fn event(&mut self, event: Event) {
        if event.kind == EventKind::ApplicationStart {
            self.began_us.store(event.time_us, Ordering::Relaxed);
        }
        self.log.event(event.clone());
        self.tell(|run| LiveRecord::Event { run, event });
    }
    fn packet(&mut self, path: &Name, packet: &PacketObservation<&[u8]>) {
        self.log.packet(path, packet);
    }
    fn unanswered(&mut self, now: Time, since: Time) {
        let waited = now.since(since);
        if waited > WAITS_LONG {
            self.tell(|run| LiveRecord::Waiting {
                run,
                time_us: now.as_micros(),
                waited_us: u64::try_from(waited.as_micros()).unwrap_or(u64::MAX),
            });
        }
    }
}
