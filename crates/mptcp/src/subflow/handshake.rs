//! How does a connection begin, and what do the two sides agree on (RFC 9293, section 3.5)?

use super::delayed_ack::AckPolicy;
use super::rack::Rack;
use super::recovery::Recovery;
use super::rtt::RoundTrip;
use super::scoreboard::Scoreboard;
use super::timers::Timers;
use super::window::ReceiveWindow;
use super::{
    Config, Congestion, Counters, Failure, Pending, Received, Receiver, Sender, State, Subflow,
    Tuple,
};
use crate::wire::{OPTION_SPACE, Segment, Seq};
use model::Time;
use policy::congestion::Signal;
use std::time::Duration;

/// The peer's maximum segment size when it names none (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The smallest that is believed (TCP_MIN_MSS): less would be all header.
const SMALLEST_MSS: u16 = 88;
/// The largest window scale (RFC 7323, section 2.3).
const MAX_SCALE: u8 = 14;
/// How often a SYN/ACK is sent again (net.ipv4.tcp_synack_retries).
const SYN_ACK_RETRIES: u32 = 5;
/// The timeout when the handshake gave no round trip (RFC 6298, section 5.7).
const FALLBACK_RTO: Duration = Duration::from_secs(3);
/// The bytes of a timestamps option, padded.
const TIMESTAMPS: usize = 12;

/// What both sides agreed on.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) ecn: bool,
    /// Whether windows are scaled, and the peer's scale.
    pub(super) scaling: bool,
    pub(super) peer_scale: u8,
    /// The most a segment holds, options included: the smaller of both sides'.
    pub(super) mss: usize,
    /// The payload of a full segment.
    pub(super) payload: usize,
}

/// The handshake's progress.
#[derive(Debug)]
pub(super) struct Handshake {
    /// Whether a SYN or SYN/ACK is to be sent.
    pub(super) due: bool,
    /// How often one was sent.
    pub(super) sent: u32,
    /// When the first and the last one was sent.
    pub(super) first_sent: Time,
    pub(super) timestamp_offset: u32,
    /// How long until it is sent again.
    pub(super) timeout: Duration,
    /// How many SYNs are those of [`Subflow::begin_early`].
    pub(super) early_syns: u32,
    /// Payload sent with a SYN.
    pub(super) early_bytes: usize,
    /// See [`Subflow::open_early`].
    pub(super) open: bool,
}

impl Subflow {
    fn new(
        config: &Config,
        now: Time,
        tuple: Tuple,
        initial: Seq,
        timestamp_offset: u32,
        state: State,
    ) -> Subflow {
        let mut subflow = Subflow {
            tuple,
            state,
            failure: None,
            agreed: Agreed {
                sack: config.sack,
                timestamps: config.timestamps,
                ecn: config.ecn,
                scaling: config.window_scale.is_some(),
                peer_scale: 0,
                mss: usize::from(config.mss),
                payload: 0,
            },
            handshake: Handshake {
                due: true,
                sent: 0,
                first_sent: now,
                timestamp_offset,
                timeout: config.initial_rto,
                early_syns: 0,
                early_bytes: 0,
                open: false,
            },
            sender: Sender {
                initial,
                una: 0,
                next: 0,
                unsent: Default::default(),
                unsent_bytes: 0,
                fin: false,
                fin_sent: false,
                window: 0,
                max_window: 0,
                window_from: -1,
                last_window: 0,
                last_sent: now,
                window_limited: false,
                most_out: 0,
                limited_until: 0,
                pacing_rate: 0,
                duplicate_acks: 0,
                reduced: false,
                echo: None,
            },
            board: Scoreboard::new(),
            rtt: RoundTrip::new(config),
            rack: Rack::default(),
            recovery: Recovery::default(),
            delivery: Default::default(),
            pacer: Default::default(),
            timers: Timers::default(),
            receiver: Receiver {
                initial: Seq(0),
                next: 0,
                fin: None,
                timestamp: None,
                recent: Default::default(),
                duplicate: None,
                echo_mark: false,
                capable_seen: false,
                last_heard: now,
                last_challenge: None,
            },
            store: Default::default(),
            acks: AckPolicy::new(config.delayed_ack, now),
            receive_window: ReceiveWindow::new(),
            pending: Pending::default(),
            counters: Counters::default(),
            config: config.clone(),
        };
        subflow.agree_on_size(config.mss);
        subflow
    }

    /// Begins to connect: a SYN is the next to transmit.
    pub fn connect(
        config: &Config,
        now: Time,
        tuple: Tuple,
        initial: Seq,
        timestamp_offset: u32,
    ) -> Subflow {
        Subflow::new(
            config,
            now,
            tuple,
            initial,
            timestamp_offset,
            State::SynSent,
        )
    }

    /// Answers `syn` (whose options the owner has looked at): a SYN/ACK is the next to transmit.
    pub fn accept(
        config: &Config,
        now: Time,
        tuple: Tuple,
        initial: Seq,
        timestamp_offset: u32,
        syn: &Segment<'_>,
    ) -> Subflow {
        let mut subflow = Subflow::new(
            config,
            now,
            tuple,
            initial,
            timestamp_offset,
            State::SynReceived,
        );
        subflow.counters.received_segments = 1;
        subflow.agree(now, syn);
        subflow
    }

    /// Takes over what the peer's SYN or SYN/ACK says.
    fn agree(&mut self, now: Time, segment: &Segment<'_>) {
        let options = &segment.options;
        self.receiver.initial = segment.seq;
        self.receiver.last_heard = now;
        self.sender.window = u64::from(segment.window);
        self.sender.max_window = self.sender.window;
        self.sender.last_window = self.sender.window;
        self.agreed.sack &= options.sack_permitted;
        self.agreed.timestamps &= options.timestamps.is_some();
        if self.agreed.timestamps {
            self.receiver.timestamp = options.timestamps.map(|t| (t.value, now));
        }
        // RFC 3168, section 6.1.1: a SYN that asks has both flags, a SYN/ACK that agrees only ECE.
        self.agreed.ecn &= segment.flags.ece && (segment.flags.cwr != segment.flags.ack);
        self.agreed.scaling &= options.window_scale.is_some();
        if self.agreed.scaling {
            self.agreed.peer_scale = options.window_scale.unwrap_or(0).min(MAX_SCALE);
            self.receive_window.scale = self.config.window_scale.unwrap_or(0).min(MAX_SCALE);
        }
        self.agree_on_size(options.mss.unwrap_or(DEFAULT_MSS).max(SMALLEST_MSS));
    }

    fn agree_on_size(&mut self, peer: u16) {
        self.agreed.mss = usize::from(self.config.mss.min(peer));
        let options = if self.agreed.timestamps {
            TIMESTAMPS
        } else {
            0
        } + self.config.option_reserve.min(OPTION_SPACE - TIMESTAMPS);
        self.agreed.payload = self.agreed.mss.saturating_sub(options).max(1);
    }

    /// The connection can carry data: the last step of either side.
    fn establish(&mut self, now: Time, segment: &Segment<'_>, congestion: &mut Congestion<'_>) {
        self.state = match self.sender.fin {
            true => State::FinWait1,
            false => State::Established,
        };
        self.handshake.due = false;
        self.timers.retransmission = None;
        self.sender.last_sent = now;
        let timestamps = if self.agreed.timestamps {
            TIMESTAMPS as u64
        } else {
            0
        };
        let announced = u64::from(self.config.mss).saturating_sub(timestamps);
        self.acks.established(now, announced, 20 + timestamps);
        let again = self.handshake.sent.saturating_sub(1);
        let echo = self.echo(segment);
        let measured = if again == 0 {
            Some(now.since(self.handshake.first_sent))
        } else {
            // Karn: only the timestamp tells which SYN is answered.
            echo.and_then(|echo| self.echoed_round_trip(now, echo))
        };
        match measured {
            Some(rtt) => {
                self.rtt.sample(rtt, 0, 0);
                self.rtt.sample_min(now, rtt, false);
            }
            None => self.rtt.reset(FALLBACK_RTO),
        }
        let (id, mss) = (congestion.id, self.agreed.payload as u64);
        if !self.handshake.open {
            congestion.controller.opened(id, now, mss);
        }
        // Linux (tcp_init_transfer) begins with one segment when the SYN was sent again more
        // than once, unless it was the first that was answered (RFC 5681, section 3.1).
        let spurious = echo == Some(self.timestamp(self.handshake.first_sent));
        if again > 1 && !spurious {
            // Nothing in flight: the controller knows it for one of the handshake.
            congestion
                .controller
                .on_congestion(id, now, Signal::Timeout, 0);
        }
        self.update_pacing_rate(congestion);
        self.timers.keep_alive = self.config.keep_alive.map(|idle| now + idle);
        self.rearm(now);
    }

    /// A segment came in SYN-SENT (RFC 9293, section 3.10.7.3).
    #[cold]
    pub(super) fn receive_syn_sent(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        congestion: &mut Congestion<'_>,
    ) -> Received {
        let flags = segment.flags;
        let acked = segment.ack.0.wrapping_sub((self.sender.initial + 1).0) as usize;
        if flags.ack && (self.handshake.sent == 0 || acked > self.handshake.early_bytes) {
            if !flags.rst {
                self.pending.reset = Some((segment.ack, None));
            }
            return Received::default();
        }
        if flags.rst {
            if flags.ack {
                self.end(Failure::Refused);
            }
            return Received {
                acceptable: flags.ack,
                ..Received::default()
            };
        }
        if !flags.syn {
            return Received::default();
        }
        self.agree(now, segment);
        if flags.ack {
            self.establish(now, segment, congestion);
            self.early_acknowledged(acked);
            self.pending.ack = true;
        } else {
            // Both began at once: answer with a SYN/ACK.
            self.state = State::SynReceived;
            self.handshake.due = true;
            self.handshake.timeout = self.config.initial_rto;
        }
        Received {
            acceptable: true,
            established: flags.ack,
            acked: flags.ack && acked > 0,
            ..Received::default()
        }
    }

    /// A segment that is in the window came in SYN-RECEIVED. Whether it completes the
    /// handshake.
    #[cold]
    pub(super) fn receive_syn_received(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        congestion: &mut Congestion<'_>,
    ) -> bool {
        // Beyond the SYN only where data was sent before the handshake was complete.
        let acked = self.send_position(segment.ack);
        if self.handshake.sent == 0 || acked < 0 || acked > self.sender.next as i64 {
            self.pending.reset = Some((segment.ack, None));
            return false;
        }
        self.establish(now, segment, congestion);
        self.sender.window_from = self.receive_position(segment.seq);
        self.sender.window = self.scaled_window(segment);
        self.sender.max_window = self.sender.max_window.max(self.sender.window);
        true
    }

    /// The timer of a SYN or SYN/ACK fired: another, or the end.
    pub(super) fn handshake_timeout(&mut self) {
        let again = self.handshake.sent;
        let (linear, retries) = match self.state {
            State::SynSent => (
                self.config.syn_linear_timeouts,
                self.config.syn_linear_timeouts + self.config.syn_retries,
            ),
            _ => (0, SYN_ACK_RETRIES),
        };
        if again > retries {
            self.end(Failure::TimedOut);
            return;
        }
        if again > linear {
            self.handshake.timeout = (self.handshake.timeout * 2).min(self.config.max_rto);
        }
        self.handshake.due = true;
    }
}
