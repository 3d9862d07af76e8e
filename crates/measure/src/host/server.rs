//! The server: it accepts one client's channels, speaks the pattern's other half, and records.

use super::wait::wait;
use super::{HostError, SAMPLE_PERIOD, report_fault};
use crate::Clock;
use crate::emulator::StopFlag;
use crate::recording::Log;
use crate::transport::Endpoint;
use model::record::{Event, EventKind};
use model::{Side, Time};
use std::os::fd::AsRawFd;
use traffic::welcome::Welcome;
use traffic::{Half, pattern};

/// Everything the server's thread needs.
pub struct ServerHost<'h> {
    /// The run's clock.
    pub clock: Clock,
    /// Where records go.
    pub log: Log,
    /// Ends the run.
    pub stop: &'h StopFlag,
    /// The transport.
    pub endpoint: Box<dyn Endpoint>,
}

impl ServerHost<'_> {
    /// Runs until `stop` is raised.
    pub fn run(mut self) -> Result<(), HostError> {
        let mut half: Option<Box<dyn Half>> = None;
        let result = self.drive(&mut half);
        for message in half.iter().flat_map(|h| h.unanswered()) {
            self.log.message(message);
        }
        self.drain_events();
        let now = self.clock.now();
        let mut stopped = Event::new(now, EventKind::ApplicationStop, "");
        stopped.side = Some(Side::Server);
        self.log.event(stopped);
        self.endpoint.close(now);
        self.stop.stop();
        result
    }

    fn drive(&mut self, half: &mut Option<Box<dyn Half>>) -> Result<(), HostError> {
        let transport = |source| HostError::Transport {
            side: "server",
            source,
        };
        let (mut welcome, mut told) = (Welcome::default(), false);
        let mut next_sample = Time::ZERO;
        let (mut messages, mut samples, mut fds) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            if self.stop.is_stopped() {
                return Ok(());
            }
            let now = self.clock.now();
            self.endpoint.poll(now).map_err(transport)?;
            while let Some(channel) = self.endpoint.accepted() {
                welcome.accept(channel);
            }
            for (channel, refusal) in welcome.poll(&mut *self.endpoint) {
                let words = format!("channel {channel} was turned away: {refusal}");
                self.log.event(Event::new(now, EventKind::Note, words));
            }
            if half.is_none() {
                *half = welcome.traffic().map(pattern::server);
            }
            if let Some(half) = half {
                let mut channels = welcome.channels(&mut *self.endpoint);
                half.poll(now, &mut channels, &mut messages);
                messages.drain(..).for_each(|m| self.log.message(m));
                report_fault(&self.log, now, Side::Server, &**half, &mut told);
            }
            self.endpoint.flush(now).map_err(transport)?;
            if now >= next_sample {
                self.endpoint.sample(now, &mut samples);
                samples.drain(..).for_each(|s| self.log.sample(s));
                while next_sample <= now {
                    next_sample += SAMPLE_PERIOD;
                }
            }
            self.drain_events();

            let mut until = next_sample;
            until = half
                .as_ref()
                .and_then(|h| h.poll_at())
                .map_or(until, |t| until.min(t));
            until = self.endpoint.poll_at().map_or(until, |t| until.min(t));
            fds.clear();
            fds.push((self.stop.as_raw_fd(), false));
            self.endpoint.wait_for(&mut fds);
            wait(&self.clock, &fds, until).map_err(transport)?;
        }
    }

    fn drain_events(&mut self) {
        let mut events = Vec::new();
        self.endpoint.events(&mut events);
        for mut event in events {
            event.side.get_or_insert(Side::Server);
            self.log.event(event);
        }
    }
}
