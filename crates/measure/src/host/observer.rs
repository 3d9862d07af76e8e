//! What a host records of its transport: its state at every period, its events as they come.

use super::SAMPLE_PERIOD;
use crate::recording::Sink;
use crate::transport::Endpoint;
use model::record::{Event, EventKind, Sample};
use model::{Side, Time};
use traffic::Half;

/// The observer of one end.
pub struct Observer {
    side: Side,
    next_sample: Time,
    samples: Vec<Sample>,
    events: Vec<Event>,
    /// Whether the half's fault was reported.
    told: bool,
}

impl Observer {
    /// An observer that samples from the start on.
    pub fn new(side: Side) -> Observer {
        Observer {
            side,
            next_sample: Time::ZERO,
            samples: Vec::new(),
            events: Vec::new(),
            told: false,
        }
    }

    /// Logs what happened, and the state if a sample is due.
    pub fn observe(&mut self, now: Time, endpoint: &mut dyn Endpoint, sink: &mut dyn Sink) {
        if now >= self.next_sample {
            endpoint.sample(now, &mut self.samples);
            self.samples.drain(..).for_each(|s| sink.sample(s));
            while self.next_sample <= now {
                self.next_sample += SAMPLE_PERIOD;
            }
        }
        self.drain(endpoint, sink);
    }

    /// When a sample is due.
    pub fn next_sample(&self) -> Time {
        self.next_sample
    }

    /// Logs an event of this end.
    pub fn event(
        &self,
        now: Time,
        kind: EventKind,
        detail: impl Into<String>,
        sink: &mut dyn Sink,
    ) {
        sink.event(Event {
            side: Some(self.side),
            ..Event::new(now, kind, detail)
        });
    }

    /// Reports once what a half says went wrong on a channel: the run goes on, as its messages
    /// are data all the same.
    pub fn report_fault(&mut self, now: Time, half: &dyn Half, sink: &mut dyn Sink) {
        if !self.told
            && let Some(reason) = half.error()
        {
            self.told = true;
            self.event(now, EventKind::Note, reason, sink);
        }
    }

    /// Logs the end of the application, with the messages that were never answered.
    pub fn end(
        &mut self,
        now: Time,
        endpoint: &mut dyn Endpoint,
        half: Option<&dyn Half>,
        sink: &mut dyn Sink,
    ) {
        for message in half.into_iter().flat_map(Half::unanswered) {
            sink.message(message);
        }
        self.drain(endpoint, sink);
        self.event(now, EventKind::ApplicationStop, "", sink);
    }

    fn drain(&mut self, endpoint: &mut dyn Endpoint, sink: &mut dyn Sink) {
        endpoint.events(&mut self.events);
        if self.events.is_empty() {
            return;
        }
        for mut event in self.events.drain(..) {
            event.side.get_or_insert(self.side);
            sink.event(event);
        }
    }
}
