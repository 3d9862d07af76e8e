//! A small test server: it serves any pattern over Multipath TCP, TCP and (multipath) QUIC, and hands
//! out what it recorded.

use crate::hosts::Hosts;
use model::columns::Columns;
use model::live::SessionRecords;
use model::record::{Event, EventKind, Message, Sample};
use model::{Name, Seed, Side, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CloneFlags, setns};
use nix::sys::time::TimeSpec;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;
use traffic::hello::{Parsed, Request, parse};
use traffic::{Channels, Half, pattern};
use walkabout_measure::Clock;
use walkabout_measure::transport::list::{self, ServerSetup};
use walkabout_measure::transport::{SocketEndpoint, quic};

/// What it answers when asked for records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Records {
    Honest,
    /// It closes the connection.
    Refused,
    /// It announces more than anyone reads.
    TooLong,
    /// It sends what is no JSON.
    Garbled,
    /// It sends rows of the client's.
    Foreign,
}

/// A server that runs until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub pin: [u8; 32],
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// One that listens at `address` of the ground's server, over these transports.
    pub fn start(ground: &Hosts, address: &str, transports: &[&str], records: Records) -> Server {
        let address: SocketAddr = address.parse().unwrap();
        let identity = quic::Identity::generate().unwrap();
        let pin = identity.pin().0;
        let stop = Arc::new(AtomicBool::new(false));
        let (namespace, stopped) = (ground.server.clone(), stop.clone());
        let transports: Vec<String> = transports.iter().map(|t| (*t).to_owned()).collect();
        let (ready, wait) = channel();
        let thread = std::thread::spawn(move || {
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
            // Earlier than any run's clock, so that the offset between the two is no small thing.
            let clock = Clock::start();
            let paths: Vec<(Name, IpAddr)> = ["wifi", "cell"]
                .into_iter()
                .zip(1_u8..)
                .map(|(name, n)| (Name::from(name), IpAddr::from([10, 77, n, 2])))
                .collect();
            let listen = |name: &String| {
                (list::find(name).unwrap().listen)(&ServerSetup {
                    clock,
                    seed: Seed(7),
                    address,
                    client_paths: &paths,
                    congestion: None,
                    scheduler: None,
                    extensions: &model::scenario::Multipath::NONE,
                    identity: &identity,
                })
                .unwrap()
            };
            let ends = transports.iter().map(listen).collect();
            ready.send(()).unwrap();
            let serving = Serving {
                clock,
                ends,
                waiting: Vec::new(),
                sessions: BTreeMap::new(),
                records,
                sampled: Time::ZERO,
            };
            serving.run(&stopped);
        });
        wait.recv().expect("the server listens");
        Server {
            address,
            pin,
            stop,
            thread: Some(thread),
        }
    }

    /// Multipath TCP, TCP and both QUICs at 10.77.0.1:443.
    pub fn honest(ground: &Hosts) -> Server {
        Server::start(
            ground,
            "10.77.0.1:443",
            &["mptcp", "mpquic"],
            Records::Honest,
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(
            ended.is_ok() || std::thread::panicking(),
            "the server failed"
        );
    }
}

/// What one token asked for.
struct Session {
    end: usize,
    start: Time,
    numbers: Vec<Option<usize>>,
    half: Box<dyn Half>,
    messages: Vec<Message>,
    samples: Vec<Sample>,
}

struct Serving {
    clock: Clock,
    ends: Vec<Box<dyn SocketEndpoint>>,
    /// Channels without a complete hello: the end, its number, the bytes.
    waiting: Vec<(usize, usize, Vec<u8>)>,
    sessions: BTreeMap<String, Session>,
    records: Records,
    sampled: Time,
}

impl Serving {
    fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            self.wait();
            let now = self.clock.now();
            for (index, end) in self.ends.iter_mut().enumerate() {
                end.poll(now).unwrap();
                while let Some(number) = end.accepted() {
                    self.waiting.push((index, number, Vec::new()));
                }
            }
            self.welcome(now);
            for session in self.sessions.values_mut() {
                let mut channels = Of {
                    end: &mut *self.ends[session.end],
                    numbers: &session.numbers,
                };
                session.half.poll(now, &mut channels, &mut session.messages);
            }
            self.ends.iter_mut().for_each(|end| end.flush(now).unwrap());
            if now.since(self.sampled) >= Duration::from_millis(100) {
                self.sampled = now;
                self.sample(now);
            }
        }
    }

    fn wait(&self) {
        let mut fds = Vec::new();
        self.ends.iter().for_each(|end| end.wait_for(&mut fds));
        let mut polled: Vec<PollFd<'_>> = fds
            .iter()
            .map(|&(fd, writable)| {
                // SAFETY: the ends own their descriptors and are not touched while we wait.
                let fd = unsafe { BorrowedFd::borrow_raw(fd) };
                let mut flags = PollFlags::POLLIN;
                flags.set(PollFlags::POLLOUT, writable);
                PollFd::new(fd, flags)
            })
            .collect();
        let now = self.clock.now();
        let timers = self.ends.iter().filter_map(|end| end.poll_at());
        let timers = timers.chain(self.sessions.values().filter_map(|s| s.half.poll_at()));
        let until = timers.fold(now + Duration::from_millis(10), Time::min);
        let timeout = TimeSpec::from_duration(until.since(now));
        ppoll(&mut polled, Some(timeout), None).unwrap();
    }

    /// Reads hellos and does what they ask for.
    fn welcome(&mut self, now: Time) {
        for (end, number, mut bytes) in std::mem::take(&mut self.waiting) {
            let hello = loop {
                match parse(&bytes).unwrap() {
                    Parsed::Complete { hello, .. } => break Some(hello),
                    Parsed::Incomplete { missing } => {
                        let start = bytes.len();
                        bytes.resize(start + missing, 0);
                        let n = self.ends[end].read(number, &mut bytes[start..]);
                        bytes.truncate(start + n);
                        if n == 0 {
                            break None;
                        }
                    }
                }
            };
            let Some(hello) = hello else {
                if self.ends[end].is_open(number) {
                    self.waiting.push((end, number, bytes));
                }
                continue;
            };
            let token = hello
                .token
                .expect("a client of a test server shows its token");
            match hello.request {
                Request::Traffic(traffic) => {
                    let session = self.sessions.entry(token).or_insert_with(|| Session {
                        end,
                        start: now,
                        numbers: vec![None; traffic.channels()],
                        half: pattern::server(&traffic),
                        messages: Vec::new(),
                        samples: Vec::new(),
                    });
                    assert_eq!(session.end, end);
                    session.numbers[hello.channel] = Some(number);
                }
                Request::Records => self.answer(now, end, number, &token),
            }
        }
    }

    fn answer(&mut self, now: Time, end: usize, number: usize, token: &str) {
        let Some(session) = self.sessions.get(token) else {
            let known: Vec<&String> = self.sessions.keys().collect();
            panic!("records of {token}, and the sessions are {known:?}");
        };
        let since = |time_us: u64| time_us - session.start.as_micros();
        let messages = session
            .messages
            .iter()
            .cloned()
            .chain(session.half.unanswered());
        let messages = messages.map(|mut message| {
            message.sent_us = since(message.sent_us);
            message.acked_us = message.acked_us.map(since);
            message
        });
        let samples = session.samples.iter().cloned().map(|mut sample| {
            sample.time_us = since(sample.time_us);
            if self.records == Records::Foreign {
                sample.side = Side::Client;
            }
            sample
        });
        let records = SessionRecords {
            paths: Vec::new(),
            refused: None,
            server: "s1".to_owned(),
            walkabout_version: "0".to_owned(),
            stack: self.ends[session.end].stack(),
            now_us: since(now.as_micros()),
            messages: Columns(messages.collect()),
            samples: Columns(samples.collect()),
            events: vec![Event::new(
                Time::ZERO,
                EventKind::Note,
                "the session begins",
            )],
            cut: None,
        };
        let json = match self.records {
            Records::Garbled => b"{\"server\":".to_vec(),
            _ => serde_json::to_vec(&records).unwrap(),
        };
        let length = match self.records {
            Records::TooLong => u32::MAX,
            _ => json.len() as u32,
        };
        let end = &mut self.ends[end];
        if self.records == Records::Refused {
            end.write(number, &[0, 0]);
            end.flush(now).unwrap();
            return end.close(now);
        }
        end.write(number, &length.to_be_bytes());
        end.write(number, &json);
    }

    fn sample(&mut self, now: Time) {
        for (index, end) in self.ends.iter_mut().enumerate() {
            let mut samples = Vec::new();
            end.sample(now, &mut samples);
            for session in self.sessions.values_mut().filter(|s| s.end == index) {
                // A connection of TCP is a channel; QUIC's number is another.
                let is_its = |s: &&Sample| {
                    end.stack().name == "noq"
                        || session.numbers.contains(&Some(s.connection as usize))
                };
                session
                    .samples
                    .extend(samples.iter().filter(is_its).cloned());
            }
        }
    }
}

/// A session's channels.
struct Of<'s> {
    end: &'s mut dyn SocketEndpoint,
    numbers: &'s [Option<usize>],
}

impl Channels for Of<'_> {
    fn write(&mut self, channel: usize, data: &[u8]) {
        self.end.write(self.numbers[channel].unwrap(), data);
    }
    fn queued(&self, channel: usize) -> usize {
        self.numbers[channel].map_or(0, |number| self.end.queued(number))
    }
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        self.numbers[channel].map_or(0, |number| self.end.read(number, buffer))
    }
    fn is_open(&self, channel: usize) -> bool {
        self.numbers[channel].is_some_and(|number| self.end.is_open(number))
    }
}
