//! What does the owner do with a connection, but for receiving and transmitting?

use super::{DataMapping, Failure, Info, State, Subflow, Tuple};
use crate::wire::Seq;
use bytes::Bytes;
use model::Time;
use policy::congestion::INITIAL_WINDOW_SEGMENTS;

impl Subflow {
    /// Where it goes.
    pub fn tuple(&self) -> Tuple {
        self.tuple
    }
    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }
    /// Why it ended before its time, once it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// This side's initial sequence number.
    pub fn initial_sent(&self) -> Seq {
        self.sender.initial
    }

    /// What is known of it. Inlined, so that who reads a few fields pays for no others.
    #[inline(always)]
    pub fn info(&self, now: Time) -> Info {
        let sender = &self.sender;
        let payload_end = sender.next - u64::from(sender.fin_sent);
        Info {
            state: self.state,
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.deviation(),
            min_rtt: self.rtt.min(),
            rto: match self.state {
                State::SynSent | State::SynReceived => self.handshake.timeout,
                _ => self.rtt.rto(),
            },
            timeouts: match self.state {
                State::SynSent | State::SynReceived => self.handshake.sent.saturating_sub(1),
                _ => self.recovery.timeouts,
            },
            mss: self.agreed.payload as u64,
            in_flight: self.in_flight(),
            unacked: self.board.out.bytes,
            queued: sender.unsent_bytes,
            peer_room: self
                .window_end()
                .saturating_sub(sender.next + sender.unsent_bytes),
            recovering: self.recovery.phase >= super::recovery::Phase::Recovery,
            oldest_unacked: self.board.front().map(|sent| now.since(sent.first_sent)),
            since_received: now.since(self.receiver.last_heard),
            pacing_rate: sender.pacing_rate,
            retransmission_at: self.timers.retransmission.map(|(_, at)| at),
            sent_segments: self.counters.sent_segments,
            sent_bytes: self.counters.sent_bytes,
            received_segments: self.counters.received_segments,
            received_bytes: self.counters.received_bytes,
            lost_segments: self.counters.lost_segments,
            retransmitted_segments: self.counters.retransmitted_segments,
            acked_offset: sender.una.min(payload_end),
            challenges: self.counters.challenges,
        }
    }

    /// The payload a data segment has room for, beside the options negotiated and the reserve.
    pub fn segment_payload(&self) -> usize {
        self.agreed.payload
    }

    /// How much may be in the send buffer beyond what is: Linux's autotuned one, twice the
    /// window, less what is sent and unacknowledged and what is queued.
    pub fn buffer_room(&self, congestion_window: u64) -> u64 {
        let least = INITIAL_WINDOW_SEGMENTS * self.agreed.payload as u64;
        (2 * congestion_window.max(least))
            .saturating_sub(self.board.out.bytes + self.sender.unsent_bytes)
    }

    /// Appends payload of at most [`Subflow::segment_payload`] bytes; it is sent as one segment,
    /// now or when the windows admit it, and again as it was when lost. Ignored when empty or
    /// after [`Subflow::close`].
    pub fn enqueue(&mut self, _now: Time, payload: Bytes, mapping: Option<DataMapping>) {
        if payload.is_empty() || self.sender.fin || self.state == State::Closed {
            return;
        }
        self.sender.unsent_bytes += payload.len() as u64;
        self.sender.unsent.push_back((payload, mapping));
    }

    /// Takes back what was enqueued and never sent, for another subflow to send; the newest
    /// first.
    pub fn take_unsent(&mut self) -> Option<(Bytes, Option<DataMapping>)> {
        let (payload, mapping) = self.sender.unsent.pop_back()?;
        self.sender.unsent_bytes -= payload.len() as u64;
        Some((payload, mapping))
    }

    /// Nothing more will be enqueued: a FIN follows. Before the handshake is complete it waits
    /// for that.
    pub fn close(&mut self, _now: Time) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            State::SynSent | State::SynReceived => {}
            _ => return,
        }
        self.sender.fin = true;
    }

    /// Ends at once: a reset is the next to transmit (unless nothing was sent yet or a reset
    /// came), then nothing.
    pub fn abort(&mut self) {
        let silent = match self.state {
            State::Closed | State::TimeWait | State::SynSent => true,
            _ => self.handshake.sent == 0,
        };
        if self.state == State::Closed {
            return;
        }
        self.end(Failure::Aborted);
        if !silent {
            self.pending.reset = Some((self.next_seq(), Some(self.acknowledgement())));
        }
    }

    /// Sends an acknowledgement at the next [`Subflow::transmit`], for options that must not
    /// wait.
    pub fn send_ack(&mut self) {
        let synchronised = !matches!(
            self.state,
            State::Closed | State::SynSent | State::SynReceived
        );
        self.pending.ack |= synchronised;
    }

    /// The bytes that this end can still take, from the next one in order; announced from the
    /// next segment on, never less than what was announced (the window does not shrink, but for
    /// less than a unit of the window scale), rounded to whole segments as against silly windows;
    /// up to one unit more may come. A window that opened by enough makes an
    /// acknowledgement due.
    pub fn set_receive_window(&mut self, bytes: u64) {
        let opened =
            self.receive_window
                .set_free(bytes, self.receiver.next, self.acks.full_segment());
        let receives = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        self.acks.now |= opened && receives;
    }

    /// The owner shares one window among several connections (RFC 8684, section 3.3.5): what
    /// [`Subflow::set_receive_window`] is told from now on is announced as it is, even where
    /// this connection's own right edge moves back, because the edge that counts is the owner's.
    /// Segments are accepted up to the farthest edge ever announced.
    pub fn share_windows(&mut self) {
        self.receive_window.shared = true;
    }

    /// The peer takes at least `bytes` from its acknowledgement number on, as another connection
    /// that shares its window was told (Linux's MPTcpExtMPTCPSndWndShared). The next segment that
    /// arrives has the last word again.
    pub fn raise_peer_window(&mut self, bytes: u64) {
        self.sender.window = self.sender.window.max(bytes);
        self.sender.max_window = self.sender.max_window.max(bytes);
    }

    /// The application took what had arrived, all of it if `empty`: an acknowledgement that
    /// waits goes out now where Linux's would (tcp_cleanup_rbuf). Not calling it costs nothing
    /// but that.
    pub fn data_read(&mut self, empty: bool) {
        self.acks.data_read(self.receiver.next, empty);
    }

    /// Whether an acknowledgement goes out with the next [`Subflow::transmit`].
    pub fn is_ack_due(&self) -> bool {
        self.acks.now || self.pending.ack
    }

    /// The right edge of the window announced last, as an offset.
    #[cfg(test)]
    pub(super) fn announced_edge(&self) -> u64 {
        self.receive_window.announced()
    }

    /// Up to which offset segments are accepted: the farthest edge ever announced.
    pub fn accepted_edge(&self) -> u64 {
        self.receive_window.limit()
    }

    /// The last segment's window, scaled: what the peer takes from its acknowledgement number on
    /// (Multipath TCP: from its Data ACK on).
    pub fn peer_window(&self) -> u64 {
        self.sender.last_window
    }
}
