//! What do two halves do over a network in virtual time? Channels in memory, with a delay, a
//! rate, a stall and reads that are cut anywhere.

use crate::{Channels, Half};
use model::record::Message;
use model::{Side, Time};
use std::collections::VecDeque;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(1);

/// One direction of a channel.
#[derive(Default)]
struct Wire {
    /// Handed over and not taken.
    queued: VecDeque<u8>,
    flying: VecDeque<(Time, Vec<u8>)>,
    arrived: VecDeque<u8>,
}

struct Channel {
    /// Up, down.
    wires: [Wire; 2],
    /// From when the server sees it.
    server_from: Time,
    open: bool,
}

struct End<'p> {
    side: Side,
    now: Time,
    channels: &'p mut [Channel],
    pieces: &'p mut std::iter::Cycle<std::vec::IntoIter<usize>>,
    most_queued: &'p mut usize,
    writes: &'p mut Vec<usize>,
}

impl End<'_> {
    fn outgoing(&self) -> usize {
        usize::from(self.side == Side::Server)
    }
}

impl Channels for End<'_> {
    fn write(&mut self, channel: usize, data: &[u8]) {
        assert!(self.is_open(channel), "a closed channel is written to");
        let out = self.outgoing();
        let wire = &mut self.channels[channel].wires[out];
        wire.queued.extend(data);
        *self.most_queued = (*self.most_queued).max(wire.queued.len());
        if self.side == Side::Client {
            self.writes.push(data.len());
        }
    }
    fn queued(&self, channel: usize) -> usize {
        self.channels[channel].wires[self.outgoing()].queued.len()
    }
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let out = self.outgoing();
        let arrived = &mut self.channels[channel].wires[1 - out].arrived;
        let piece = self.pieces.next().expect("an endless list");
        let n = arrived.len().min(buffer.len()).min(piece);
        for (byte, arrived) in buffer.iter_mut().zip(arrived.drain(..n)) {
            *byte = arrived;
        }
        n
    }
    fn is_open(&self, channel: usize) -> bool {
        let c = &self.channels[channel];
        c.open && (self.side == Side::Client || c.server_from <= self.now)
    }
}

/// Two halves and what lies between them.
pub struct Pipe {
    pub client: Box<dyn Half>,
    pub server: Box<dyn Half>,
    pub client_log: Vec<Message>,
    pub server_log: Vec<Message>,
    pub now: Time,
    /// The most bytes that ever waited on one channel.
    pub most_queued: usize,
    /// The size of each of the client's writes.
    pub writes: Vec<usize>,
    channels: Vec<Channel>,
    delay: [Duration; 2],
    /// Bytes per millisecond, channel and direction.
    rate: usize,
    stall: (Time, Time),
    pieces: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl Pipe {
    pub fn new(channels: usize, client: Box<dyn Half>, server: Box<dyn Half>) -> Pipe {
        let channel = |_| Channel {
            wires: Default::default(),
            server_from: Time::ZERO,
            open: true,
        };
        Pipe {
            client,
            server,
            client_log: Vec::new(),
            server_log: Vec::new(),
            now: Time::ZERO,
            most_queued: 0,
            writes: Vec::new(),
            channels: (0..channels).map(channel).collect(),
            delay: [Duration::ZERO; 2],
            rate: usize::MAX,
            stall: (Time::MAX, Time::MAX),
            pieces: vec![usize::MAX].into_iter().cycle(),
        }
    }

    pub fn delay(self, up: Duration, down: Duration) -> Pipe {
        let delay = [up, down];
        Pipe { delay, ..self }
    }

    pub fn rate(self, rate: usize) -> Pipe {
        Pipe { rate, ..self }
    }

    /// What is handed over in this time leaves at its end.
    pub fn stall(self, from: Time, to: Time) -> Pipe {
        let stall = (from, to);
        Pipe { stall, ..self }
    }

    pub fn pieces(self, pieces: &[usize]) -> Pipe {
        let pieces = Vec::from(pieces).into_iter().cycle();
        Pipe { pieces, ..self }
    }

    pub fn server_channel_opens(mut self, channel: usize, at: Duration) -> Pipe {
        self.channels[channel].server_from = Time::ZERO + at;
        self
    }

    pub fn close(&mut self, channel: usize) {
        self.channels[channel].open = false;
    }

    pub fn inject_to_client(&mut self, channel: usize, bytes: &[u8]) {
        self.channels[channel].wires[1].arrived.extend(bytes);
    }

    pub fn inject_to_server(&mut self, channel: usize, bytes: &[u8]) {
        self.channels[channel].wires[0].arrived.extend(bytes);
    }

    fn poll(&mut self, side: Side) {
        let mut end = End {
            side,
            now: self.now,
            channels: &mut self.channels,
            pieces: &mut self.pieces,
            most_queued: &mut self.most_queued,
            writes: &mut self.writes,
        };
        match side {
            Side::Client => self.client.poll(self.now, &mut end, &mut self.client_log),
            Side::Server => self.server.poll(self.now, &mut end, &mut self.server_log),
        }
    }

    /// Polls the client only, at a time of the test's choice.
    pub fn poll_client(&mut self, now: Time) {
        self.now = now;
        self.poll(Side::Client);
    }

    /// Everything that happens before `end`; `now` is then when the last thing happened.
    pub fn run(&mut self, end: Time) {
        let mut at = self.now;
        loop {
            self.now = at;
            for channel in &mut self.channels {
                for wire in &mut channel.wires {
                    while let Some((_, bytes)) = wire.flying.pop_front_if(|f| f.0 <= at) {
                        wire.arrived.extend(bytes);
                    }
                }
            }
            self.poll(Side::Client);
            self.poll(Side::Server);
            let taken = self.take();
            let next = [self.client.poll_at(), self.server.poll_at(), taken];
            let arrivals = self.channels.iter().flat_map(|c| &c.wires);
            let arrivals = arrivals.filter_map(|w| Some(w.flying.front()?.0));
            let opens = self.channels.iter().map(|c| c.server_from);
            let opens = opens.filter(|&t| t > at);
            let next = next.into_iter().flatten().chain(arrivals).chain(opens);
            match next.min() {
                Some(next) if next < end => at = next,
                _ => break,
            }
        }
    }

    /// The transport takes what it can; returns when it can take more.
    fn take(&mut self) -> Option<Time> {
        let (from, to) = self.stall;
        let mut again = None;
        for channel in &mut self.channels {
            for (wire, delay) in channel.wires.iter_mut().zip(self.delay) {
                if wire.queued.is_empty() {
                    continue;
                }
                let stalled = (from..to).contains(&self.now);
                if !stalled {
                    let n = wire.queued.len().min(self.rate);
                    let bytes = wire.queued.drain(..n).collect();
                    wire.flying.push_back((self.now + delay, bytes));
                }
                if !wire.queued.is_empty() {
                    again = again.max(Some(if stalled { to } else { self.now + TICK }));
                }
            }
        }
        again
    }
}
