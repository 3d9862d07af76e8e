//! The host whose transport layer is ours: the stack, its interfaces, its application.

use crate::Failure;
use crate::capture::Capture;
use crate::middlebox::{Middlebox, Way};
use crate::stream::{Sink, Source};
use model::Time;
use mptcp::connection::{Event, SubflowInfo};
use mptcp::stack::{ConnectionId, Stack};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use walkabout_measure::Clock;
use walkabout_measure::transport::raw::Interface;

/// Packets taken from one interface before the others get their turn.
const BATCH: usize = 64;

/// Payload bytes that passed an interface, from our stack's view.
#[derive(Clone, Copy, Default, Debug)]
pub struct Carried {
    pub sent: u64,
    pub received: u64,
}

pub struct Ours {
    pub stack: Stack,
    /// With the addresses that are sent from through it.
    interfaces: Vec<(Interface, Vec<IpAddr>)>,
    clock: Clock,
    pub middlebox: Middlebox,
    pub capture: Capture,
    pub connection: Option<ConnectionId>,
    pub source: Source,
    pub sink: Sink,
    events: Vec<(ConnectionId, Event)>,
    /// Payload by the client's address.
    pub carried: BTreeMap<IpAddr, Carried>,
    buffer: Vec<u8>,
}

impl Ours {
    pub fn new(
        stack: Stack,
        interfaces: Vec<(Interface, Vec<IpAddr>)>,
        clock: Clock,
        capture: Capture,
        (source, sink): (Source, Sink),
    ) -> Ours {
        Ours {
            stack,
            interfaces,
            clock,
            middlebox: Middlebox::Absent,
            capture,
            connection: None,
            source,
            sink,
            events: Vec::new(),
            carried: BTreeMap::new(),
            buffer: vec![0; 64 << 10],
        }
    }

    /// The connection, once there is one.
    pub fn id(&self) -> ConnectionId {
        self.connection.expect("the stage connected")
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn subflows(&self) -> Vec<SubflowInfo> {
        let mut subflows = Vec::new();
        if let Some(connection) = self.connection {
            self.stack.subflows(self.now(), connection, &mut subflows);
        }
        subflows
    }

    /// What happened on the connection.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        let of_it = |(connection, _): &&(ConnectionId, Event)| Some(*connection) == self.connection;
        self.events.iter().filter(of_it).map(|(_, event)| event)
    }

    /// Whether this happened on the connection.
    pub fn saw(&self, event: &Event) -> bool {
        self.events().any(|e| e == event)
    }

    /// The subflow between these addresses.
    pub fn subflow(&self, local: IpAddr, remote: IpAddr) -> Option<SubflowInfo> {
        let between =
            |s: &SubflowInfo| s.tuple.local.ip() == local && s.tuple.remote.ip() == remote;
        self.subflows().into_iter().find(between)
    }

    pub fn fds(&self) -> impl Iterator<Item = i32> {
        self.interfaces.iter().map(|(interface, _)| interface.fd())
    }

    /// Another address of the host, sent from through the interface that has `beside`.
    pub fn add_address(&mut self, beside: IpAddr, address: IpAddr) {
        for (_, addresses) in &mut self.interfaces {
            if addresses.contains(&beside) {
                addresses.push(address);
            }
        }
    }

    /// Everything that is due: packets, timers, the application.
    pub fn turn(&mut self) -> Result<(), Failure> {
        let mut any = false;
        for index in 0..self.interfaces.len() {
            for _ in 0..BATCH {
                let Some(length) = self.interfaces[index].0.receive(&mut self.buffer)? else {
                    break;
                };
                any = true;
                let now = self.clock.now();
                let packet = &mut self.buffer[..length];
                self.capture.push(since_start(now), packet);
                self.middlebox.pass(Way::In, packet);
                count(&mut self.carried, packet, Way::In);
                self.stack.receive(now, packet);
                self.send(now)?;
            }
        }
        if !any {
            for (interface, _) in &self.interfaces {
                interface.clear_error()?;
            }
        }
        let now = self.clock.now();
        self.stack.poll(now);
        self.send(now)?;
        self.application(now)?;
        self.send(now)
    }

    fn application(&mut self, now: Time) -> Result<(), Failure> {
        if self.connection.is_none() {
            self.connection = self.stack.accept();
        }
        while let Some((connection, event)) = self.stack.next_event() {
            self.events.push((connection, event));
        }
        let Some(connection) = self.connection else {
            return Ok(());
        };
        let Some(info) = self.stack.info(connection) else {
            return Err("the stack forgot the connection".into());
        };
        if info.connected && info.writable {
            let stack = &mut self.stack;
            self.source
                .pump(|bytes| Ok(stack.write(now, connection, bytes)))?;
            if self.source.is_to_close() {
                self.stack.finish(now, connection);
            }
        }
        loop {
            let count = self.stack.read(now, connection, &mut self.buffer);
            if count == 0 {
                break;
            }
            self.sink.take(&self.buffer[..count])?;
        }
        if let Some(info) = self.stack.info(connection) {
            self.sink.ended |= info.at_end;
        }
        Ok(())
    }

    fn send(&mut self, now: Time) -> Result<(), Failure> {
        while let Some(transmit) = self.stack.transmit(now, &mut self.buffer) {
            let packet = &mut self.buffer[..transmit.length];
            count(&mut self.carried, packet, Way::Out);
            self.middlebox.pass(Way::Out, packet);
            self.capture.push(since_start(now), packet);
            let from =
                |(_, addresses): &&(Interface, Vec<IpAddr>)| addresses.contains(&transmit.source);
            let Some((interface, _)) = self.interfaces.iter().find(from) else {
                return Err(format!("a packet from {}, which is not ours", transmit.source).into());
            };
            // What the system refuses is lost, as on a link.
            let _ = interface.send(&[packet]);
        }
        Ok(())
    }

    /// What is known of the connection, for a failure's words.
    pub fn state(&self) -> String {
        let info = self.connection.and_then(|c| self.stack.info(c));
        format!(
            "ours: sent {} of {}, received {}, ended {}; {info:#?}\n{:#?}\nevents {:?}\n{:?}",
            self.source.total(),
            self.source.total(),
            self.sink.received,
            self.sink.ended,
            self.subflows(),
            self.events,
            self.stack.counters(),
        )
    }
}

fn since_start(now: Time) -> Duration {
    now.since(Time::ZERO)
}

fn count(carried: &mut BTreeMap<IpAddr, Carried>, packet: &[u8], way: Way) {
    let Ok(segment) = mptcp::wire::Segment::parse(packet) else {
        return;
    };
    // 10.77.N.2 and fd77:0:0:N::2 are the client's.
    let is_client = |address: &IpAddr| match address {
        IpAddr::V4(a) => a.octets()[2] > 0,
        IpAddr::V6(a) => a.segments()[3] > 0,
    };
    let ends = [segment.source.ip(), segment.destination.ip()];
    let Some(client) = ends.into_iter().find(is_client) else {
        return;
    };
    let carried = carried.entry(client).or_default();
    match way {
        Way::Out => carried.sent += segment.payload.len() as u64,
        Way::In => carried.received += segment.payload.len() as u64,
    }
}
