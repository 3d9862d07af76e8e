//! One direction of a path: its link, and what is known of the packets inside. The emulator and
//! the virtual world move packets through the same lanes.

use crate::recording::{Fate, PacketObservation, SNAP_LENGTH, Sink};
use model::record::LinkState;
use model::{Direction, Name, PathIndex, Time};
use network::link::{Exit, Link, Packet};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// How often each link's state is written down, besides at its changes.
pub(crate) const STATE_PERIOD: Duration = Duration::from_millis(100);
/// Why a packet that reached an interface which is not usable counts as dropped.
pub(crate) const DEVICE_DOWN: &str = "device-down";
/// Room for one packet: the MTU and some to spare.
pub(crate) const ROOM: usize = 2_048;

/// A packet's bytes on their way through a link: a pointer, as it moves often.
#[derive(Clone, Debug)]
pub struct PacketBuf(Box<Contents>);

/// What is in a [`PacketBuf`].
#[derive(Clone, Debug)]
pub struct Contents {
    pub(crate) enqueued: Time,
    pub(crate) length: usize,
    pub(crate) bytes: [u8; ROOM],
}

impl Deref for PacketBuf {
    type Target = Contents;
    fn deref(&self) -> &Contents {
        &self.0
    }
}

impl DerefMut for PacketBuf {
    fn deref_mut(&mut self) -> &mut Contents {
        &mut self.0
    }
}

impl PacketBuf {
    pub(crate) fn new() -> PacketBuf {
        PacketBuf(Box::new(Contents {
            enqueued: Time::ZERO,
            length: 0,
            bytes: [0; ROOM],
        }))
    }

    pub(crate) fn packet(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn head(&self) -> &[u8] {
        &self.bytes[..self.length.min(SNAP_LENGTH)]
    }
}

/// A link, its name, and its packets.
pub(crate) struct Lane {
    pub(crate) link: Link<PacketBuf>,
    pub(crate) path: PathIndex,
    pub(crate) name: Name,
    pub(crate) direction: Direction,
    /// Which packets did not leave yet, by number: the first one's is `first`. Empty without a log,
    /// and where no packet leaves twice.
    inside: VecDeque<bool>,
    first: u64,
    next: u64,
    /// Whether a packet may leave twice.
    duplicates: bool,
}

impl Lane {
    pub(crate) fn new(
        link: Link<PacketBuf>,
        path: PathIndex,
        name: Name,
        direction: Direction,
    ) -> Lane {
        Lane {
            duplicates: link.duplicates(),
            link,
            path,
            name,
            direction,
            inside: VecDeque::new(),
            first: 0,
            next: 0,
        }
    }

    /// A packet enters; `recorded` says whether anyone will ask what became of it.
    pub(crate) fn push(&mut self, now: Time, mut payload: PacketBuf, recorded: bool) {
        let (id, size) = (self.next, payload.length);
        self.next += 1;
        payload.enqueued = now;
        if recorded && self.duplicates {
            self.inside.push_back(true);
        }
        self.link.push(now, Packet { id, size, payload });
    }

    /// The observation of a packet that left, and forgets it. The time is the event's own,
    /// not that of a late emulator; `refused` is the reason why the device did not take it.
    pub(crate) fn observe<'e>(
        &mut self,
        exit: &'e Exit<PacketBuf>,
        refused: Option<&'static str>,
    ) -> PacketObservation<&'e [u8]> {
        let packet = exit.packet();
        if self.duplicates {
            self.forget(packet.id);
        }
        let fate = match (exit, refused) {
            (Exit::Dropped { at, reason, .. }, _) => Fate::Dropped(*at, reason),
            (Exit::Delivered { at, .. }, Some(reason)) => Fate::Dropped(*at, reason),
            (Exit::Delivered { at, .. }, None) => Fate::Delivered(*at),
        };
        PacketObservation {
            path: self.path,
            direction: self.direction,
            id: packet.id,
            size: packet.size as u32,
            enqueued: packet.payload.enqueued,
            fate,
            head: packet.payload.head(),
        }
    }

    fn forget(&mut self, id: u64) {
        let index = id.checked_sub(self.first).map(|i| i as usize);
        if let Some(slot) = index.and_then(|i| self.inside.get_mut(i)) {
            *slot = false;
        }
        while let Some(false) = self.inside.front() {
            self.inside.pop_front();
            self.first += 1;
        }
    }

    /// Observations of the packets that are still inside; a packet of which a copy left is not.
    pub(crate) fn remaining(&mut self) -> Vec<PacketObservation<&[u8]>> {
        let inside = std::mem::take(&mut self.inside);
        let (first, duplicates) = (self.first, self.duplicates);
        let is_inside = |id: u64| {
            let index = id.checked_sub(first).map(|i| i as usize);
            !duplicates || index.and_then(|i| inside.get(i)) == Some(&true)
        };
        let mut packets = self.link.inside();
        packets.sort_by_key(|packet| packet.id);
        packets.dedup_by_key(|packet| packet.id);
        let remaining = packets.into_iter().filter(|packet| is_inside(packet.id));
        let observed = remaining.map(|packet| PacketObservation {
            path: self.path,
            direction: self.direction,
            id: packet.id,
            size: packet.size as u32,
            enqueued: packet.payload.enqueued,
            fate: Fate::Inside,
            head: packet.payload.head(),
        });
        observed.collect()
    }

    /// Writes the link's state down.
    pub(crate) fn log_state(&mut self, now: Time, sink: &mut dyn Sink) {
        let state = self.link.state(now);
        sink.link(LinkState {
            time_us: now.as_micros(),
            path: self.name.clone(),
            direction: self.direction,
            rate_bps: state.rate.map(|rate| rate.bits_per_second()),
            delay_us: state.delay.as_micros() as u64,
            loss: state.loss,
            up: state.up,
            queue_bytes: state.queue_bytes as u64,
            signal_dbm: state.signal_dbm,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::link::{Delay, Duplicate, Stage};
    use std::time::Duration;

    fn lane(stages: Vec<Stage<PacketBuf>>) -> Lane {
        let link = Link::new(stages);
        Lane::new(link, PathIndex(0), Name::from("wifi"), Direction::Up)
    }

    fn packet(length: usize) -> PacketBuf {
        let mut packet = PacketBuf::new();
        packet.length = length;
        packet
    }

    #[test]
    fn packets_that_left_and_packets_inside_are_told_apart() {
        let delay = Duration::from_millis(10);
        let mut lane = lane(vec![Stage::Delay(Delay::constant(delay))]);
        for ms in 0..4 {
            lane.push(Time::from_millis(ms), packet(100 + ms as usize), true);
        }
        let late = Time::from_millis(11);
        let mut fates = Vec::new();
        while let Some(exit) = lane.link.poll(late) {
            let refused = (exit.packet().id == 1).then_some("device-full");
            let observation = lane.observe(&exit, refused);
            fates.push((observation.id, observation.size, observation.fate));
        }
        assert_eq!(
            fates,
            [
                (0, 100, Fate::Delivered(Time::from_millis(10))),
                (1, 101, Fate::Dropped(Time::from_millis(11), "device-full")),
            ]
        );
        let inside: Vec<_> = lane.remaining().iter().map(|o| (o.id, o.fate)).collect();
        assert_eq!(inside, [(2, Fate::Inside), (3, Fate::Inside)]);
    }

    #[test]
    fn a_duplicate_is_observed_twice_under_one_number() {
        let stream = model::Seed(1).stream("wifi.up.duplicate");
        let always = model::units::Probability::ONE;
        let mut lane = lane(vec![Stage::Duplicate(Duplicate::new(always, stream))]);
        lane.push(Time::ZERO, packet(100), true);
        let exits: Vec<_> = std::iter::from_fn(|| lane.link.poll(Time::ZERO)).collect();
        let ids: Vec<u64> = exits.iter().map(|e| lane.observe(e, None).id).collect();
        assert_eq!(ids, [0, 0]);
        assert!(lane.remaining().is_empty());
    }
}
