//! What is kept of a session for its client? Messages, samples and events, up to a bound.

use super::reasons::Cut;
use model::columns::Columns;
use model::live::SessionRecords;
use model::manifest::Stack;
use model::record::{Event, EventKind, Message, Sample};
use model::{Name, Side, Time};
use std::collections::BTreeSet;

/// Bytes in memory of one session's records; what comes later is not recorded.
const MAX_BYTES: usize = 32 << 20;

/// The records of a session.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    server: String,
    stack: Stack,
    messages: Vec<Message>,
    samples: Vec<Sample>,
    events: Vec<Event>,
    /// Paths of connections that were seen in the last sample.
    seen: BTreeSet<(u64, Name)>,
    full: bool,
}

impl Recorder {
    pub(super) fn new(server: &str, stack: Stack) -> Recorder {
        Recorder {
            server: server.to_owned(),
            stack,
            messages: Vec::new(),
            samples: Vec::new(),
            events: Vec::new(),
            seen: BTreeSet::new(),
            full: false,
        }
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.messages.len() * size_of::<Message>()
            + self.samples.len() * (size_of::<Sample>() + 16)
            + self.events.len() * (size_of::<Event>() + 64)
    }

    fn has_room(&mut self, now: Time) -> bool {
        if !self.full && self.bytes() > MAX_BYTES {
            self.full = true;
            let what = format!("more than {MAX_BYTES} bytes were recorded: what follows is not");
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

    /// Everything so far; `unanswered` are the messages on their way.
    pub(super) fn snapshot(
        &self,
        now: Time,
        unanswered: Vec<Message>,
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
        }
    }
}

/// An event at the server.
pub(super) fn event(now: Time, kind: EventKind, detail: impl Into<String>) -> Event {
    Event {
        side: Some(Side::Server),
        ..Event::new(now, kind, detail)
    }
}
