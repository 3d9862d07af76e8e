//! How do channels become streams? A channel is one bidirectional stream the client opens, in
//! the order of the channels; what noq cannot take yet waits in user space.

use super::core::Core;
use bytes::Bytes;
use noq_proto::{Dir, StreamId};
use std::collections::VecDeque;
use traffic::Channels;

/// One channel of one connection.
pub(super) struct Channel {
    pub session: usize,
    /// `None` until the client could open it.
    stream: Option<StreamId>,
    outgoing: VecDeque<Bytes>,
    queued: usize,
    open: bool,
}

impl Channel {
    pub(super) fn new(session: usize, stream: Option<StreamId>) -> Channel {
        Channel {
            session,
            stream,
            outgoing: VecDeque::new(),
            queued: 0,
            open: true,
        }
    }

    /// Whether it has its stream.
    pub(super) fn is_ready(&self) -> bool {
        self.stream.is_some()
    }

    /// Bytes that wait for noq to take them.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }
}

impl Core {
    /// Opens the streams of the client's channels, in order, as far as the server allows.
    pub(super) fn open_streams(&mut self) {
        let (sessions, channels) = (&mut self.sessions, &mut self.channels);
        for channel in channels.iter_mut().filter(|c| c.stream.is_none()) {
            let session = &mut sessions[channel.session];
            if !session.connected {
                return;
            }
            channel.stream = session.connection.streams().open(Dir::Bi);
        }
    }

    /// Takes the streams that the peer of connection `session` opened.
    pub(super) fn accept_streams(&mut self, session: usize) {
        while let Some(stream) = self.sessions[session].connection.streams().accept(Dir::Bi) {
            self.accepted.push_back(self.channels.len());
            self.channels.push(Channel::new(session, Some(stream)));
        }
    }

    /// Hands noq as much of what waits as it takes.
    pub(super) fn push_outgoing(&mut self) {
        let (sessions, channels) = (&mut self.sessions, &mut self.channels);
        for channel in channels.iter_mut().filter(|c| c.queued > 0) {
            let Some(id) = channel.stream else { continue };
            let mut stream = sessions[channel.session].connection.send_stream(id);
            while let Some(chunk) = channel.outgoing.front_mut() {
                let mut chunks = std::slice::from_mut(chunk);
                match stream.write_chunks(&mut chunks) {
                    Ok(written) => channel.queued -= written,
                    Err(noq_proto::WriteError::Blocked) => break,
                    Err(_) => {
                        // Stopped or reset by the peer: nobody will read the rest.
                        channel.open = false;
                        channel.queued = 0;
                        channel.outgoing.clear();
                        break;
                    }
                }
                if channel.outgoing.front().is_some_and(Bytes::is_empty) {
                    channel.outgoing.pop_front();
                }
            }
        }
    }
}

impl Channels for Core {
    fn write(&mut self, channel: usize, data: &[u8]) {
        let Some(channel) = self.channels.get_mut(channel) else {
            return;
        };
        if channel.open && !data.is_empty() {
            channel.outgoing.push_back(Bytes::copy_from_slice(data));
            channel.queued += data.len();
            self.stirred = true;
        }
    }

    fn queued(&self, channel: usize) -> usize {
        self.channels.get(channel).map_or(0, Channel::queued)
    }

    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        let Some(channel) = self.channels.get_mut(channel) else {
            return 0;
        };
        let Some(id) = channel.stream else { return 0 };
        let connection = &mut self.sessions[channel.session].connection;
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            channel.open = false;
            return 0;
        };
        let mut read = 0;
        while read < buffer.len() {
            match chunks.next(buffer.len() - read) {
                Ok(Some(chunk)) => {
                    buffer[read..read + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
                    read += chunk.bytes.len();
                }
                Err(noq_proto::ReadError::Blocked) => break,
                Ok(None) | Err(noq_proto::ReadError::Reset(_)) => {
                    channel.open = false;
                    break;
                }
            }
        }
        // A grown window is announced at the next flush, with whatever else there is to send.
        self.stirred |= chunks.finalize().should_transmit();
        read
    }

    fn is_open(&self, channel: usize) -> bool {
        self.channels
            .get(channel)
            .is_some_and(|c| c.open && self.sessions[c.session].lost.is_none())
    }
}
