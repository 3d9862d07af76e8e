//! Does what one host sends reach the other: as late as configured, whole, and as real packets?

use crate::ground::{client_udp, connect, connect_from, scenario, server_udp, start, udp};
use crate::{On, Outcome, PATIENCE};
use model::Family;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use walkabout_measure::emulator::Ground;

pub fn a_datagram_takes_the_configured_delay(on: On) -> Outcome {
    let (running, _) = start(&scenario(on.family, None), on.kind, None)?;
    let server = server_udp(&running.ground)?;
    for (path, configured) in [(0, 20), (1, 50)] {
        let client = client_udp(&running.ground, path)?;
        for (from, to) in [(&client, &server), (&server, &client)] {
            let mut delays = Vec::new();
            for _ in 0..20 {
                let sent = Instant::now();
                from.send_to(b"walk", to.local_addr()?)?;
                let mut buffer = [0; 64];
                let (length, sender) = to.recv_from(&mut buffer)?;
                delays.push(sent.elapsed());
                check!(&buffer[..length] == b"walk", "{:?}", &buffer[..length]);
                check!(sender == from.local_addr()?, "{sender}");
            }
            let configured = Duration::from_millis(configured);
            // The least has no scheduler's time in it: a busy machine makes others later.
            let least = delays.iter().min().copied().unwrap_or_default();
            let bound = configured + Duration::from_millis(1);
            check!(least >= configured, "{least:?} on path {path}");
            check!(least <= bound, "{least:?} on path {path}");
        }
    }
    let timing = running.finish()?;
    check!(timing.packets == 80, "{timing:?}");
    Ok(())
}

pub fn tcp_works_on_each_path(on: On) -> Outcome {
    let (running, _) = start(&scenario(on.family, None), on.kind, None)?;
    let data: Arc<Vec<u8>> = Arc::new((0..400_000u32).map(|i| (i % 251) as u8).collect());
    for path in 0..2 {
        let (client, server) = connect(&running.ground, path)?;
        for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
            let sender = thread::spawn({
                let data = Arc::clone(&data);
                move || from.write_all(&data)
            });
            let mut received = vec![0; data.len()];
            to.read_exact(&mut received)?;
            check!(received == *data, "path {path}");
            sender.join().map_err(|_| "the sender panicked")??;
        }
    }
    running.finish()?;
    Ok(())
}

/// No packet exceeds the MTU, and every checksum is real, even when the application asks for
/// segmentation offload.
pub fn packets_are_real(on: On) -> Outcome {
    let mut ground = Ground::make(
        &[("wifi".into(), model::PathKind::Wifi)],
        on.family,
        Some(on.kind),
    )?;
    let address = SocketAddr::new(ground.local_paths[0].address, 0);
    let client = udp(&ground.client, address)?;
    nix::sys::socket::setsockopt(&client, nix::sys::socket::sockopt::UdpGsoSegment, &1_000)?;
    client.send_to(&[7; 10_000], SocketAddr::new(ground.server_address, 9))?;
    // A handshake's first packet as well.
    let server = SocketAddr::new(ground.server_address, 80);
    let local = SocketAddr::new(ground.local_paths[0].address, 0);
    let client_host = ground.client.clone();
    thread::spawn(move || client_host.run(|| connect_from(local, server)));
    let mut devices = ground.take_devices();
    let device = &mut devices.clients[0].1;
    let mut sizes = Vec::new();
    let began = Instant::now();
    while sizes.len() < 11 && began.elapsed() < PATIENCE {
        let mut buffer = [0; 70_000];
        let Some(length) = device.recv(&mut buffer)? else {
            thread::yield_now();
            continue;
        };
        let packet = &buffer[..length];
        // RFC 791, section 3.1, and RFC 8200, section 3.
        let (header, protocol, addresses) = match on.family {
            Family::Ipv4 => (20, packet[9], &packet[12..20]),
            Family::Ipv6 => (40, packet[6], &packet[8..40]),
        };
        if on.family == Family::Ipv4 {
            check!(packet[0] == 0x45, "{packet:x?}");
            check!(checksum(&packet[..20], 0) == 0, "IP header of {packet:x?}");
        } else {
            check!(packet[0] >> 4 == 6, "{packet:x?}");
        }
        let pseudo = u32::from(protocol) + (length - header) as u32;
        let sum = addresses
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let pseudo = pseudo + sum.sum::<u32>();
        check!(
            checksum(&packet[header..], pseudo) == 0,
            "payload of {packet:x?}"
        );
        sizes.push((protocol, length - header));
    }
    let datagrams = sizes.iter().filter(|s| **s == (17, 1_008)).count();
    check!(datagrams == 10, "{sizes:?}");
    check!(
        sizes.iter().any(|(protocol, _)| *protocol == 6),
        "{sizes:?}"
    );
    Ok(())
}

/// The Internet checksum (RFC 1071) of data that holds its own checksum: zero when it is right.
fn checksum(data: &[u8], initial: u32) -> u16 {
    let words = data
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum = initial + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
