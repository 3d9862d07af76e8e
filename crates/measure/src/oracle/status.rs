//! What does `walkabout oracle status` show?

use super::log::FORMAT;
use super::table::{Seen, Tracked};
use model::PathKind;
use policy::PathState;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};

/// The state of a daemon at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The version of this format.
    pub format: u32,
    /// `client`, or `server` when it follows.
    pub role: &'static str,
    /// The path manager; `follow` for a server.
    pub policy: String,
    /// Whether nothing is carried out.
    pub dry_run: bool,
    /// Milliseconds between two looks.
    pub period_ms: u64,
    /// Milliseconds since it began.
    pub running_ms: u64,
    /// The paths of the host, home first; none for a server.
    pub paths: Vec<PathStatus>,
    /// The connections, oldest first.
    pub connections: Vec<ConnectionStatus>,
    /// How much was done.
    pub counters: Counters,
}

impl Status {
    /// One of nothing yet.
    pub fn new(role: &'static str, policy: String, dry_run: bool) -> Status {
        Status {
            format: FORMAT,
            role,
            policy,
            dry_run,
            period_ms: 0,
            running_ms: 0,
            paths: Vec::new(),
            connections: Vec::new(),
            counters: Counters::default(),
        }
    }
}

/// A path of the host.
#[derive(Clone, Debug, Serialize)]
pub struct PathStatus {
    /// The interface; `None` while none fits.
    pub interface: Option<String>,
    /// What it counts as.
    pub kind: PathKind,
    /// Whether it is up, has a carrier and an address.
    pub up: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionStatus {
    /// Its number.
    pub connection: usize,
    /// Its local token.
    pub token: u32,
    /// This end of its first subflow.
    pub local: SocketAddr,
    /// The other end of it.
    pub remote: SocketAddr,
    /// `steered`, `kernel` (its own path manager has it), `other` (no path of ours, or the other
    /// role), `ended`.
    pub state: &'static str,
    /// Its subflows.
    pub subflows: Vec<SubflowStatus>,
}

impl ConnectionStatus {
    /// As `connection` was seen last; `path` names the interface of a subflow's path.
    pub(super) fn of(
        connection: &Tracked,
        state: &'static str,
        path: &dyn Fn(&Seen) -> Option<String>,
    ) -> ConnectionStatus {
        let subflow = |seen: &Seen| {
            let tcp = &seen.subflow.tcp;
            SubflowStatus {
                local: seen.subflow.local,
                remote: seen.subflow.remote,
                path: path(seen),
                state: match seen.state {
                    PathState::Opening => "opening",
                    PathState::Established => "established",
                    PathState::Closing => "closing",
                },
                backup: seen.subflow.role.backup(),
                peer_backup: seen.subflow.role.peer_backup(),
                srtt_us: (tcp.rtt > 0).then_some(tcp.rtt),
                timeouts: u32::from(tcp.retransmits),
                retransmissions: u64::from(tcp.total_retrans),
                in_flight_bytes: tcp.outstanding(),
            }
        };
        ConnectionStatus {
            connection: connection.id,
            token: connection.token,
            local: connection.local,
            remote: connection.remote,
            state,
            subflows: connection.subflows.iter().map(subflow).collect(),
        }
    }
}

/// A subflow.
#[derive(Clone, Debug, Serialize)]
pub struct SubflowStatus {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The interface of its path, if it is one of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `opening`, `established`, `closing`.
    pub state: &'static str,
    /// Whether this end wants it used only when no other works.
    pub backup: bool,
    /// Whether the peer does.
    pub peer_backup: bool,
    /// Smoothed round-trip time in microseconds, once measured.
    pub srtt_us: Option<u32>,
    /// Timeouts in a row.
    pub timeouts: u32,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Bytes sent and not acknowledged.
    pub in_flight_bytes: u64,
}

/// How much was done since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Times every connection was looked at.
    pub looks: u64,
    /// Times notifications were lost or a reading failed.
    pub resyncs: u64,
    /// Decisions.
    pub decisions: u64,
    /// Decisions that were carried out.
    pub done: u64,
    /// Decisions about what was gone by then: no failure.
    pub gone: u64,
    /// Decisions that the kernel refused.
    pub failed: u64,
}
