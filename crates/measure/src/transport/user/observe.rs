//! What do a path manager and the `samples` table get to see of the connections?

use super::channel::{Channel, Phase};
use super::packets::Packets;
use model::record::Sample;
use model::{Name, PathIndex, Side, Time};
use mptcp::connection::{Info, SubflowInfo};
use policy::{ConnectionView, PathState, SubflowView};
use std::time::Duration;

/// A subflow as it was observed.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    pub path: PathIndex,
    pub state: PathState,
    pub subflow: SubflowInfo,
}

impl Packets {
    /// Looks at a connection: at most one subflow for each path, the furthest, of equals the
    /// newest. What was seen is in `observed`.
    pub(super) fn observe(&mut self, now: Time, channel: usize) {
        self.subflows(now, channel);
        self.observed.clear();
        for index in 0..self.seen.len() {
            let subflow = self.seen[index];
            let Some(path) = self.path_of(self.client_of(&subflow)) else {
                continue;
            };
            let state = state(&subflow);
            let new = Observed {
                path,
                state,
                subflow,
            };
            match self.observed.iter_mut().find(|old| old.path == path) {
                None => self.observed.push(new),
                Some(old) if rank(state) >= rank(old.state) => *old = new,
                Some(_) => {}
            }
        }
        self.observed.sort_unstable_by_key(|seen| seen.path);
    }

    /// The connections that are not over.
    pub(super) fn views(&mut self, now: Time) -> Vec<ConnectionView> {
        let mut views = Vec::with_capacity(self.channels.len());
        for id in 0..self.channels.len() {
            let channel = &self.channels[id];
            if channel.phase == Phase::Closed {
                continue;
            }
            let unsent = self.stack.info(channel.id).map_or(0, |info| info.unsent);
            let has_unsent = unsent + channel.queued() as u64 > 0;
            let can_join = channel.can_join;
            self.observe(now, id);
            if !can_join {
                // Subflows cannot be opened yet, which is all that a path manager asks of it.
                for seen in &mut self.observed {
                    seen.state = PathState::Opening;
                }
            }
            let heeds = self.heeds_suspicion;
            views.push(ConnectionView {
                id,
                has_unsent,
                subflows: self.observed.iter().map(|s| view(s, heeds)).collect(),
            });
        }
        views
    }

    /// A row for each connection and one for each of its subflows.
    pub(super) fn rows(&mut self, now: Time, samples: &mut Vec<Sample>) {
        for number in 0..self.channels.len() {
            let channel = &self.channels[number];
            let info = self.stack.info(channel.id);
            let queued = channel.queued() as u64;
            let row = empty(now, self.side, number);
            let first = samples.len();
            samples.push(connection_row(now, row, channel, info.as_ref()));
            if channel.phase == Phase::Closed {
                continue;
            }
            self.observe(now, number);
            let plain = info.is_some_and(|info| !info.multipath);
            for seen in &self.observed {
                let name = self.paths[seen.path.0].name.clone();
                let mut row = subflow_row(empty(now, self.side, number), name, seen);
                if plain {
                    // All that waits, waits for this one path.
                    row.unsent_bytes = info.map(|info| info.unsent + queued);
                    (row.backup, row.peer_backup) = (None, None);
                    samples[first].in_flight_bytes = Some(seen.subflow.tcp.unacked);
                    samples[first].oldest_unacked_us = row.oldest_unacked_us;
                    samples[first].retransmitted_packets = row.retransmitted_packets;
                }
                samples.push(row);
            }
        }
    }
}

fn state(subflow: &SubflowInfo) -> PathState {
    match (subflow.closing, subflow.established) {
        (true, _) => PathState::Closing,
        (false, true) => PathState::Established,
        (false, false) => PathState::Opening,
    }
}

fn rank(state: PathState) -> u8 {
    match state {
        PathState::Closing => 0,
        PathState::Opening => 1,
        PathState::Established => 2,
    }
}

fn view(seen: &Observed, heeds_suspicion: bool) -> SubflowView {
    let tcp = &seen.subflow.tcp;
    SubflowView {
        path: seen.path,
        peer: Some(seen.subflow.tuple.remote.ip()),
        state: seen.state,
        // A mark that nobody heeds is none.
        suspected: heeds_suspicion && seen.subflow.potentially_failed,
        backup: seen.subflow.backup,
        srtt: tcp.smoothed_rtt,
        rto: Some(tcp.rto),
        timeouts: tcp.timeouts,
        retransmissions: tcp.retransmitted_segments,
        sent: tcp.sent_segments,
        lost: tcp.lost_segments,
        in_flight: tcp.unacked,
        oldest_unacked: tcp.oldest_unacked,
        received: tcp.received_segments,
    }
}

fn subflow_row(row: Sample, name: Name, seen: &Observed) -> Sample {
    let tcp = &seen.subflow.tcp;
    let state = match seen.state {
        PathState::Opening => "connecting",
        PathState::Established => "established",
        PathState::Closing => "closing",
    };
    Sample {
        path: Some(name),
        state: state.to_owned(),
        srtt_us: tcp.smoothed_rtt.map(micros),
        rttvar_us: tcp.smoothed_rtt.map(|_| micros(tcp.rtt_variation)),
        rto_us: Some(micros(tcp.rto)),
        timeouts: Some(u64::from(tcp.timeouts)),
        cwnd_bytes: Some(seen.subflow.window),
        in_flight_bytes: Some(tcp.in_flight),
        oldest_unacked_us: tcp.oldest_unacked.map(micros),
        unsent_bytes: Some(tcp.queued),
        sent_packets: Some(tcp.sent_segments),
        sent_bytes: Some(tcp.sent_bytes),
        received_bytes: Some(tcp.received_bytes),
        lost_packets: Some(tcp.lost_segments),
        retransmitted_packets: Some(tcp.retransmitted_segments),
        backup: Some(seen.subflow.backup),
        peer_backup: Some(seen.subflow.peer_backup),
        ..row
    }
}

fn connection_row(now: Time, row: Sample, channel: &Channel, info: Option<&Info>) -> Sample {
    let state = match channel.phase {
        Phase::Connecting => "connecting",
        Phase::Open => "established",
        Phase::Closed => "closed",
    };
    let info = info.filter(|_| channel.phase != Phase::Closed);
    Sample {
        state: state.to_owned(),
        in_flight_bytes: Some(info.map_or(0, |info| info.unacked)),
        oldest_unacked_us: info
            .and_then(|info| info.oldest_sent)
            .map(|at| micros(now.since(at))),
        sent_bytes: info.map(|info| info.sent_bytes),
        received_bytes: info.map(|info| info.received_bytes),
        unsent_bytes: Some(info.map_or(0, |info| info.unsent) + channel.queued() as u64),
        ..row
    }
}

fn empty(now: Time, side: Side, connection: usize) -> Sample {
    Sample {
        time_us: now.as_micros(),
        side,
        connection: connection as u64,
        path: None,
        state: String::new(),
        srtt_us: None,
        rttvar_us: None,
        rto_us: None,
        timeouts: None,
        cwnd_bytes: None,
        in_flight_bytes: None,
        oldest_unacked_us: None,
        unsent_bytes: None,
        sent_packets: None,
        sent_bytes: None,
        received_bytes: None,
        lost_packets: None,
        retransmitted_packets: None,
        backup: None,
        peer_backup: None,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
