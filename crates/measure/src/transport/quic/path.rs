//! Which of noq's path ids stands for which path of the scenario, now and in the past?
//!
//! Every opening of a path gets a new path id (RFC 10069, section 3.1: ids are never reused);
//! counters of a path add up over all of its ids.

use super::controller::SharedRecord;
use model::{Name, PathIndex, Time};
use noq_proto::{Connection, FourTuple, PathId, PathStats, PathStatus};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The peer's `max_ack_delay` (RFC 9000, section 18.2): noq announces the default and we don't
/// negotiate ACK frequency.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// `kGranularity` (RFC 9002, section 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// How much longer than for the last noq 1.4 waits for the next probe at most
/// (`MAX_PTO_INTERVAL`; meant as the interval itself, but added to the last one).
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(2);

/// Between the first attempts to open a path; doubled up to [`LAST_RETRY`].
const FIRST_RETRY: Duration = Duration::from_millis(10);
const LAST_RETRY: Duration = Duration::from_secs(1);

/// One path of the scenario within one connection.
pub(super) struct Slot {
    pub name: Name,
    /// The client's address on it.
    pub client: IpAddr,
    /// An opening that waits for path ids or connection ids from the peer.
    pub wanted: Option<Wanted>,
    /// The id that is opening or open.
    pub current: Option<Live>,
    /// Ids that are closing: noq keeps them for three probe timeouts.
    pub closing: Vec<PathId>,
    /// When it last carried stream data.
    pub last_data: Option<Time>,
    /// Tail-loss probes sent over all ids.
    pub probes: u64,
    past: Counters,
    used: bool,
}

/// A path that could not be opened yet. Each attempt tells the peer that it is blocked
/// (PATHS_BLOCKED, PATH_CIDS_BLOCKED), so attempts must not follow every packet.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub backup: bool,
    pub retry_at: Time,
    retry_after: Duration,
}

impl Wanted {
    pub(super) fn new(now: Time, backup: bool) -> Wanted {
        Wanted {
            backup,
            retry_at: now,
            retry_after: FIRST_RETRY,
        }
    }

    /// An attempt at `now` failed.
    pub(super) fn postpone(&mut self, now: Time) {
        self.retry_at = now + self.retry_after;
        self.retry_after = (self.retry_after * 2).min(LAST_RETRY);
    }
}

/// A path id in use.
pub(super) struct Live {
    pub id: PathId,
    pub established: bool,
    pub backup: bool,
    pub peer_backup: bool,
    pub record: SharedRecord,
    seen: Frames,
}

/// Frames sent, of the kinds that tell what a packet was.
#[derive(Clone, Copy, Default)]
struct Frames {
    stream: u64,
    immediate_ack: u64,
    path_response: u64,
    mtu_probe: u64,
}

/// What noq counts for a path.
#[derive(Clone, Copy, Default)]
pub(super) struct Counters {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub lost_packets: u64,
}

impl Counters {
    pub(super) fn add(&mut self, stats: &PathStats) {
        self.sent_packets += stats.sent_packets;
        self.sent_bytes += stats.udp_tx.bytes;
        self.received_bytes += stats.udp_rx.bytes;
        // A lost probe for a larger MTU is no loss of the path.
        self.lost_packets += stats.lost_packets.saturating_sub(stats.lost_plpmtud_probes);
    }
}

/// The state of a path that changes from packet to packet.
pub(super) struct Snapshot {
    pub counters: Counters,
    pub rtt: Option<(Duration, Duration)>,
    /// Probe timeout, backoff included.
    pub pto: Option<Duration>,
    pub timeouts: u32,
    pub cwnd: Option<u64>,
    pub in_flight: u64,
    pub oldest_unacked: Option<Duration>,
}

impl Slot {
    pub(super) fn new(name: Name, client: IpAddr) -> Slot {
        Slot {
            name,
            client,
            wanted: None,
            current: None,
            closing: Vec::new(),
            last_data: None,
            probes: 0,
            past: Counters::default(),
            used: false,
        }
    }

    /// Takes `id` into use, unless it is.
    pub(super) fn adopt(&mut self, connection: &Connection, id: PathId, backup: bool) {
        if self.current.as_ref().is_some_and(|live| live.id == id) || self.closing.contains(&id) {
            return;
        }
        let Some(record) = SharedRecord::of(connection, id) else {
            return;
        };
        if let Some(previous) = self.current.take() {
            self.closing.push(previous.id);
        }
        self.used = true;
        self.current = Some(Live {
            id,
            established: false,
            backup,
            peer_backup: false,
            record,
            seen: Frames::default(),
        });
    }

    /// Whether it was ever opened.
    pub(super) fn is_used(&self) -> bool {
        self.used || self.wanted.is_some()
    }

    /// `connecting`, `established`, `closing` or `closed`.
    pub(super) fn state(&self) -> &'static str {
        match &self.current {
            Some(live) if live.established => "established",
            Some(_) => "connecting",
            None if self.wanted.is_some() => "connecting",
            None if self.closing.is_empty() => "closed",
            None => "closing",
        }
    }

    /// `id` was abandoned by either side.
    pub(super) fn abandoned(&mut self, id: PathId) {
        if self.current.as_ref().is_some_and(|live| live.id == id) {
            self.current = None;
        }
        if !self.closing.contains(&id) {
            self.closing.push(id);
        }
    }

    /// noq dropped all state of `id`.
    pub(super) fn discarded(&mut self, id: PathId, last: &PathStats) {
        self.closing.retain(|closing| *closing != id);
        self.past.add(last);
    }

    /// Whether the packet just sent on this path carried stream data; counts probes.
    pub(super) fn packet_sent(&mut self, connection: &mut Connection) -> bool {
        let Some(live) = &mut self.current else {
            return false;
        };
        let Some(stats) = connection.path_stats(live.id) else {
            return false;
        };
        let frames = Frames {
            stream: stats.frame_tx.stream,
            immediate_ack: stats.frame_tx.immediate_ack,
            path_response: stats.frame_tx.path_response,
            mtu_probe: stats.sent_plpmtud_probes,
        };
        let before = std::mem::replace(&mut live.seen, frames);
        // A tail-loss probe asks for an immediate acknowledgement (noq 1.4,
        // `queue_tail_loss_probe`); so do the answer to a PATH_CHALLENGE and a probe for a
        // larger MTU.
        if frames.immediate_ack > before.immediate_ack
            && frames.path_response == before.path_response
            && frames.mtu_probe == before.mtu_probe
        {
            self.probes += 1;
            live.record.lock().probe_sent();
        }
        frames.stream > before.stream
    }

    /// The state now.
    pub(super) fn snapshot(&self, connection: &mut Connection, now: Instant) -> Snapshot {
        let mut counters = self.past;
        for id in &self.closing {
            if let Some(stats) = connection.path_stats(*id) {
                counters.add(&stats);
            }
        }
        let mut snapshot = Snapshot {
            counters,
            rtt: None,
            pto: None,
            timeouts: 0,
            cwnd: None,
            in_flight: 0,
            oldest_unacked: None,
        };
        let Some(live) = &self.current else {
            return snapshot;
        };
        let Some(stats) = connection.path_stats(live.id) else {
            return snapshot;
        };
        snapshot.counters.add(&stats);
        snapshot.cwnd = Some(stats.cwnd);
        let mut record = live.record.lock();
        snapshot.timeouts = record.timeouts();
        snapshot.rtt = record.rtt(stats.rtt);
        snapshot.pto = snapshot
            .rtt
            .map(|(srtt, variation)| probe_timeout(srtt, variation, snapshot.timeouts));
        snapshot.in_flight = record.bytes_in_flight();
        snapshot.oldest_unacked = record
            .oldest_in_flight()
            .map(|sent| now.saturating_duration_since(sent));
        snapshot
    }
}

/// The probe timeout (RFC 9002, section 6.2.1) after `timeouts` of them in a row, as noq 1.4
/// backs off: doubling, but never by more than 2 s.
pub(super) fn probe_timeout(srtt: Duration, variation: Duration, timeouts: u32) -> Duration {
    let base = srtt + (variation * 4).max(GRANULARITY) + MAX_ACK_DELAY;
    let cap = MAX_PROBE_INTERVAL.max(srtt * 3 / 2);
    (1..=timeouts).fold(base, |previous, n| {
        (base.saturating_mul(2_u32.saturating_pow(n.min(16)))).min(previous + cap)
    })
}

/// The paths of one connection.
pub(super) struct Paths {
    pub slots: Vec<Slot>,
    /// The last path that carried stream data.
    pub in_use: Option<PathIndex>,
}

impl Paths {
    /// The path of `id`, whether in use or closing.
    pub(super) fn index_of(&self, id: PathId) -> Option<PathIndex> {
        self.slots
            .iter()
            .position(|slot| {
                slot.current.as_ref().is_some_and(|live| live.id == id)
                    || slot.closing.contains(&id)
            })
            .map(PathIndex)
    }

    /// The path of the client's address.
    pub(super) fn of_client(&self, client: IpAddr) -> Option<PathIndex> {
        self.slots
            .iter()
            .position(|slot| slot.client == client)
            .map(PathIndex)
    }

    /// The path `id` belongs to; a server learns of a new id from the client's address on it.
    pub(super) fn learn(
        &mut self,
        connection: &Connection,
        id: PathId,
        is_client: bool,
    ) -> Option<PathIndex> {
        if let Some(index) = self.index_of(id) {
            return Some(index);
        }
        let network_path = connection.network_path(id).ok()?;
        let index = if is_client {
            match network_path.local_ip() {
                Some(local) => self.of_client(local)?,
                None => PathIndex(0),
            }
        } else {
            self.of_client(network_path.remote().ip())?
        };
        let backup = connection.path_status(id).ok()? == PathStatus::Backup;
        self.slots[index.0].adopt(connection, id, backup);
        Some(index)
    }

    /// Whether a path other than `except` can carry data.
    pub(super) fn other_established(&self, except: PathIndex) -> bool {
        self.slots.iter().enumerate().any(|(index, slot)| {
            index != except.0 && slot.current.as_ref().is_some_and(|live| live.established)
        })
    }
}

/// The status noq knows for a priority.
pub(super) fn status(backup: bool) -> PathStatus {
    if backup {
        PathStatus::Backup
    } else {
        PathStatus::Available
    }
}

/// A client's path to `server` from `client`.
pub(super) fn four_tuple(server: SocketAddr, client: IpAddr) -> FourTuple {
    FourTuple::new(server, Some(client))
}
