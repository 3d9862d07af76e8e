//! The server: it accepts one client's channels, speaks the pattern's other half, and records.

use super::HostError;
use super::observer::Observer;
use crate::recording::Sink;
use crate::transport::Endpoint;
use model::record::{EventKind, Message};
use model::{Side, Time};
use traffic::welcome::Welcome;
use traffic::{Half, pattern};

/// The server's host but for its transport and its time, which the driver brings.
pub struct Server {
    observer: Observer,
    /// When the application's time is over.
    end: Time,
    welcome: Welcome,
    half: Option<Box<dyn Half>>,
    settled: bool,
    messages: Vec<Message>,
}

impl Server {
    /// A server whose application's time is over at `end`.
    pub fn new(end: Time) -> Server {
        Server {
            observer: Observer::new(Side::Server),
            end,
            welcome: Welcome::default(),
            half: None,
            settled: false,
            messages: Vec::new(),
        }
    }

    /// Does all that is due at `now`; returns when the next turn is due if nothing arrives.
    pub fn turn(
        &mut self,
        now: Time,
        endpoint: &mut dyn Endpoint,
        sink: &mut dyn Sink,
    ) -> Result<Time, HostError> {
        let transport = |source| HostError::Transport {
            side: "server",
            source,
        };
        endpoint.poll(now).map_err(transport)?;
        while let Some(channel) = endpoint.accepted() {
            self.welcome.accept(channel);
        }
        for (channel, refusal) in self.welcome.poll(endpoint) {
            let words = format!("channel {channel} was turned away: {refusal}");
            self.observer.event(now, EventKind::Note, words, sink);
        }
        if self.half.is_none() {
            self.half = self.welcome.traffic().map(pattern::server);
        }
        let over = now >= self.end;
        if let Some(half) = &mut self.half {
            if over {
                half.finish();
            }
            let mut channels = self.welcome.channels(endpoint);
            half.poll(now, &mut channels, &mut self.messages);
            if !self.messages.is_empty() {
                self.messages.drain(..).for_each(|m| sink.message(m));
            }
            self.observer.report_fault(now, &**half, sink);
        }
        if over && !self.settled {
            let half = self.half.as_ref();
            self.settled = half.is_none_or(|h| h.unanswered().is_empty());
        }
        endpoint.flush(now).map_err(transport)?;
        self.observer.observe(now, endpoint, sink);

        let mut until = self.observer.next_sample();
        if !over {
            until = until.min(self.end);
        }
        if let Some(at) = self.half.as_ref().and_then(|half| half.poll_at()) {
            until = until.min(at);
        }
        Ok(endpoint.poll_at().map_or(until, |at| until.min(at)))
    }

    /// Whether the application's time is over and every message was answered.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// The application ends, whatever came before: records what is unanswered, says goodbye.
    pub fn end(&mut self, now: Time, endpoint: &mut dyn Endpoint, sink: &mut dyn Sink) {
        let half = self.half.as_deref();
        self.observer
            .end(now, endpoint, half.map(|h| h as &dyn Half), sink);
        endpoint.close(now);
    }
}
