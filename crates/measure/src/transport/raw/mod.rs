//! How does a stack in user space meet real interfaces? Its IP packets go out and come in
//! through packet sockets, and the host's own kernel stays out of it.

mod interface;
mod outbox;

pub use interface::Interface;

use super::{Endpoint, LocalPath, PacketEndpoint, SocketEndpoint};
use crate::Clock;
use crate::netlink::route::RouteError;
use model::manifest::Stack;
use model::record::{Event, EventKind, Sample};
use model::{Family, Name, PathIndex, Time};
use outbox::Outbox;
use policy::{Action, ConnectionView};
use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;

/// Packets taken from one interface before the others and the timers get their turn.
const RECEIVE_BATCH: usize = 64;
/// Room for one packet: the MTU and some to spare.
const ROOM: usize = 2_048;

/// An end that is a state machine over IP packets, on the interfaces of a host.
///
/// Nothing here blocks or ends a run: a packet that the system refuses (an interface that is
/// down, a full queue) counts as lost, as it would on a link.
pub struct Socket<P> {
    endpoint: P,
    clock: Clock,
    /// The client's, in the paths' order; the server's only one.
    interfaces: Vec<Interface>,
    /// The client's addresses in the paths' order, at the server: they tell the path of a packet.
    client_addresses: Vec<IpAddr>,
    outbox: Outbox,
    buffer: Box<[u8; ROOM]>,
    /// Whether it was noted that the system refuses packets of an interface.
    refusal_noted: Vec<bool>,
    notes: Vec<Event>,
}

impl<P: PacketEndpoint> Socket<P> {
    /// The client's end, on the interfaces of `paths` in the calling thread's network namespace.
    ///
    /// # Errors
    /// As of [`Interface::take`].
    pub fn client(endpoint: P, clock: Clock, paths: &[LocalPath]) -> Result<Socket<P>, RouteError> {
        let interfaces = paths
            .iter()
            .map(|path| Interface::take(path.interface, Family::of(path.address)));
        let interfaces = interfaces.collect::<Result<_, _>>()?;
        Ok(Socket::new(endpoint, clock, interfaces, Vec::new()))
    }

    /// The server's end, on the interface that has `address` in the calling thread's network
    /// namespace. `client_paths` are the client's addresses and the names of their paths.
    ///
    /// # Errors
    /// As of [`Interface::take`], and when no interface has the address.
    pub fn server(
        endpoint: P,
        clock: Clock,
        address: IpAddr,
        client_paths: &[(Name, IpAddr)],
    ) -> Result<Socket<P>, RouteError> {
        let interfaces = vec![Interface::take_by_address(address)?];
        let addresses = client_paths.iter().map(|(_, address)| *address).collect();
        Ok(Socket::new(endpoint, clock, interfaces, addresses))
    }

    fn new(
        endpoint: P,
        clock: Clock,
        interfaces: Vec<Interface>,
        client_addresses: Vec<IpAddr>,
    ) -> Socket<P> {
        Socket {
            endpoint,
            clock,
            refusal_noted: vec![false; interfaces.len()],
            interfaces,
            client_addresses,
            outbox: Outbox::new(),
            buffer: Box::new([0; ROOM]),
            notes: Vec::new(),
        }
    }

    /// Hands the endpoint what waits, each packet at its own time; whether there was any.
    fn receive(&mut self) -> io::Result<bool> {
        let mut any = false;
        for index in 0..self.interfaces.len() {
            for _ in 0..RECEIVE_BATCH {
                let buffer = &mut self.buffer[..];
                let Some(length) = self.interfaces[index].receive(buffer)? else {
                    break;
                };
                any = true;
                let path = match self.client_addresses.is_empty() {
                    true => Some(index),
                    false => {
                        let source = source(&buffer[..length]);
                        let known = |address: &IpAddr| Some(*address) == source;
                        self.client_addresses.iter().position(known)
                    }
                };
                let Some(path) = path else { continue };
                let now = self.clock.now();
                let packet = &self.buffer[..length];
                self.endpoint.receive(now, PathIndex(path), packet);
                self.collect(now);
            }
        }
        Ok(any)
    }

    /// Takes what the endpoint has to send; it leaves when there is enough, or with the next
    /// [`Socket::send`].
    fn collect(&mut self, now: Time) {
        loop {
            if self.outbox.is_full() {
                self.send(now);
            }
            let Some((length, path)) = self.endpoint.transmit(now, self.outbox.room()) else {
                return;
            };
            let interface = if self.client_addresses.is_empty() {
                path.0
            } else {
                0
            };
            self.outbox.push(length, interface);
        }
    }

    fn send(&mut self, now: Time) {
        let Socket {
            outbox,
            interfaces,
            refusal_noted,
            notes,
            ..
        } = self;
        outbox.drain(|index, packets| {
            if let Err(error) = interfaces[index].send(packets)
                && !std::mem::replace(&mut refusal_noted[index], true)
            {
                let detail = format!("the system refuses packets ({error}); they count as lost");
                notes.push(Event::new(now, EventKind::Note, detail));
            }
        });
    }

    fn collect_and_send(&mut self, now: Time) {
        self.collect(now);
        self.send(now);
    }
}

/// Where an IP packet comes from (RFC 791, section 3.1, and RFC 8200, section 3).
fn source(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::from(*packet.get(12..)?.first_chunk::<4>()?)),
        6 => Some(IpAddr::from(*packet.get(8..)?.first_chunk::<16>()?)),
        _ => None,
    }
}

channels_are_of!(Socket<P>, endpoint, P: PacketEndpoint);

impl<P: PacketEndpoint> SocketEndpoint for Socket<P> {
    fn wait_for(&self, fds: &mut Vec<(RawFd, bool)>) {
        fds.extend(self.interfaces.iter().map(|i| (i.fd(), false)));
    }
}

impl<P: PacketEndpoint> Endpoint for Socket<P> {
    fn poll_at(&self) -> Option<Time> {
        self.endpoint.poll_at()
    }

    fn poll(&mut self, now: Time) -> io::Result<()> {
        if !self.receive()? {
            for interface in &self.interfaces {
                interface.clear_error()?;
            }
        }
        let now = now.max(self.clock.now());
        let polled = self.endpoint.poll(now);
        self.collect_and_send(now);
        polled
    }

    fn flush(&mut self, now: Time) -> io::Result<()> {
        let now = now.max(self.clock.now());
        let flushed = self.endpoint.flush(now);
        self.collect_and_send(now);
        flushed
    }

    fn is_connected(&self) -> bool {
        self.endpoint.is_connected()
    }
    fn accepted(&mut self) -> Option<usize> {
        self.endpoint.accepted()
    }
    fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        self.endpoint.view(now)
    }

    fn apply(&mut self, now: Time, action: &Action) -> Result<(), String> {
        let now = now.max(self.clock.now());
        let applied = self.endpoint.apply(now, action);
        self.collect_and_send(now);
        applied
    }

    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        for interface in &mut self.interfaces {
            // What cannot be counted is no reason to end a run.
            let lost = interface.lost().unwrap_or_default();
            if lost > 0 {
                let detail = format!("{lost} packets came in and found no room; they are lost");
                self.notes.push(Event::new(now, EventKind::Note, detail));
            }
        }
        self.endpoint.sample(now, samples);
    }

    fn events(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.notes);
        self.endpoint.events(events);
    }

    fn path_changed(&mut self, now: Time, path: PathIndex, up: bool) {
        if let Some(noted) = self.refusal_noted.get_mut(path.0) {
            *noted &= !up;
        }
        let now = now.max(self.clock.now());
        self.endpoint.path_changed(now, path, up);
        self.collect_and_send(now);
    }

    fn take_changed(&mut self) -> bool {
        self.endpoint.take_changed()
    }
    fn stack(&self) -> Stack {
        self.endpoint.stack()
    }

    fn close(&mut self, now: Time) {
        let now = now.max(self.clock.now());
        self.endpoint.close(now);
        self.collect_and_send(now);
    }
}
