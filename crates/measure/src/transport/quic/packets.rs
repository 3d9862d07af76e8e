//! How does the core meet a network in virtual time? Its datagrams become IP packets, which the
//! driver takes and brings.

use super::config::{CoreConfig, PathAddress, QuicError, Security};
use super::controller::Congestion;
use super::core::Core;
use super::udp;
use crate::transport::{Endpoint, PacketEndpoint, PacketSetup};
use model::manifest::Stack;
use model::record::{Event, Sample};
use model::{PathIndex, Time};
use noq_proto::EcnCodepoint;
use policy::{Action, ConnectionView};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

/// RFC 791, section 3.1: an IPv4 header without options.
const IP_HEADER: usize = 20;
/// RFC 768.
const HEADERS: usize = IP_HEADER + 8;
/// Room for one packet: noq's datagrams stay below the usual MTU.
const ROOM: usize = 2_048;
/// IANA protocol number of UDP.
const UDP: u8 = 17;
/// Linux's default.
const TTL: u8 = 64;
/// The first of the dynamic ports (RFC 6335, section 6); path i has the i-th.
const FIRST_PORT: u16 = 49_152;

/// One end of QUIC as a state machine over IP packets.
pub struct Packets {
    core: Core,
    server: SocketAddr,
    /// The client's sockets, in the paths' order, and whether the host has the address.
    paths: Vec<(SocketAddr, bool)>,
    /// Path, length and room of each packet.
    outbox: VecDeque<(PathIndex, usize, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// Whether it was noted that the host has no such address.
    refusal_noted: bool,
}

impl Packets {
    /// A client that begins to connect over the first path.
    pub fn connect(setup: &PacketSetup<'_>, multipath: bool) -> Result<Packets, QuicError> {
        let config = config(setup, multipath)?;
        let core = Core::client(config, setup.server, setup.channels, Time::ZERO)?;
        Ok(Packets::new(core, setup))
    }

    /// A server that accepts connections at its address.
    pub fn listen(setup: &PacketSetup<'_>, multipath: bool) -> Result<Packets, QuicError> {
        let core = Core::server(config(setup, multipath)?)?;
        Ok(Packets::new(core, setup))
    }

    fn new(core: Core, setup: &PacketSetup<'_>) -> Packets {
        let ports = FIRST_PORT..;
        let paths = setup.paths.iter().zip(ports);
        Packets {
            core,
            server: setup.server,
            paths: paths
                .map(|(path, port)| (SocketAddr::new(path.address, port), true))
                .collect(),
            outbox: VecDeque::new(),
            spare: Vec::new(),
            refusal_noted: false,
        }
    }

    /// Takes every datagram the core has to send, for when more happens before the driver asks.
    fn drain(&mut self, now: Time) {
        loop {
            let mut packet = self.spare.pop().unwrap_or_else(|| vec![0; ROOM]);
            let Some((length, path)) = self.next(now, &mut packet) else {
                self.spare.push(packet);
                return;
            };
            self.outbox.push_back((path, length, packet));
        }
    }

    /// Writes the core's next datagram into `packet`, as an IP packet: its length and its path.
    fn next(&mut self, now: Time, packet: &mut [u8]) -> Option<(usize, PathIndex)> {
        let is_client = self.core.is_client();
        loop {
            let transmit = self.core.poll_transmit(now)?;
            let path = match (transmit.path, is_client) {
                (Some(path), _) => path.0,
                // Answers of the endpoint itself belong to no connection.
                (None, true) => 0,
                (None, false) => {
                    let known = |(address, _): &(SocketAddr, bool)| *address == transmit.remote;
                    match self.paths.iter().position(known) {
                        Some(path) => path,
                        None => continue,
                    }
                }
            };
            let (client, present) = self.paths[path];
            if is_client && !present {
                if !std::mem::replace(&mut self.refusal_noted, true) {
                    let path = transmit.path;
                    let detail = "the host has no such address any more; datagrams count as lost";
                    self.core.note(now, path, detail.to_owned());
                }
                continue;
            }
            let (source, destination) = match is_client {
                true => (client, self.server),
                false => (self.server, client),
            };
            let payload = transmit.payload;
            let (head, rest) = packet.split_at_mut(HEADERS);
            let headers = headers(source, destination, transmit.ecn, payload.len());
            head.copy_from_slice(&headers);
            rest[..payload.len()].copy_from_slice(payload);
            return Some((HEADERS + payload.len(), PathIndex(path)));
        }
    }
}

fn config(setup: &PacketSetup<'_>, multipath: bool) -> Result<CoreConfig, QuicError> {
    let congestion = udp::congestion(setup.congestion)?;
    if congestion == Congestion::Bbr3 {
        return Err(QuicError::NotRepeatable);
    }
    let paths = setup.paths.iter().map(|path| PathAddress {
        name: path.name.clone(),
        client: path.address,
    });
    Ok(CoreConfig {
        // Only differences from it are ever looked at.
        base: Instant::now(),
        seed: setup.seed,
        multipath,
        congestion,
        paths: paths.collect(),
        keep_alive: None,
        security: Security::None,
    })
}

impl PacketEndpoint for Packets {
    fn receive(&mut self, now: Time, path: PathIndex, packet: &[u8]) {
        let Some(payload) = packet.get(HEADERS..) else {
            return;
        };
        let ecn = EcnCodepoint::from_bits(packet[1] & 0b11);
        let (client, _) = self.paths[path.0];
        let (local, remote) = match self.core.is_client() {
            true => (client.ip(), self.server),
            false => (self.server.ip(), client),
        };
        self.core.receive(now, local, remote, ecn, payload);
    }

    fn transmit(&mut self, now: Time, packet: &mut [u8]) -> Option<(usize, PathIndex)> {
        let Some((path, length, bytes)) = self.outbox.pop_front() else {
            return self.next(now, packet);
        };
        packet[..length].copy_from_slice(&bytes[..length]);
        self.spare.push(bytes);
        Some((length, path))
    }
}

channels_are_of!(Packets, core);

impl Endpoint for Packets {
    fn poll_at(&self) -> Option<Time> {
        self.core.poll_at()
    }

    fn poll(&mut self, now: Time) -> io::Result<()> {
        if self.core.poll_at().is_some_and(|at| at <= now) {
            self.core.handle_timeouts(now);
            self.drain(now);
        }
        match self.core.connect_failure() {
            Some(reason) => Err(io::Error::other(format!(
                "the QUIC handshake with the server failed: {reason}"
            ))),
            None => Ok(()),
        }
    }

    fn flush(&mut self, now: Time) -> io::Result<()> {
        self.drain(now);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        self.core.is_connected()
    }
    fn accepted(&mut self) -> Option<usize> {
        self.core.accepted()
    }
    fn view(&mut self, now: Time) -> Vec<ConnectionView> {
        self.core.view(now)
    }

    fn apply(&mut self, now: Time, action: &Action) -> Result<(), String> {
        let applied = self.core.apply(now, action);
        self.drain(now);
        applied
    }

    fn sample(&mut self, now: Time, samples: &mut Vec<Sample>) {
        self.core.sample(now, samples);
    }
    fn events(&mut self, events: &mut Vec<Event>) {
        self.core.events(events);
    }

    fn path_changed(&mut self, _now: Time, path: PathIndex, up: bool) {
        self.paths[path.0].1 = up;
        self.refusal_noted &= !up;
    }

    fn take_changed(&mut self) -> bool {
        self.core.take_changed()
    }
    fn stack(&self) -> Stack {
        self.core.stack()
    }

    fn close(&mut self, now: Time) {
        self.core.close(now);
        self.drain(now);
    }
}

/// The IPv4 and UDP headers of a datagram with `payload` bytes. The UDP checksum is left out, as
/// RFC 768 allows.
fn headers(
    source: SocketAddr,
    destination: SocketAddr,
    ecn: Option<EcnCodepoint>,
    payload: usize,
) -> [u8; HEADERS] {
    let mut headers = [0; HEADERS];
    headers[0] = 0x45;
    headers[1] = ecn.map_or(0, |ecn| ecn as u8);
    headers[2..4].copy_from_slice(&((HEADERS + payload) as u16).to_be_bytes());
    headers[6] = 0x40; // don't fragment
    headers[8] = TTL;
    headers[9] = UDP;
    headers[12..16].copy_from_slice(&octets(source.ip()));
    headers[16..20].copy_from_slice(&octets(destination.ip()));
    let checksum = checksum(&headers[..IP_HEADER]).to_be_bytes();
    headers[10..12].copy_from_slice(&checksum);
    headers[20..22].copy_from_slice(&source.port().to_be_bytes());
    headers[22..24].copy_from_slice(&destination.port().to_be_bytes());
    let length = (HEADERS - IP_HEADER + payload) as u16;
    headers[24..26].copy_from_slice(&length.to_be_bytes());
    headers
}

fn octets(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED.octets(),
    }
}

/// The internet checksum (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2);
    let sum: u32 = words
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
