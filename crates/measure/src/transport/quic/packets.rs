//! How does the core meet a network in virtual time? Its datagrams become IP packets, which the
//! driver takes and brings.

use super::config::{CoreConfig, PathAddress, QuicError, Security};
use super::controller::Congestion;
use super::core::Core;
use super::udp;
use crate::transport::{Endpoint, PacketEndpoint, PacketSetup};
use model::manifest::Stack;
use model::record::{Event, Sample};
use model::{Family, PathIndex, Time};
use noq_proto::EcnCodepoint;
use policy::{Action, ConnectionView};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// RFC 768.
const UDP_HEADER: usize = 8;
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
            let (ecn, payload) = (transmit.ecn, transmit.payload);
            let length = write(source, destination, ecn, payload, packet);
            return Some((length, PathIndex(path)));
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
        let Some((class, payload)) = read(packet) else {
            return;
        };
        // The low bits hold ECN (RFC 3168, section 5).
        let ecn = EcnCodepoint::from_bits(class & 0b11);
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

/// The length of an IP header without options or extensions (RFC 791, section 3.1, and RFC 8200,
/// section 3).
fn ip_header(family: Family) -> usize {
    match family {
        Family::Ipv4 => 20,
        Family::Ipv6 => 40,
    }
}

/// The traffic class and the payload of a datagram's packet.
fn read(packet: &[u8]) -> Option<(u8, &[u8])> {
    let (family, class) = match packet.get(..2)? {
        [0x45, class] => (Family::Ipv4, *class),
        [first, second] => (Family::Ipv6, first << 4 | second >> 4),
        _ => return None,
    };
    Some((class, packet.get(ip_header(family) + UDP_HEADER..)?))
}

/// Writes a datagram's packet; returns its length. IPv4 goes without the UDP checksum, as RFC
/// 768 allows; RFC 8200, section 8.1, demands it.
fn write(
    source: SocketAddr,
    destination: SocketAddr,
    ecn: Option<EcnCodepoint>,
    payload: &[u8],
    packet: &mut [u8],
) -> usize {
    let family = Family::of(source.ip());
    let class = ecn.map_or(0, |ecn| ecn as u8);
    let udp_length = UDP_HEADER + payload.len();
    let length = ip_header(family) + udp_length;
    let (ip, udp) = packet[..length].split_at_mut(ip_header(family));
    let udp_length = (udp_length as u16).to_be_bytes();
    udp[0..2].copy_from_slice(&source.port().to_be_bytes());
    udp[2..4].copy_from_slice(&destination.port().to_be_bytes());
    udp[4..6].copy_from_slice(&udp_length);
    udp[6..8].fill(0);
    udp[UDP_HEADER..].copy_from_slice(payload);
    ip.fill(0);
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ip[0] = 0x45;
            ip[1] = class;
            ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            ip[6] = 0x40; // don't fragment
            ip[8] = TTL;
            ip[9] = UDP;
            ip[12..16].copy_from_slice(&source.octets());
            ip[16..20].copy_from_slice(&destination.octets());
            let checksum = !fold(sum(ip));
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        (source, destination) => {
            ip[0] = 0x60 | class >> 4;
            ip[1] = class << 4;
            ip[4..6].copy_from_slice(&udp_length);
            ip[6] = UDP;
            ip[7] = TTL;
            ip[8..24].copy_from_slice(&octets(source));
            ip[24..40].copy_from_slice(&octets(destination));
            let pseudo = sum(&ip[8..]) + sum(&udp_length) + u32::from(UDP);
            // RFC 768: a checksum of zero is sent as its other form.
            let checksum = match !fold(pseudo + sum(udp)) {
                0 => u16::MAX,
                checksum => checksum,
            };
            udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        }
    }
    length
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The sum of an internet checksum (RFC 1071).
fn sum(bytes: &[u8]) -> u32 {
    let (words, last) = bytes.as_chunks::<2>();
    let last = last.first().map_or(0, |byte| u32::from(*byte) << 8);
    let words = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)));
    words.sum::<u32>() + last
}

fn fold(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reads_back_and_its_checksum_is_right() {
        for (source, destination) in [
            ("10.77.1.2:49152", "10.77.0.1:443"),
            ("[fd77:0:0:1::2]:49152", "[fd77::1]:443"),
        ] {
            let [source, destination] = [source, destination].map(|a| a.parse().unwrap());
            let mut packet = [0xff; ROOM];
            for payload in [&b"odd"[..], b"even"] {
                let ecn = Some(EcnCodepoint::Ect0);
                let length = write(source, destination, ecn, payload, &mut packet);
                let packet = &packet[..length];
                assert_eq!(read(packet), Some((EcnCodepoint::Ect0 as u8, payload)));
                let checked = match source {
                    SocketAddr::V4(_) => sum(&packet[..20]),
                    SocketAddr::V6(_) => {
                        let udp = &packet[40..];
                        sum(&packet[8..40]) + udp.len() as u32 + u32::from(UDP) + sum(udp)
                    }
                };
                assert_eq!(fold(checked), 0xffff);
            }
        }
    }
}
