//! What can be known of a subflow?

use super::State;
use model::Time;
use std::time::Duration;

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
    /// Segments answered with a challenge ACK, or that would have been but for its limit
    /// (RFC 5961).
    pub challenges: u64,
}
