//! Do two stacks survive whatever is done to the packets between them?
//!
//! The bytes are a program: the first two say how the stacks are configured, each further
//! instruction is a byte with operands behind it. See [`Pair::step`].

mod tamper;

use model::{Seed, Time};
use policy::{congestion, scheduler};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use walkabout_mptcp::connection::{Config, Extensions};
use walkabout_mptcp::stack::{ConnectionId, Stack};
use walkabout_mptcp::subflow;
use walkabout_mptcp::wire::Segment;

/// Instructions of a program: more would only repeat what fewer do.
const STEPS: usize = 500;
/// Packets on their way; further ones are dropped.
const FLIGHT: usize = 2_000;
/// More packets at once, or timers at the same time, are an endless loop.
const ENDLESS: usize = 20_000;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Runs a program.
///
/// Nothing may panic, and no call may make packets or timers without end. As long as no packet
/// was tampered with, what is read is what was written, and, once nothing is lost any more, all of
/// it, or a connection fails.
pub fn stack(bytes: &[u8]) {
    let mut program = Program(bytes);
    let mut pair = Pair::new(program.byte(), program.byte());
    pair.settle();
    for _ in 0..STEPS {
        if program.0.is_empty() {
            break;
        }
        pair.step(&mut program);
        pair.settle();
    }
    if !pair.tampered {
        pair.complete();
    }
}

/// What is left of the program; zeros follow.
struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Mostly small, either sign, sometimes large.
    fn distance(&mut self) -> u32 {
        let distance = self.byte() as i8;
        match self.byte() {
            0..128 => distance as u32,
            shift => (i32::from(distance) << (shift % 32)) as u32,
        }
    }
}

/// One side's application.
#[derive(Default)]
struct Application {
    connection: Option<ConnectionId>,
    written: u64,
    read: u64,
}

struct Pair {
    now: Time,
    stacks: [Stack; 2],
    applications: [Application; 2],
    /// Packets and whom they are for.
    flight: VecDeque<(usize, Vec<u8>)>,
    /// Whether a packet was changed: then nothing is known of what is read.
    tampered: bool,
    v6: bool,
    buffer: Vec<u8>,
}

/// The byte of the stream of `side` at `offset`.
fn content(side: usize, offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ side as u8
}

impl Pair {
    fn new(shape: u8, scheduler: u8) -> Pair {
        let bit = |n: u8| shape >> n & 1 != 0;
        let schedulers = scheduler::list::SCHEDULERS;
        let controllers = congestion::list::CONTROLLERS;
        // The bit between those that choose the scheduler and the controller.
        let extended = scheduler & 0x08 != 0;
        let config = |multipath, checksum| Config {
            multipath,
            checksum,
            send_buffer: 256 << 10,
            receive_buffer: 64 << 10,
            stale_loss_count: 4,
            close_timeout: Duration::from_secs(60),
            scheduler: &schedulers[usize::from(scheduler) % schedulers.len()],
            controller: &controllers[usize::from(scheduler >> 4) % controllers.len()],
            extensions: Extensions {
                idle_flag: extended,
                rto_option: extended,
                fast_join: extended,
                ..Extensions::default()
            },
            subflow: subflow::Config {
                option_reserve: 28,
                sack: !bit(4),
                timestamps: !bit(5),
                ecn: bit(6),
                pacing: bit(7),
                ..subflow::Config::default()
            },
        };
        // Mostly both speak Multipath TCP.
        let plain = bit(2) && bit(3);
        let mut pair = Pair {
            now: Time::from_millis(1),
            stacks: [
                Stack::new(config(true, bit(0)), Seed(1), "client"),
                Stack::new(config(!plain, bit(1)), Seed(1), "server"),
            ],
            applications: Default::default(),
            flight: VecDeque::new(),
            tampered: false,
            v6: bit(2) && !bit(3),
            buffer: vec![0; 65_536],
        };
        let server = pair.address(SERVER, 0, 80);
        pair.stacks[SERVER].listen(server);
        let client = pair.address(CLIENT, 0, 0);
        let connection = pair.stacks[CLIENT].connect(pair.now, client, server);
        pair.applications[CLIENT].connection = Some(connection);
        pair
    }

    fn address(&self, side: usize, path: u8, port: u16) -> SocketAddr {
        let (path, host) = (path % 3, side as u8 + 1);
        let address: IpAddr = match self.v6 {
            false => Ipv4Addr::new(10, 0, path, host).into(),
            true => Ipv6Addr::new(0xfd00, path.into(), 0, 0, 0, 0, 0, host.into()).into(),
        };
        SocketAddr::new(address, port)
    }

    /// One instruction.
    fn step(&mut self, program: &mut Program<'_>) {
        let instruction = program.byte();
        let side = usize::from(instruction & 1);
        match instruction >> 1 & 0x1f {
            0..4 => {
                for _ in 0..=program.byte() % 32 {
                    self.deliver_next();
                }
            }
            4 => {
                self.flight.pop_front();
            }
            5 => {
                if let Some(packet) = self.flight.front().cloned() {
                    self.flight.push_back(packet);
                }
            }
            6 => {
                if let Some(packet) = self.flight.pop_front() {
                    self.flight.push_back(packet);
                }
            }
            7..10 => self.advance_to_timer(),
            10 => self.advance(Duration::from_millis(u64::from(program.byte()))),
            11 => self.advance(Duration::from_secs(u64::from(program.byte()))),
            12..15 => self.write(side, usize::from(program.byte()) * 64),
            15..17 => self.read(side),
            17 => self.open(side, program.byte()),
            18 => self.change(side, program.byte()),
            19 => self.announce(side, program.byte()),
            20 => self.end(side, program.byte()),
            21..24 => self.corrupt_next(program),
            24..28 => self.replace_options(program),
            _ => self.change_header(program),
        }
    }

    fn deliver(&mut self, side: usize, packet: &[u8]) {
        self.stacks[side].receive(self.now, packet);
        self.settle();
    }

    fn deliver_next(&mut self) {
        if let Some((side, packet)) = self.flight.pop_front() {
            self.deliver(side, &packet);
        }
    }

    fn write(&mut self, side: usize, length: usize) {
        let application = &mut self.applications[side];
        let Some(connection) = application.connection else {
            return;
        };
        let data: Vec<u8> = (application.written..)
            .take(length)
            .map(|offset| content(side, offset))
            .collect();
        let taken = self.stacks[side].write(self.now, connection, &data);
        assert!(taken <= data.len());
        application.written += taken as u64;
    }

    fn read(&mut self, side: usize) {
        let application = &mut self.applications[side];
        let Some(connection) = application.connection else {
            return;
        };
        let length = self.stacks[side].read(self.now, connection, &mut self.buffer);
        if !self.tampered {
            for &byte in &self.buffer[..length] {
                assert_eq!(byte, content(1 - side, application.read));
                application.read += 1;
            }
            let written = self.applications[1 - side].written;
            assert!(self.applications[side].read <= written);
        }
    }

    fn open(&mut self, side: usize, paths: u8) {
        let Some(connection) = self.applications[side].connection else {
            return;
        };
        let local = self.address(side, paths, 0);
        // Only the server listens.
        let remote = self.address(1 - side, paths >> 2, 80);
        let backup = paths & 0x10 != 0;
        let _ = self.stacks[side].open_subflow(self.now, connection, local, remote, backup);
    }

    fn change(&mut self, side: usize, how: u8) {
        let Some(connection) = self.applications[side].connection else {
            return;
        };
        let mut subflows = Vec::new();
        self.stacks[side].subflows(self.now, connection, &mut subflows);
        let Some(subflow) = subflows.get(usize::from(how >> 4)) else {
            return;
        };
        let (stack, id) = (&mut self.stacks[side], subflow.id);
        let _ = match how & 7 {
            0..2 => stack.set_backup(self.now, connection, id, how & 1 != 0),
            2..4 => stack.close_subflow(self.now, connection, id, how & 1 != 0),
            _ => stack.mark_failed(self.now, connection, id),
        };
    }

    fn announce(&mut self, side: usize, how: u8) {
        let Some(connection) = self.applications[side].connection else {
            return;
        };
        let port = if how & 4 != 0 { 80 } else { 0 };
        let address = self.address(side, how, port);
        let stack = &mut self.stacks[side];
        if how & 8 == 0 {
            let _ = stack.announce(self.now, connection, address);
        } else {
            let _ = stack.withdraw(self.now, connection, address.ip());
        }
    }

    fn end(&mut self, side: usize, how: u8) {
        let Some(connection) = self.applications[side].connection else {
            return;
        };
        let stack = &mut self.stacks[side];
        match how % 8 {
            0 => stack.abort(self.now, connection),
            1 => stack.release(self.now, connection),
            _ => stack.finish(self.now, connection),
        }
    }

    /// Delivers everything until all that was written is read.
    fn complete(&mut self) {
        for _ in 0..ENDLESS {
            while !self.flight.is_empty() {
                self.deliver_next();
            }
            self.read(CLIENT);
            self.read(SERVER);
            self.settle();
            if self.is_complete() {
                return;
            }
            if self.flight.is_empty() {
                self.advance_to_timer();
            }
        }
        panic!("not all is delivered, and nothing failed");
    }

    /// Whether all that was written is read, or cannot be any more.
    fn is_complete(&self) -> bool {
        let [client, server] = &self.applications;
        let ended = |side: usize| {
            let connection = self.applications[side].connection;
            // A server without a connection waits for its client.
            connection.is_some_and(|connection| {
                let info = self.stacks[side].info(connection);
                info.is_none_or(|info| info.failure.is_some())
            })
        };
        (client.read == server.written && server.read == client.written)
            || ended(CLIENT)
            || ended(SERVER)
    }

    fn advance(&mut self, duration: Duration) {
        let until = self.now + duration;
        for _ in 0..ENDLESS {
            let next = self.stacks.iter().filter_map(Stack::poll_at).min();
            let Some(next) = next.filter(|&next| next <= until) else {
                break;
            };
            self.poll(next);
        }
        self.now = self.now.max(until);
        self.settle();
    }

    fn advance_to_timer(&mut self) {
        if let Some(next) = self.stacks.iter().filter_map(Stack::poll_at).min() {
            self.poll(next);
        }
    }

    fn poll(&mut self, next: Time) {
        self.now = self.now.max(next);
        for stack in &mut self.stacks {
            stack.poll(self.now);
        }
        self.settle();
    }

    /// Takes what the stacks have to give, until there is nothing more to do at this time.
    fn settle(&mut self) {
        for turn in 0.. {
            assert!(turn < ENDLESS, "timers without end");
            for side in [CLIENT, SERVER] {
                self.transmit(side);
                while self.stacks[side].next_event().is_some() {}
            }
            let due = self.stacks.iter().filter_map(Stack::poll_at).min();
            if due.is_none_or(|due| due > self.now) {
                break;
            }
            for stack in &mut self.stacks {
                stack.poll(self.now);
            }
        }
        while let Some(connection) = self.stacks[SERVER].accept() {
            self.applications[SERVER]
                .connection
                .get_or_insert(connection);
        }
        for (stack, application) in self.stacks.iter().zip(&self.applications) {
            if let Some(connection) = application.connection {
                let _ = stack.info(connection);
            }
        }
    }

    fn transmit(&mut self, side: usize) {
        for sent in 0.. {
            assert!(sent < ENDLESS, "packets without end");
            let Some(transmit) = self.stacks[side].transmit(self.now, &mut self.buffer) else {
                break;
            };
            let packet = &self.buffer[..transmit.length];
            let segment = Segment::parse(packet).expect("a stack sends segments");
            assert_eq!(segment.source.ip(), transmit.source);
            assert_eq!(segment.destination.ip(), transmit.destination);
            if self.flight.len() < FLIGHT {
                self.flight.push_back((1 - side, packet.to_vec()));
            }
        }
    }
}
