//! What a path manager sees, and what it can ask for.

use model::{PathIndex, PathKind};
use std::net::IpAddr;
use std::time::Duration;

/// Everything a path manager knows at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The host's paths, in the scenario's order; `PathIndex` points into this list.
    pub paths: Vec<PathView>,
    /// The open connections, by their ids.
    pub connections: Vec<ConnectionView>,
}

/// A path as the host sees it.
#[derive(Clone, Debug)]
pub struct PathView {
    /// What carries it.
    pub kind: PathKind,
    /// Whether its interface is up, has a carrier and an address.
    pub up: bool,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// Its number within the run.
    pub id: usize,
    /// Whether the application waits for data to be sent that the transport has not sent yet.
    pub has_unsent: bool,
    /// Its subflows or paths, at most one per path.
    pub subflows: Vec<SubflowView>,
}

impl ConnectionView {
    /// The subflow on `path`, if there is one.
    pub fn on(&self, path: PathIndex) -> Option<&SubflowView> {
        self.subflows.iter().find(|s| s.path == path)
    }
}

/// How far a subflow or path of a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathState {
    /// Asked for, not yet usable.
    Opening,
    /// Can carry data.
    Established,
    /// Asked to close.
    Closing,
}

/// A subflow (MPTCP) or path (QUIC) of a connection.
#[derive(Clone, Debug)]
pub struct SubflowView {
    /// Over which path of the host.
    pub path: PathIndex,
    /// The address at its other end, if known. With the path, which is an interface and the
    /// address on it, that makes the netpath of MultiMob (section III-B): what subflows of
    /// different connections have in common.
    pub peer: Option<IpAddr>,
    /// How far it is.
    pub state: PathState,
    /// Whether this side uses it only when no other works.
    pub backup: bool,
    /// Whether the stack holds it to be potentially failed, by itself or because of
    /// [`Action::Suspect`]; `false` where it cannot tell.
    pub suspected: bool,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Retransmission timeout (TCP) or probe timeout (QUIC), backoff included.
    pub rto: Option<Duration>,
    /// Timeouts in a row without an acknowledgement since: the subflow is under RTO when > 0.
    pub timeouts: u32,
    /// Packets sent again since the subflow began, tail-loss probes included.
    pub retransmissions: u64,
    /// Packets sent since the subflow began.
    pub sent: u64,
    /// Packets declared lost since the subflow began, or the loss of which was probed for.
    pub lost: u64,
    /// Bytes sent and not yet acknowledged.
    pub in_flight: u64,
    /// How long the oldest byte in flight has been waiting.
    pub oldest_unacked: Option<Duration>,
    /// Whether nothing came for the idle time though the peer has more to send (MultiMob, section
    /// III-B); only Multipath TCP in user space with the extension `idle_flag` can tell.
    pub starved: bool,
    /// What arrived on the subflow since it began, in the stack's own unit (segments, bytes): only
    /// whether it rises counts, as that is the one proof that the path works towards this end.
    pub received: u64,
}

/// Something a path manager can ask of a transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open a subflow or path.
    Open {
        /// Of this connection.
        connection: usize,
        /// Over this path.
        path: PathIndex,
        /// As a backup.
        backup: bool,
    },
    /// Close a subflow or path.
    Close {
        /// Of this connection.
        connection: usize,
        /// Over this path.
        path: PathIndex,
    },
    /// Change a subflow's or path's priority.
    SetBackup {
        /// Of this connection.
        connection: usize,
        /// Over this path.
        path: PathIndex,
        /// To backup (`true`) or regular (`false`).
        backup: bool,
    },
    /// Hold an established subflow or path to be potentially failed (MultiMob, section III-B):
    /// what it has in flight goes over another, and nothing new over this one. A stack that knows
    /// no such state closes it, at both ends, which has the same effect; ask for it only while
    /// another one is established.
    Suspect {
        /// Of this connection.
        connection: usize,
        /// Over this path.
        path: PathIndex,
    },
}

impl Action {
    /// The connection and the path that it is about.
    pub fn target(&self) -> (usize, PathIndex) {
        let (Action::Open {
            connection, path, ..
        }
        | Action::Close { connection, path }
        | Action::SetBackup {
            connection, path, ..
        }
        | Action::Suspect { connection, path }) = *self;
        (connection, path)
    }
}

/// An action and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// Why, in words with the figures that led to it: `retransmissions rose from 3 to 4`.
    pub cause: String,
}
