//! Do addresses, priorities and failing paths do what they should?

use super::rig::*;
use crate::connection::{Event, Failure};
use crate::wire::mptcp::MptcpOption;
use policy::SubflowId;
use std::net::SocketAddr;

#[test]
fn addresses_are_announced_echoed_and_withdrawn() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let extra = SocketAddr::from(([10, 9, 0, 2], 0));
    let mut lost = 1;
    world.middlebox = Some(Box::new(move |_, segment| {
        let adds = |o: &MptcpOption| matches!(o, MptcpOption::AddAddr(_));
        if segment.options.mptcp.iter().any(adds) && lost > 0 {
            lost -= 1;
            return None;
        }
        Some(())
    }));
    let announced = world.stacks[SERVER].announce(world.now, other, extra);
    assert_eq!(announced, Ok(1));
    world.run(ms(500));
    assert!(world.events_of(CLIENT, id).len() < 5, "the first is lost");
    world.run(ms(4000));
    let address = SocketAddr::new(extra.ip(), 80);
    assert!(world.has_event(CLIENT, id, &Event::AddressAnnounced { id: 1, address }));
    let packets = world.packets;
    world.run(ms(60_000));
    assert_eq!(world.packets, packets, "the echo ends it");
    let now = world.now;
    let opened = world.stacks[CLIENT].open_subflow(now, id, client(2), address, false);
    let second = opened.unwrap();
    world.run(ms(200));
    assert!(world.has_event(SERVER, other, &Event::SubflowEstablished(second)));
    world.stacks[SERVER]
        .withdraw(world.now, other, extra.ip())
        .unwrap();
    world.run(ms(200));
    assert!(world.has_event(CLIENT, id, &Event::AddressWithdrawn(1)));
    assert_eq!(world.subflows(CLIENT, id).len(), 1);
    assert_eq!(world.subflows(SERVER, other).len(), 1);
}

#[test]
fn an_address_whose_subflow_ended_first_is_withdrawn_and_told_once() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let second = world.join(id, 2, false);
    world.stacks[CLIENT]
        .close_subflow(world.now, id, second, false)
        .unwrap();
    world.run(ms(100_000));
    assert_eq!(world.subflows(SERVER, other).len(), 1);
    let withdrawn = |world: &World| {
        let events = world.events_of(SERVER, other);
        let is_it = |e: &&Event| matches!(e, Event::AddressWithdrawn(_));
        events.iter().filter(is_it).count()
    };
    assert_eq!(withdrawn(&world), 0);
    world.stacks[CLIENT]
        .withdraw(world.now, id, client(2).ip())
        .unwrap();
    world.run(ms(100));
    assert_eq!(withdrawn(&world), 1);
    // Said again, and of an identifier that nobody used, it is ignored.
    let mut said = 0;
    world.middlebox = Some(Box::new(move |from, segment| {
        let options = &mut segment.options;
        let is_roomy = options.sack.is_empty() && options.mptcp.iter().all(|o| o.len() <= 12);
        if from == CLIENT && is_roomy && said < 3 {
            options
                .mptcp
                .push(MptcpOption::RemoveAddr([1, 9].into_iter().collect()));
            said += 1;
        }
        Some(())
    }));
    world.exchange((id, other), [1_000, 50_000], ms(5_000));
    assert_eq!(withdrawn(&world), 1);
}

#[test]
fn a_forged_announcement_is_counted_and_ignored() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.middlebox = Some(Box::new(|_, segment| {
        for option in &mut segment.options.mptcp {
            if let MptcpOption::AddAddr(add) = option {
                add.hmac = add.hmac.map(|h| h ^ 1);
            }
        }
        Some(())
    }));
    let extra = SocketAddr::from(([10, 9, 0, 2], 0));
    world.stacks[SERVER]
        .announce(world.now, other, extra)
        .unwrap();
    world.run(ms(60_000));
    assert_eq!(world.stacks[CLIENT].counters().add_addr_bad_hmac, 4);
    let announced = |e: &Event| matches!(e, Event::AddressAnnounced { .. });
    assert!(!world.events_of(CLIENT, id).iter().any(announced));
}

#[test]
fn an_ipv6_address_is_announced_on_an_ipv4_connection() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let extra: SocketAddr = "[fd00::2]:0".parse().unwrap();
    world.stacks[SERVER]
        .announce(world.now, other, extra)
        .unwrap();
    world.run(ms(100));
    let address = SocketAddr::new(extra.ip(), 80);
    assert!(world.has_event(CLIENT, id, &Event::AddressAnnounced { id: 1, address }));
}

#[test]
fn a_priority_steers_both_directions() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let second = world.join(id, 2, false);
    let first = SubflowId::new(0);
    world.stacks[CLIENT]
        .set_backup(world.now, id, first, true)
        .unwrap();
    world.run(ms(100));
    let changed = Event::PriorityChanged(first, true);
    assert!(world.has_event(CLIENT, id, &changed) && world.has_event(SERVER, other, &changed));
    let sent = |world: &World, host, id, at: usize| world.subflows(host, id)[at].tcp.sent_bytes;
    let before = [sent(&world, CLIENT, id, 0), sent(&world, SERVER, other, 0)];
    let data = pattern(50_000, 0);
    world.stacks[CLIENT].write(world.now, id, &data);
    world.stacks[SERVER].write(world.now, other, &data);
    world.run(ms(1000));
    assert_eq!(world.received(SERVER, other).len(), 50_005);
    assert_eq!(world.received(CLIENT, id).len(), 50_000);
    let after = [sent(&world, CLIENT, id, 0), sent(&world, SERVER, other, 0)];
    assert_eq!(before, after, "the backup carries nothing");
    assert!(sent(&world, CLIENT, id, 1) >= 50_000);
    world.stacks[CLIENT]
        .set_backup(world.now, id, first, false)
        .unwrap();
    world.run(ms(100));
    let changed = Event::PriorityChanged(first, false);
    assert!(world.has_event(SERVER, other, &changed));
    assert!(!world.subflows(SERVER, other)[second.index()].backup);
}

#[test]
fn a_path_that_dies_is_potentially_failed_and_its_data_goes_elsewhere() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.link(1).up = false;
    let data = pattern(30_000, 1);
    world.stacks[CLIENT].write(world.now, id, &data);
    let done = world.run_with(ms(3000), &mut |world| {
        world.received(SERVER, other).len() == 30_005
    });
    assert!(done);
    assert!(world.received(SERVER, other)[5..] == data);
    world.run(ms(1000));
    let subflows = world.subflows(CLIENT, id);
    assert!(subflows[0].potentially_failed && !subflows[1].potentially_failed);
    assert!(world.info(CLIENT, id).reinjected_bytes > 0);
    world.link(1).up = true;
    world.run(ms(20_000));
    assert!(!world.subflows(CLIENT, id)[0].potentially_failed);
    world.exchange((id, other), [100_000, 100_000], ms(10_000));
}

#[test]
fn a_silent_subflow_becomes_stale_and_recovers() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    world.join(id, 2, false);
    world.link(1).up = false;
    let mut sent = 0;
    let stale = world.run_with(ms(30_000), &mut |world| {
        sent += world.stacks[CLIENT].write(world.now, id, &[7; 100]);
        world.subflows(CLIENT, id)[0].stale
    });
    assert!(stale);
    world.link(1).up = true;
    world.run(ms(60_000));
    assert!(!world.subflows(CLIENT, id)[0].stale);
    assert_eq!(world.received(SERVER, other).len(), sent + 5);
}

#[test]
fn a_connection_without_subflows_goes_on_when_one_joins() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let data = pattern(100_000, 2);
    let mut written = world.stacks[CLIENT].write(world.now, id, &data);
    let first = SubflowId::new(0);
    world.link(1).up = false;
    world.stacks[CLIENT]
        .close_subflow(world.now, id, first, true)
        .unwrap();
    world.run(ms(10_000));
    assert!(world.subflows(CLIENT, id).is_empty());
    assert!(world.info(CLIENT, id).failure.is_none());
    let second = world.join(id, 2, false);
    assert_eq!(second, first, "the number is free again");
    world.run_with(ms(5000), &mut |world| {
        written += world.stacks[CLIENT].write(world.now, id, &data[written..]);
        world.received(SERVER, other).len() == 100_005
    });
    assert!(world.received(SERVER, other)[5..] == data);
    world.exchange((id, other), [1000, 100_000], ms(10_000));
}

#[test]
fn a_connection_without_subflows_ends_after_its_timeout() {
    let mut world = World::new(config(), config());
    let (id, other) = world.connected();
    let first = SubflowId::new(0);
    world.stacks[CLIENT]
        .close_subflow(world.now, id, first, true)
        .unwrap();
    world.run(ms(59_000));
    assert!(world.info(CLIENT, id).failure.is_none());
    world.run(ms(2_000));
    assert!(world.has_event(CLIENT, id, &Event::Failed(Failure::TimedOut)));
    assert!(world.has_event(SERVER, other, &Event::Failed(Failure::TimedOut)));
}
