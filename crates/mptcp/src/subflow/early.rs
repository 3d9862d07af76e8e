//! What goes before the handshake is complete, because the owner can tell whom it comes from
//! (De Coninck and Bonaventure, MultiMob, section III-C)?

use super::{Congestion, State, Subflow};
use crate::wire::OPTION_SPACE;
use model::Time;

impl Subflow {
    /// The first `syns` SYNs are [`super::Kind::EarlySyn`]: they have no timestamps, which leaves
    /// the owner 28 bytes for options, and carry what was enqueued first. Later SYNs are as
    /// usual, so what is between the hosts and drops the former may let them pass.
    pub fn begin_early(&mut self, syns: u32) {
        self.handshake.early_syns = syns;
        self.split_next(self.early_room());
    }

    /// The SYN at hand counts already, as the owner says: its `payload` was taken, and data may be
    /// sent before the peer acknowledges the SYN/ACK. Until then only the SYN/ACK has a timer, as
    /// the peer takes nothing without it.
    pub fn open_early(&mut self, now: Time, payload: usize, congestion: Congestion<'_>) {
        self.receiver.next = payload as u64;
        self.counters.received_bytes += payload as u64;
        self.handshake.open = true;
        self.sender.last_sent = now;
        let (id, mss) = (congestion.id, self.agreed.payload as u64);
        congestion.controller.opened(id, now, mss);
        self.update_pacing_rate(&congestion);
    }

    /// Whether data waits for the acknowledgement of the SYN/ACK to have a timer.
    pub(super) fn is_timed_by_handshake(&self) -> bool {
        self.state == State::SynReceived
    }

    /// Whether the SYN at hand is one of those.
    pub(super) fn is_early(&self) -> bool {
        self.state == State::SynSent && self.handshake.sent < self.handshake.early_syns
    }

    /// What fits into a SYN that is full of options.
    fn early_room(&self) -> usize {
        self.agreed.mss.saturating_sub(OPTION_SPACE)
    }

    /// What the SYN at hand carries.
    pub(super) fn early_payload(&mut self) -> bytes::Bytes {
        let payload = self.sender.unsent.front().map(|(payload, _)| payload);
        let payload = payload.filter(|p| p.len() <= self.early_room());
        let payload = payload.cloned().unwrap_or_default();
        self.handshake.early_bytes = self.handshake.early_bytes.max(payload.len());
        self.counters.sent_bytes += payload.len() as u64;
        payload
    }

    /// The SYN/ACK acknowledged this much of what a SYN carried; the rest goes as usual.
    pub(super) fn early_acknowledged(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.split_next(bytes);
        if let Some((payload, _)) = self.sender.unsent.pop_front() {
            let bytes = payload.len() as u64;
            self.sender.unsent_bytes -= bytes;
            self.sender.una += bytes;
            self.sender.next += bytes;
        }
    }
}
