//! One TCP connection: sender and receiver as a state machine (RFC 9293 and its companions).
//!
//! It knows no Multipath TCP: its owner says which options to add ([`OptionSource`]), gives it
//! payload with what it maps to, and takes what arrived in order. Plain TCP is the same without
//! options. Offsets count the payload bytes of one direction from 0; the sequence number of
//! offset 0 is the initial one plus 1.

mod config;
mod info;
mod kind;
mod received;
mod state;

pub use config::Config;
pub use info::Info;
pub use kind::{DataMapping, Kind, OptionSource, PlainTcp};
pub use received::{InOrder, Received};
pub use state::{Failure, State, Tuple};

use crate::wire::{Segment, Seq};
use bytes::Bytes;
use model::Time;
use policy::SubflowId;
use policy::congestion::Controller;

/// The congestion controller and under which number it knows this subflow.
pub struct Congestion<'a> {
    /// The connection's controller.
    pub controller: &'a mut dyn Controller,
    /// This subflow.
    pub id: SubflowId,
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

    /// The application took what had arrived, all of it if `empty`: an acknowledgement that
    /// waits goes out now where Linux's would (tcp_cleanup_rbuf). Not calling it costs nothing
    /// but that.
    pub fn data_read(&mut self, empty: bool) {
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
