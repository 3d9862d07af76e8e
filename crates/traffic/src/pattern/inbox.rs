//! What has arrived on a channel, and can the channel still be used?

use crate::Channels;
use crate::frame::{Kind, Reader};

/// How much is read at once.
const BUFFER: usize = 32 * 1024;

/// The incoming direction of a channel.
#[derive(Debug)]
pub(super) struct Inbox {
    channel: usize,
    reader: Reader,
    buffer: Box<[u8]>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not open so far.
    Expected,
    Open,
    Closed,
    /// What arrived makes no sense, and why.
    Corrupt(String),
}

impl Inbox {
    /// Expects frames of `kind` and `size` bytes on `channel`.
    pub fn new(channel: usize, kind: Kind, size: u64) -> Inbox {
        Inbox {
            channel,
            reader: Reader::new(kind, size),
            buffer: vec![0; BUFFER].into(),
            state: State::Expected,
        }
    }

    /// Reads what has arrived; returns the numbers of the frames that are complete now.
    pub fn poll(&mut self, channels: &mut dyn Channels) -> std::ops::Range<u64> {
        let before = self.reader.complete();
        if let State::Expected = self.state
            && channels.is_open(self.channel)
        {
            self.state = State::Open;
        }
        while let State::Open = self.state {
            // Asked before reading, so that the last bytes before a close are read.
            let open = channels.is_open(self.channel);
            let (reader, state) = (&mut self.reader, &mut self.state);
            let n = channels.read_each(self.channel, &mut self.buffer, &mut |mut bytes| {
                while !bytes.is_empty() && matches!(state, State::Open) {
                    if let Err(error) = reader.next(&mut bytes) {
                        *state = State::Corrupt(error.to_string());
                    }
                }
            });
            if n == 0 {
                if !open {
                    self.state = State::Closed;
                }
                break;
            }
        }
        before..self.reader.complete()
    }

    /// Whether the channel can be used (after [`Inbox::poll`]).
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// A frame came that nothing asked for: stop using the channel.
    pub fn reject(&mut self, reason: String) {
        self.state = State::Corrupt(reason);
    }

    /// Why the channel cannot be used although its peer sent something.
    pub fn corruption(&self) -> Option<String> {
        match &self.state {
            State::Corrupt(reason) => Some(format!("channel {}: {reason}", self.channel)),
            State::Expected | State::Open | State::Closed => None,
        }
    }

    /// [`Inbox::corruption`], or that the channel closed: an error for the end that did not
    /// close it.
    pub fn fault(&self) -> Option<String> {
        match &self.state {
            State::Closed => Some(format!(
                "channel {} closed after {} complete messages from the peer, before the pattern ended",
                self.channel,
                self.reader.complete()
            )),
            _ => self.corruption(),
        }
    }
}
