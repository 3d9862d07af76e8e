//! What do a path manager and the `samples` table get to see of a connection?

use super::core::{Core, Session};
use super::path::{Slot, Snapshot};
use super::{NOQ_VERSION, channel::Channel};
use model::manifest::Stack;
use model::record::Sample;
use model::{PathIndex, Side, Time};
use policy::{ConnectionView, PathState, SubflowView};
use std::time::Duration;

impl Core {
    /// The connections and their paths, for the path manager.
    pub fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        let instant = self.instant(now);
        let queued = self.queued_per_session();
        let sessions = self.sessions.iter_mut().enumerate();
        let open = sessions.filter(|(_, session)| session.connected && session.lost.is_none());
        open.map(|(id, session)| {
            let window_full = session.paths.slots.iter().any(|slot| {
                let live = slot.current.as_ref();
                live.is_some_and(|live| live.record.lock().window_full())
            });
            let server = session.server;
            let Session {
                connection, paths, ..
            } = session;
            let slots = paths.slots.iter().enumerate();
            let subflows = slots.filter_map(|(path, slot)| {
                let state = path_state(slot)?;
                Some(SubflowView {
                    peer: server.map(|server| server.ip()),
                    ..subflow(
                        PathIndex(path),
                        state,
                        slot,
                        &slot.snapshot(connection, instant),
                    )
                })
            });
            ConnectionView {
                id,
                subflows: subflows.collect(),
                has_unsent: window_full || queued[id] > 0,
            }
        })
        .collect()
    }

    /// One row per connection, and one per path that was ever opened on it.
    pub fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        let instant = self.instant(now);
        let queued = self.queued_per_session();
        let (side, time_us) = (self.side, now.as_micros());
        for (id, session) in self.sessions.iter_mut().enumerate() {
            let first = samples.len();
            samples.push(empty(time_us, side, id));
            let mut in_flight = 0;
            let mut oldest_unacked: Option<Duration> = None;
            for index in 0..session.paths.slots.len() {
                let slot = &session.paths.slots[index];
                if !slot.is_used() {
                    continue;
                }
                let snapshot = slot.snapshot(&mut session.connection, instant);
                in_flight += snapshot.in_flight;
                oldest_unacked = oldest_unacked.max(snapshot.oldest_unacked);
                samples.push(path_sample(empty(time_us, side, id), slot, &snapshot));
            }
            connection_sample(&mut samples[first], session);
            samples[first].in_flight_bytes = Some(in_flight);
            samples[first].oldest_unacked_us = oldest_unacked.map(micros);
            samples[first].unsent_bytes = Some(queued[id] as u64);
        }
    }

    fn queued_per_session(&self) -> Vec<usize> {
        let mut queued = vec![0; self.sessions.len()];
        for channel in &self.channels {
            queued[channel.session] += Channel::queued(channel);
        }
        queued
    }

    /// What carries the traffic.
    pub fn stack(&self) -> Stack {
        let (path_manager, scheduler) = if self.config.multipath {
            ("userspace", "noq: lowest available path id")
        } else {
            ("none", "none: one path")
        };
        Stack {
            name: "noq".to_owned(),
            version: NOQ_VERSION.to_owned(),
            congestion: self.config.congestion.as_str().to_owned(),
            path_manager: path_manager.to_owned(),
            scheduler: scheduler.to_owned(),
            server_scheduler: None,
            security: Some(self.config.security.as_str().to_owned()),
        }
    }
}

fn path_state(slot: &Slot) -> Option<PathState> {
    match slot.state() {
        "established" => Some(PathState::Established),
        "connecting" => Some(PathState::Opening),
        "closing" => Some(PathState::Closing),
        _ => None,
    }
}

fn subflow(path: PathIndex, state: PathState, slot: &Slot, snapshot: &Snapshot) -> SubflowView {
    let live = slot.current.as_ref();
    SubflowView {
        path,
        peer: None,
        state,
        suspected: false,
        backup: live.map_or(slot.wanted.is_some_and(|wanted| wanted.backup), |live| {
            live.backup
        }),
        srtt: snapshot.rtt.map(|(srtt, _)| srtt),
        rto: snapshot.pto,
        timeouts: snapshot.timeouts,
        retransmissions: snapshot.counters.lost_packets + slot.probes,
        sent: snapshot.counters.sent_packets,
        // QUIC declares nothing lost without an acknowledgement; a probe is the loss of a packet, as
        // where MultiMob counts tail-loss probes (section III-B).
        lost: snapshot.counters.lost_packets + slot.probes,
        in_flight: snapshot.in_flight,
        oldest_unacked: snapshot.oldest_unacked,
        received: snapshot.counters.received_bytes,
    }
}

fn path_sample(row: Sample, slot: &Slot, snapshot: &Snapshot) -> Sample {
    let live = slot.current.as_ref();
    let counters = snapshot.counters;
    Sample {
        path: Some(slot.name.clone()),
        state: slot.state().to_owned(),
        srtt_us: snapshot.rtt.map(|(srtt, _)| micros(srtt)),
        rttvar_us: snapshot.rtt.map(|(_, variation)| micros(variation)),
        rto_us: snapshot.pto.map(micros),
        timeouts: live.map(|_| u64::from(snapshot.timeouts)),
        cwnd_bytes: snapshot.cwnd,
        in_flight_bytes: live.map(|_| snapshot.in_flight),
        oldest_unacked_us: snapshot.oldest_unacked.map(micros),
        sent_packets: Some(counters.sent_packets),
        sent_bytes: Some(counters.sent_bytes),
        received_bytes: Some(counters.received_bytes),
        lost_packets: Some(counters.lost_packets),
        retransmitted_packets: Some(counters.lost_packets + slot.probes),
        backup: live.map(|live| live.backup),
        peer_backup: live.map(|live| live.peer_backup),
        ..row
    }
}

fn connection_sample(row: &mut Sample, session: &mut Session) {
    let state = match (&session.lost, session.connected) {
        (Some(_), _) => "closed",
        (None, _) if session.connection.is_closed() => "closing",
        (None, true) => "established",
        (None, false) => "connecting",
    };
    let stats = session.connection.stats();
    let probes: u64 = session.paths.slots.iter().map(|slot| slot.probes).sum();
    row.state = state.to_owned();
    row.sent_packets = Some(stats.sent_packets);
    row.sent_bytes = Some(stats.udp_tx.bytes);
    row.received_bytes = Some(stats.udp_rx.bytes);
    row.lost_packets = Some(stats.lost_packets);
    row.retransmitted_packets = Some(stats.lost_packets + probes);
}

fn empty(time_us: u64, side: Side, connection: usize) -> Sample {
    Sample {
        time_us,
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
