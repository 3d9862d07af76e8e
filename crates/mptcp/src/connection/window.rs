//! How much may the peer send: the window that all subflows announce?

use model::Time;
use std::time::Duration;

/// What the first window announces at most: Linux's net.ipv4.tcp_rmem has 131,072, of which half
/// counts as room for data, and a SYN's window has 16 bits.
const INITIAL: u64 = 65_535;
/// What an application is taken to have read in a round trip before one was measured: Linux's
/// initial window, ten segments.
const INITIAL_READ: u64 = 14_600;

/// The right edge moves by this or half of the buffer at least: a segment of Ethernet.
const STEP: u64 = 1_460;

/// The receive window of a connection and the size of its buffer, which grows with what the
/// application reads in a round trip (dynamic right-sizing, as Linux's mptcp_rcv_space_adjust).
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    /// How much may wait beyond what was read.
    buffer: u64,
    /// The largest buffer.
    max: u64,
    /// The right edge announced: an offset in the stream; it never moves back (RFC 8684,
    /// section 3.3.5).
    edge: u64,
    /// Read since `since`.
    read: u64,
    /// The most read in a round trip so far.
    most: u64,
    since: Time,
    /// The round trip that was waited for last.
    round_trip: Duration,
}

impl ReceiveWindow {
    pub(super) fn new(max: u64, now: Time) -> ReceiveWindow {
        ReceiveWindow {
            buffer: INITIAL.min(max),
            max,
            edge: 0,
            read: 0,
            most: INITIAL_READ.min(max.max(1)),
            since: now,
            round_trip: Duration::ZERO,
        }
    }

    /// The window to announce when `read` was read and `next` is the first byte missing.
    pub(super) fn announce(&mut self, read: u64, next: u64) -> u64 {
        // Against silly windows (RFC 9293, section 3.8.6.2.2).
        if self.opening(read) >= STEP.min(self.buffer / 2) {
            self.edge = read + self.buffer;
        }
        self.edge.saturating_sub(next)
    }

    /// Up to which offset data is taken.
    pub(super) fn edge(&self) -> u64 {
        self.edge
    }

    /// By how much the window would open if it were announced now.
    pub(super) fn opening(&self, read: u64) -> u64 {
        (read + self.buffer).saturating_sub(self.edge)
    }

    /// The application read `bytes`; `round_trip` is the longest of the subflows.
    pub(super) fn on_read(
        &mut self,
        now: Time,
        bytes: u64,
        round_trip: impl FnOnce() -> Option<Duration>,
    ) {
        self.read += bytes;
        if now.since(self.since) < self.round_trip * 7 / 8 {
            return;
        }
        let Some(round_trip) = round_trip() else {
            return;
        };
        self.round_trip = round_trip;
        if now.since(self.since) < round_trip {
            return;
        }
        if self.read > self.most {
            // Twice what was read, as the measure is a round trip late, and more as long as the
            // sender's rate doubles (Linux's mptcp_rcvbuf_grow).
            let double = 2 * self.read;
            let growth = u128::from(double) * u128::from(self.read - self.most);
            let growth = (growth / u128::from(self.most)).min(u128::from(self.max)) as u64;
            self.most = self.read;
            self.buffer = self.buffer.max((double + 2 * growth).min(self.max));
        }
        self.read = 0;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_never_moves_back_and_the_buffer_grows_with_what_is_read() {
        let mut window = ReceiveWindow::new(1 << 20, Time::ZERO);
        assert_eq!(window.announce(0, 0), 65_535);
        assert_eq!(window.announce(0, 65_535), 0);
        assert_eq!(window.opening(30_000), 30_000);
        assert_eq!(window.announce(30_000, 65_535), 30_000);
        let rtt = || Some(Duration::from_millis(10));
        window.on_read(Time::from_millis(10), 65_535, rtt);
        assert!(window.announce(65_535, 65_535) > 2 * 65_535);
        window.on_read(Time::from_millis(20), 1 << 30, rtt);
        assert_eq!(window.announce(65_535, 65_535), 1 << 20);
    }
}
