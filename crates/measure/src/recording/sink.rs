//! Where rows go: to the recording thread in real time, to a folder or into memory in virtual
//! time. Who makes rows knows no more than this.

use super::head::Contents;
use super::{Entry, Fate, Log, PacketObservation};
use model::record::{Event, LinkState, Message, Packet, Sample};
use model::{Name, Time};
use mptcp::wire::mptcp::Number;
use std::ops::Deref;

/// Takes what the parts of a run see; never blocks, never fails.
pub trait Sink {
    /// One row of `messages`.
    fn message(&mut self, message: Message);
    /// One row of `samples`.
    fn sample(&mut self, sample: Sample);
    /// One row of `links`.
    fn link(&mut self, state: LinkState);
    /// One line of `events.jsonl`.
    fn event(&mut self, event: Event);
    /// One row of `packets`, and a packet of the captures; `path` is its path's name.
    fn packet(&mut self, path: &Name, packet: &PacketObservation<&[u8]>);
    /// The oldest message without an answer was sent at `since`; told at every sample period in
    /// real time, for who watches. It is no row.
    fn unanswered(&mut self, now: Time, since: Time) {
        let _ = (now, since);
    }
}

impl Sink for Log {
    fn message(&mut self, message: Message) {
        self.send(Entry::Message(message));
    }
    fn sample(&mut self, sample: Sample) {
        self.send(Entry::Sample(sample));
    }
    fn link(&mut self, state: LinkState) {
        self.send(Entry::Link(state));
    }
    fn event(&mut self, event: Event) {
        self.send(Entry::Event(event));
    }
    fn packet(&mut self, _: &Name, packet: &PacketObservation<&[u8]>) {
        self.packets(vec![packet.kept()]);
    }
}

/// The rows of a run in memory, in the order in which they became known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// As in `messages`.
    pub messages: Vec<Message>,
    /// As in `samples`.
    pub samples: Vec<Sample>,
    /// As in `packets`.
    pub packets: Vec<Packet>,
    /// As in `links`.
    pub links: Vec<LinkState>,
    /// As in `events.jsonl`.
    pub events: Vec<Event>,
}

impl Sink for Collected {
    fn message(&mut self, message: Message) {
        self.messages.push(message);
    }
    fn sample(&mut self, sample: Sample) {
        self.samples.push(sample);
    }
    fn link(&mut self, state: LinkState) {
        self.links.push(state);
    }
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
    fn packet(&mut self, path: &Name, packet: &PacketObservation<&[u8]>) {
        self.packets.push(packet.row(path));
    }
}

impl<H: Deref<Target = [u8]>> PacketObservation<H> {
    /// The packet as a row of `packets`; `path` is its path's name.
    #[inline(always)]
    pub fn row(&self, path: &Name) -> Packet {
        let contents = Contents::of(&self.head, self.size);
        let signal = contents.signal;
        Packet {
            path: path.clone(),
            direction: self.direction,
            id: self.id,
            size_bytes: self.size.into(),
            payload_bytes: contents.payload_bytes,
            enqueued_ns: self.enqueued.as_nanos(),
            delivered_ns: match self.fate {
                Fate::Delivered(at) => Some(at.as_nanos()),
                Fate::Dropped(..) | Fate::Inside => None,
            },
            dropped: match self.fate {
                Fate::Dropped(_, reason) => Some(reason.into()),
                Fate::Delivered(_) | Fate::Inside => None,
            },
            dsn: signal.and_then(|s| s.mapping).map(|m| m.dsn.on_the_wire()),
            data_ack: signal.and_then(|s| s.data_ack).map(Number::on_the_wire),
        }
    }
}
