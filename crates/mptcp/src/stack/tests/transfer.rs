//! Does everything arrive, exactly?

use super::rig::*;
use super::scheduler;
use crate::wire::key::initial_dsn;
use crate::wire::mptcp::{MptcpOption, Number};
use model::Seed;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn ten_megabytes_both_ways_over_two_lossy_paths() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.link(1).loss = 0.01;
    world.link(2).loss = 0.01;
    world.exchange((id, other), [10 << 20, 10 << 20], ms(600_000));
    for host in [CLIENT, SERVER] {
        let counters = world.stacks[host].counters();
        assert_eq!(counters.bad_mappings, 0);
        assert_eq!(counters.fallbacks, 0);
        assert_eq!(counters.join_bad_hmac, 0);
    }
}

#[test]
fn everything_on_every_path() {
    let mut everywhere = config();
    everywhere.scheduler = &scheduler::EVERYWHERE;
    let mut world = World::new(everywhere.clone(), everywhere);
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.join(id, 3, false);
    world.link(1).loss = 0.05;
    world.exchange((id, other), [300_000, 300_000], ms(60_000));
    assert!(world.info(SERVER, other).duplicate_bytes > 100_000);
}

#[test]
fn a_reader_that_sleeps_stops_the_sender_and_loses_nothing() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.reading[SERVER] = false;
    let data = pattern(1_000_000, 0);
    let mut written = 0;
    world.run_with(ms(20_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        false
    });
    let waiting = world.info(SERVER, other).readable;
    assert!((30_000..70_000).contains(&waiting), "{waiting}");
    assert!(world.info(CLIENT, id).unacked < 70_000);
    world.reading[SERVER] = true;
    world.run_with(ms(60_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        world.received(SERVER, other).len() == data.len() + 5
    });
    assert!(world.received(SERVER, other)[5..] == data);
    world.exchange((id, other), [100, 100], ms(1000));
}

/// The sequence numbers that a connection with this seed begins with: TCP's of both ends, and the
/// lower halves of their data sequence numbers.
fn initial_numbers(seed: Seed) -> [u32; 4] {
    let mut world = World::seeded(config(), config(), seed);
    let seen = Rc::new(Cell::new([0; 4]));
    let numbers = seen.clone();
    world.middlebox = Some(Box::new(move |from, segment| {
        let mut all = numbers.get();
        if segment.flags.syn {
            all[from] = segment.seq.0;
        }
        for option in &segment.options.mptcp {
            if let MptcpOption::Capable(capable) = option
                && let (Some(client), Some(server)) = (capable.sender_key, capable.receiver_key)
            {
                all[2] = initial_dsn(client) as u32;
                all[3] = initial_dsn(server) as u32;
            }
        }
        numbers.set(all);
        Some(())
    }));
    world.connect();
    world.run(ms(50));
    seen.get()
}

#[test]
fn every_sequence_number_wraps_in_the_middle_of_a_transfer() {
    const BYTES: usize = 2 << 20;
    // On two subflows, of which the first takes its share.
    let wraps_soon = |number: u32| (20_000..BYTES as u32 / 4).contains(&number.wrapping_neg());
    let mut wrapped = [false; 4];
    for seed in (0..).map(Seed) {
        let found = initial_numbers(seed).map(wraps_soon);
        let news = found
            .iter()
            .zip(&wrapped)
            .any(|(found, known)| *found && !known);
        if news {
            let mut world = World::seeded(config(), config(), seed);
            let (id, other) = world.connected();
            world.join(id, 2, false);
            world.link(1).loss = 0.01;
            world.link(2).loss = 0.01;
            world.exchange((id, other), [BYTES, BYTES], ms(600_000));
            for host in [CLIENT, SERVER] {
                let counters = world.stacks[host].counters();
                assert_eq!((counters.bad_mappings, counters.fallbacks), (0, 0));
            }
            wrapped = [0, 1, 2, 3].map(|i| wrapped[i] || found[i]);
        }
        if wrapped == [true; 4] {
            return;
        }
    }
}

#[test]
fn plain_tcp_with_loss() {
    let mut plain = config();
    plain.multipath = false;
    let mut world = World::new(plain.clone(), plain);
    world.link(1).loss = 0.02;
    let id = world.connect();
    world.run(ms(10_000));
    let other = world.stacks[SERVER].accept().unwrap();
    world.exchange((id, other), [2_000_000, 2_000_000], ms(200_000));
}

#[test]
fn many_connections_at_once() {
    let mut world = World::new(config(), config());
    let ids: Vec<_> = (0..200).map(|_| world.connect()).collect();
    world.run(ms(100));
    let data = pattern(5_000, 9);
    for id in &ids {
        assert_eq!(world.stacks[CLIENT].write(world.now, *id, &data), 5_000);
    }
    world.run(ms(1000));
    let mut served = 0;
    while let Some(other) = world.stacks[SERVER].accept() {
        assert!(world.received(SERVER, other) == data);
        served += 1;
    }
    assert_eq!(served, 200);
}

#[test]
fn a_window_update_that_is_lost_is_made_good_by_a_probe() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.reading[SERVER] = false;
    let data = pattern(300_000, 0);
    let mut written = 0;
    world.run_with(ms(5_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        false
    });
    world.link(1).up = false;
    world.link(2).up = false;
    world.reading[SERVER] = true;
    world.run(ms(10));
    world.link(1).up = true;
    world.link(2).up = true;
    let done = world.run_with(ms(60_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        world.received(SERVER, other).len() == data.len() + 5
    });
    assert!(done);
    assert!(world.received(SERVER, other)[5..] == data);
}

/// The server's handshake promises 65,535 bytes, and its Data ACKs fewer, as Linux's do.
#[test]
fn nothing_goes_beyond_what_the_first_data_ack_admits() {
    const ADMITTED: u32 = 20_000;
    let mut world = World::new(config(), config());
    let (edge, sent) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(0)));
    let (told, furthest) = (edge.clone(), sent.clone());
    world.middlebox = Some(Box::new(move |from, segment| {
        let dss = segment
            .options
            .mptcp
            .iter()
            .find_map(|option| match option {
                MptcpOption::Dss(dss) => Some(*dss),
                _ => None,
            });
        let low = |number| match number {
            Number::Wide(number) => number as u32,
            Number::Narrow(number) => number,
        };
        match (
            from,
            dss.and_then(|d| d.data_ack),
            dss.and_then(|d| d.mapping),
        ) {
            (SERVER, Some(ack), _) => {
                let ack = low(ack);
                let edge = told.get().unwrap_or(ack.wrapping_add(ADMITTED));
                told.set(Some(edge));
                segment.window = ((edge.wrapping_sub(ack) as i32).max(0) >> 7) as u16;
            }
            (CLIENT, _, Some(mapping)) => {
                let end = low(mapping.dsn).wrapping_add(segment.payload.len() as u32);
                if furthest.get() == 0 || end.wrapping_sub(furthest.get()) as i32 > 0 {
                    furthest.set(end);
                }
            }
            _ => {}
        }
        Some(())
    }));
    let (id, _) = world.connected();
    world.join(id, 2, false);
    let data = pattern(100_000, 0);
    world.stacks[CLIENT].write(world.now, id, &data);
    world.run(ms(150));
    let left = edge.get().unwrap().wrapping_sub(sent.get()) as i32;
    assert!((0..1_460 + 128).contains(&left), "{left}");
}

/// Linux takes a Data ACK with the window its subflow had before, and so sends a little beyond one
/// that shuts. What came so is dropped, or taken where it is in order, and its subflows stay.
#[test]
fn a_peer_that_sends_beyond_a_window_that_shuts_keeps_its_subflows() {
    const BEYOND: u16 = 20_000 >> 7;
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.reading[SERVER] = false;
    world.middlebox = Some(Box::new(|from, segment| {
        if from == SERVER && !segment.flags.syn {
            segment.window += BEYOND;
        }
        Some(())
    }));
    let data = pattern(300_000, 0);
    let mut written = 0;
    world.run_with(ms(3_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        false
    });
    let arrived = world.subflows(SERVER, other);
    assert!(arrived.iter().all(|s| s.tcp.received_bytes > 10_000));
    world.middlebox = None;
    world.reading[SERVER] = true;
    let done = world.run_with(ms(60_000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        world.received(SERVER, other).len() == data.len() + 5
    });
    assert!(done && world.received(SERVER, other)[5..] == data);
    assert_eq!(world.stacks[SERVER].counters().bad_mappings, 0);
    assert_eq!(world.subflows(SERVER, other).len(), 2);
}

#[test]
fn a_connection_stays_silent_when_there_is_nothing_to_say() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.exchange((id, other), [1, 1], ms(1_000));
    let mut world = World::new(config(), config());
    let (id, _) = world.connected();
    world.join(id, 2, false);
    world.run(ms(5_000));
    let packets = world.packets;
    world.run(ms(600_000));
    assert_eq!(world.packets, packets);
}

#[test]
fn what_is_acknowledged_later_leaves_nothing_to_transmit() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    // A conversation: its acknowledgements wait for an answer.
    assert_eq!(world.stacks[CLIENT].write(world.now, id, b"ask"), 3);
    world.run(ms(20));
    assert_eq!(world.stacks[SERVER].write(world.now, other, b"answer"), 6);
    world.run(ms(200));
    assert_eq!(world.stacks[CLIENT].write(world.now, id, b"ask"), 3);
    let mut packet = [0; 2048];
    let sent = world.stacks[CLIENT].transmit(world.now, &mut packet);
    let asked = &packet[..sent.expect("a packet").length];
    let now = world.now + ms(10);
    let host = &mut world.stacks[SERVER];
    host.receive(now, asked);
    assert!(!host.may_transmit(), "an answer before it is read");
    assert_eq!(host.read(now, other, &mut [0; 10]), 3);
    assert!(!host.may_transmit(), "an answer once it is read");
    let late = host.poll_at().expect("a timer");
    assert!(late > now && late <= now + ms(200), "{late:?}");
    host.poll(late);
    assert!(host.transmit(late, &mut packet).is_some());
}
