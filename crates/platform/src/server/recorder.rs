//! What is kept of a session for its client? Messages, samples and events, up to a bound.

use super::reasons::Cut;
use crate::token::TokenError;
use model::columns::Columns;
use model::live::{SeenPath, SessionRecords, TokenRefused};
use model::manifest::Stack;
use model::record::{Event, EventKind, Message, Sample};
use model::{Name, Side, Time};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes in memory of one session's records; what comes later is not recorded.
const MAX_BYTES: usize = 32 << 20;
/// The same of all sessions under way.
const MAX_ALL_BYTES: usize = 512 << 20;

/// Bytes in memory of the records of all sessions under way.
pub(super) type Recorded = Arc<AtomicUsize>;

/// The records of a session.
#[derive(Debug)]
pub(super) struct Recorder {
    server: String,
    stack: Stack,
    messages: Vec<Message>,
    samples: Vec<Sample>,
    events: Vec<Event>,
    /// Paths of connections that were seen in the last sample.
    seen: BTreeSet<(u64, Name)>,
    full: bool,
    /// Of all sessions, and this one's part as it was counted last.
    all: Recorded,
    counted: usize,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.all.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl Recorder {
    pub(super) fn new(server: &str, stack: Stack, all: Recorded) -> Recorder {
        Recorder {
            server: server.to_owned(),
            stack,
            messages: Vec::new(),
            samples: Vec::new(),
            events: Vec::new(),
            seen: BTreeSet::new(),
            full: false,
            all,
            counted: 0,
        }
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.messages.len() * size_of::<Message>()
            + self.samples.len() * (size_of::<Sample>() + 16)
            + self.events.len() * (size_of::<Event>() + 64)
    }

    fn has_room(&mut self, now: Time) -> bool {
        if self.full {
            return false;
        }
        let bytes = self.bytes();
        let more = bytes - self.counted;
        let all = self.all.fetch_add(more, Ordering::Relaxed) + more;
        self.counted = bytes;
        if bytes > MAX_BYTES || all > MAX_ALL_BYTES {
            self.full = true;
            let what = "the server's memory for records is full: what follows is not recorded";
            self.events.push(event(now, EventKind::Note, what));
        }
        !self.full
    }

    /// The half finished these messages.
    pub(super) fn messages(&mut self, now: Time, log: &mut Vec<Message>) {
        match self.has_room(now) {
            true => self.messages.append(log),
            false => log.clear(),
        }
    }

    /// The state of this moment; `following` says that somebody else tells which paths come and go.
    pub(super) fn samples(&mut self, now: Time, rows: &mut Vec<Sample>, following: bool) {
        if !following {
            let seen = rows.iter().filter(|row| row.state == "established");
            let seen = seen.filter_map(|row| Some((row.connection, row.path.clone()?)));
            let seen: BTreeSet<_> = seen.collect();
            let opened = seen.difference(&self.seen);
            let opened = opened.map(|path| (EventKind::PathOpened, path.clone()));
            let closed = self.seen.difference(&seen);
            let closed = closed.map(|path| (EventKind::PathClosed, path.clone()));
            let changes: Vec<_> = opened.chain(closed).collect();
            for (kind, (connection, path)) in changes {
                self.event(Event {
                    path: Some(path),
                    connection: Some(connection),
                    ..event(now, kind, "seen at the next sample")
                });
            }
            self.seen = seen;
        }
        match self.has_room(now) {
            true => self.samples.append(rows),
            false => rows.clear(),
        }
    }

    /// Something happened.
    pub(super) fn event(&mut self, event: Event) {
        if self.has_room(Time::from_micros(event.time_us)) {
            self.events.push(event);
        }
    }

    /// Everything so far; `unanswered` are the messages on their way, and `paths` the client's.
    pub(super) fn snapshot(
        &self,
        now: Time,
        unanswered: Vec<Message>,
        paths: &[SeenPath],
        cut: Option<&Cut>,
    ) -> SessionRecords {
        let mut messages = self.messages.clone();
        messages.extend(unanswered);
        SessionRecords {
            server: self.server.clone(),
            walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
            stack: self.stack.clone(),
            now_us: now.as_micros(),
            messages: Columns(messages),
            samples: Columns(self.samples.clone()),
            events: self.events.clone(),
            cut: cut.map(Cut::to_string),
            paths: paths.to_vec(),
            refused: None,
        }
    }
}

/// What is told of a session that there was not: the server's clock spoke against its token.
pub(super) fn refused(server: &str, why: &TokenError, server_s: u64) -> SessionRecords {
    SessionRecords {
        server: server.to_owned(),
        walkabout_version: env!("CARGO_PKG_VERSION").to_owned(),
        stack: Stack::default(),
        now_us: 0,
        messages: Columns::default(),
        samples: Columns::default(),
        events: Vec::new(),
        cut: None,
        paths: Vec::new(),
        refused: Some(TokenRefused {
            why: why.to_string(),
            server_s,
        }),
    }
}

/// The JSON of records, written at the session's time `now_us`.
pub(super) fn json(records: &SessionRecords, now_us: u64) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Now<'r> {
        server: &'r str,
        walkabout_version: &'r str,
        stack: &'r Stack,
        now_us: u64,
        messages: &'r Columns<Message>,
        samples: &'r Columns<Sample>,
        events: &'r [Event],
        #[serde(skip_serializing_if = "Option::is_none")]
        cut: &'r Option<String>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        paths: &'r [SeenPath],
        #[serde(skip_serializing_if = "Option::is_none")]
        refused: &'r Option<TokenRefused>,
    }
    let SessionRecords {
        server,
        walkabout_version,
        stack,
        now_us: _,
        messages,
        samples,
        events,
        cut,
        paths,
        refused,
    } = records;
    serde_json::to_vec(&Now {
        server,
        walkabout_version,
        stack,
        now_us,
        messages,
        samples,
        events,
        cut,
        paths,
        refused,
    })
}

/// An event at the server.
pub(super) fn event(now: Time, kind: EventKind, detail: impl Into<String>) -> Event {
    Event {
        side: Some(Side::Server),
        ..Event::new(now, kind, detail)
    }
}

#[cfg(test)]
pub(super) fn empty() -> Recorder {
    let stack = Stack {
        name: "linux".into(),
        version: String::new(),
        congestion: String::new(),
        path_manager: String::new(),
        scheduler: String::new(),
        server_scheduler: None,
        security: None,
    };
    Recorder::new("near", stack, Recorded::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_that_of_the_records_at_another_time() {
        let mut recorder = empty();
        recorder.event(event(Time::from_millis(1), EventKind::Note, "a word"));
        let cut = Cut::Time(7);
        let mut records = recorder.snapshot(Time::from_millis(2), Vec::new(), &[], Some(&cut));
        let json = json(&records, 77).expect("JSON");
        records.now_us = 77;
        let direct = serde_json::to_vec(&records).expect("JSON");
        assert_eq!(String::from_utf8(json), String::from_utf8(direct));
    }

    #[test]
    fn memory_is_bounded_for_one_and_for_all_and_given_back() {
        let mut recorder = empty();
        let all = Arc::clone(&recorder.all);
        let now = Time::ZERO;
        while !recorder.full {
            let mut log = vec![message(); 10_000];
            recorder.messages(now, &mut log);
            assert!(log.is_empty() && recorder.bytes() < MAX_BYTES * 2);
        }
        let kept = recorder.messages.len();
        recorder.messages(now, &mut vec![message()]);
        assert_eq!(recorder.messages.len(), kept);
        let words = &recorder.events.last().expect("a note").detail;
        assert!(words.contains("memory for records is full"), "{words}");
        drop(recorder);
        assert_eq!(all.load(Ordering::Relaxed), 0);

        all.store(MAX_ALL_BYTES, Ordering::Relaxed);
        let mut next = empty();
        next.all = all;
        next.messages(now, &mut vec![message()]);
        next.messages(now, &mut vec![message()]);
        assert!(next.messages.len() <= 1);
    }

    fn message() -> Message {
        Message {
            channel: 0,
            id: 0,
            direction: model::Direction::Down,
            size_bytes: 0,
            answer_bytes: 0,
            sent_us: 0,
            acked_us: None,
            delay_us: None,
            path: None,
        }
    }
}
