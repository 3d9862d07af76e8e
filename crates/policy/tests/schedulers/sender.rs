//! What does a sender with a scheduler do over two links?
//!
//! The links are lossless, with a fixed rate, delay and largest window; acknowledgements take the
//! delay and nothing else. Data is counted in segments. Wi-Fi may die silently. Coarse on
//! purpose: what it shows is the schedulers' doing, not the congestion controller's.

use crate::Scenario;
use model::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use walkabout_policy::scheduler::{Occasion, Piece, Scheduler, Subflow, View};
use walkabout_policy::{SubflowId, SubflowSet};

/// Payload of a segment.
const MSS: u64 = 1_000;
const MIN_RTO: Duration = Duration::from_millis(200);
/// net.mptcp.stale_loss_cnt
const STALE_LOSS_COUNT: u32 = 4;

/// A subflow and its link.
pub struct Path {
    /// Bytes a second.
    rate: u64,
    delay: Duration,
    dies: Option<Time>,
    most: u64,
    link_free: Time,
    queue: VecDeque<usize>,
    flight: VecDeque<Time>,
    /// When the retransmission timer fires.
    timer: Option<Time>,
    /// Acknowledgements so far, and how many there were when it was found silent first.
    heard: (u64, u64),
    /// Bytes.
    pub sent: u64,
    view: Subflow,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Write(usize),
    Arrive { path: usize, segment: usize },
    Ack { path: usize, data_ack: usize },
}

/// The sender, its links and what the peer has.
pub struct Sender {
    scheduler: Box<dyn Scheduler>,
    now: Time,
    pub paths: Vec<Path>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    buffer: usize,
    /// Who carries each segment that was written, and whether the peer has it.
    segments: Vec<(SubflowSet, bool)>,
    next: usize,
    data_ack: usize,
    /// What the peer has in order.
    delivered: usize,
    timeout: Option<Time>,
    /// Bytes sent again on another path.
    pub again: u64,
}

impl Path {
    fn new(index: usize, mbit: u64, rtt_ms: u64, backup: bool, dies: Option<Time>) -> Path {
        let rate = mbit * 125_000;
        // One and a half times what the path holds.
        let most = (rate * rtt_ms * 3 / 2_000).next_multiple_of(MSS);
        let rtt = Duration::from_millis(rtt_ms);
        Path {
            rate,
            delay: rtt / 2,
            dies,
            most,
            link_free: Time::ZERO,
            queue: VecDeque::new(),
            flight: VecDeque::new(),
            timer: None,
            heard: (0, 0),
            sent: 0,
            view: Subflow {
                id: SubflowId::new(index),
                established: Time::from_nanos(index as u64),
                backup,
                potentially_failed: false,
                stale: false,
                stale_count: 0,
                retransmitting: false,
                in_slow_start: false,
                smoothed_rtt: Some(rtt),
                rtt_variation: rtt / 8,
                rto: MIN_RTO + rtt,
                retransmission_in: None,
                mss: MSS,
                window: most,
                in_flight: 0,
                unacked: 0,
                queued: 0,
                window_room: 0,
                buffer_room: 0,
                pacing_rate: 0,
                last_original: None,
            },
        }
    }

    fn has_room(&self) -> bool {
        MSS * (self.flight.len() + self.queue.len() + 1) as u64 <= self.view.window
    }

    /// What of the subflow's view follows from the rest.
    fn observe(&mut self, now: Time) {
        let in_flight = MSS * self.flight.len() as u64;
        let queued = MSS * self.queue.len() as u64;
        let rtt = self.view.smoothed_rtt.unwrap_or(MIN_RTO);
        let view = &mut self.view;
        view.in_flight = in_flight;
        view.unacked = in_flight;
        view.queued = queued;
        view.window_room = view.window.saturating_sub(in_flight + queued);
        view.buffer_room = (2 * view.window).saturating_sub(in_flight + queued);
        // 1.2 times the window a round trip, as in congestion avoidance on Linux.
        view.pacing_rate = view.window * 1_200 / rtt.as_millis().max(1) as u64;
        view.retransmission_in = self.timer.map(|at| at.since(now));
    }
}

impl Sender {
    pub fn new(scheduler: Box<dyn Scheduler>, scenario: &Scenario) -> Sender {
        let mut sender = Sender {
            scheduler,
            now: Time::ZERO,
            paths: vec![
                Path::new(0, 20, 20, false, scenario.dies),
                Path::new(1, 10, 80, scenario.backup, None),
            ],
            events: BinaryHeap::new(),
            order: 0,
            buffer: scenario.buffer,
            segments: Vec::new(),
            next: 0,
            data_ack: 0,
            delivered: 0,
            timeout: None,
            again: 0,
        };
        for (at, segments) in &scenario.writes {
            sender.at(*at, Event::Write(*segments));
        }
        sender
    }

    fn at(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// Asks the scheduler with the present view.
    fn ask<T>(&mut self, question: impl FnOnce(&mut dyn Scheduler, &View<'_>) -> T) -> T {
        let now = self.now;
        let subflows: Vec<Subflow> = self
            .paths
            .iter_mut()
            .map(|path| {
                path.observe(now);
                path.view
            })
            .collect();
        let room = (self.data_ack + self.buffer).saturating_sub(self.next);
        question(
            &mut *self.scheduler,
            &View {
                now,
                subflows: &subflows,
                unsent: MSS * (self.segments.len() - self.next) as u64,
                send_window: MSS * room as u64,
                unacked: MSS * (self.next - self.data_ack) as u64,
                first_unacked: MSS * self.data_ack as u64,
            },
        )
    }

    fn send_new(&mut self) {
        while self.next < self.segments.len() && self.next < self.data_ack + self.buffer {
            let Some(assignment) = self.ask(|scheduler, view| scheduler.next(view)) else {
                break;
            };
            for _ in 0..assignment.bytes.div_ceil(MSS) {
                if self.next == self.segments.len() {
                    break;
                }
                self.enqueue(self.next, assignment.subflows);
                self.next += 1;
            }
        }
    }

    fn enqueue(&mut self, segment: usize, subflows: SubflowSet) {
        for id in subflows.iter() {
            self.segments[segment].0.insert(id);
            self.paths[id.index()].queue.push_back(segment);
        }
    }

    /// Whether the scheduler sends it again.
    fn offer(&mut self, occasion: Occasion, segment: usize) -> bool {
        let piece = Piece {
            dsn: MSS * segment as u64,
            bytes: MSS,
            carriers: self.segments[segment].0,
            first_sent: Time::ZERO,
        };
        let answer = self.ask(|scheduler, view| scheduler.reinject(view, occasion, &piece));
        let Some(reinjection) = answer else {
            return false;
        };
        self.again += MSS * reinjection.subflows.len() as u64;
        self.enqueue(segment, reinjection.subflows);
        if let Some(id) = reinjection.penalised {
            let window = &mut self.paths[id.index()].view.window;
            *window = (*window / 2).max(2 * MSS);
        }
        true
    }

    /// Whether anything was sent again.
    fn send_again(&mut self) -> bool {
        let unacked = self.data_ack..self.next;
        let blocked = self.next < self.segments.len() && self.next == self.data_ack + self.buffer;
        let mut any = blocked
            && !unacked.is_empty()
            && self.scheduler.reinjects_on(Occasion::WindowBlocked)
            && self.offer(Occasion::WindowBlocked, self.data_ack);
        let idle = self.scheduler.reinjects_on(Occasion::Idle);
        for segment in unacked {
            let works = |id: SubflowId| self.paths[id.index()].view.works();
            if !self.segments[segment].0.iter().any(works) {
                any |= self.offer(Occasion::SubflowFailed, segment);
            } else if idle && self.paths.iter().any(Path::has_room) {
                any |= self.offer(Occasion::Idle, segment);
            }
        }
        any
    }

    fn transmit(&mut self) {
        for path in 0..self.paths.len() {
            loop {
                let now = self.now;
                let p = &mut self.paths[path];
                if MSS * (p.flight.len() as u64 + 1) > p.view.window.max(MSS) {
                    break;
                }
                let Some(segment) = p.queue.pop_front() else {
                    break;
                };
                p.flight.push_back(now);
                p.sent += MSS;
                p.timer.get_or_insert(now + p.view.rto);
                let sent = Duration::from_nanos(MSS * 1_000_000_000 / p.rate);
                p.link_free = p.link_free.max(now) + sent;
                if p.dies.is_none_or(|at| now < at) {
                    let at = p.link_free + p.delay;
                    self.at(at, Event::Arrive { path, segment });
                }
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Write(segments) => {
                let all = self.segments.len() + segments;
                self.segments.resize(all, (SubflowSet::EMPTY, false));
                // The peer asks for it where it can, and on Wi-Fi if it can.
                let alive = |p: &&mut Path| p.dies.is_none_or(|at| self.now < at);
                if let Some(path) = self.paths.iter_mut().find(alive) {
                    path.view.last_original = Some(self.now);
                }
            }
            Event::Arrive { path, segment } => {
                self.segments[segment].1 = true;
                while self.segments.get(self.delivered).is_some_and(|s| s.1) {
                    self.delivered += 1;
                }
                let p = &self.paths[path];
                let at = self.now + p.delay;
                let data_ack = self.delivered;
                if p.dies.is_none_or(|dies| self.now < dies) {
                    self.at(at, Event::Ack { path, data_ack });
                }
            }
            Event::Ack { path, data_ack } => {
                let now = self.now;
                let p = &mut self.paths[path];
                let sent = p.flight.pop_front().unwrap_or(now);
                let rtt = now.since(sent);
                let old = p.view.smoothed_rtt.unwrap_or(rtt);
                p.view.smoothed_rtt = Some((old * 7 + rtt) / 8);
                p.view.window = (p.view.window + MSS * MSS / p.view.window).min(p.most);
                p.view.potentially_failed = false;
                p.view.retransmitting = false;
                p.heard.0 += 1;
                p.timer = (!p.flight.is_empty()).then(|| now + p.view.rto);
                if data_ack > self.data_ack {
                    self.data_ack = data_ack;
                    p.view.last_original = Some(now);
                    self.timeout = None;
                }
            }
        }
    }

    fn timers(&mut self) {
        for p in &mut self.paths {
            if p.timer.is_some_and(|at| at <= self.now) {
                p.view.potentially_failed = true;
                p.view.retransmitting = true;
                p.view.rto *= 2;
                p.timer = Some(self.now + p.view.rto);
            }
        }
        if self.timeout.is_some_and(|at| at <= self.now) {
            self.timeout = None;
            for p in &mut self.paths {
                p.view.stale_count = match p.view.stale_count {
                    _ if p.flight.is_empty() => continue,
                    0 => 1,
                    _ if p.heard.0 != p.heard.1 => 0,
                    count => count + 1,
                };
                p.view.stale = p.view.stale_count > STALE_LOSS_COUNT;
                p.heard.1 = p.heard.0;
            }
            self.offer(Occasion::Timeout, self.data_ack);
        }
        if self.timeout.is_none() && self.data_ack < self.next {
            let timeout = self.ask(|scheduler, view| scheduler.retransmission_timeout(view));
            self.timeout = Some(self.now + timeout);
        }
    }

    /// Until the peer has everything; when how much was there in order.
    pub fn run(&mut self, total: usize) -> Vec<(Time, usize)> {
        let mut progress = Vec::new();
        while self.delivered < total {
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let timers = self.paths.iter().map(|p| p.timer).chain([self.timeout]);
            let timer = timers.flatten().min();
            let now = [event, timer].into_iter().flatten().min();
            self.now = now.expect("a sender with data has something to wait for");
            assert!(self.now < Time::from_millis(60_000), "it stands still");
            while self
                .events
                .peek()
                .is_some_and(|Reverse((at, ..))| *at <= self.now)
            {
                let Reverse((_, _, event)) = self.events.pop().expect("just seen");
                self.handle(event);
            }
            self.timers();
            self.send_new();
            while self.send_again() {
                self.send_new();
            }
            self.transmit();
            progress.push((self.now, self.delivered));
        }
        progress
    }
}
