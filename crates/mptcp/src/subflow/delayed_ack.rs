//! When is an acknowledgement sent for what was received (RFC 9293, section 3.8.6.3, as Linux
//! does it: __tcp_ack_snd_check, tcp_event_data_recv, tcp_send_delayed_ack)?

use model::Time;
use std::time::Duration;

/// Acknowledgements that are sent without delay at the start, after a pause and after
/// duplicates (TCP_MAX_QUICKACKS).
pub(super) const MAX_QUICK: u64 = 16;
/// Acknowledgements sent without delay after a congestion mark.
pub(super) const QUICK_AFTER_MARK: u64 = 2;
/// The longest delay (TCP_DELACK_MAX).
const LONGEST: Duration = Duration::from_millis(200);
/// No sender's full segments are believed to be smaller (TCP_MIN_MSS).
const SMALLEST_MSS: u64 = 88;
/// The segment size assumed before one is seen (TCP_MSS_DEFAULT).
const DEFAULT_MSS: u64 = 536;
/// Duplicate acknowledgements that are sent at once; later ones are compressed
/// (TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u8 = 3;
/// Duplicate acknowledgements that are compressed at most (net.ipv4.tcp_comp_sack_nr).
const MAX_COMPRESSED: u8 = 44;
/// How long one is compressed at most (net.ipv4.tcp_comp_sack_delay_ns).
const COMPRESSION: Duration = Duration::from_millis(1);

/// Decides when to acknowledge.
#[derive(Debug)]
pub(super) struct AckPolicy {
    /// TCP_ATO_MIN and TCP_DELACK_MIN.
    minimum: Duration,
    half_minimum: Duration,
    /// The expected time between segments; `None` before the first data.
    timeout: Option<Duration>,
    /// How many acknowledgements are still to be sent without delay.
    quick: u64,
    /// Whether the connection is a conversation: each side answers, and the answer carries the
    /// acknowledgement (pingpong).
    conversation: bool,
    /// Whether something waits to be acknowledged.
    scheduled: bool,
    /// Whether an acknowledgement is to be sent at the next opportunity.
    pub(super) now: bool,
    /// A small or pushed segment came (ICSK_ACK_PUSHED), and another (ICSK_ACK_PUSHED2).
    pushed: bool,
    pushed_twice: bool,
    /// When the delay ends.
    pub(super) timer: Option<Time>,
    last_received: Time,
    /// The payload that we announced to take at most, and a header's length.
    announced: u64,
    header: u64,
    /// The size of full segments as seen, and of the last smaller one.
    full: u64,
    last_smaller: u64,
    /// Up to where an acknowledgement was sent (rcv_wup).
    pub(super) acked: u64,
    /// Compression of duplicate acknowledgements: how many were sent at once for this next
    /// byte, how many were held back, and when that ends.
    duplicates: u8,
    duplicates_of: u64,
    compressed: u8,
    pub(super) compression_timer: Option<Time>,
}

impl AckPolicy {
    pub(super) fn new(minimum: Duration, now: Time) -> AckPolicy {
        AckPolicy {
            minimum,
            half_minimum: minimum / 2,
            timeout: None,
            quick: 0,
            conversation: false,
            scheduled: false,
            now: false,
            pushed: false,
            pushed_twice: false,
            timer: None,
            last_received: now,
            announced: DEFAULT_MSS,
            header: 20,
            full: DEFAULT_MSS,
            last_smaller: 0,
            acked: 0,
            duplicates: 0,
            duplicates_of: u64::MAX,
            compressed: 0,
            compression_timer: None,
        }
    }

    /// The handshake is complete: segments have at most `announced` bytes of payload, after a
    /// header of `header`.
    pub(super) fn established(&mut self, now: Time, announced: u64, header: u64) {
        self.announced = announced;
        self.header = header;
        self.full = announced.clamp(SMALLEST_MSS, DEFAULT_MSS);
        self.last_received = now;
    }

    /// The size of full segments.
    pub(super) fn full_segment(&self) -> u64 {
        self.full
    }

    /// Something has to be acknowledged, when is decided later.
    pub(super) fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// Acknowledge without delay for a while; `window` is what the peer may send.
    pub(super) fn enter_quick(&mut self, most: u64, window: u64) {
        self.increase_quick(most, window);
        self.conversation = false;
        self.timeout = Some(self.minimum);
    }

    fn increase_quick(&mut self, most: u64, window: u64) {
        let quick = match window / (2 * self.full) {
            0 => 2,
            segments => segments,
        };
        self.quick = self.quick.max(quick.min(most));
    }

    /// Data came in order: learns the sender's segment size and rhythm.
    pub(super) fn data_received(
        &mut self,
        now: Time,
        payload: u64,
        pushed: bool,
        window: u64,
        rto: Duration,
    ) {
        self.scheduled = true;
        let last_smaller = std::mem::take(&mut self.last_smaller);
        if payload >= self.full {
            self.full = payload.min(self.announced).max(SMALLEST_MSS);
            self.pushed |= pushed;
        } else {
            let with_header = payload + self.header;
            let mut repeated = false;
            if with_header >= DEFAULT_MSS + 20 || (!pushed && with_header >= SMALLEST_MSS + 20) {
                self.last_smaller = payload;
                repeated = payload == last_smaller;
            }
            if repeated {
                self.full = payload;
            } else {
                self.pushed_twice |= self.pushed;
                self.pushed = true;
            }
        }
        match self.timeout {
            None => {
                self.increase_quick(MAX_QUICK, window);
                self.timeout = Some(self.minimum);
            }
            Some(timeout) => {
                let gap = now.since(self.last_received);
                if gap <= self.half_minimum {
                    let half = match timeout == self.minimum {
                        true => self.half_minimum,
                        false => timeout / 2,
                    };
                    self.timeout = Some(half + self.half_minimum);
                } else if gap < timeout {
                    self.timeout = Some((timeout / 2 + gap).min(rto));
                } else if gap > rto {
                    // The sender paused, and may have restarted with a small window.
                    self.increase_quick(MAX_QUICK, window);
                }
            }
        }
        self.last_received = now;
    }

    /// Data was sent: when it answers what came just before, the connection is a conversation
    /// (TCP_PINGPONG_THRESH is 1).
    pub(super) fn data_sent(&mut self, now: Time) {
        if self
            .timeout
            .is_some_and(|t| now.since(self.last_received) < t)
        {
            self.conversation = true;
        }
    }

    /// The peer has finished: our answer may carry the acknowledgement.
    pub(super) fn converse(&mut self) {
        self.conversation = true;
    }

    /// Nothing is acknowledged any more.
    pub(super) fn stop(&mut self) {
        self.timer = None;
        self.compression_timer = None;
        self.scheduled = false;
        self.now = false;
    }

    fn in_quick(&self) -> bool {
        self.quick > 0 && !self.conversation
    }

    /// A segment with data was dealt with: acknowledge it now, or when? `next` is the next byte
    /// in order, `gap` whether data waits behind a gap.
    pub(super) fn decide(
        &mut self,
        now: Time,
        next: u64,
        gap: bool,
        sack: bool,
        smoothed: Option<Duration>,
    ) {
        if !self.scheduled || self.now {
            return;
        }
        if next.saturating_sub(self.acked) > self.full || self.in_quick() {
            self.now = true;
        } else if gap {
            self.duplicate(now, next, sack, smoothed);
        } else {
            self.delay(now, smoothed);
        }
    }

    fn duplicate(&mut self, now: Time, next: u64, sack: bool, smoothed: Option<Duration>) {
        if self.duplicates_of != next {
            self.duplicates_of = next;
            self.duplicates = 0;
        }
        if !sack || self.duplicates < UNCOMPRESSED || self.compressed >= MAX_COMPRESSED {
            self.duplicates = self.duplicates.saturating_add(1).min(UNCOMPRESSED);
            self.now = true;
            return;
        }
        self.compressed += 1;
        if self.compression_timer.is_none() {
            // A twentieth of the round trip.
            let delay = smoothed.map_or(COMPRESSION, |rtt| (rtt / 20).min(COMPRESSION));
            self.compression_timer = Some(now + delay);
        }
    }

    fn delay(&mut self, now: Time, smoothed: Option<Duration>) {
        let mut delay = self.timeout.unwrap_or(self.minimum);
        if delay > self.minimum {
            let rtt = smoothed.map_or(LONGEST, |rtt| rtt.max(self.minimum));
            delay = delay.min(rtt.min(LONGEST));
        }
        let mut end = now + delay;
        if let Some(timer) = self.timer {
            if timer <= now + delay / 4 {
                // About to end anyway.
                self.now = true;
                return;
            }
            end = end.min(timer);
        }
        self.timer = Some(end);
    }

    /// The application read what was there, all of it if `empty` (tcp_cleanup_rbuf).
    pub(super) fn data_read(&mut self, next: u64, empty: bool) {
        if self.scheduled
            && (next.saturating_sub(self.acked) > self.full
                || (empty && (self.pushed_twice || (self.pushed && !self.conversation))))
        {
            self.now = true;
        }
    }

    /// Timers that are due.
    pub(super) fn poll(&mut self, now: Time, rto: Duration) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            if self.scheduled {
                if self.conversation {
                    // No answer came: it is none.
                    self.conversation = false;
                    self.timeout = Some(self.minimum);
                } else {
                    self.timeout = self.timeout.map(|timeout| (timeout * 2).min(rto));
                }
                self.now = true;
            }
        }
        if self.compression_timer.is_some_and(|at| at <= now) {
            self.compression_timer = None;
            self.now |= self.compressed > 0;
        }
    }

    /// An acknowledgement of everything before `next` was sent, alone or with data.
    pub(super) fn sent(&mut self, next: u64) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.timeout = Some(self.minimum);
            }
        }
        self.scheduled = false;
        self.now = false;
        self.pushed = false;
        self.pushed_twice = false;
        self.timer = None;
        self.compressed = 0;
        self.compression_timer = None;
        self.acked = next;
    }
}
