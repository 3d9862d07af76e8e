//! A connection: one byte stream each way over the subflows of RFC 8684, or over plain TCP.

mod addresses;
mod extensions;
mod fallback;
mod fast_admission;
mod fast_join;
mod finishing;
mod handshake;
mod join;
mod machine;
mod mapping;
mod numbers;
mod options_in;
mod options_out;
mod path;
mod reassembly;
mod receiving;
mod reinjection;
mod send_buffer;
mod sending;
mod sent;
mod shared;
mod views;
mod window;

pub use extensions::Extensions;
pub(crate) use extensions::in_syn;
pub use fast_admission::JoinRefusal;
pub(crate) use fast_join::Rejoin;
pub(crate) use handshake::Start;
pub(crate) use join::join_option;
pub(crate) use machine::{Connection, Context};
pub(crate) use send_buffer::SendBuffer;

use crate::subflow;
use crate::wire::mptcp::{FastJoinForm, Features};
use model::Time;
use policy::SubflowId;
use std::net::{IpAddr, SocketAddr};

/// How connections behave.
#[derive(Clone)]
pub struct Config {
    /// Whether Multipath TCP is offered and accepted.
    pub multipath: bool,
    /// Whether DSS checksums are demanded.
    pub checksum: bool,
    /// How many bytes written wait at most for their acknowledgement: 4 MiB in Linux
    /// (net.ipv4.tcp_wmem).
    pub send_buffer: u64,
    /// How many bytes received wait at most for the application: 6 MiB in Linux
    /// (net.ipv4.tcp_rmem).
    pub receive_buffer: u64,
    /// After how many retransmissions elsewhere a subflow that delivers nothing is stale: 4 in
    /// Linux (net.mptcp.stale_loss_cnt).
    pub stale_loss_count: u32,
    /// How long a connection without subflows waits for a new one: 60 s in Linux
    /// (net.mptcp.close_timeout).
    pub close_timeout: std::time::Duration,
    /// The packet scheduler, without effect on plain TCP.
    pub scheduler: &'static policy::scheduler::list::Entry,
    /// The congestion controller.
    pub controller: &'static policy::congestion::list::Entry,
    /// Extensions of Multipath TCP.
    pub extensions: Extensions,
    /// The subflows' TCP.
    pub subflow: subflow::Config,
}

/// Why Multipath TCP was given up, or never began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FallbackReason {
    /// The peer's SYN or SYN/ACK had no MP_CAPABLE.
    NotOffered,
    /// The third ACK or the first data had no MP_CAPABLE, or the first data no mapping.
    HandshakeStripped,
    /// Data came without a mapping on the only subflow.
    NoMapping,
    /// A checksum was wrong on the only subflow.
    Checksum,
    /// The peer sent MP_FAIL or an infinite mapping.
    Peer,
}

/// Why a connection ended before all was delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The first subflow was refused.
    #[error("refused")]
    Refused,
    /// The peer reset or fast-closed it.
    #[error("reset by the peer")]
    Reset,
    /// Nothing was heard for too long, or no subflow came back in time.
    #[error("timed out")]
    TimedOut,
    /// This side aborted it.
    #[error("aborted")]
    Aborted,
}

/// What happened on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection can carry data.
    Connected,
    /// Multipath TCP is not used (any more).
    Fallback(FallbackReason),
    /// A subflow was asked for, by this side or (a SYN that came) by the peer.
    SubflowOpening(SubflowId),
    /// A subflow can carry data.
    SubflowEstablished(SubflowId),
    /// A subflow is gone; why, if before its time.
    SubflowClosed(SubflowId, Option<subflow::Failure>),
    /// The first data was sent on a subflow.
    FirstData(SubflowId),
    /// This side uses the subflow as backup, or no longer.
    PriorityChanged(SubflowId, bool),
    /// Which extensions both ends have, once that is known; none when the peer has none or does not
    /// say. Not told where this side has none.
    Extensions(Features),
    /// A subflow brought nothing for its idle time though the peer has more to send: a path manager
    /// may open others.
    Starved(SubflowId),
    /// A subflow begins with FAST_JOIN_OUT or FAST_JOIN_IN.
    FastJoin(SubflowId, FastJoinForm),
    /// What began so came to nothing: another subflow is opened with MP_JOIN.
    FastJoinGivenUp(SubflowId),
    /// A FAST_JOIN of the peer, or of one who pretends to be, was refused.
    FastJoinRefused(JoinRefusal),
    /// The peer announced an address.
    AddressAnnounced {
        /// Its identifier.
        id: u8,
        /// The address, with the port to connect to.
        address: SocketAddr,
    },
    /// The peer withdrew an address.
    AddressWithdrawn(u8),
    /// The peer has finished: all it wrote can be read.
    PeerFinished,
    /// Both sides finished and all was delivered.
    Closed,
    /// The connection ended before its time.
    Failed(Failure),
}

/// A subflow as seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct SubflowInfo {
    /// Its number.
    pub id: SubflowId,
    /// Where it goes.
    pub tuple: subflow::Tuple,
    /// Whether it can carry data.
    pub established: bool,
    /// Whether it is being closed.
    pub closing: bool,
    /// Whether this side uses it only when no regular one works.
    pub backup: bool,
    /// Whether the peer asked for that.
    pub peer_backup: bool,
    /// Whether it is potentially failed.
    pub potentially_failed: bool,
    /// Whether it is stale.
    pub stale: bool,
    /// Whether it brought nothing for its idle time though the peer has more to send.
    pub starved: bool,
    /// Congestion window, bytes.
    pub window: u64,
    /// Its TCP.
    pub tcp: subflow::Info,
}

/// A connection as seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Whether Multipath TCP is in use.
    pub multipath: bool,
    /// Whether it can carry data.
    pub connected: bool,
    /// Whether data may still be written.
    pub writable: bool,
    /// Bytes written and not yet sent for the first time.
    pub unsent: u64,
    /// Bytes sent and not acknowledged at the level of the connection.
    pub unacked: u64,
    /// Bytes that can be read now.
    pub readable: u64,
    /// Whether the peer finished and all was read.
    pub at_end: bool,
    /// Why it failed, once it did.
    pub failure: Option<Failure>,
    /// Bytes sent once more on another subflow.
    pub reinjected_bytes: u64,
    /// Bytes received more than once at the level of the connection.
    pub duplicate_bytes: u64,
    /// Whether subflows can be opened: the peer has shown that it got the keys (RFC 8684, section
    /// 3.1).
    pub fully_established: bool,
    /// When the oldest of the unacknowledged bytes was first given to a subflow; `None` without any
    /// and over plain TCP, whose subflow knows.
    pub oldest_sent: Option<Time>,
    /// Bytes of the stream sent, each counted once.
    pub sent_bytes: u64,
    /// Bytes of the stream received in order.
    pub received_bytes: u64,
}

/// Why a subflow could not be opened or changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SubflowError {
    /// The connection is not (any more) one of Multipath TCP.
    #[error("the connection fell back to plain TCP")]
    NotMultipath,
    /// The connection is not fully established, or ends.
    #[error("the connection is not established")]
    NotConnected,
    /// There are as many as there can be.
    #[error("there are {} subflows already", SubflowId::MAX)]
    TooMany,
    /// No such subflow.
    #[error("there is no such subflow")]
    Unknown,
    /// The peer does not want further subflows to the address and port of the first one (the
    /// flag C of MP_CAPABLE).
    #[error("the peer wants no further subflow to the address of its first one")]
    Unwanted,
    /// The address is of another family than the peer's.
    #[error("{0} and the peer's address are of different families")]
    Family(IpAddr),
}

/// Reasons of MP_TCPRST (RFC 8684, section 3.6).
pub(crate) mod reason {
    /// Unspecified error.
    pub(crate) const UNSPECIFIED: u8 = 0;
    /// MPTCP-specific error.
    pub(crate) const MPTCP: u8 = 1;
    /// Lack of resources.
    pub(crate) const RESOURCES: u8 = 2;
    /// Middlebox interference.
    pub(crate) const MIDDLEBOX: u8 = 6;
}

/// Bytes of options to leave room for in data segments: a DSS with a Data ACK and a mapping, both
/// of 64 bits, and a checksum.
const fn option_reserve(multipath: bool) -> usize {
    if multipath { 28 } else { 0 }
}

impl Connection {
    /// Its subflows, by their numbers.
    pub(crate) fn subflows(&self, now: model::Time, subflows: &mut Vec<SubflowInfo>) {
        for path in self.paths.iter().flatten() {
            let state = &path.state;
            if state.phase == path::Phase::Gone {
                continue;
            }
            subflows.push(SubflowInfo {
                id: state.id,
                tuple: state.tuple,
                established: state.is_usable(),
                closing: state.phase == path::Phase::Closing,
                backup: state.is_backup(),
                peer_backup: state.peer_backup,
                potentially_failed: state.potentially_failed,
                stale: state.stale,
                starved: state.starved,
                window: self.controller.window(state.id),
                tcp: path.tcp.info(now),
            });
        }
    }
}
