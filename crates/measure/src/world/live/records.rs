//! What did the server see? Asked of it over a new connection when the run is over, and brought to
//! the run's clock.

use crate::Clock;
use crate::recording::Sink;
use crate::transport::kernel::{self, Local, Protocol};
use model::live::{ServerClock, SessionRecords};
use model::record::{Event, EventKind};
use model::{Direction, Side, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use traffic::hello::{Hello, Request, emit};

/// Records longer than this are not read: ten hours of the interactive pattern.
pub const MAX_BYTES: usize = 64 << 20;
/// For how long a connection from one path is tried.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer may take in all: 64 MiB at 20 Mbit/s.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// What the server recorded, in the run's time.
#[derive(Debug)]
pub struct Fetched {
    /// As it was sent, in the session's time.
    pub records: SessionRecords,
    /// How the session's time relates to the run's.
    pub clock: ServerClock,
}

/// Fetches the records of `token`'s session from the first of `from` that reaches the server.
///
/// # Errors
/// In words: why none reached it, or what is wrong with its answer.
pub fn fetch(
    server: SocketAddr,
    token: &str,
    from: &[Local],
    clock: Clock,
) -> Result<Fetched, String> {
    let mut reasons = Vec::new();
    for local in from {
        match connect(server, *local) {
            Ok(stream) => return ask(stream, token, clock),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(match reasons.is_empty() {
        true => "no path is up".to_owned(),
        false => reasons.join("; "),
    })
}

fn connect(server: SocketAddr, local: Local) -> Result<TcpStream, String> {
    let stream = kernel::start(Protocol::Tcp, local, server, None).map_err(|e| e.to_string())?;
    let from = local
        .address
        .map(|a| format!(" from {a}"))
        .unwrap_or_default();
    let failed = |error: io::Error| format!("cannot connect{from} to {server}: {error}");
    let deadline = Instant::now() + CONNECT_PATIENCE;
    wait(&stream, PollFlags::POLLOUT, deadline).map_err(failed)?;
    match stream.take_error().map_err(failed)? {
        Some(error) => Err(failed(error)),
        None => Ok(stream),
    }
}

/// Sends the request and reads the answer.
fn ask(stream: TcpStream, token: &str, clock: Clock) -> Result<Fetched, String> {
    let hello = emit(&Hello {
        channel: 0,
        request: Request::Records,
        token: Some(token.to_owned()),
    });
    let mut talk = Talk {
        stream,
        deadline: Instant::now() + ANSWER_PATIENCE,
    };
    let failed = |what: &'static str| {
        move |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("{what}: the server closed the connection"),
            _ => format!("{what}: {error}"),
        }
    };
    let asked = clock.now();
    talk.write(&hello)
        .map_err(failed("asking for the records"))?;
    let mut length = [0; 4];
    talk.read(&mut length)
        .map_err(failed("waiting for the records"))?;
    let answered = clock.now();
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_BYTES {
        return Err(format!(
            "the server announces {length} bytes of records, more than {MAX_BYTES}"
        ));
    }
    let mut json = Vec::new();
    talk.read_all(&mut json, length)
        .map_err(failed("reading the records"))?;
    let records: SessionRecords = serde_json::from_slice(&json)
        .map_err(|error| format!("the server's records cannot be read: {error}"))?;
    check(&records)?;
    let half = answered.since(asked) / 2;
    let middle = asked + half;
    let offset = i128::from(middle.as_micros()) - i128::from(records.now_us);
    Ok(Fetched {
        clock: ServerClock {
            offset_us: i64::try_from(offset)
                .map_err(|_| "the server's clock is absurd".to_owned())?,
            uncertainty_us: u64::try_from(half.as_micros()).unwrap_or(u64::MAX),
        },
        records,
    })
}

/// The server's rows have to be the server's: they stand beside the client's in one table.
fn check(records: &SessionRecords) -> Result<(), String> {
    let messages = records.messages.0.iter();
    let foreign = messages.filter(|m| m.direction != Direction::Down).count();
    if foreign > 0 {
        return Err(format!(
            "the server's records hold {foreign} messages that the client sent"
        ));
    }
    let samples = records.samples.0.iter();
    let foreign = samples.filter(|s| s.side != Side::Server).count();
    if foreign > 0 {
        return Err(format!(
            "the server's records hold {foreign} samples of the client"
        ));
    }
    Ok(())
}

impl Fetched {
    /// Writes what happened before the client's application ended at `end`, in the run's time: what
    /// the server sent to a client that had gone was never going to be answered.
    pub fn write(self, end: Time, sink: &mut dyn Sink) {
        let offset = self.clock.offset_us;
        let shift = |time_us: u64| time_us.saturating_add_signed(offset);
        let end_us = end.as_micros();
        for mut message in self.records.messages.0 {
            message.sent_us = shift(message.sent_us);
            message.acked_us = message.acked_us.map(shift);
            if message.sent_us <= end_us {
                sink.message(message);
            }
        }
        for mut sample in self.records.samples.0 {
            sample.time_us = shift(sample.time_us);
            if sample.time_us <= end_us {
                sink.sample(sample);
            }
        }
        for mut event in self.records.events {
            event.time_us = shift(event.time_us);
            event.side = Some(Side::Server);
            sink.event(event);
        }
        if let Some(reason) = self.records.cut {
            let words = format!("the server ended the session early: {reason}");
            let now = Time::from_micros(shift(self.records.now_us));
            sink.event(Event {
                side: Some(Side::Server),
                ..Event::new(now, EventKind::Note, words)
            });
        }
    }
}

/// A non-blocking stream and the moment at which all must be said.
struct Talk {
    stream: TcpStream,
    deadline: Instant,
}

impl Talk {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            wait(&self.stream, PollFlags::POLLOUT, self.deadline)?;
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            wait(&self.stream, PollFlags::POLLIN, self.deadline)?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads `length` bytes, making room as they come: an announcement costs no memory.
    fn read_all(&mut self, bytes: &mut Vec<u8>, length: usize) -> io::Result<()> {
        const STEP: usize = 1 << 20;
        while bytes.len() < length {
            let start = bytes.len();
            bytes.resize(length.min(start + STEP), 0);
            self.read(&mut bytes[start..])?;
        }
        Ok(())
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Waits until the stream is ready, an error included.
fn wait(stream: &TcpStream, flags: PollFlags, deadline: Instant) -> io::Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // Rounded up, so that the last wait is not a busy one.
        let timeout =
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match nix::poll::poll(&mut [PollFd::new(stream.as_fd(), flags)], timeout) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}
