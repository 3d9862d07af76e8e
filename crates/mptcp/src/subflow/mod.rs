//! One TCP connection: sender and receiver as a state machine (RFC 9293 and its companions).
//!
//! It knows no Multipath TCP: its owner says which options to add ([`OptionSource`]), gives it
//! payload with what it maps to, and takes what arrived in order. Plain TCP is the same without
//! options. Offsets count the payload bytes of one direction from 0; the sequence number of
//! offset 0 is the initial one plus 1.
//!
//! Where the RFCs leave room it does as Linux does, whose names of a behaviour stand beside it.

mod ack;
mod api;
mod config;
mod data;
mod delayed_ack;
mod early;
mod handshake;
mod info;
mod kind;
mod loss;
mod out_of_order;
mod pacing;
mod prr;
mod rack;
mod rate;
mod receive;
mod received;
mod recovery;
mod rtt;
mod sack;
mod scoreboard;
mod segments;
mod state;
mod timers;
mod transmit;
mod undo;
mod window;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use info::Info;
pub use kind::{DataMapping, Kind, OptionSource, PlainTcp};
pub use received::{InOrder, Received};
pub use state::{Failure, State, Tuple};

use crate::wire::Seq;
use bytes::Bytes;
use delayed_ack::AckPolicy;
use handshake::{Agreed, Handshake};
use model::Time;
use out_of_order::OutOfOrder;
use pacing::Pacer;
use policy::SubflowId;
use policy::congestion::Controller;
use rack::Rack;
use rate::Delivery;
use recovery::Recovery;
use rtt::RoundTrip;
use scoreboard::Scoreboard;
use std::collections::VecDeque;
use timers::Timers;
use window::ReceiveWindow;

/// The congestion controller and under which number it knows this subflow.
pub struct Congestion<'a> {
    /// The connection's controller.
    pub controller: &'a mut dyn Controller,
    /// This subflow.
    pub id: SubflowId,
}

impl Congestion<'_> {
    fn window(&self) -> u64 {
        self.controller.window(self.id)
    }
}

/// One TCP connection.
#[derive(Debug)]
pub struct Subflow {
    config: Config,
    tuple: Tuple,
    state: State,
    failure: Option<Failure>,
    agreed: Agreed,
    handshake: Handshake,
    sender: Sender,
    board: Scoreboard,
    rtt: RoundTrip,
    rack: Rack,
    recovery: Recovery,
    delivery: Delivery,
    pacer: Pacer,
    timers: Timers,
    receiver: Receiver,
    store: OutOfOrder,
    acks: AckPolicy,
    receive_window: ReceiveWindow,
    pending: Pending,
    counters: Counters,
}

/// What the sender knows of its stream and of the peer's window. Positions are offsets; a FIN
/// takes one after the last byte.
#[derive(Debug)]
struct Sender {
    /// Sequence number of offset 0, less one.
    initial: Seq,
    /// Everything before it is acknowledged.
    una: u64,
    /// The next to send for the first time.
    next: u64,
    /// What was enqueued and not sent.
    unsent: VecDeque<(Bytes, Option<DataMapping>)>,
    unsent_bytes: u64,
    /// Whether a FIN follows what is enqueued, and whether it was sent.
    fin: bool,
    fin_sent: bool,
    /// The peer's window from `una` on, the largest ever, and from which sequence number it is.
    window: u64,
    max_window: u64,
    window_from: i64,
    /// The window of the last segment that came.
    last_window: u64,
    /// When data was last sent (lsndtime).
    last_sent: Time,
    /// Whether the window was the limit when it was last used (tcp_cwnd_validate): whether,
    /// the most segments out, and until which offset that counts.
    window_limited: bool,
    most_out: u64,
    limited_until: u64,
    /// The rate at which it paces or would.
    pacing_rate: u64,
    /// Acknowledgements without selective ones that were duplicates: segments that arrived
    /// (the emulated SACK of NewReno).
    duplicate_acks: u64,
    /// The window was reduced and the peer is still to be told (RFC 3168, CWR).
    reduced: bool,
    /// The timestamp that the segment at hand echoes.
    echo: Option<u32>,
}

/// What the receiver knows of the peer's stream.
#[derive(Debug)]
struct Receiver {
    /// Sequence number of offset 0, less one.
    initial: Seq,
    /// The next position in order; the FIN takes one.
    next: u64,
    /// The position of the FIN, once one came.
    fin: Option<u64>,
    /// The last timestamp to echo and when it came (TS.Recent).
    timestamp: Option<(u32, Time)>,
    /// Ranges behind gaps, that with the newest data first.
    recent: arrayvec::ArrayVec<(u64, u64), 4>,
    /// Data that came twice, to be told once (RFC 2883).
    duplicate: Option<(Seq, Seq)>,
    /// A congestion mark is to be echoed (RFC 3168, section 6.1.3), and one was ever seen.
    echo_mark: bool,
    capable_seen: bool,
    /// When anything came last.
    last_heard: Time,
    /// When a segment that was not acceptable was last answered.
    last_challenge: Option<Time>,
}

/// What the next [`Subflow::transmit`] has to do first.
#[derive(Debug, Default)]
struct Pending {
    /// A reset with this sequence number, and an acknowledgement unless it is `None`.
    reset: Option<(Seq, Option<Seq>)>,
    /// The first segment again, whatever the window: the timer fired.
    head: bool,
    /// A probe for the tail.
    tail_probe: bool,
    /// A window or keep-alive probe.
    probe: bool,
    /// An acknowledgement, for the owner's options or as a challenge.
    ack: bool,
    /// Nothing, unless something happens: the last segment went only because there was nothing else.
    nothing: bool,
}

#[derive(Debug, Default)]
struct Counters {
    sent_segments: u64,
    sent_bytes: u64,
    received_segments: u64,
    received_bytes: u64,
    lost_segments: u64,
    retransmitted_segments: u64,
    challenges: u64,
}
