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
use traffic::Channels;

/// RFC 791, section 3.1: an IPv4 header without options.
const IP_HEADER: usize = 20;
/// RFC 768.
const HEADERS: usize = IP_HEADER + 8;
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
    outbox: VecDeque<(PathIndex, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// Whether it was noted that the host has no such address.
    refusal_noted: bool,
}

impl Packets {
    /// A client that begins to connect over the first path.
    pub fn connect(setup: &PacketSetup<'_>, multipath: bool) -> Result<Packets, QuicError> {
        let config = config(setup, multipath)?;
        let core = Core::client(config, setup.server, setup.channels, Time::ZERO)?;
        let mut client = Packets::new(core, setup);
        client.drain(Time::ZERO);
        Ok(client)
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

    /// Takes every datagram the core has to send.
    fn drain(&mut self, now: Time) {
        let is_client = self.core.is_client();
        while let Some(transmit) = self.core.poll_transmit(now) {
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
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.clear();
            write_headers(
                &mut packet,
                source,
                destination,
                transmit.ecn,
                transmit.payload.len(),
            );
            packet.extend_from_slice(transmit.payload);
            self.outbox.push_back((PathIndex(path), packet));
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
        self.drain(now);
    }

    fn transmit(&mut self, packet: &mut [u8]) -> Option<(usize, PathIndex)> {
        let (path, bytes) = self.outbox.pop_front()?;
        packet[..bytes.len()].copy_from_slice(&bytes);
        let length = bytes.len();
        self.spare.push(bytes);
        Some((length, path))
    }
}

impl Channels for Packets {
    fn write(&mut self, channel: usize, data: &[u8]) {
        self.core.write(channel, data);
    }
    fn queued(&self, channel: usize) -> usize {
        self.core.queued(channel)
    }
    fn read(&mut self, channel: usize, buffer: &mut [u8]) -> usize {
        self.core.read(channel, buffer)
    }
    fn is_open(&self, channel: usize) -> bool {
        self.core.is_open(channel)
    }
}

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

/// Appends the IPv4 and UDP headers of a datagram with `payload` bytes. The UDP checksum is
/// left out, as RFC 768 allows.
fn write_headers(
    packet: &mut Vec<u8>,
    source: SocketAddr,
    destination: SocketAddr,
    ecn: Option<EcnCodepoint>,
    payload: usize,
) {
    let length = ((HEADERS + payload) as u16).to_be_bytes();
    let mut header = [0; IP_HEADER];
    header[0] = 0x45;
    header[1] = ecn.map_or(0, |ecn| ecn as u8);
    header[2..4].copy_from_slice(&length);
    header[6] = 0x40; // don't fragment
    header[8] = TTL;
    header[9] = UDP;
    header[12..16].copy_from_slice(&octets(source.ip()));
    header[16..20].copy_from_slice(&octets(destination.ip()));
    let checksum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&checksum);
    packet.extend_from_slice(&header);
    packet.extend_from_slice(&source.port().to_be_bytes());
    packet.extend_from_slice(&destination.port().to_be_bytes());
    packet.extend_from_slice(&((HEADERS - IP_HEADER + payload) as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
}

fn octets(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED.octets(),
    }
}

/// The internet checksum (RFC 1071).
fn checksum(header: &[u8; IP_HEADER]) -> u16 {
    let words = header.chunks_exact(2);
    let sum: u32 = words
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
