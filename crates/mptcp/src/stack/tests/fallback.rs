//! Does a connection become plain TCP where RFC 8684, section 3.7, demands it, and deliver?

use super::rig::*;
use crate::connection::{Event, FallbackReason};
use crate::wire::mptcp::MptcpOption;

/// Sends both ways and finishes, after `strip` is in place from the start.
fn stripped(strip: Middlebox) -> World {
    let mut world = World::new(config(), config());
    world.middlebox = Some(strip);
    let id = world.connect();
    world.run(ms(50));
    let data = pattern(100_000, 3);
    let mut written = 0;
    world.run_with(ms(5000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        written == data.len()
    });
    let other = world.stacks[SERVER].accept().expect("a connection");
    world.run(ms(5000));
    assert!(world.received(SERVER, other) == data);
    assert!(!world.info(SERVER, other).multipath, "the server fell back");
    world.exchange((id, other), [0, 50_000], ms(5000));
    assert!(!world.info(CLIENT, id).multipath, "the client fell back");
    assert_eq!(world.stacks[CLIENT].counters().fallbacks, 1);
    world
}

fn reason(world: &World, host: usize) -> FallbackReason {
    let fallback = |e: &(_, Event)| match &e.1 {
        Event::Fallback(reason) => Some(*reason),
        _ => None,
    };
    world.events[host]
        .iter()
        .find_map(fallback)
        .expect("a fallback")
}

#[test]
fn options_stripped_from_the_syn() {
    let world = stripped(Box::new(|_, segment| {
        if segment.flags.syn && !segment.flags.ack {
            segment.options.mptcp.clear();
        }
        Some(())
    }));
    assert_eq!(reason(&world, CLIENT), FallbackReason::NotOffered);
}

#[test]
fn options_stripped_from_the_syn_ack() {
    let world = stripped(Box::new(|from, segment| {
        if segment.flags.syn && from == SERVER {
            segment.options.mptcp.clear();
        }
        Some(())
    }));
    assert_eq!(reason(&world, CLIENT), FallbackReason::NotOffered);
    assert_eq!(reason(&world, SERVER), FallbackReason::HandshakeStripped);
}

#[test]
fn options_stripped_behind_the_syns() {
    let world = stripped(Box::new(|_, segment| {
        if !segment.flags.syn {
            segment.options.mptcp.clear();
        }
        Some(())
    }));
    assert_eq!(reason(&world, SERVER), FallbackReason::HandshakeStripped);
    assert_eq!(reason(&world, CLIENT), FallbackReason::HandshakeStripped);
}

#[test]
fn options_stripped_from_the_clients_data() {
    let world = stripped(Box::new(|from, segment| {
        if from == CLIENT && !segment.payload.is_empty() {
            segment.options.mptcp.clear();
        }
        Some(())
    }));
    assert_eq!(reason(&world, SERVER), FallbackReason::HandshakeStripped);
}

#[test]
fn options_stripped_from_all_but_the_first_data() {
    let mut first = true;
    let world = stripped(Box::new(move |from, segment| {
        if from == CLIENT && !segment.payload.is_empty() && !std::mem::take(&mut first) {
            segment.options.mptcp.clear();
        }
        Some(())
    }));
    assert_eq!(reason(&world, SERVER), FallbackReason::NoMapping);
}

#[test]
fn syns_with_the_option_are_dropped_until_one_goes_without() {
    let mut world = World::new(config(), config());
    world.middlebox = Some(Box::new(|_, segment| {
        (segment.options.mptcp.is_empty() || !segment.flags.syn).then_some(())
    }));
    let id = world.connect();
    world.run(ms(10_000));
    assert!(world.has_event(CLIENT, id, &Event::Connected));
    let other = world.stacks[SERVER].accept().unwrap();
    world.exchange((id, other), [1000, 1000], ms(1000));
}

#[test]
fn a_peer_that_speaks_plain_tcp() {
    for plain in [CLIENT, SERVER] {
        let mut configs = [config(), config()];
        configs[plain].multipath = false;
        let [a, b] = configs;
        let mut world = World::new(a, b);
        let id = world.connect();
        world.run(ms(50));
        let other = world.stacks[SERVER].accept().unwrap();
        world.exchange((id, other), [500_000, 500_000], ms(20_000));
        assert!(!world.info(CLIENT, id).multipath);
    }
}

#[test]
fn one_side_that_demands_checksums_is_enough() {
    for demanding in [CLIENT, SERVER] {
        let mut configs = [config(), config()];
        configs[demanding].checksum = true;
        let [a, b] = configs;
        let mut world = World::new(a, b);
        let (id, other) = world.connected();
        world.join(id, 2, false);
        world.exchange((id, other), [500_000, 500_000], ms(20_000));
        for host in [CLIENT, SERVER] {
            assert_eq!(world.stacks[host].counters().checksum_errors, 0);
            assert_eq!(world.stacks[host].counters().fallbacks, 0);
        }
    }
}

/// Changes a byte of the `n`th data segment of a path, TCP's checksum made right again.
fn corrupt(path: u8, mut n: u32) -> Middlebox {
    Box::new(move |from, segment| {
        if from == CLIENT && segment.source.ip() == client(path).ip() && segment.payload.len() > 500
        {
            n = n.saturating_sub(1);
            if n == 1 {
                let mut bytes = segment.payload.to_vec();
                bytes[100] ^= 0x40;
                segment.payload = bytes.leak();
            }
        }
        Some(())
    })
}

#[test]
fn a_wrong_checksum_on_the_only_subflow_means_plain_tcp() {
    let mut demanding = config();
    demanding.checksum = true;
    let mut world = World::new(demanding, config());
    let (id, other) = world.connected();
    world.middlebox = Some(corrupt(1, 20));
    let data = pattern(200_000, 0);
    let mut written = 0;
    world.run_with(ms(10_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        world.received(SERVER, other).len() == data.len() + 5
    });
    let got = &world.received(SERVER, other)[5..];
    let differ = got.iter().zip(&data).filter(|(a, b)| a != b).count();
    // As with TCP: what the middlebox changed is what arrives.
    assert_eq!((got.len(), differ), (data.len(), 1));
    assert_eq!(world.stacks[SERVER].counters().checksum_errors, 1);
    assert_eq!(reason(&world, SERVER), FallbackReason::Checksum);
    assert_eq!(reason(&world, CLIENT), FallbackReason::Peer);
    world.exchange((id, other), [100_000, 100_000], ms(10_000));
}

#[test]
fn a_wrong_checksum_on_one_of_two_subflows_closes_that_one() {
    let mut demanding = config();
    demanding.checksum = true;
    let mut world = World::new(demanding, config());
    let (id, other) = world.connected();
    let second = world.join(id, 2, false);
    world.middlebox = Some(corrupt(2, 20));
    world.exchange((id, other), [1_000_000, 0], ms(20_000));
    assert_eq!(world.stacks[SERVER].counters().checksum_errors, 1);
    assert_eq!(world.stacks[SERVER].counters().fallbacks, 0);
    let closed = |e: &Event| matches!(e, Event::SubflowClosed(s, Some(_)) if *s == second);
    assert!(world.events_of(CLIENT, id).iter().any(closed));
}

#[test]
fn after_a_fallback_nobody_joins() {
    let mut world = World::new(config(), config());
    let mut strip = false;
    let (id, other) = world.connected();
    world.middlebox = Some(Box::new(move |from, segment| {
        strip |= from == CLIENT && !segment.payload.is_empty();
        if strip {
            let dss = |o: &MptcpOption| matches!(o, MptcpOption::Dss(_));
            segment.options.mptcp.retain(|o| !dss(o));
        }
        Some(())
    }));
    world.stacks[CLIENT].write(world.now, id, b"more");
    world.run(ms(1000));
    assert_eq!(world.received(SERVER, other), b"hellomore");
    let (now, at) = (world.now, server());
    let opened = world.stacks[CLIENT].open_subflow(now, id, client(2), at, false);
    assert_eq!(opened, Err(crate::connection::SubflowError::NotMultipath));
}
