//! Whether packets take the path they belong to, both ways, and at the right time.

use super::{Check, CheckStatus, multipath};
use crate::clock::Clock;
use crate::emulator::device::{Device, MTU};
use crate::emulator::forward::destination;
use crate::emulator::{Devices, Emulator, Ground, NetNs, Settings, StopFlag};
use model::scenario::{Bulk, Link, Path, Scenario, Traffic};
use model::units::Span;
use model::{Family, PathKind, Seed};
use nix::sys::socket::{self, Backlog, SockaddrIn};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

/// The hosts' paths.
pub(super) const PATHS: [(&str, PathKind); 2] =
    [("wifi", PathKind::Wifi), ("cellular", PathKind::Cellular)];
/// How long a packet may take that no link delays.
const PATIENCE: Duration = Duration::from_secs(2);
/// The links' delay while the timing is measured.
const DELAY: Duration = Duration::from_millis(5);
/// Datagrams while the timing is measured, and the time between two.
const DATAGRAMS: u32 = 200;
const SPACING: Duration = Duration::from_millis(2);

type Failure = Box<dyn std::error::Error>;

/// Sends a datagram and an answer over each path, carried from host to host by hand, so that it
/// is seen on which path each goes out.
pub(super) fn symmetry(ground: &Ground, mut devices: Devices) -> (Check, Devices) {
    let name = "path symmetry";
    let outcome = (0..PATHS.len()).try_for_each(|path| exchange(ground, &mut devices, path));
    let check = match outcome {
        Ok(()) => Check::ok(
            name,
            format!(
                "packets leave and return on the path of their address ({} devices)",
                ground.kind
            ),
        ),
        Err(error) => Check::missing(
            name,
            error.to_string(),
            "Multipath would stall: look at `ip rule`, firewalls and net.ipv4.conf.*.rp_filter",
        ),
    };
    (check, devices)
}

fn exchange(ground: &Ground, devices: &mut Devices, path: usize) -> Result<(), Failure> {
    let client = udp(&ground.client, ground.local_paths[path].address)?;
    let server = udp(&ground.server, ground.server_address)?;
    client.send_to(b"there", server.local_addr()?)?;
    let (came_from, packet) = next_packet(devices)?;
    if came_from != Some(path) {
        let wrong = came_from.map_or("the server's interface", |p| PATHS[p].0);
        let right = PATHS[path].0;
        return Err(format!("a packet of the path `{right}` left on `{wrong}`").into());
    }
    devices.server.send(&packet)?;
    let mut buffer = [0; 64];
    let (_, sender) = server.recv_from(&mut buffer).map_err(|_| {
        format!(
            "the server did not receive a packet of the path `{}`",
            PATHS[path].0
        )
    })?;
    server.send_to(b"back", sender)?;
    let (_, answer) = next_packet(devices)?;
    let returns_to = destination(&answer);
    let (address, device) = &mut devices.clients[path];
    if returns_to != Some(*address) {
        return Err(format!("an answer to {address} went to {returns_to:?}").into());
    }
    device.send(&answer)?;
    client.recv_from(&mut buffer).map_err(|_| {
        format!(
            "the client did not accept an answer on the path `{}`",
            PATHS[path].0
        )
    })?;
    Ok(())
}

/// The next packet that a host sends: from which of the client's paths, or the server.
fn next_packet(devices: &mut Devices) -> Result<(Option<usize>, Vec<u8>), Failure> {
    let began = Instant::now();
    let mut buffer = [0; MTU as usize];
    while began.elapsed() < PATIENCE {
        let clients = devices.clients.iter_mut().map(|(_, device)| device);
        let numbered = clients
            .enumerate()
            .map(|(path, device)| (Some(path), device));
        let all: Vec<(Option<usize>, &mut Device)> =
            numbered.chain([(None, &mut devices.server)]).collect();
        for (path, device) in all {
            if let Some(length) = device.recv(&mut buffer)? {
                return Ok((path, buffer[..length].to_vec()));
            }
        }
        thread::yield_now();
    }
    Err("a host did not send the packet it was asked to send".into())
}

/// Runs an emulator on the devices: how well it keeps its time, and whether Multipath TCP is
/// negotiated across it.
pub(super) fn traffic(ground: &Ground, devices: Devices) -> Vec<Check> {
    let failed = |error: &dyn std::fmt::Display| {
        let advice = "The checks above say what is missing";
        vec![Check::missing("emulator", error.to_string(), advice)]
    };
    let stop = match StopFlag::new() {
        Ok(stop) => stop,
        Err(error) => return failed(&error),
    };
    let (traces, settings) = (BTreeMap::new(), Settings::default());
    let clock = Clock::start();
    let emulator = Emulator::new(
        &scenario(),
        Seed(0),
        &traces,
        devices,
        clock,
        None,
        settings,
    );
    let emulator = match emulator {
        Ok(emulator) => emulator,
        Err(error) => return failed(&error),
    };
    let emulator = thread::spawn({
        let stop = stop.clone();
        move || emulator.run(&stop)
    });
    let delays = delays(ground);
    let multipath = negotiation(ground);
    stop.stop();
    let timing = match emulator.join() {
        Ok(Ok(timing)) => timing,
        Ok(Err(error)) => return failed(&error),
        Err(_) => return failed(&"the emulator panicked"),
    };
    let name = "timing";
    let check = match delays {
        Err(error) => Check::missing(name, error.to_string(), "Please report this"),
        Ok(mut delays) => {
            delays.sort();
            let millis = |q: f64| {
                let index = ((delays.len() as f64 * q) as usize).min(delays.len() - 1);
                delays[index].as_secs_f64() * 1e3
            };
            let finding = format!(
                "a delay of {} ms is {:.2} ms (median) and {:.2} ms (99 %); packets leave {:.0} us \
                 late (99 %)",
                DELAY.as_millis(),
                millis(0.5),
                millis(0.99),
                timing.lateness_p99_ns as f64 / 1e3
            );
            match timing.kept {
                true => Check::ok(name, finding),
                false => Check::warn(
                    name,
                    finding,
                    format!(
                        "More than {} us: stop other work on this machine while you measure",
                        timing.bound_p99_ns / 1_000
                    ),
                ),
            }
        }
    };
    vec![check, multipath]
}

/// One-way delays of datagrams, as the hosts see them.
fn delays(ground: &Ground) -> Result<Vec<Duration>, Failure> {
    let client = udp(&ground.client, ground.local_paths[0].address)?;
    let server = udp(&ground.server, ground.server_address)?;
    client.connect(server.local_addr()?)?;
    let began = Instant::now();
    let sender = thread::spawn(move || {
        for number in 0..DATAGRAMS {
            thread::sleep((SPACING * number).saturating_sub(began.elapsed()));
            let now = began.elapsed().as_nanos() as u64;
            client.send(&now.to_ne_bytes())?;
        }
        Ok::<_, io::Error>(())
    });
    let mut delays = Vec::new();
    for _ in 0..DATAGRAMS {
        let mut buffer = [0; 8];
        server.recv(&mut buffer)?;
        let sent = Duration::from_nanos(u64::from_ne_bytes(buffer));
        delays.push(began.elapsed().saturating_sub(sent));
    }
    sender.join().map_err(|_| "the sender panicked")??;
    Ok(delays)
}

/// Whether a connection across the emulator is Multipath TCP at both ends.
fn negotiation(ground: &Ground) -> Check {
    let name = "MPTCP connection";
    match negotiate(ground) {
        Ok(true) => Check::ok(name, "a connection through the emulator negotiates MPTCP"),
        Ok(false) => Check::missing(
            name,
            "a connection through the emulator falls back to TCP",
            "Look for a firewall that strips TCP option 30",
        ),
        Err(error) => Check {
            status: CheckStatus::Missing,
            ..Check::warn(name, error.to_string(), "See `Multipath TCP`")
        },
    }
}

fn negotiate(ground: &Ground) -> Result<bool, Failure> {
    let std::net::IpAddr::V4(server) = ground.server_address else {
        return Err("the server has no IPv4 address".into());
    };
    let address = SockaddrIn::from(SocketAddrV4::new(server, 5_001));
    let listener = ground.server.run(|| -> io::Result<OwnedFd> {
        let listener = multipath::open()?;
        socket::bind(listener.as_raw_fd(), &address)?;
        socket::listen(&listener, Backlog::new(1)?)?;
        Ok(listener)
    })??;
    let client = ground.client.run(|| -> io::Result<OwnedFd> {
        let client = multipath::open()?;
        socket::connect(client.as_raw_fd(), &address)?;
        Ok(client)
    })??;
    let accepted = socket::accept(listener.as_raw_fd())?;
    // SAFETY: the descriptor was just opened and belongs to no one else.
    let accepted = unsafe { OwnedFd::from_raw_fd(accepted) };
    Ok(multipath::is_multipath(&client)? && multipath::is_multipath(&accepted)?)
}

fn udp(host: &NetNs, address: std::net::IpAddr) -> Result<UdpSocket, Failure> {
    let socket = host.run(|| UdpSocket::bind(SocketAddr::new(address, 0)))??;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

fn scenario() -> Scenario {
    let link = Link {
        rate: None,
        trace: None,
        delay: Span::from(DELAY),
        jitter: None,
        loss: None,
        burst: None,
        reorder: None,
        duplicate: None,
        queue: Default::default(),
    };
    Scenario {
        name: "doctor".to_owned(),
        summary: "Two short links.".to_owned(),
        duration: Span::from(PATIENCE),
        transports: Vec::new(),
        policies: Vec::new(),
        congestion: None,
        scheduler: None,
        server_scheduler: None,
        oracle: None,
        family: Family::Ipv4,
        traffic: Traffic::Bulk(Bulk::default()),
        paths: PATHS
            .iter()
            .map(|(name, kind)| Path {
                name: (*name).into(),
                kind: *kind,
                up: link.clone(),
                down: link.clone(),
                changes: Vec::new(),
                walk: None,
            })
            .collect(),
        failures: Vec::new(),
    }
}
