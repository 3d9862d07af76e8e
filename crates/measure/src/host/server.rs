//! The server: it accepts one client's channels, speaks the pattern's other half, and records.

use super::HostError;
use super::observer::Observer;
use super::wait::wait;
use crate::Clock;
use crate::emulator::StopFlag;
use crate::recording::Log;
use crate::transport::Endpoint;
use model::record::EventKind;
use model::{Side, Time};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// When the application's time is over.
    pub end: Time,
    /// Set when every message was answered after that.
    pub settled: &'h AtomicBool,
    /// The transport.
    pub endpoint: Box<dyn Endpoint>,
}

impl ServerHost<'_> {
    /// Runs until `stop` is raised.
    pub fn run(mut self) -> Result<(), HostError> {
        let mut half: Option<Box<dyn Half>> = None;
        let mut observer = Observer::new(Side::Server, self.log.clone());
        let result = self.drive(&mut half, &mut observer);
        let now = self.clock.now();
        observer.end(
            now,
            &mut *self.endpoint,
            half.as_deref().map(|h| h as &dyn Half),
        );
        self.endpoint.close(now);
        self.stop.stop();
        result
    }

    fn drive(
        &mut self,
        half: &mut Option<Box<dyn Half>>,
        observer: &mut Observer,
    ) -> Result<(), HostError> {
        let transport = |source| HostError::Transport {
            side: "server",
            source,
        };
        let mut welcome = Welcome::default();
        let (mut messages, mut fds) = (Vec::new(), Vec::new());
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
                observer.event(now, EventKind::Note, words);
            }
            if half.is_none() {
                *half = welcome.traffic().map(pattern::server);
            }
            let over = now >= self.end;
            if let Some(half) = half {
                if over {
                    half.finish();
                }
                let mut channels = welcome.channels(&mut *self.endpoint);
                half.poll(now, &mut channels, &mut messages);
                messages.drain(..).for_each(|m| self.log.message(m));
                observer.report_fault(now, &**half);
            }
            if over && half.as_ref().is_none_or(|h| h.unanswered().is_empty()) {
                self.settled.store(true, Ordering::Relaxed);
            }
            self.endpoint.flush(now).map_err(transport)?;
            observer.observe(now, &mut *self.endpoint);

            let mut until = observer.next_sample();
            if !over {
                until = until.min(self.end);
            }
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
}
