//! What does a connection know of one of its subflows beyond its TCP?

use super::receiving::Incoming;
use crate::subflow::{Subflow, Tuple};
use crate::wire::Seq;
use crate::wire::mptcp::{AddAddr, Extension, FastJoinForm};
use arrayvec::ArrayVec;
use model::Time;
use policy::SubflowId;
use std::time::Duration;

/// How long the peer may leave a subflow half closed whose data is of no interest any more
/// (Linux's net.ipv4.tcp_fin_timeout).
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// How a subflow began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// It is the connection's first.
    First,
    /// This side joined it.
    Joins,
    /// The peer joined it.
    Joined,
}

/// Where a subflow is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The handshake is under way.
    Opening,
    /// This side joined and waits for the fourth ACK: no data yet (RFC 8684, section 3.2).
    PreEstablished,
    /// It carries data.
    Usable,
    /// It is being closed.
    Closing,
    /// Its end was told; what is left of its TCP says farewell or waits.
    Gone,
}

/// Repeats the third ACK of a join until the fourth comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinAck {
    /// When to send it again.
    pub(super) at: Time,
    /// How often it was sent.
    pub(super) sent: u32,
}

/// A subflow that begins with a FAST_JOIN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fast {
    pub(super) form: FastJoinForm,
    /// The data sequence number or Data ACK in the SYN.
    pub(super) number: u64,
    /// SYNs with the option sent, by the side that joins.
    pub(super) syns: u32,
}

/// Options that wait for a segment of this subflow.
#[derive(Default, Debug)]
pub(super) struct Outbox {
    /// MP_PRIO.
    pub(super) priority: Option<bool>,
    /// ADD_ADDR to echo.
    pub(super) echoes: ArrayVec<AddAddr, 4>,
    /// REMOVE_ADDR.
    pub(super) removed: ArrayVec<u8, 16>,
    /// MP_FAIL: the data sequence number.
    pub(super) fail: Option<u64>,
    /// Offers, requests and their answers ([`super::extensions`]).
    pub(super) extensions: ArrayVec<Extension, 4>,
    /// MP_TCPRST's flag and reason, for when the subflow is reset.
    pub(super) reset: Option<(bool, u8)>,
}

impl Outbox {
    /// Whether something waits for an acknowledgement to go with.
    pub(super) fn is_waiting(&self) -> bool {
        self.priority.is_some()
            || !self.echoes.is_empty()
            || !self.removed.is_empty()
            || self.fail.is_some()
            || !self.extensions.is_empty()
    }
}

/// All of a subflow but its TCP: what options are made of and read into.
#[derive(Debug)]
pub(super) struct PathState {
    pub(super) id: SubflowId,
    pub(super) tuple: Tuple,
    pub(super) origin: Origin,
    pub(super) phase: Phase,
    /// The peer's initial sequence number, once known.
    pub(super) peer_initial: Option<Seq>,
    pub(super) local_id: u8,
    pub(super) remote_id: Option<u8>,
    pub(super) local_nonce: u32,
    pub(super) remote_nonce: u32,
    pub(super) join_ack: Option<JoinAck>,
    /// How it begins, if not with MP_JOIN.
    pub(super) fast: Option<Fast>,
    /// Nothing came for the idle time though the peer has more to send.
    pub(super) starved: bool,
    /// The peer's retransmission timeout, once it said it, and when it was last asked.
    pub(super) peer_rto: Option<Duration>,
    pub(super) rto_asked: Option<Time>,
    /// Until when it is to be closed at the latest.
    pub(super) close_by: Option<Time>,
    /// SYNs sent.
    pub(super) syns: u32,
    /// This side uses it as backup.
    pub(super) backup: bool,
    /// The peer asked for that.
    pub(super) peer_backup: bool,
    pub(super) potentially_failed: bool,
    /// Timeouts in a row when it was last looked at.
    pub(super) timeouts: u32,
    pub(super) stale: bool,
    pub(super) stale_count: u32,
    /// Segments received when `stale_count` began.
    pub(super) stale_mark: u64,
    pub(super) established: Time,
    pub(super) last_original: Option<Time>,
    pub(super) last_penalty: Option<Time>,
    pub(super) sent_data: bool,
    /// The peer's FIN came with a data sequence signal: it closes this subflow, and no stream.
    pub(super) fin_is_multipath: bool,
    /// Segments that its TCP has challenged, of those counted.
    pub(super) challenges: u64,
    /// Whether the controller knows it.
    pub(super) controlled: bool,
    pub(super) incoming: Incoming,
    pub(super) outbox: Outbox,
}

impl PathState {
    pub(super) fn new(id: SubflowId, tuple: Tuple, origin: Origin, now: Time) -> PathState {
        PathState {
            id,
            tuple,
            origin,
            phase: Phase::Opening,
            peer_initial: None,
            local_id: 0,
            remote_id: (origin == Origin::First).then_some(0),
            local_nonce: 0,
            remote_nonce: 0,
            join_ack: None,
            fast: None,
            starved: false,
            peer_rto: None,
            rto_asked: None,
            close_by: None,
            syns: 0,
            backup: false,
            peer_backup: false,
            potentially_failed: false,
            timeouts: 0,
            stale: false,
            stale_count: 0,
            stale_mark: 0,
            established: now,
            last_original: None,
            last_penalty: None,
            sent_data: false,
            fin_is_multipath: false,
            challenges: 0,
            controlled: false,
            incoming: Incoming::default(),
            outbox: Outbox::default(),
        }
    }

    /// Whether either side wants it only when no regular one works.
    pub(super) fn is_backup(&self) -> bool {
        self.backup || self.peer_backup
    }

    /// Whether it can carry data.
    pub(super) fn is_usable(&self) -> bool {
        self.phase == Phase::Usable
    }

    /// Whether it can carry acknowledgements with options.
    pub(super) fn can_signal(&self) -> bool {
        matches!(self.phase, Phase::Usable | Phase::PreEstablished)
    }
}

/// A subflow.
pub(super) struct Path {
    pub(super) tcp: Subflow,
    pub(super) state: PathState,
    /// When it has something to do, as of the last look.
    pub(super) poll_at: Option<Time>,
}

impl Path {
    /// Looks at its timers.
    pub(super) fn look_at_timers(&mut self) {
        let join = self.state.join_ack.map(|join| join.at);
        self.poll_at = Time::earliest([self.tcp.poll_at(), join, self.state.close_by]);
    }

    /// Closes it with a FIN; what was never sent on it stays unsent.
    pub(super) fn close(&mut self, now: Time) {
        while self.tcp.take_unsent().is_some() {}
        self.tcp.close(now);
        self.state.close_by = Some(now + CLOSE_TIMEOUT);
    }
}
