//! How the kernel's figures become rows of `samples` and what a path manager sees.

use super::info::{self, MptcpInfo, Subflow, TcpInfo};
use super::ulp::Role;
use model::record::Sample;
use model::{Name, PathIndex, Side, Time};
use policy::{PathState, SubflowView};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Marks kept of one byte stream; more are merged into the latest.
const MAX_MARKS: usize = 1024;

/// How long the oldest byte that is sent and not acknowledged has waited.
///
/// The kernel does not tell, so each observation marks how far sending had come and when. The
/// result is never too high and too low by at most the time between two observations.
#[derive(Clone, Debug, Default)]
pub struct Age {
    marks: VecDeque<(u64, Time)>,
    reached: u64,
    observed: Time,
}

impl Age {
    /// Takes in an observation: bytes sent (each counted once) and acknowledged since the
    /// beginning, and when the last data was sent if the kernel tells.
    pub fn observe(
        &mut self,
        now: Time,
        sent: u64,
        acknowledged: u64,
        last_sent: Option<Duration>,
    ) -> Option<Duration> {
        while self.marks.front().is_some_and(|m| m.0 <= acknowledged) {
            self.marks.pop_front();
        }
        if sent > self.reached.max(acknowledged) {
            let sent_at = match last_sent {
                Some(ago) => Time::from_nanos(now.as_nanos().saturating_sub(nanos(ago))),
                None => now,
            };
            let mark = (sent, sent_at.max(self.observed).min(now));
            let full = self.marks.len() >= MAX_MARKS;
            match self.marks.back_mut() {
                Some(last) if full => last.0 = sent,
                _ => self.marks.push_back(mark),
            }
        }
        self.reached = self.reached.max(sent);
        self.observed = now;
        self.marks.front().map(|(_, since)| now.since(*since))
    }

    /// Takes in TCP's figures.
    pub fn of(&mut self, now: Time, tcp: &TcpInfo) -> Option<Duration> {
        if tcp.unacked == 0 {
            self.nothing_outstanding(now, tcp.sent_once());
            return None;
        }
        // bytes_acked may count the SYN; what is outstanding never does.
        let acknowledged = tcp.sent_once() - tcp.outstanding().min(tcp.sent_once());
        let last_sent = Duration::from_millis(u64::from(tcp.last_data_sent));
        self.observe(now, tcp.sent_once(), acknowledged, Some(last_sent))
    }

    /// Takes in that nothing is outstanding.
    pub fn nothing_outstanding(&mut self, now: Time, sent: u64) {
        self.marks.clear();
        self.reached = self.reached.max(sent);
        self.observed = now;
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The [`Age`]s of a connection and its subflows.
#[derive(Clone, Debug, Default)]
pub struct Ages {
    connection: Age,
    subflows: Vec<(SocketAddr, SocketAddr, Age)>,
}

impl Ages {
    /// The age on a subflow.
    pub fn of_subflow(&mut self, now: Time, subflow: &Subflow) -> Option<Duration> {
        let key = (subflow.local, subflow.remote);
        let known = self.subflows.iter().position(|s| (s.0, s.1) == key);
        let index = known.unwrap_or_else(|| {
            self.subflows.push((key.0, key.1, Age::default()));
            self.subflows.len() - 1
        });
        self.subflows[index].2.of(now, &subflow.tcp)
    }

    /// The age of a connection's data.
    pub fn of_connection(&mut self, now: Time, sent: u64, acknowledged: u64) -> Option<Duration> {
        if sent <= acknowledged {
            self.connection.nothing_outstanding(now, sent);
            return None;
        }
        self.connection.observe(now, sent, acknowledged, None)
    }

    /// Forgets subflows that are gone.
    pub fn keep(&mut self, subflows: &[Subflow]) {
        self.subflows.retain(|(local, remote, _)| {
            let same = |s: &Subflow| (s.local, s.remote) == (*local, *remote);
            subflows.iter().any(same)
        });
    }
}

/// A subflow as it was observed.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Its path.
    pub path: PathIndex,
    /// How far it is.
    pub state: PathState,
    /// The kernel's figures.
    pub subflow: Subflow,
    /// Its role; `None` for plain TCP.
    pub role: Option<Role>,
    /// How long its oldest unacknowledged byte has waited.
    pub oldest_unacked: Option<Duration>,
}

/// A connection as it was observed.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The connection's figures; `None` for TCP.
    pub mptcp: Option<MptcpInfo>,
    /// At most one subflow for each path.
    pub subflows: Vec<Observed>,
    /// Bytes the application has written that were never sent.
    pub unsent: u64,
    /// Bytes sent and not acknowledged at the level of the connection.
    pub outstanding: u64,
    /// How long the oldest of them has waited.
    pub oldest_unacked: Option<Duration>,
}

/// How far a subflow is; `None` when it is closed.
pub fn state(tcp: &TcpInfo, role: Option<&Role>) -> Option<PathState> {
    match tcp.state {
        info::SYN_SENT | info::SYN_RECV => Some(PathState::Opening),
        info::ESTABLISHED if role.is_some_and(Role::joining) => Some(PathState::Opening),
        info::ESTABLISHED => Some(PathState::Established),
        info::CLOSE => None,
        _ => Some(PathState::Closing),
    }
}

/// Keeps one subflow of each path: the furthest, of equals the newest (the last).
pub fn one_for_each_path(subflows: Vec<Observed>) -> Vec<Observed> {
    let mut kept: Vec<Observed> = Vec::new();
    for subflow in subflows {
        match kept.iter_mut().find(|k| k.path == subflow.path) {
            None => kept.push(subflow),
            Some(old) if rank(subflow.state) >= rank(old.state) => *old = subflow,
            Some(_) => {}
        }
    }
    kept.sort_by_key(|s| s.path);
    kept
}

pub fn rank(state: PathState) -> u8 {
    match state {
        PathState::Closing => 0,
        PathState::Opening => 1,
        PathState::Established => 2,
    }
}

fn word(state: PathState) -> String {
    let word = match state {
        PathState::Opening => "connecting",
        PathState::Established => "established",
        PathState::Closing => "closing",
    };
    word.to_owned()
}

/// Smoothed round-trip time, once measured.
fn srtt(tcp: &TcpInfo) -> Option<u64> {
    (tcp.rtt > 0).then_some(u64::from(tcp.rtt))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What a path manager sees of a subflow.
pub fn view(observed: &Observed) -> SubflowView {
    let Observed {
        path,
        state,
        subflow,
        role,
        oldest_unacked,
    } = observed;
    let backup = role.is_some_and(|r| r.backup());
    let peer = subflow.remote.ip();
    subflow_view((*path, peer), *state, backup, &subflow.tcp, *oldest_unacked)
}

/// The same of its parts: its netpath, how far it is, and the kernel's figures.
pub fn subflow_view(
    (path, peer): (PathIndex, IpAddr),
    state: PathState,
    backup: bool,
    tcp: &TcpInfo,
    oldest_unacked: Option<Duration>,
) -> SubflowView {
    SubflowView {
        path,
        peer: Some(peer),
        state,
        suspected: false,
        backup,
        srtt: srtt(tcp).map(Duration::from_micros),
        rto: (tcp.rto > 0).then(|| Duration::from_micros(u64::from(tcp.rto))),
        timeouts: u32::from(tcp.retransmits),
        retransmissions: u64::from(tcp.total_retrans),
        sent: u64::from(tcp.segs_out),
        lost: tcp.lost_total(),
        in_flight: tcp.outstanding(),
        oldest_unacked,
        starved: false,
        received: u64::from(tcp.segs_in),
    }
}

/// The row of a subflow.
pub fn subflow_row(
    now: Time,
    side: Side,
    connection: usize,
    name: Name,
    observed: &Observed,
) -> Sample {
    let tcp = &observed.subflow.tcp;
    Sample {
        time_us: now.as_micros(),
        side,
        connection: connection as u64,
        path: Some(name),
        state: word(observed.state),
        srtt_us: srtt(tcp),
        rttvar_us: srtt(tcp).map(|_| u64::from(tcp.rttvar)),
        rto_us: Some(u64::from(tcp.rto)),
        timeouts: Some(u64::from(tcp.retransmits)),
        cwnd_bytes: Some(u64::from(tcp.snd_cwnd) * u64::from(tcp.snd_mss)),
        in_flight_bytes: Some(tcp.in_flight()),
        oldest_unacked_us: observed.oldest_unacked.map(micros),
        unsent_bytes: Some(u64::from(tcp.notsent_bytes)),
        sent_packets: Some(u64::from(tcp.segs_out)),
        sent_bytes: Some(tcp.bytes_sent),
        received_bytes: Some(tcp.bytes_received),
        lost_packets: Some(tcp.lost_total()),
        retransmitted_packets: Some(u64::from(tcp.total_retrans)),
        backup: observed.role.map(|r| r.backup()),
        peer_backup: observed.role.map(|r| r.peer_backup()),
    }
}

/// The row of a connection.
pub fn connection_row(
    now: Time,
    side: Side,
    connection: usize,
    state: &str,
    observation: &Observation,
) -> Sample {
    // The bytes are counted since Linux 6.5, together with MPTCP_FULL_INFO.
    let mptcp = observation.mptcp;
    let only = match (mptcp, observation.subflows.as_slice()) {
        (None, [only]) => Some(only.subflow.tcp),
        _ => None,
    };
    let sent = mptcp.map(|m| m.bytes_sent).or(only.map(|t| t.bytes_sent));
    let received = mptcp
        .map(|m| m.bytes_received)
        .or(only.map(|t| t.bytes_received));
    let retransmitted = mptcp
        .map(|m| u64::from(m.retransmits))
        .or(only.map(|t| u64::from(t.total_retrans)));
    Sample {
        time_us: now.as_micros(),
        side,
        connection: connection as u64,
        path: None,
        state: state.to_owned(),
        srtt_us: None,
        rttvar_us: None,
        rto_us: None,
        timeouts: None,
        cwnd_bytes: None,
        in_flight_bytes: Some(observation.outstanding),
        oldest_unacked_us: observation.oldest_unacked.map(micros),
        unsent_bytes: Some(observation.unsent),
        sent_packets: None,
        sent_bytes: sent,
        received_bytes: received,
        lost_packets: None,
        retransmitted_packets: retransmitted,
        backup: None,
        peer_backup: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn the_oldest_byte_keeps_its_age_while_newer_ones_follow() {
        let mut age = Age::default();
        age.nothing_outstanding(ms(0), 0);
        let ago = |n| Some(Duration::from_millis(n));
        assert_eq!(age.observe(ms(100), 50, 0, ago(30)), ago(30));
        assert_eq!(age.observe(ms(200), 80, 0, ago(10)), ago(130));
        // The first 50 bytes arrive: the next were sent at 190.
        assert_eq!(age.observe(ms(210), 80, 50, ago(20)), ago(20));
        assert_eq!(age.observe(ms(220), 80, 80, ago(30)), None);
    }

    #[test]
    fn a_retransmission_does_not_make_the_oldest_byte_younger() {
        let mut age = Age::default();
        age.observe(ms(100), 50, 0, Some(Duration::ZERO));
        // last_data_sent counts retransmissions as well.
        let oldest = age.observe(ms(500), 50, 0, Some(Duration::ZERO));
        assert_eq!(oldest, Some(Duration::from_millis(400)));
    }

    #[test]
    fn marks_are_bounded() {
        let mut age = Age::default();
        for n in 1..5000 {
            age.observe(ms(n), n, 0, None);
        }
        assert_eq!(age.marks.len(), MAX_MARKS);
        assert_eq!(
            age.observe(ms(5000), 5000, 0, None),
            Some(Duration::from_millis(4999))
        );
        assert_eq!(age.observe(ms(5001), 5000, 5000, None), None);
    }
}
