//! Do packets of a stack in user space pass a host's interfaces, and does its kernel keep silent?

use crate::stage::Setting;
use crate::{Failure, Outcome, check};
use model::PathKind;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use walkabout_measure::emulator::{Device, DeviceKind, Devices, Ground, NetNs};
use walkabout_measure::netlink::route::Routing;
use walkabout_measure::transport::raw::Interface;

const PATIENCE: Duration = Duration::from_secs(10);
/// Nobody listens on it.
const PORT: u16 = 443;

/// Runs `test` on each kind of device that opens here; at least one does.
fn on_each(setting: &Setting<'static>, test: impl Fn(&Ground, &mut Devices) -> Outcome) -> Outcome {
    for kind in DeviceKind::ALL.into_iter().rev() {
        // In namespaces of its own throughout, so that the interfaces' names are free.
        let ground = NetNs::create()?.run(|| {
            let paths = [("wifi".into(), PathKind::Wifi)];
            Ground::make(&paths, setting.family, Some(kind))
        })?;
        let mut ground = match ground {
            Err(error) if kind == DeviceKind::Tun => {
                eprintln!("{error}");
                std::process::exit(crate::IMPOSSIBLE.into());
            }
            other => other?,
        };
        let mut devices = ground.take_devices();
        test(&ground, &mut devices).map_err(|error| format!("{kind}: {error}"))?;
    }
    Ok(())
}

/// The next packet from a device.
fn next(device: &mut Device) -> Result<Vec<u8>, Failure> {
    let begin = Instant::now();
    let mut buffer = [0; 2_048];
    while begin.elapsed() < PATIENCE {
        if let Some(length) = device.recv(&mut buffer)? {
            return Ok(buffer[..length].to_vec());
        }
        std::thread::yield_now();
    }
    Err("no packet came".into())
}

/// Datagrams and connections to nobody are answered by the kernel, and by nobody once the
/// interface is taken; and by the kernel again when it is given back.
pub fn silence(setting: &Setting<'static>) -> Outcome {
    on_each(setting, |ground, devices| {
        let server = SocketAddr::new(ground.server_address, PORT);
        let client = SocketAddr::new(ground.local_paths[0].address, 0);
        for taken in [false, true, false] {
            let mut interface = match taken {
                false => None,
                true => Some(
                    ground
                        .server
                        .run(|| Interface::take_by_address(server.ip()))??,
                ),
            };
            let udp = ground.client.run(|| UdpSocket::bind(client))??;
            udp.connect(server)?;
            udp.set_nonblocking(true)?;
            let tcp = std::thread::spawn({
                let client = ground.client.clone();
                // Nobody answers for an interface that is taken.
                let patience = PATIENCE / if taken { 10 } else { 1 };
                move || client.run(|| TcpStream::connect_timeout(&server, patience))
            });
            udp.send(b"anybody there?")?;
            // A datagram and a SYN to the server, in whichever order.
            for _ in 0..2 {
                let packet = next(&mut devices.clients[0].1)?;
                devices.server.send(&packet)?;
                if let Some(interface) = &mut interface {
                    let begin = Instant::now();
                    let mut buffer = [0; 2_048];
                    let length = loop {
                        match interface.receive(&mut buffer)? {
                            Some(length) => break length,
                            None => check!(begin.elapsed() < PATIENCE, "nothing came in"),
                        }
                    };
                    check!(buffer[..length] == packet, "another packet came in");
                }
            }
            let answers = match &interface {
                None => vec![
                    next(&mut devices.server).map_err(|e| format!("first {e}"))?,
                    next(&mut devices.server).map_err(|e| format!("second {e}"))?,
                ],
                Some(interface) => {
                    // What we send follows what the kernel would have said.
                    let mark = marked(setting, ground);
                    interface.send(&[&mark])?;
                    let came = next(&mut devices.server)?;
                    check!(came == mark, "the kernel said {came:x?}");
                    Vec::new()
                }
            };
            for answer in answers {
                devices.clients[0].1.send(&answer)?;
            }
            let connected = tcp.join().map_err(|_| "connect panicked")??;
            let expected = match taken {
                true => ErrorKind::TimedOut,
                false => ErrorKind::ConnectionRefused,
            };
            let kind = connected.map_err(|e| e.kind());
            check!(kind.as_ref().is_err_and(|k| *k == expected), "{kind:?}");
            let heard = udp.recv(&mut [0; 64]).map_err(|e| e.kind());
            let expected = match taken {
                true => ErrorKind::WouldBlock,
                false => ErrorKind::ConnectionRefused,
            };
            check!(heard == Err(expected), "{heard:?}");
            // The client's SYN may have been sent again meanwhile.
            while devices.clients[0].1.recv(&mut [0; 2_048])?.is_some() {}
        }
        Ok(())
    })
}

/// A packet from the server to the client, of a protocol for experiments (RFC 3692).
fn marked(setting: &Setting<'static>, ground: &Ground) -> Vec<u8> {
    const EXPERIMENT: u8 = 253;
    let (from, to) = (ground.server_address, ground.local_paths[0].address);
    let mut packet = match setting.family {
        model::Family::Ipv4 => {
            let mut packet = vec![0; 24];
            packet[0] = 0x45;
            packet[3] = 24;
            packet[8] = 64;
            packet[9] = EXPERIMENT;
            packet
        }
        model::Family::Ipv6 => {
            let mut packet = vec![0; 44];
            packet[0] = 0x60;
            packet[5] = 4;
            packet[6] = EXPERIMENT;
            packet[7] = 64;
            packet
        }
    };
    match (from, to) {
        (std::net::IpAddr::V4(from), std::net::IpAddr::V4(to)) => {
            packet[12..16].copy_from_slice(&from.octets());
            packet[16..20].copy_from_slice(&to.octets());
        }
        (std::net::IpAddr::V6(from), std::net::IpAddr::V6(to)) => {
            packet[8..24].copy_from_slice(&from.octets());
            packet[24..40].copy_from_slice(&to.octets());
        }
        _ => {}
    }
    packet
}

/// An interface that is down refuses packets, and carries them again when it is up, addresses
/// or none.
pub fn comes_back(setting: &Setting<'static>) -> Outcome {
    on_each(setting, |ground, devices| {
        let path = &ground.local_paths[0];
        let mut interface = ground
            .client
            .run(|| Interface::take(path.interface, setting.family))??;
        let mut routing = ground.client.run(Routing::open)??;
        let attachment = &ground.attachments[0];
        let mark = marked(setting, ground);
        for withdrawn in [false, true] {
            interface.send(&[&mark])?;
            check!(next(&mut devices.clients[0].1)? == mark, "another packet");
            match withdrawn {
                false => attachment.take_down(&mut routing)?,
                true => attachment.withdraw(&mut routing)?,
            }
            let sent = interface.send(&[&mark]);
            check!(sent.is_err(), "a downed interface took a packet");
            interface.clear_error()?;
            check!(!is_ready(&interface)?, "an error is left behind");
            attachment.attach(&mut routing)?;
            interface.send(&[&mark, &mark])?;
            for _ in 0..2 {
                check!(next(&mut devices.clients[0].1)? == mark, "another packet");
            }
            devices.clients[0].1.send(&mark)?;
            let begin = Instant::now();
            let mut buffer = [0; 2_048];
            while interface.receive(&mut buffer)?.is_none() {
                check!(begin.elapsed() < PATIENCE, "nothing came in");
            }
        }
        Ok(())
    })
}

fn is_ready(interface: &Interface) -> Result<bool, Failure> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    // SAFETY: the interface keeps its descriptor meanwhile.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(interface.fd()) };
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    Ok(poll(&mut fds, PollTimeout::ZERO)? > 0)
}
