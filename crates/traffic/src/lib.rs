//! Traffic patterns: one file each, client and server half together. Pure: a half reads and
//! writes channels and is told the time.
//!
//! A pattern's halves are state machines over *channels*: ordered byte streams in both
//! directions, each of which is a connection of its own over (Multipath) TCP and a stream
//! of one connection over (Multipath) QUIC. Channel numbers are the same at both ends.

pub mod frame;
pub mod hello;
pub mod pattern;

use model::Time;
use model::record::Message;

/// The channels as a half sees them.
pub trait Channels {
    /// Hands all of `data` to `channel`; never blocks. What the transport cannot take yet waits
    /// in user space, so a dead path delays nobody.
    fn write(&mut self, channel: usize, data: &[u8]);
    /// Bytes handed over and not yet taken by the transport.
    fn queued(&self, channel: usize) -> usize;
    /// Reads what has arrived into `buffer`; returns how much, 0 when nothing waits.
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize;
    /// Whether the channel can still be used (false once closed or reset).
    fn is_open(&self, channel: usize) -> bool;
}

/// One end of a pattern.
pub trait Half: Send {
    /// Does all that is due: reads, writes, timers. Finished messages go to `log`; a half
    /// logs the messages that it sent itself, so each message is logged at one end only.
    fn poll(&mut self, now: Time, channels: &mut dyn Channels, log: &mut Vec<Message>);

    /// When to be polled next even if nothing arrives.
    fn poll_at(&self) -> Option<Time>;

    /// Whether the pattern came to its own end (`ping`, `bulk`); endless ones never do.
    fn is_done(&self) -> bool;

    /// The messages sent and not yet answered, for the log when the run ends. They have no
    /// `acked_us`: they are censored, not lost.
    fn unanswered(&self) -> Vec<Message>;
}
