//! Two ends and a line between them, in virtual time; and a plain Reno to drive them.

use crate::subflow::{Config, Congestion, InOrder, PlainTcp, Received, State, Subflow, Tuple};
use crate::wire::{Segment, Seq};
use bytes::Bytes;
use model::Time;
use policy::SubflowId;
use policy::congestion::{Ack, Controller, INITIAL_WINDOW_SEGMENTS, Signal};
use std::time::Duration;

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
pub fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Reno in bytes, with undo; it logs what it is told.
#[derive(Debug, Default)]
pub struct Reno {
    pub window: u64,
    pub threshold: u64,
    before: (u64, u64),
    mss: u64,
    pub rate: Option<u64>,
    pub signals: Vec<&'static str>,
    pub acks: Vec<Ack>,
}

impl Controller for Reno {
    fn opened(&mut self, _: SubflowId, _: Time, mss: u64) {
        self.mss = mss;
        self.window = INITIAL_WINDOW_SEGMENTS * mss;
        self.threshold = u64::MAX;
    }
    fn closed(&mut self, _: SubflowId) {}
    fn on_ack(&mut self, _: SubflowId, ack: &Ack) {
        self.acks.push(*ack);
        if ack.in_recovery || !ack.window_limited {
            return;
        }
        if self.window < self.threshold {
            self.window += ack.acked;
        } else {
            self.window += self.mss * ack.acked / self.window;
        }
    }
    fn on_congestion(&mut self, _: SubflowId, _: Time, signal: Signal, in_flight: u64) {
        if signal == Signal::Timeout && in_flight == 0 {
            self.window = self.mss;
            return;
        }
        self.before = (self.window, self.threshold);
        self.threshold = (self.window / 2).max(2 * self.mss);
        self.window = self.threshold;
        self.signals.push(match signal {
            Signal::Loss => "loss",
            Signal::Ecn => "ecn",
            Signal::Timeout => {
                self.window = self.mss;
                "timeout"
            }
        });
    }
    fn on_spurious(&mut self, _: SubflowId, _: Time) {
        (self.window, self.threshold) = self.before;
        self.signals.push("spurious");
    }
    fn on_recovered(&mut self, _: SubflowId, _: Time) {
        self.signals.push("recovered");
    }
    fn on_idle_restart(&mut self, _: SubflowId, _: Time, _: Duration, _: Duration) {
        self.window = self.window.min(INITIAL_WINDOW_SEGMENTS * self.mss);
        self.signals.push("idle");
    }
    fn on_penalty(&mut self, _: SubflowId, _: Time) {}
    fn window(&self, _: SubflowId) -> u64 {
        self.window
    }
    fn slow_start_threshold(&self, _: SubflowId) -> u64 {
        self.threshold
    }
    fn pacing_rate(&self, _: SubflowId) -> Option<u64> {
        self.rate
    }
}

/// One end: a connection, its controller, and an application that keeps what it read.
pub struct End {
    pub tcp: Option<Subflow>,
    pub reno: Reno,
    pub config: Config,
    pub initial: Seq,
    pub timestamp_offset: u32,
    pub read: Vec<u8>,
    pub received: Vec<Received>,
    /// How much the application takes; the rest fills the buffer.
    pub appetite: usize,
    pub buffer: u64,
    taken: usize,
}

impl End {
    pub fn new(config: Config, initial: u32) -> End {
        End {
            tcp: None,
            reno: Reno::default(),
            config,
            initial: Seq(initial),
            timestamp_offset: initial.wrapping_mul(3),
            read: Vec::new(),
            received: Vec::new(),
            appetite: usize::MAX,
            buffer: 1 << 20,
            taken: 0,
        }
    }
    pub fn tcp(&mut self) -> &mut Subflow {
        self.tcp.as_mut().expect("the connection exists")
    }
    pub fn state(&self) -> State {
        self.tcp.as_ref().map_or(State::Closed, Subflow::state)
    }
    /// Takes from the buffer what the application wants, and opens the window accordingly.
    pub fn consume(&mut self) {
        self.taken = self.read.len().min(self.appetite);
        let unread = (self.read.len() - self.taken) as u64;
        let free = self.buffer.saturating_sub(unread);
        let empty = self.taken == self.read.len();
        let tcp = self.tcp.as_mut().expect("the connection exists");
        tcp.set_receive_window(free);
        if empty {
            tcp.data_read(true);
        }
    }
    fn deliver(&mut self, now: Time, segment: &Segment<'_>) {
        if let Some(tcp) = &mut self.tcp {
            let congestion = Congestion {
                controller: &mut self.reno,
                id: SubflowId::new(0),
            };
            let got = tcp.receive(now, segment, congestion);
            if let Some(InOrder {
                offset,
                start,
                length,
            }) = got.in_order
            {
                assert_eq!(offset, self.read.len() as u64, "in order");
                self.read
                    .extend_from_slice(&segment.payload[start..start + length]);
            }
            if got.buffered {
                tcp.take_buffered(&mut |offset, data| {
                    assert_eq!(offset, self.read.len() as u64, "buffered in order");
                    self.read.extend_from_slice(data);
                });
            }
            self.received.push(got);
            if got.in_order.is_some() || got.buffered {
                self.consume();
            }
        }
    }
}

/// What the line does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives so much later.
    Late(Duration),
    Twice,
    Marked,
}

/// A packet that was sent, for checks.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Time,
    pub from: usize,
    pub bytes: Vec<u8>,
}

impl Seen {
    pub fn segment(&self) -> Segment<'_> {
        Segment::parse(&self.bytes).expect("well-formed")
    }
}

type Rule = Box<dyn FnMut(Time, usize, &Segment<'_>) -> Fate>;

/// Two ends and the line.
pub struct Line {
    pub now: Time,
    pub ends: [End; 2],
    pub delay: Duration,
    pub rule: Rule,
    pub seen: Vec<Seen>,
    flying: Vec<(Time, u64, usize, Vec<u8>)>,
    number: u64,
}

pub fn tuples() -> [Tuple; 2] {
    let a = "10.0.0.1:4000".parse().expect("an address");
    let b = "10.0.0.2:80".parse().expect("an address");
    [
        Tuple {
            local: a,
            remote: b,
        },
        Tuple {
            local: b,
            remote: a,
        },
    ]
}

impl Line {
    /// A client and a server with this configuration, the round trip twice `delay`.
    pub fn new(config: Config, delay: Duration) -> Line {
        let mut line = Line {
            now: Time::ZERO,
            // Both wrap soon.
            ends: [u32::MAX - 30_000, u32::MAX - 5_000]
                .map(|initial| End::new(config.clone(), initial)),
            delay,
            rule: Box::new(|_, _, _| Fate::Pass),
            seen: Vec::new(),
            flying: Vec::new(),
            number: 0,
        };
        line.connect();
        line
    }

    pub fn connect(&mut self) {
        let end = &mut self.ends[0];
        let mut tcp = Subflow::connect(
            &end.config,
            self.now,
            tuples()[0],
            end.initial,
            end.timestamp_offset,
        );
        tcp.set_receive_window(end.buffer);
        end.tcp = Some(tcp);
    }

    /// An established connection, at time zero plus a round trip.
    pub fn established(config: Config, delay: Duration) -> Line {
        let mut line = Line::new(config, delay);
        line.run_for(delay * 3);
        assert_eq!(line.ends[0].state(), State::Established);
        assert_eq!(line.ends[1].state(), State::Established);
        line.seen.clear();
        line
    }

    pub fn rule(&mut self, rule: impl FnMut(Time, usize, &Segment<'_>) -> Fate + 'static) {
        self.rule = Box::new(rule);
    }

    /// Writes segments of `data` at end `from` without regard to buffers.
    pub fn write(&mut self, from: usize, data: &[u8]) {
        let now = self.now;
        let tcp = self.ends[from].tcp();
        let size = tcp.segment_payload();
        for chunk in data.chunks(size) {
            tcp.enqueue(now, Bytes::copy_from_slice(chunk), None);
        }
        self.flush();
    }

    /// Lets both ends send what they may now.
    pub fn flush(&mut self) {
        for from in 0..2 {
            let mut packet = [0; 2048];
            loop {
                let end = &mut self.ends[from];
                let Some(tcp) = &mut end.tcp else { break };
                let congestion = Congestion {
                    controller: &mut end.reno,
                    id: SubflowId::new(0),
                };
                let Some(length) = tcp.transmit(self.now, congestion, &mut PlainTcp, &mut packet)
                else {
                    break;
                };
                self.send(from, packet[..length].to_vec());
            }
        }
    }

    /// Puts a packet on the line.
    pub fn send(&mut self, from: usize, bytes: Vec<u8>) {
        let segment = Segment::parse(&bytes).expect("well-formed");
        let fate = (self.rule)(self.now, from, &segment);
        let marked = (fate == Fate::Marked).then(|| {
            let mut marked = segment.clone();
            marked.ecn = crate::wire::Ecn::Ce;
            let mut packet = vec![0; bytes.len()];
            marked.emit(&mut packet);
            packet
        });
        self.seen.push(Seen {
            at: self.now,
            from,
            bytes: bytes.clone(),
        });
        let due = self.now + self.delay;
        match fate {
            Fate::Drop => return,
            Fate::Pass | Fate::Marked => {}
            Fate::Late(more) => return self.fly(due + more, from, bytes),
            Fate::Twice => self.fly(due, from, bytes.clone()),
        }
        let bytes = marked.unwrap_or(bytes);
        self.fly(due, from, bytes);
    }

    fn fly(&mut self, due: Time, from: usize, bytes: Vec<u8>) {
        self.number += 1;
        self.flying.push((due, self.number, from, bytes));
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        let timers = self.ends.iter().filter_map(|e| e.tcp.as_ref()?.poll_at());
        let flying = self.flying.iter().map(|f| f.0);
        timers.chain(flying).min()
    }

    /// Runs until nothing happens until `end`.
    pub fn run_until(&mut self, end: Time) {
        self.flush();
        while let Some(next) = self.next().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.step();
        }
        self.now = self.now.max(end);
    }

    pub fn run_for(&mut self, duration: Duration) {
        self.run_until(self.now + duration);
    }

    fn step(&mut self) {
        for end in &mut self.ends {
            if let Some(tcp) = &mut end.tcp
                && tcp.poll_at().is_some_and(|at| at <= self.now)
            {
                let congestion = Congestion {
                    controller: &mut end.reno,
                    id: SubflowId::new(0),
                };
                tcp.poll(self.now, congestion);
            }
        }
        let due = self
            .flying
            .iter()
            .enumerate()
            .filter(|(_, f)| f.0 <= self.now)
            .min_by_key(|(_, f)| (f.0, f.1))
            .map(|(i, _)| i);
        if let Some(index) = due {
            let (_, _, from, bytes) = self.flying.remove(index);
            let segment = Segment::parse(&bytes).expect("well-formed");
            self.arrive(1 - from, &segment);
        }
        self.flush();
    }

    fn arrive(&mut self, to: usize, segment: &Segment<'_>) {
        let end = &mut self.ends[to];
        if end.tcp.is_none() && segment.flags.syn && !segment.flags.ack {
            let mut tcp = Subflow::accept(
                &end.config,
                self.now,
                tuples()[to],
                end.initial,
                end.timestamp_offset,
                segment,
            );
            tcp.set_receive_window(end.buffer);
            end.tcp = Some(tcp);
            return;
        }
        end.deliver(self.now, segment);
    }

    /// The data segments and their times that `from` sent, relative to its first data byte.
    pub fn data(&self, from: usize) -> Vec<(Time, u32, usize)> {
        let base = self.ends[from].initial + 1;
        self.seen
            .iter()
            .filter(|seen| seen.from == from)
            .map(|seen| (seen.at, seen.segment()))
            .filter(|(_, segment)| !segment.payload.is_empty())
            .map(|(at, segment)| (at, segment.seq.since(base), segment.payload.len()))
            .collect()
    }

    /// When `from` sent acknowledgements without data, and what they acknowledged.
    pub fn acks(&self, from: usize) -> Vec<(Time, u32)> {
        let base = self.ends[1 - from].initial + 1;
        self.seen
            .iter()
            .filter(|seen| seen.from == from)
            .map(|seen| (seen.at, seen.segment()))
            .filter(|(_, s)| s.payload.is_empty() && !s.flags.syn && !s.flags.fin && !s.flags.rst)
            .map(|(at, segment)| (at, segment.ack.since(base)))
            .collect()
    }
}

/// Bytes that tell where they belong.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64)
        .map(|i| (i * 31 + (i >> 8) * 7 + (i >> 16) * 13) as u8)
        .collect()
}
