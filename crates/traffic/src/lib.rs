//! Traffic patterns: one file each, client and server half together. Pure: a half reads and
//! writes channels and is told the time.
//!
//! A pattern's halves are state machines over *channels*: ordered byte streams in both
//! directions, each of which is a connection of its own over (Multipath) TCP and a stream
//! of one connection over (Multipath) QUIC. Channel numbers are the same at both ends.
//!
//! The driver of the client begins each channel with a [`hello`]; the driver of the server
//! reads it ([`welcome::Welcome`]), learns from it which pattern is asked for, and gives the
//! server half the channels under the pattern's numbers. The halves never see a hello. From
//! then on each direction of a channel carries [`frame`]s of one kind and one size.

pub mod frame;
pub mod hello;
pub mod pattern;
pub mod welcome;

use bytes::Bytes;
use model::Time;
use model::record::Message;

/// The channels as a half sees them.
pub trait Channels {
    /// Hands all of `data` to `channel`; never blocks. What the transport cannot take yet waits
    /// in user space, so a dead path delays nobody.
    fn write(&mut self, channel: usize, data: &[u8]);
    /// The same of data that nobody changes any more: a transport may refer to it instead of
    /// copying it.
    fn write_bytes(&mut self, channel: usize, data: Bytes) {
        self.write(channel, &data);
    }
    /// Bytes handed over and not yet taken by the transport.
    fn queued(&self, channel: usize) -> usize;
    /// Reads what has arrived into `buffer`; returns how much, 0 when nothing waits.
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize;
    /// [`Channels::read`] that gives what it reads to `take`, in order and in any number of pieces:
    /// a transport that has it in memory need not copy it into `buffer`.
    fn read_each(
        &mut self,
        channel: usize,
        buffer: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> usize {
        let n = self.read(channel, buffer);
        take(&buffer[..n]);
        n
    }
    /// Whether the channel can be used: false once closed or reset and, at a server, before
    /// the client's hello. What arrived before it closed can still be read.
    fn is_open(&self, channel: usize) -> bool;
}

/// One end of a pattern. It starts with the first poll; a channel takes part from the first
/// poll that finds it open.
pub trait Half: Send {
    /// Does all that is due: reads, writes, timers. Finished messages go to `log`; a half
    /// logs the messages that it sent itself (`radio`: that it was sent), so each message is logged at
    /// one end only.
    ///
    /// Call it at [`Half::poll_at`], when a channel has something to read, opens or closes,
    /// and when the transport took bytes that were queued.
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>);

    /// When to be polled next even if nothing arrives.
    fn poll_at(&self) -> Option<Time>;

    /// Whether the pattern came to its own end (`ping`, `bulk`); endless ones never do.
    /// A server half is done when it handed over its last answer, which may still be on the
    /// way: the client's half decides when a run is over.
    fn is_done(&self) -> bool;

    /// Nothing new is sent from now on; what was sent may still be answered. For endless patterns:
    /// those that end by themselves have nothing to leave out.
    fn finish(&mut self) {}

    /// The messages sent and not yet answered, for the log when the run ends. They have no
    /// `acked_us`: they are censored, not lost.
    fn unanswered(&self) -> Vec<Message>;

    /// What went wrong on a channel, in words: the peer sent something that is not of this
    /// pattern, or (client only) the channel closed before the pattern ended. The half has
    /// stopped using that channel and goes on with the others; its messages stay unanswered.
    fn error(&self) -> Option<String> {
        None
    }
}
