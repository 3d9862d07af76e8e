//! One TCP connection: sender and receiver as a state machine (RFC 9293 and its companions).
//!
//! It knows no Multipath TCP: its owner says which options to add ([`OptionSource`]), gives it
//! payload with what it maps to, and takes what arrived in order. Plain TCP is the same without
//! options. Offsets count the payload bytes of one direction from 0; the sequence number of
//! offset 0 is the initial one plus 1.

use crate::wire::{MptcpOptions, Segment, Seq};
use bytes::Bytes;
use model::Time;
use policy::SubflowId;
use policy::congestion::Controller;
use std::net::SocketAddr;
use std::time::Duration;

/// How a TCP connection behaves; the default is Linux's.
#[derive(Clone, Debug)]
pub struct Config {
    /// The maximum segment size announced: the path's MTU less the headers of IP and TCP.
    pub mss: u16,
    /// Bytes to leave free in each data segment for the owner's options.
    pub option_reserve: usize,
    /// Whether to offer selective acknowledgements.
    pub sack: bool,
    /// Whether to offer timestamps.
    pub timestamps: bool,
    /// The window scale to offer; `None` for none.
    pub window_scale: Option<u8>,
    /// Whether to offer ECN (RFC 3168).
    pub ecn: bool,
    /// The smallest retransmission timeout: 200 ms in Linux.
    pub min_rto: Duration,
    /// The largest retransmission timeout: 120 s in Linux.
    pub max_rto: Duration,
    /// The retransmission timeout before a round trip is measured (RFC 6298): 1 s.
    pub initial_rto: Duration,
    /// Longest delay of an acknowledgement: 40 ms in Linux.
    pub delayed_ack: Duration,
    /// How often a SYN is sent again: 6 in Linux (net.ipv4.tcp_syn_retries).
    pub syn_retries: u32,
    /// How often data is sent again before the connection is given up: 15 in Linux
    /// (net.ipv4.tcp_retries2).
    pub retries: u32,
    /// Silence after which a keep-alive probe is sent; `None` for none.
    pub keep_alive: Option<Duration>,
    /// Whether the sender paces even if the controller asks for no rate.
    pub pacing: bool,
    /// Whether the window falls after an idle time (net.ipv4.tcp_slow_start_after_idle).
    pub slow_start_after_idle: bool,
    /// The time in TIME-WAIT: 60 s in Linux.
    pub time_wait: Duration,
}

/// The states of RFC 9293, section 3.3.2, but for LISTEN, which is the stack's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the RFC's")]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The peer reset it.
    Reset,
    /// The peer refused it: a reset in answer to the SYN.
    Refused,
    /// Nothing was acknowledged for too long.
    TimedOut,
    /// This side reset it.
    Aborted,
}

/// Where a TCP connection goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tuple {
    /// This end.
    pub local: SocketAddr,
    /// The other.
    pub remote: SocketAddr,
}

/// What payload maps to at the level of the owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataMapping {
    /// Data sequence number of the first byte.
    pub dsn: u64,
    /// Whether a DATA_FIN follows the payload.
    pub data_fin: bool,
}

/// What a segment about to be sent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A SYN.
    Syn,
    /// A SYN/ACK.
    SynAck,
    /// An acknowledgement without data, a window update, a keep-alive or window probe.
    Ack,
    /// Payload.
    Data {
        /// Offset of its first byte.
        offset: u64,
        /// What it maps to, as enqueued.
        mapping: Option<DataMapping>,
        /// Whether it was sent before.
        again: bool,
    },
    /// A FIN without payload.
    Fin,
    /// A reset.
    Reset,
}

/// Adds the owner's options to segments.
pub trait OptionSource {
    /// The options of a segment of this kind with this payload, in at most `room` bytes; called
    /// once for each segment sent.
    fn options(&mut self, kind: Kind, payload: &[u8], room: usize, options: &mut MptcpOptions);
}

/// No options: plain TCP.
pub struct PlainTcp;

impl OptionSource for PlainTcp {
    fn options(&mut self, _: Kind, _: &[u8], _: usize, _: &mut MptcpOptions) {}
}

/// The congestion controller and under which number it knows this subflow.
pub struct Congestion<'a> {
    /// The connection's controller.
    pub controller: &'a mut dyn Controller,
    /// This subflow.
    pub id: SubflowId,
}

/// What a segment that arrived changed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Received {
    /// Whether it was acceptable (RFC 9293, section 3.10.7.4, and PAWS): the owner may heed its
    /// options. False for what was dropped or only answered with a challenge ACK.
    pub acceptable: bool,
    /// Whether the handshake completed with it.
    pub established: bool,
    /// The part of its payload that is next in order: the offset of the first new byte in the
    /// stream, and where it begins in the payload. The owner takes it now or never.
    pub in_order: Option<InOrder>,
    /// Whether data that waited behind a gap is in order now: see [`Subflow::take_buffered`].
    pub buffered: bool,
    /// Whether it acknowledged something new (cumulatively).
    pub acked: bool,
    /// Whether the peer's FIN is in order now, all data before it included.
    pub fin: bool,
}

/// New data in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InOrder {
    /// Offset in the stream.
    pub offset: u64,
    /// Where it begins in the segment's payload; it reaches to the payload's end unless
    /// `length` says less.
    pub start: usize,
    /// How long it is.
    pub length: usize,
}

/// What can be known of a subflow, for schedulers, path managers and records.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// State.
    pub state: State,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub smoothed_rtt: Option<Duration>,
    /// Round-trip time variation.
    pub rtt_variation: Duration,
    /// Smallest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Timeouts in a row without anything acknowledged since.
    pub timeouts: u32,
    /// Payload of a full segment.
    pub mss: u64,
    /// Sent and neither acknowledged nor declared lost, bytes.
    pub in_flight: u64,
    /// Sent and not cumulatively acknowledged, bytes.
    pub unacked: u64,
    /// Enqueued and not yet sent for the first time, bytes.
    pub queued: u64,
    /// What the peer's window on this connection leaves beyond unacked and queued, bytes.
    pub peer_room: u64,
    /// Whether it repairs a loss or its retransmission timer fired.
    pub recovering: bool,
    /// How long the oldest unacknowledged byte has waited since it was first sent.
    pub oldest_unacked: Option<Duration>,
    /// Since the last segment arrived.
    pub since_received: Duration,
    /// The rate at which it paces or would pace, bytes a second.
    pub pacing_rate: u64,
    /// When the retransmission, probe or reordering timer fires next, if one runs.
    pub retransmission_at: Option<Time>,
    /// Segments sent.
    pub sent_segments: u64,
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Segments received.
    pub received_segments: u64,
    /// Payload bytes received, duplicates included.
    pub received_bytes: u64,
    /// Segments declared lost.
    pub lost_segments: u64,
    /// Segments sent again, probes included.
    pub retransmitted_segments: u64,
    /// Payload bytes delivered in order to the peer (cumulatively acknowledged).
    pub acked_offset: u64,
}

/// One TCP connection.
pub struct Subflow {}

#[expect(unused_variables, reason = "to be written")]
impl Subflow {
    /// Begins to connect: a SYN is the next to transmit.
    pub fn connect(
        config: &Config,
        now: Time,
        tuple: Tuple,
        initial: Seq,
        timestamp_offset: u32,
    ) -> Subflow {
        todo!()
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
        todo!()
    }

    /// Where it goes.
    pub fn tuple(&self) -> Tuple {
        todo!()
    }
    /// Its state.
    pub fn state(&self) -> State {
        todo!()
    }
    /// Why it ended before its time, once it did.
    pub fn failure(&self) -> Option<Failure> {
        todo!()
    }
    /// What is known of it.
    pub fn info(&self, now: Time) -> Info {
        todo!()
    }

    /// This side's initial sequence number.
    pub fn initial_sent(&self) -> Seq {
        todo!()
    }

    /// The payload a data segment has room for, beside the options negotiated and the reserve.
    pub fn segment_payload(&self) -> usize {
        todo!()
    }

    /// How much may be in the send buffer beyond what is: Linux's autotuned one, twice the
    /// window, less what is sent and unacknowledged and what is queued.
    pub fn buffer_room(&self, congestion_window: u64) -> u64 {
        todo!()
    }

    /// Appends payload of at most [`Subflow::segment_payload`] bytes; it is sent as one segment,
    /// now or when the windows admit it, and again as it was when lost.
    pub fn enqueue(&mut self, now: Time, payload: Bytes, mapping: Option<DataMapping>) {
        todo!()
    }

    /// Takes back what was enqueued and never sent, for another subflow to send; the newest
    /// first.
    pub fn take_unsent(&mut self) -> Option<(Bytes, Option<DataMapping>)> {
        todo!()
    }

    /// Nothing more will be enqueued: a FIN follows.
    pub fn close(&mut self, now: Time) {
        todo!()
    }

    /// Ends at once: a reset is the next to transmit (unless nothing was sent yet or a reset
    /// came), then nothing.
    pub fn abort(&mut self) {
        todo!()
    }

    /// Sends an acknowledgement at the next [`Subflow::transmit`], for options that must not
    /// wait.
    pub fn send_ack(&mut self) {
        todo!()
    }

    /// The bytes that this end can still take, from the next one in order; announced from the
    /// next segment on, never less than what was announced (the window does not shrink), rounded
    /// to whole segments as against silly windows. A window that opened by enough makes an
    /// acknowledgement due.
    pub fn set_receive_window(&mut self, bytes: u64) {
        todo!()
    }

    /// The owner shares one window among several connections (RFC 8684, section 3.3.5): what
    /// [`Subflow::set_receive_window`] is told from now on is announced as it is, even where
    /// this connection's own right edge moves back, because the edge that counts is the owner's.
    /// Segments are accepted up to the farthest edge ever announced.
    pub fn share_windows(&mut self) {
        todo!()
    }

    /// The peer takes at least `bytes` from its acknowledgement number on, as another connection
    /// that shares its window was told (Linux's MPTcpExtMPTCPSndWndShared). The next segment that
    /// arrives has the last word again.
    pub fn raise_peer_window(&mut self, bytes: u64) {
        todo!()
    }

    /// The right edge of the window announced last, as an offset.
    pub fn announced_edge(&self) -> u64 {
        todo!()
    }

    /// A segment for this connection arrived.
    pub fn receive(
        &mut self,
        now: Time,
        segment: &Segment<'_>,
        congestion: Congestion<'_>,
    ) -> Received {
        todo!()
    }

    /// The last segment's window, scaled: what the peer takes from its acknowledgement number on
    /// (Multipath TCP: from its Data ACK on).
    pub fn peer_window(&self) -> u64 {
        todo!()
    }

    /// Gives what waited behind a gap and is in order now to `take`, with its offset.
    pub fn take_buffered(&mut self, take: &mut dyn FnMut(u64, &[u8])) {
        todo!()
    }

    /// When [`Subflow::poll`] or [`Subflow::transmit`] has something to do next.
    pub fn poll_at(&self) -> Option<Time> {
        todo!()
    }

    /// Timers that are due.
    pub fn poll(&mut self, now: Time, congestion: Congestion<'_>) {
        todo!()
    }

    /// The next segment to send now, written into `packet` as an IP packet: its length.
    pub fn transmit(
        &mut self,
        now: Time,
        congestion: Congestion<'_>,
        options: &mut dyn OptionSource,
        packet: &mut [u8],
    ) -> Option<usize> {
        todo!()
    }
}
