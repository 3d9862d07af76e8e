//! What does a session do when something arrives, when a stream takes bytes, or when time passes? One
//! future that owns the pattern's server half and its lanes.

use super::desk::{Command, Join};
use super::lanes::Lanes;
use super::metrics::{Family, Held, Metrics};
use super::reasons::{Cut, Refusal};
use super::recorder::{Recorder, event};
use super::register::Registration;
use super::sampler::{Sampler, stack};
use super::stream::Transport;
use super::{Limits, quic};
use measure::Clock;
use measure::host::SAMPLE_PERIOD;
use model::Time;
use model::record::{Event, EventKind, Message, Sample};
use model::scenario::Traffic;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};
use traffic::{Half, pattern};

/// How often a session in which nothing moves is sampled.
const IDLE_SAMPLE_PERIOD: Duration = Duration::from_secs(1);
/// Rounds before the other tasks get their turn.
const ROUNDS: usize = 32;

/// By which right a session takes place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Bytes, both directions together.
    pub bytes: u64,
    /// Seconds since the first hello.
    pub seconds: u32,
}

/// A session.
pub(super) struct Session {
    registration: Registration,
    limits: Limits,
    allowance: Allowance,
    prefix: String,
    traffic: Traffic,
    transport: Transport,
    clock: Clock,
    half: Box<dyn Half>,
    lanes: Lanes,
    commands: mpsc::Receiver<Command>,
    recorder: Recorder,
    sampler: Sampler,
    metrics: Arc<Metrics>,
    _held: Option<Held>,
    log: Vec<Message>,
    rows: Vec<Sample>,
    timer: Pin<Box<Sleep>>,
    moved: (u64, u64),
    last_moved: Time,
    next_sample: Time,
}

impl Session {
    /// The session that `first` begins.
    pub(super) fn new(
        registration: Registration,
        allowance: Allowance,
        first: Join,
        prefix: &str,
        traffic: Traffic,
        commands: mpsc::Receiver<Command>,
    ) -> Session {
        let desk = registration.desk();
        let (limits, metrics) = (*desk.limits(), Arc::clone(desk.metrics()));
        let transport = first.stream.transport();
        let mut recorder = Recorder::new(desk.id(), stack(&first.stream), desk.recorded());
        let start = event(Time::ZERO, EventKind::ApplicationStart, transport.name());
        recorder.event(start);
        let queue = limits.queued_bytes;
        let mut session = Session {
            limits,
            allowance,
            prefix: prefix.to_owned(),
            half: pattern::server(&traffic),
            lanes: Lanes::new(traffic.channels(), allowance.bytes, queue),
            traffic,
            transport,
            clock: Clock::start(),
            commands,
            recorder,
            sampler: Sampler::default(),
            _held: registration
                .has_token()
                .then(|| metrics.hold(Family::Sessions, transport.name())),
            metrics,
            registration,
            log: Vec::new(),
            rows: Vec::new(),
            timer: Box::pin(sleep_until(Instant::now())),
            moved: (0, 0),
            last_moved: Time::ZERO,
            next_sample: Time::ZERO,
        };
        session.join(first);
        session
    }

    /// Runs it to its end.
    pub(super) async fn run(mut self) {
        let end = poll_fn(|cx| self.turn(cx)).await;
        let now = self.clock.now();
        let (received, sent) = self.lanes.moved();
        if let Some(cut) = &end {
            self.metrics.add(Family::CutTotal, cut.label(), 1);
            self.recorder
                .event(event(now, EventKind::Note, cut.to_string()));
        }
        self.recorder
            .event(event(now, EventKind::ApplicationStop, ""));
        if self.registration.has_token() || end.is_some() {
            tracing::info!(
                prefix = self.prefix,
                transport = self.transport.name(),
                pattern = self.traffic.name(),
                received,
                sent,
                seconds = now.as_micros() as f64 / 1e6,
                cut = end.as_ref().map(Cut::label),
                "session over"
            );
        }
        let bytes = self.recorder.bytes();
        let records = self.recorder.snapshot(
            now,
            self.half.unanswered(),
            self.sampler.seen(),
            end.as_ref(),
        );
        self.registration.finish(records, self.clock, bytes);
        self.close(end);
    }

    /// Says goodbye: to a client that was cut with the reason, where its transport has a place for it.
    fn close(self, end: Option<Cut>) {
        let Some(cut) = end else { return };
        let connection = self
            .lanes
            .iter()
            .find_map(|(_, lane)| lane.stream.connection());
        if let Some(connection) = connection.cloned() {
            let reason = cut.to_string();
            connection.connection().close(quic::CUT, reason.as_bytes());
            return;
        }
        match cut {
            // What was handed to the kernel was within the budget.
            Cut::Bytes(_) | Cut::Time(_) | Cut::Drain => drop(self.lanes),
            Cut::Silence(_) | Cut::Slow(_) | Cut::Pattern(_) => self.lanes.abort(),
        }
    }

    /// Everything that is due; ready with the reason when the server ends it, with `None` when the
    /// client did.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Option<Cut>> {
        for _ in 0..ROUNDS {
            while let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) {
                match command {
                    Command::Join(join) => self.join(join),
                    Command::Records(answer) => {
                        let (now, waiting) = (self.clock.now(), self.half.unanswered());
                        // Whoever asked may be gone.
                        let paths = self.sampler.seen();
                        let records = self.recorder.snapshot(now, waiting, paths, None);
                        let _ = answer.send(records);
                    }
                    Command::Cut(cut) => return Poll::Ready(Some(cut)),
                }
            }
            let now = self.clock.now();
            let mut channels = self.lanes.polled(cx);
            self.half.poll(now, &mut channels, &mut self.log);
            self.recorder.messages(now, &mut self.log);
            self.lanes.flush(cx);
            let progress = self.count(now);
            if now >= self.next_sample {
                self.sample(now);
            }
            if let Some(end) = self.end(now) {
                return Poll::Ready(end);
            }
            if !progress {
                let next = self.next(now);
                let instant = Instant::from_std(self.clock.instant(next));
                self.timer.as_mut().reset(instant);
                if self.timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn join(&mut self, join: Join) {
        let Join {
            channel,
            stream,
            permit,
        } = join;
        let now = self.clock.now();
        let transport = stream.transport();
        match self.lanes.join(channel, stream, permit) {
            Ok(()) => {
                let detail = format!("channel {channel} by {}", transport.name());
                let mut joined = event(now, EventKind::Connected, detail);
                joined.connection = Some(match transport {
                    Transport::Tcp | Transport::Mptcp => channel as u64,
                    Transport::Quic | Transport::Mpquic => 0,
                });
                self.recorder.event(joined);
                // Its first sample is due.
                self.next_sample = now;
            }
            Err(refusal) => self.refuse(now, &refusal),
        }
    }

    fn refuse(&mut self, now: Time, refusal: &Refusal) {
        self.registration
            .desk()
            .refused(&self.prefix, self.transport.name(), refusal);
        self.recorder
            .event(event(now, EventKind::Note, refusal.to_string()));
    }

    /// Counts what moved; whether anything did.
    fn count(&mut self, now: Time) -> bool {
        let (received, sent) = self.lanes.moved();
        let (received_before, sent_before) = self.moved;
        self.moved = (received, sent);
        let news = [
            ("received", received - received_before),
            ("sent", sent - sent_before),
        ];
        for (direction, bytes) in news {
            if bytes > 0 {
                self.last_moved = now;
                self.metrics.add(Family::BytesTotal, direction, bytes);
            }
        }
        news.iter().any(|(_, bytes)| *bytes > 0)
    }

    fn sample(&mut self, now: Time) {
        let moving = now.since(self.last_moved) < IDLE_SAMPLE_PERIOD;
        let period = match moving || self.lanes.waiting() > 0 {
            true => SAMPLE_PERIOD,
            false => IDLE_SAMPLE_PERIOD,
        };
        self.next_sample = now + period;
        if !self.registration.has_token() {
            return;
        }
        self.sampler.look(now, &self.lanes, &mut self.rows);
        let connection = self
            .lanes
            .iter()
            .find_map(|(_, lane)| lane.stream.connection());
        let connection = connection.cloned();
        self.recorder
            .samples(now, &mut self.rows, connection.is_some());
        for news in connection.iter().flat_map(|c| c.take_news()) {
            self.recorder.event(Event {
                path: news.address.map(|address| self.sampler.name(address)),
                ..event(now, news.kind, news.detail)
            });
        }
    }

    /// Whether it is over: cut with the reason, or ended by its client.
    fn end(&self, now: Time) -> Option<Option<Cut>> {
        if self.lanes.has_overflowed() {
            return Some(Some(Cut::Slow(self.limits.queued_bytes)));
        }
        if let Some(what) = self.half.error() {
            return Some(Some(Cut::Pattern(what)));
        }
        if self.lanes.is_spent() {
            return Some(Some(Cut::Bytes(self.allowance.bytes)));
        }
        if now >= self.time_limit() {
            return Some(Some(Cut::Time(self.allowance.seconds)));
        }
        if now >= self.silence_limit() {
            return Some(Some(Cut::Silence(self.limits.silence_seconds)));
        }
        let closed = self.lanes.are_closed();
        let nobody_joins = self.lanes.is_complete() || now >= self.join_limit();
        (closed && nobody_joins).then_some(None)
    }

    /// When to look again if nothing arrives.
    fn next(&self, now: Time) -> Time {
        let mut next = self.time_limit().min(self.silence_limit());
        next = next.min(self.next_sample);
        if self.lanes.are_closed() {
            next = next.min(self.join_limit());
        }
        match self.half.poll_at() {
            // One that was due already was just polled: it waits for what arrives.
            Some(at) if at > now => next.min(at),
            _ => next,
        }
    }

    fn time_limit(&self) -> Time {
        Time::ZERO + Duration::from_secs(self.allowance.seconds.into())
    }

    fn silence_limit(&self) -> Time {
        self.last_moved + Duration::from_secs(self.limits.silence_seconds.into())
    }

    /// Until when further channels of a session may come whose others are closed.
    fn join_limit(&self) -> Time {
        self.last_moved + Duration::from_secs(self.limits.hello_seconds.into())
    }
}
