//! What did the server see? Asked of it over a new connection when the run is over, and brought to
//! the run's clock.

use crate::Clock;
use crate::recording::Sink;
use crate::transport::kernel::{self, Local, Protocol};
use model::live::{ServerClock, SessionRecords};
use model::record::{Event, EventKind};
use model::{Direction, Name, Side, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use std::collections::BTreeMap;
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

/// Fetches the records of `token`'s session from the first of `from` that reaches the server; the
/// application `began` at that time of the run.
///
/// # Errors
/// In words: why none reached it, or what is wrong with its answer.
pub fn fetch(
    server: SocketAddr,
    token: &str,
    from: &[Local],
    clock: Clock,
    began: Time,
) -> Result<Fetched, String> {
    let mut reasons = Vec::new();
    for local in from {
        match connect(server, *local) {
            Ok(stream) => return ask(stream, token, clock, began),
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
fn ask(stream: TcpStream, token: &str, clock: Clock, began: Time) -> Result<Fetched, String> {
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
    let clock = relate(records.now_us, began, asked, answered)?;
    Ok(Fetched { records, clock })
}

/// How the server's clock relates to the run's. The server wrote `now_us` between the question and
/// the answer; and its clock began when it had read the first hello, which was not sent before the
/// application `began`. Where both say something, what both allow counts.
fn relate(now_us: u64, began: Time, asked: Time, answered: Time) -> Result<ServerClock, String> {
    let at = |time: Time| i128::from(time.as_micros());
    let (low, high) = (
        at(asked) - i128::from(now_us),
        at(answered) - i128::from(now_us),
    );
    let low = match at(began) {
        began if began > low && began <= high => began,
        _ => low,
    };
    let absurd = |_| "the server's clock is absurd".to_owned();
    Ok(ServerClock {
        offset_us: i64::try_from((low + high).div_euclid(2)).map_err(absurd)?,
        uncertainty_us: u64::try_from((high - low + 1) / 2).map_err(absurd)?,
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
    /// the server sent to a client that had gone was never going to be answered. Paths get the names that
    /// `names` has for them.
    pub fn write(self, end: Time, names: &BTreeMap<Name, Name>, sink: &mut dyn Sink) {
        let rename = |path: &mut Option<Name>| {
            if let Some(own) = path.as_ref().and_then(|theirs| names.get(theirs)) {
                *path = Some(own.clone());
            }
        };
        let offset = self.clock.offset_us;
        let shift = |time_us: u64| time_us.saturating_add_signed(offset);
        let end_us = end.as_micros();
        for mut message in self.records.messages.0 {
            rename(&mut message.path);
            message.sent_us = shift(message.sent_us);
            message.acked_us = message.acked_us.map(shift);
            if message.sent_us <= end_us {
                sink.message(message);
            }
        }
        for mut sample in self.records.samples.0 {
            rename(&mut sample.path);
            sample.time_us = shift(sample.time_us);
            if sample.time_us <= end_us {
                sink.sample(sample);
            }
        }
        for mut event in self.records.events {
            rename(&mut event.path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_are_related_by_what_is_certain() {
        let ms = Time::from_millis;
        let clock = |offset_us, uncertainty_us| ServerClock {
            offset_us,
            uncertainty_us,
        };
        // Asked at 5.00 s, answered at 5.06 s: 4.99 s of the session were over.
        let relate = |began| relate(4_990_000, began, ms(5_000), ms(5_060));
        assert_eq!(relate(ms(0)), Ok(clock(40_000, 30_000)));
        // The session did not begin before its hello.
        assert_eq!(relate(ms(50)), Ok(clock(60_000, 10_000)));
        // A claim that nothing bears out.
        assert_eq!(relate(ms(900)), Ok(clock(40_000, 30_000)));
    }
}
